/**
 * Guards the library that reads Parquet files, which trusts what a file says about itself: bytes reach the library only
 * when everything that decides how much memory and time they take has been checked. Reading guide: `parquetThrift`
 * walks the structures, `parquetColumns` checks the footer, `parquetPages` the pages' headers and `parquetValues` their
 * encodings; `parquetCodecs` decompresses.
 */
import type { CompressionCodec, Compressors, FileMetaData } from 'hyparquet'
import { invalidData } from '#shared/errors.ts'
import { decompressPage } from './parquetCodecs.ts'
import { columnChunks, type ColumnChunk, type PlacedChunk } from './parquetColumns.ts'
import { pageAt, pagesOf, requireContent, requirePage, type Budget, type Page } from './parquetPages.ts'
import { walkStruct } from './parquetThrift.ts'

export interface Source {
  readonly byteLength: number
  slice(start: number, end?: number): Promise<ArrayBuffer>
}

export interface GuardedTable {
  readonly source: Source
  readonly compressors: Compressors
  /** Resets the count of decoded bytes: what was decoded before is no longer needed. */
  readonly startWindow: () => void
}

/** Limit on the decoded values of a window, in bytes. */
const maxWindowBytes = 3 * 2 ** 29
const maxFooterBytes = 1 << 28
const maxSchemaElements = 1 << 16
const magic = 0x31524150 // PAR1

/** Reads the file's footer and checks its structure. Errors: the problem, as a clause. */
export async function readFooter(source: Source): Promise<ArrayBuffer> {
  const { byteLength } = source
  const tail = new DataView(await source.slice(Math.max(0, byteLength - 8), byteLength))
  if (byteLength < 12 || tail.getUint32(4, true) !== magic)
    throw new Error('it does not end like a Parquet file')
  const length = tail.getUint32(0, true)
  if (length > Math.min(byteLength - 8, maxFooterBytes)) throw new Error('its footer is longer than the file')
  const footer = await source.slice(byteLength - 8 - length, byteLength)
  walkStruct(new Uint8Array(footer, 0, length), 0, {
    onList(path, size) {
      if (path === 2 && size > maxSchemaElements) throw new Error(`its schema has ${size} elements`)
    },
  })
  return footer
}

/**
 * Returns the file as `metadata` describes it, which is changed so that the library asks here. Errors: the problem, as
 * a clause.
 */
export function guardTable(source: Source, metadata: FileMetaData): GuardedTable {
  const places = columnChunks(metadata, source.byteLength)
  const budget = new WindowBudget()
  const compressors = nameCodecs(places, budget)
  for (const element of metadata.schema) {
    // Structures that refer to each other without an end; as columns they are bytes.
    if (element.logical_type?.type === 'VARIANT') delete element.logical_type
  }
  const chunks = places.map(({ chunk }) => chunk)
  const check = (bytes: Uint8Array, start: number): void => requireBytes(bytes, start, { chunks, budget })
  return {
    source: checked(source, check),
    compressors,
    startWindow: () => budget.startWindow(),
  }
}

function checked(source: Source, check: (bytes: Uint8Array, start: number) => void): Source {
  const read = async (start: number, end: number): Promise<ArrayBuffer> => {
    const buffer = await source.slice(start, end)
    check(new Uint8Array(buffer), start)
    return buffer
  }
  return {
    byteLength: source.byteLength,
    slice(start, end = source.byteLength) {
      const buffer = read(start, end)
      // The library may start several reads and wait for one; a failure of the others must not end the process.
      buffer.catch(() => undefined)
      return buffer
    },
  }
}

class WindowBudget implements Budget {
  #left = maxWindowBytes

  startWindow(): void {
    this.#left = maxWindowBytes
  }

  spend(bytes: number): void {
    this.#left -= bytes
    if (this.#left >= 0) return
    throw invalidData(
      `The Parquet file has a part of more than ${Math.round(maxWindowBytes / 1e6)} MB that would have to be read into memory as a whole.`,
      'Rewrite it with row groups of ten thousand rows or so, or with a page index.',
    )
  }
}

/**
 * The library calls a decompressor by the name of the codec alone; so each column gets a codec of its own, which knows
 * the column. That includes columns that are not compressed.
 */
function nameCodecs(places: readonly PlacedChunk[], budget: Budget): Compressors {
  return Object.fromEntries(
    places.map(({ chunk, meta }, index) => {
      const name = `column ${index}`
      meta.codec = name as CompressionCodec
      const find = pageFinder(chunk)
      const decompress = (input: Uint8Array, length: number): Uint8Array => {
        const page = find(input)
        const content = decompressPage(chunk.codec, input, length)
        requireContent(content, page, { chunk, budget })
        return content
      }
      return [name, decompress]
    }),
  )
}

/** Returns a function that finds the page of compressed bytes; they lie in a buffer that begins with a page. */
function pageFinder(chunk: ColumnChunk): (input: Uint8Array) => Page {
  const latest = new WeakMap<ArrayBufferLike, Page>()
  return ({ buffer, byteOffset }) => {
    const bytes = new Uint8Array(buffer)
    let page = latest.get(buffer)
    if (page === undefined || byteOffset < page.start) page = pageAt(bytes, 0, chunk)
    while (byteOffset > page.end) page = pageAt(bytes, page.end, chunk)
    latest.set(buffer, page)
    return page
  }
}

interface Checks {
  readonly chunks: readonly ColumnChunk[]
  readonly budget: Budget
}

/** Bytes from `start` on: of an index of pages, or of columns that lie one behind another. */
function requireBytes(bytes: Uint8Array, start: number, { chunks, budget }: Checks): void {
  const end = start + bytes.length
  const indexed = chunks.find(({ index }) => index?.start === start && index.end === end)
  if (indexed) {
    requireIndex(bytes, indexed)
    return
  }
  for (let at = firstEndingBehind(chunks, start); at < chunks.length; at++) {
    const chunk = chunks[at]
    if (chunk === undefined || chunk.start >= end) return
    const own = bytes.subarray(Math.max(0, chunk.start - start), chunk.end - start)
    for (const page of pagesOf(own, chunk)) requirePage(own, page, { chunk, budget })
  }
}

function firstEndingBehind(chunks: readonly ColumnChunk[], start: number): number {
  let low = 0
  let high = chunks.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((chunks[middle]?.end ?? Infinity) > start) high = middle
    else low = middle + 1
  }
  return low
}

/** Places of pages: in their column, one behind another, with rows that count up. */
function requireIndex(bytes: Uint8Array, { start, end, groupRows }: ColumnChunk): void {
  let count = 0
  const offsets: number[] = []
  const sizes: number[] = []
  const rows: number[] = []
  walkStruct(bytes, 0, {
    onList: (path, size) => (count = path === 1 ? size : count),
    onInteger(path, value) {
      if (path === 102) sizes.push(value)
    },
    onLong(path, value) {
      if (path === 101) offsets.push(Number(value))
      if (path === 103) rows.push(Number(value))
    },
  })
  const isSound = offsets.every((offset, at) => {
    const behind = offset + (sizes[at] ?? Number.NaN)
    const next = offsets[at + 1] ?? end
    return (
      offset >= start && behind > offset && behind <= next && (rows[at] ?? -1) <= (rows[at + 1] ?? groupRows)
    )
  })
  if (count === 0 || offsets.length !== count || sizes.length !== count || rows[0] !== 0 || !isSound) {
    throw new Error('its page index points elsewhere')
  }
}
