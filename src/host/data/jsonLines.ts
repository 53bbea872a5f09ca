/** JSON Lines: one object per line; empty lines are no rows. */
import { isUtf8 } from 'node:buffer'
import { isProblem, lineBlocks, type DataFile, type ReadItem } from './dataFile.ts'
import { parseRow } from './parseRow.ts'

/** Rows in the order of the file, a block of lines at a time. */
export async function* readJsonLines(file: DataFile): AsyncGenerator<readonly ReadItem[]> {
  let [number, line] = [0, 0]
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
      const isReadable = isText || isUtf8(bytes)
      items.push(readLine(isReadable ? bytes : null, { number: ++number, line }))
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

function readLine(bytes: Buffer | null, place: { readonly number: number; readonly line: number }): ReadItem {
  if (bytes === null) return { ...place, sentence: 'it is not UTF-8 text' }
  const item = parseRow(bytes.toString('utf8'), place)
  return isProblem(item) ? item : { ...item, source: bytes }
}
