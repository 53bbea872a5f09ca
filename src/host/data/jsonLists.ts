/** Chooses the list of a JSON document that holds the rows. */
import path from 'node:path'
import { type AppError, invalidData } from '#shared/errors.ts'
import { parsedJson } from '#shared/parsedJson.ts'
import { commandWord } from '#shared/shownText.ts'
import type { DataFile } from './dataFile.ts'
import { beginningOf, textPieces } from './dataText.ts'

/** Names of lists that hold rows, the likeliest first. */
const usualNames: readonly string[] = ['data', 'rows', 'examples', 'train']

interface TopLevelValue {
  readonly key: string
  /** `[{` a list of objects, `[` any other list, `{` an object, else the value's first character. */
  opening: string
  /** Entries of a list. */
  count: number
  /** The first key of an object; null for other values. */
  firstKey: string | null
}

/**
 * Returns the number of lists of objects before the one to read: 0 where the document is a list, or holds just one.
 * Notes which one was taken. Errors: AppError 'data/invalid' where nothing tells which, or where rows are written by
 * columns.
 */
export async function chooseList(file: DataFile): Promise<number> {
  const values = await topLevel(file)
  if (values === null) {
    if (file.split !== null) throw noSuch(file, file.split, [])
    return 0
  }
  const lists = values.filter(({ opening }) => opening === '[{')
  if (lists.length === 0) throw withoutRows(file, values)
  const names = lists.map(({ key }) => key)
  const taken =
    file.split ?? (names.length === 1 ? names[0] : usualNames.find((name) => names.includes(name)))
  if (taken === undefined)
    throw invalidData(`${file.path} holds several lists: ${describe(lists)}.`, {
      text: 'Say which one is the data.',
      command: `\`turnwise dataset import ${commandWord(file.path)} --split ${commandWord(names[0] ?? '')}\` reads the first.`,
    })
  const at = names.indexOf(taken)
  if (at < 0) throw noSuch(file, taken, names)
  const others = lists.filter(({ key }) => key !== taken)
  if (others.length > 0) file.note(`Read the list “${taken}”; left aside: ${describe(others)}.`)
  return at
}

const describe = (lists: readonly TopLevelValue[]): string =>
  lists.map(({ key, count }) => `“${key}” (${count})`).join(', ')

const noSuch = (file: DataFile, split: string, names: readonly string[]): AppError =>
  invalidData(
    `${file.path} holds no list called “${split}”.`,
    names.length === 0
      ? 'It is one list: leave the name out.'
      : `It holds ${names.map((name) => `“${name}”`).join(', ')}.`,
  )

function withoutRows(file: DataFile, values: readonly TopLevelValue[]): AppError {
  const sentence = `${file.path} must hold a list of objects.`
  const named = values.map(({ key }) => `“${key}”`).slice(0, 5)
  const keys = `${named.join(', ')}${values.length > named.length ? ', …' : ''}`
  if (values.length === 0 || !values.every(({ opening }) => opening === '{' || opening === '['))
    return invalidData(sentence, 'Write the rows as a list, [{…}, {…}], or as JSON Lines.')
  if (isSplit(values))
    return invalidData(
      `${sentence} It is pandas’ “split” form: names and values stand apart (${keys}).`,
      `Write one row per line: ${jq(file.path, `.columns as $names | .data[] | ${rowOfNames}`)}`,
    )
  const isById = values.every(
    ({ opening, firstKey }) => opening === '{' && firstKey !== null && !/^\d+$/.test(firstKey),
  )
  return isById
    ? invalidData(
        `${sentence} It is one object with a row under each key (${keys}).`,
        `Write one row per line: ${jq(file.path, 'to_entries[] | {id: .key} + .value')}`,
      )
    : invalidData(
        `${sentence} It is written column by column (${keys}).`,
        `Write one row per line: ${jq(file.path, `keys_unsorted as $names | [.[] | [.[]]] | transpose[] | ${rowOfNames}`)}`,
      )
}

/** Returns true for what pandas writes with orient="split". */
const isSplit = (values: readonly TopLevelValue[]): boolean =>
  ['columns', 'data'].every((name) => values.some(({ key, opening }) => key === name && opening === '['))

/** Makes a row of the values in a list and the names in $names. */
const rowOfNames = '[$names, .] | transpose | map({(.[0]): .[1]}) | add'

const unpacking: Readonly<Record<string, string>> = { '.gz': 'gzip -dc', '.zst': 'zstd -dc' }

/** Command that writes the result of a jq program on a file. */
function jq(file: string, program: string, { options = '-c', output = 'rows.jsonl' } = {}): string {
  const [unpack, name] = [unpacking[path.extname(file).toLowerCase()], commandWord(path.basename(file))]
  return unpack === undefined
    ? `jq ${options} ${commandWord(program)} ${name} > ${output}`
    : `${unpack} ${name} | jq ${options} ${commandWord(program)} > ${output}`
}

