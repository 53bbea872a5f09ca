/** JSON Lines: one object per line; empty lines are skipped. */
import { isUtf8 } from 'node:buffer'
import { isJsonObject, JsonSyntaxError, parseStrictJson } from '#host/files/strictJson.ts'
import { isProblem, type DataFile, type ReadItem } from './dataFile.ts'
import { numberNotes, parseKeepingDigits } from './jsonNumbers.ts'
import { notUtf8 } from './dataText.ts'
import { lineBlocks } from './lines.ts'

/** Yields rows in the order of the file, a block of lines at a time. */
export async function* readJsonLines(file: DataFile): AsyncGenerator<readonly ReadItem[]> {
  let [number, line] = [0, 0]
  const noteNumbers = numberNotes(file)
  for await (const block of lineBlocks(file)) {
    if (block === null) {
      yield [{ number: ++number, line: ++line, sentence: 'it is longer than 64 MiB' }]
      continue
    }
    const items: ReadItem[] = []
    const isText = isUtf8(block)
    for (const bytes of linesOf(block)) {
      line++
      if (isBlank(bytes)) continue
      const place = { number: ++number, line }
      if (!isText && !isUtf8(bytes)) {
        items.push({ ...place, sentence: notUtf8 })
        continue
      }
      const text = bytes.toString('utf8')
      const item = parseRow(text, place, bytes)
      if (!isProblem(item)) noteNumbers(text)
      items.push(item)
    }
    yield items
  }
}

function* linesOf(block: Buffer): Generator<Buffer> {
  for (let start = 0; start < block.length;) {
    const feed = block.indexOf(0x0a, start)
    const end = feed < 0 ? block.length : feed
    yield block.subarray(start, block[end - 1] === 0x0d ? end - 1 : end)
    start = end + 1
  }
}

const isBlank = (bytes: Buffer): boolean =>
  bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d)

/* One JSON text to one row, by the runtime's own parser: it is ten times as fast as a strict one. */

const maxDepth = 64

interface Place {
  readonly number: number
  readonly line: number | null
}

/** A row, or the problem it has, such as a key that appears twice. `source`: the bytes of the text. */
export function parseRow(text: string, { number, line }: Place, source?: Buffer): ReadItem {
  let row: unknown
  let isChanged = false
  try {
    ;({ value: row, isChanged } = parseKeepingDigits(text))
  } catch {
    return { number, line, sentence: `it is not valid JSON: ${reasonOf(text)}` }
  }
  if (!isJsonObject(row)) return { number, line, sentence: 'it is not a JSON object' }
  if (isDeeperThan(row, maxDepth)) {
    return { number, line, sentence: `it is nested deeper than ${maxDepth} levels` }
  }
  if (keysWritten(text) !== keysOf(row)) return { number, line, sentence: reasonOf(text) }
  return { number, line, row, ...(isChanged || source === undefined ? {} : { source }) }
}

/** Counts the keys in a text of JSON; a key that appears twice counts twice. */
function keysWritten(text: string): number {
  let count = 0
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at)) {
    at = endOfText(text, at + 1)
    while (/\s/.test(text[at] ?? '')) at++
    if (text[at] === ':') count++
  }
  return count
}

/** The place behind the closing quote. */
function endOfText(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end
    while (text[before - 1] === '\\') before--
    if ((end - before) % 2 === 0) return end + 1
  }
  return text.length
}

function keysOf(value: object): number {
  let count = Array.isArray(value) ? 0 : Object.keys(value).length
  for (const inner of Object.values(value) as unknown[])
    if (typeof inner === 'object' && inner !== null) count += keysOf(inner)
  return count
}

/**
 * Finds the reason why a text is not JSON, in the words of the strict parser; its demands beyond JSON do not count
 * here.
 */
function reasonOf(text: string): string {
  if (/(?<![\w"])(?:NaN|-?Infinity)(?![\w"])/.test(text)) return 'NaN and Infinity are not JSON numbers'
  try {
    parseStrictJson(Buffer.from(text, 'utf8'))
  } catch (error) {
    if (error instanceof JsonSyntaxError) return error.message
    throw error
  }
  return 'it cannot be read'
}

function isDeeperThan(value: object, levels: number): boolean {
  if (levels === 0) return true
  for (const inner of Object.values(value) as unknown[]) {
    if (typeof inner === 'object' && inner !== null && isDeeperThan(inner, levels - 1)) return true
  }
  return false
}
