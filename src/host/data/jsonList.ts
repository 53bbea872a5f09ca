/**
 * A JSON document read as a stream: a list of objects, or an object one of whose keys holds such a list. Entries are
 * found by counting brackets; each is then parsed alone, so that the document is never in memory as a whole.
 */
import { isUtf8 } from 'node:buffer'
import { invalidData } from '#shared/errors.ts'
import { isProblem, type DataFile, type DataRow, type ReadItem } from './dataFile.ts'
import { notUtf8, textPieces } from './dataText.ts'
import { chooseList, requireObjects } from './jsonLists.ts'
import { numberNotes } from './jsonNumbers.ts'
import { readJsonLines, parseRow } from './jsonLines.ts'
import { isJsonObject } from '#host/files/strictJson.ts'

const maxEntryBytes = 64 << 20

/** Rows of a .json file. Files named so that hold one object per line are read as that. Errors: 'data/invalid'. */
export async function* readJsonList(file: DataFile): AsyncGenerator<readonly ReadItem[]> {
  if (await holdsLines(file)) {
    yield* readJsonLines(file)
    return
  }
  await requireObjects(file)
  const scanner = new EntryScanner(await chooseList(file))
  let number = 0
  const noteNumbers = numberNotes(file)
  const items = (entries: readonly Entry[]) =>
    entries.map((entry) => readEntry(entry, { number: ++number, noteNumbers }))
  for await (const piece of textPieces(file)) yield items(scanner.push(piece))
  const fault = scanner.fault()
  if (scanner.hasNoList) {
    throw invalidData(`${file.path} must hold a list of objects.`)
  }
  if (fault !== null) yield [{ number: number + 1, line: scanner.line, sentence: fault }]
}

const sniffedBytes = 16 << 20

/** Returns true if the first line is an object of its own and not the whole file. */
async function holdsLines(file: DataFile): Promise<boolean> {
  let text = ''
  for await (const piece of textPieces(file)) {
    text += piece.toString('latin1')
    if (!text.startsWith('{') || text.length > sniffedBytes) return false
    const end = text.indexOf('\n')
    if (end < 0) continue
    const isAlone = text.slice(end).trim() === '' && text.length + 3 >= file.sizeBytes
    return !isAlone && !isProblem(parseRow(text.slice(0, end), { number: 1, line: 1 }))
  }
  return false
}

interface Entry {
  /** Bytes of the entry; null: longer than what is read. */
  readonly bytes: Buffer | null
  readonly line: number
}

interface EntryPlace {
  readonly number: number
  readonly noteNumbers: (text: string) => void
}

function readEntry({ bytes, line }: Entry, { number, noteNumbers }: EntryPlace): ReadItem {
  if (bytes === null) return { number, line, sentence: 'it is longer than 64 MiB' }
  if (!isUtf8(bytes)) return { number, line, sentence: notUtf8 }
  const text = bytes.toString('utf8').trim()
  const item = parseRow(text, { number, line })
  if (isProblem(item)) return item
  noteNumbers(text)
  const row = unwrapped(item.row)
  const cut = row === item.row ? [] : cutCells(item.row)
  return cut.length === 0
    ? { ...item, row }
    : {
        number,
        line,
        sentence: `${cut.join(', ')} ${cut.length === 1 ? 'is' : 'are'} cut short by the service that wrote the file (“truncated_cells”): download the data set’s own files instead`,
      }
}

/** Names of the columns that the service has not written whole. */
const cutCells = ({ truncated_cells: cut }: DataRow): string[] =>
  Array.isArray(cut) ? cut.map((name) => `“${String(name)}”`) : []

/** The rows that a hub's own service answers with are wrapped: {row_idx, row, truncated_cells}. */
function unwrapped(row: DataRow): DataRow {
  const { row: inner, ...others } = row
  const isWrapped = isJsonObject(inner) && Object.keys(others).every((name) => wrapping.includes(name))
  return isWrapped && 'row_idx' in others ? inner : row
}

const wrapping: readonly string[] = ['row_idx', 'truncated_cells', 'partial']

const [quote, backslash, comma, feed] = [0x22, 0x5c, 0x2c, 0x0a]
const [bracket, closeBracket, brace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d]
const isSpace = (byte: number): boolean => byte === 0x20 || byte === feed || byte === 0x0d || byte === 0x09

function depthChange(byte: number): -1 | 0 | 1 {
  if (byte === brace || byte === bracket) return 1
  return byte === closeBrace || byte === closeBracket ? -1 : 0
}