/** Refuses lists that hold lists, or lines that do. Errors: AppError 'data/invalid'. */
export async function requireObjects(file: DataFile): Promise<void> {
  const text = await beginningOf(file)
  const inner = /^\[\s*(\[)?\s*(.)?/s.exec(text)
  if (inner === null) return
  const [, opened, first] = inner
  const isByLine = opened === undefined && holdsListPerLine(text)
  if (opened === undefined && !isByLine) return
  const each = isByLine ? '' : '.[] | '
  throw invalidData(
    `${file.path} must hold objects, but holds ${isByLine ? 'a list on each line' : 'a list of lists'}, whose values have no names.`,
    first === '{'
      ? `If each is a conversation, name it: ${jq(file.path, `${each}{messages: .}`)}`
      : `Write a table and import that: ${jq(file.path, `${each}@csv`, { options: '-r', output: 'rows.csv' })}. Its first line must hold the names of the columns, such as question,answer.`,
  )
}

function holdsListPerLine(text: string): boolean {
  const [first = '', second = ''] = text.split('\n').filter((line) => line.trim() !== '')
  return second.trimStart().startsWith('[') && Array.isArray(parsedJson(first))
}

/**
 * Returns true if a text begins with an object that goes on in the next line, as programs write JSON to be read by
 * people.
 */
export function isOverSeveralLines(text: string): boolean {
  const [first = '', second = ''] = text.split('\n', 20).filter((line) => line.trim() !== '')
  const isBegun = /^\{\s*(?:"[^"]*"\s*:.*)?$/.test(first.trim()) && !first.trim().endsWith('}')
  return (
    isBegun && /^(?:"(?:[^"\\]|\\.)*"\s*:|[[\]{}])/.test(second.trim()) && !second.trim().startsWith('{"')
  )
}

/** Error for objects written over several lines in a file that should hold one per line. */
export const overSeveralLines = (file: string): AppError =>
  invalidData(
    `${file} must hold one JSON object per line, but its objects go over several lines.`,
    `Write each on one line: ${jq(file, '.')}`,
  )

/** Lists the values right under the document's object; null if the document is a list. */
async function topLevel(file: DataFile): Promise<readonly TopLevelValue[] | null> {
  const scanner = new TopLevelScanner()
  for await (const piece of textPieces(file)) {
    scanner.push(piece)
    if (scanner.isList) return null
  }
  return scanner.values
}

const [quote, backslash] = [0x22, 0x5c]
const longestKey = 200
const depthChanges: Readonly<Record<string, 1 | -1>> = { '{': 1, '[': 1, '}': -1, ']': -1 }

class TopLevelScanner {
  readonly values: TopLevelValue[] = []
  isList = false
  #depth = 0
  #inText = false
  #escaped = false
  /** The last text of the first level: a key where a colon follows. */
  #text: number[] = []
  /** The key of the value being read; null before its colon. */
  #key: string | null = null

  push(piece: Buffer): void {
    for (const byte of piece) {
      if (this.#inText) this.#inside(byte)
      else if (byte > 0x20) this.#outside(String.fromCharCode(byte))
      if (this.isList) return
    }
  }

  #inside(byte: number): void {
    if (this.#escaped) this.#escaped = false
    else if (byte === backslash) this.#escaped = true
    else if (byte === quote) this.#inText = false
    if (this.#inText && this.#depth <= 2 && this.#text.length < longestKey) this.#text.push(byte)
  }

  #outside(sign: string): void {
    this.isList = this.#depth === 0 && sign === '['
    if (this.#depth === 1) this.#atTop(sign)
    else if (this.#depth === 2) this.#inValue(sign)
    this.#inText = sign === '"'
    this.#depth += depthChanges[sign] ?? 0
  }

  #atTop(sign: string): void {
    if (this.#key === null) {
      if (sign === '"') this.#text = []
      if (sign === ':') this.#key = Buffer.from(this.#text).toString('utf8')
    } else if (sign === ',') this.#key = null
    else if (this.values.at(-1)?.key !== this.#key)
      this.values.push({ key: this.#key, opening: sign, count: 0, firstKey: null })
  }

  #inValue(sign: string): void {
    const current = this.values.at(-1)
    if (current?.opening === '{') this.#inObject(current, sign)
    else if (current?.opening.startsWith('[') === true && sign !== ']') this.#inList(current, sign)
  }

  /** Takes the first key. */
  #inObject(current: TopLevelValue, sign: string): void {
    if (sign === '"') this.#text = []
    if (sign === ':') current.firstKey ??= Buffer.from(this.#text).toString('utf8')
  }

  #inList(current: TopLevelValue, sign: string): void {
    if (current.count === 0 && sign === '{') current.opening = '[{'
    if (current.count === 0 || sign === ',') current.count++
  }
}