/** Finds the entries of the list in bytes that arrive in pieces. */
class EntryScanner {
  line = 1
  #state: 'before' | 'seeking' | 'list-opened' | 'entries' | 'behind' = 'before'
  #isWrapped = false
  /** Brackets open since the list's own (in it), or since the document's begin (before it). */
  #depth = 0
  #inText = false
  #escaped = false
  #held: Buffer[] = []
  #heldBytes = 0
  /** Line of the entry being read; null before its first character. */
  #entryLine: number | null = null
  #foundList = false
  #hasTextBehind = false
  /** Lists of objects to pass before the one that is read. */
  #listsBefore: number

  constructor(listsBefore: number) {
    this.#listsBefore = listsBefore
  }

  get hasNoList(): boolean {
    return !this.#foundList
  }

  /** Describes the problem with the end of the document; null where there is none. */
  fault(): string | null {
    if (this.#state !== 'behind') return 'the file ends in the middle of the list'
    return this.#hasTextBehind ? 'there is more text after the end of the list' : null
  }

  push(piece: Buffer): Entry[] {
    const entries: Entry[] = []
    let start = 0
    for (let at = 0; at < piece.length; at++) {
      if (this.#inText) {
        at = this.#skipText(piece, at)
        continue
      }
      const byte = piece[at] ?? 0
      if (byte === feed) this.line++
      if (!this.#isInList()) {
        this.#outside(byte)
        start = this.#entryLine === null ? at + 1 : at
      } else if (!this.#opensText(byte) && this.#endsEntry(byte)) {
        entries.push(...this.#finish(piece.subarray(start, at), byte))
        start = at + 1
      }
    }
    if (this.#isInList()) this.#hold(piece.subarray(start))
    return entries
  }

  #isInList(): boolean {
    return this.#state === 'entries'
  }

  /** Text between quotation marks is skipped at once: brackets and commas in it mean nothing. */
  #opensText(byte: number): boolean {
    if (byte !== quote) return false
    this.#inText = true
    if (this.#isInList()) this.#entryLine ??= this.line
    return true
  }

  /** Skips to the next quotation mark, which ends the text unless it is escaped; returns its place. */
  #skipText(piece: Buffer, at: number): number {
    if (this.#escaped) {
      this.#escaped = false
      return at
    }
    const found = piece.indexOf(quote, at)
    const end = found < 0 ? piece.length : found
    let backslashes = 0
    while (end - backslashes > at && piece[end - backslashes - 1] === backslash) backslashes++
    const isEscaped = backslashes % 2 === 1
    if (found < 0) this.#escaped = isEscaped
    else this.#inText = isEscaped
    return found < 0 ? piece.length - 1 : found
  }

  /** Follows the brackets of an entry; true at the comma or bracket behind it. */
  #endsEntry(byte: number): boolean {
    if (this.#entryLine === null && !isSpace(byte)) this.#entryLine = this.line
    this.#depth += depthChange(byte)
    return this.#depth < 0 || (byte === comma && this.#depth === 0)
  }

  #finish(rest: Buffer, byte: number): Entry[] {
    const line = this.#entryLine
    const isTooLong = this.#heldBytes + rest.length > maxEntryBytes
    const bytes = isTooLong ? null : Buffer.concat([...this.#held, rest])
    this.#held = []
    this.#heldBytes = 0
    this.#entryLine = null
    if (byte !== comma) {
      this.#state = 'behind'
      this.#depth = 0
    }
    // The bracket itself was taken for the entry's first character where there is no entry.
    const isEmpty = bytes !== null && bytes.every(isSpace)
    return isEmpty && byte !== comma ? [] : [{ bytes, line: line ?? this.line }]
  }

  #hold(rest: Buffer): void {
    this.#heldBytes += rest.length
    if (this.#heldBytes > maxEntryBytes) this.#held = []
    else this.#held.push(rest)
  }

  #outside(byte: number): void {
    if (isSpace(byte)) return
    if (this.#state === 'before') this.#begin(byte)
    else if (this.#state === 'behind') this.#hasTextBehind ||= !this.#isWrapped
    else this.#seek(byte)
  }

  #begin(byte: number): void {
    this.#isWrapped = byte === brace
    this.#foundList = byte === bracket
    this.#state = byte === bracket ? 'entries' : 'seeking'
    this.#depth = byte === brace ? 1 : 0
  }

  /** Looks through an object for a list of objects right under one of its keys. */
  #seek(byte: number): void {
    if (this.#state === 'list-opened' && byte === brace && this.#listsBefore-- <= 0) {
      this.#state = 'entries'
      this.#foundList = true
      this.#depth = 1
      this.#entryLine = this.line
      return
    }
    if (this.#state === 'list-opened') this.#state = 'seeking'
    if (this.#opensText(byte)) return
    if (byte === bracket && this.#depth === 1 && this.#isWrapped) this.#state = 'list-opened'
    this.#depth += depthChange(byte)
  }
}
