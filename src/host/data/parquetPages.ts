/** The pages of a column: their headers held against what is there, their levels and values walked before they are decoded. */
import { ByteReader, walkStruct } from './parquetThrift.ts'
import { mostBytes } from './parquetCodecs.ts'
import type { ColumnChunk } from './parquetColumns.ts'
import { prefixedBytes, walkDifferences, walkRuns } from './parquetValues.ts'

export interface Page {
  readonly kind: 'dictionary' | 'data' | 'data2'
  readonly values: number
  readonly encoding: number
  /** Bytes [start, end) behind the header, as they are in the file. */
  readonly start: number
  readonly end: number
  readonly uncompressedBytes: number
  /** Only in pages of the second kind, whose levels are never compressed. */
  readonly levels: {
    readonly nulls: number
    readonly repetitionBytes: number
    readonly definitionBytes: number
  }
  readonly isCompressed: boolean
}

/** What decoded values may take; spending more throws. */
export interface Budget {
  spend(bytes: number): void
}

const maxPageBytes = 1 << 28
/** Longer arrays are slow maps in the library's hands. */
const maxPageValues = 2 ** 24

/** By the numbers of the format: 0 data, 2 dictionary, 3 data of the second kind. */
const kinds: Readonly<Record<number, Page['kind']>> = { 0: 'data', 2: 'dictionary', 3: 'data2' }
const encodings = {
  plain: 0,
  plainDictionary: 2,
  rle: 3,
  delta: 5,
  deltaLengths: 6,
  deltaTexts: 7,
  dictionary: 8,
  split: 9,
}

/** The page whose header is at `at`. Errors: what is wrong, as a clause. */
export function pageAt(bytes: Uint8Array, at: number, chunk: ColumnChunk): Page {
  const facts = new Map<number, number>()
  const start = walkStruct(bytes, at, { onInteger: (path, value) => facts.set(path, value) })
  const count = (path: number): number => {
    const value = facts.get(path)
    if (value === undefined || value < 0) throw new Error('it has a page without a size')
    return value
  }
  const kind = kinds[facts.get(1) ?? -1]
  if (kind === undefined) throw new Error('it has a page of an unknown kind')
  const header = { data: 5, dictionary: 7, data2: 8 }[kind] * 100
  const isSecond = kind === 'data2'
  const page: Page = {
    kind,
    values: count(header + 1),
    encoding: isSecond ? count(804) : count(header + 2),
    start,
    end: start + count(3),
    uncompressedBytes: count(2),
    levels: {
      nulls: isSecond ? count(802) : 0,
      repetitionBytes: isSecond ? count(806) : 0,
      definitionBytes: isSecond ? count(805) : 0,
    },
    isCompressed: facts.get(807) !== 0,
  }
  if (isSecond && (chunk.isFlat ? count(803) !== page.values : count(803) > page.values)) throw badValues()
  requirePlausible(page, chunk, bytes.length)
  return page
}

const badValues = (): Error => new Error('it has more values than it says')

function requirePlausible(page: Page, chunk: ColumnChunk, size: number): void {
  const { values, levels, uncompressedBytes } = page
  const bytes = page.end - page.start
  if (page.end > size) throw new Error('it is cut short')
  if (uncompressedBytes > Math.min(maxPageBytes, mostBytes(chunk.codec, bytes))) {
    throw new Error(`it has a page that claims to be ${uncompressedBytes} bytes`)
  }
  // Eight values a byte are the most where each is written out.
  const most = page.kind === 'dictionary' ? 8 * uncompressedBytes : chunk.maxValues
  if (values > Math.min(most, maxPageValues))
    throw new Error(`it has a page that claims to have ${values} values`)
  const mayBeMissing = chunk.maxDefinition > 0
  if (levels.nulls > (mayBeMissing ? values : 0)) throw badValues()
  if (levels.repetitionBytes + levels.definitionBytes > Math.min(bytes, uncompressedBytes)) {
    throw new Error('it has a page without its values')
  }
}

/** Every page in these bytes, as far as the library reads them. Errors: what is wrong, as a clause. */
export function* pagesOf(bytes: Uint8Array, chunk: ColumnChunk): Generator<Page> {
  let values = 0
  for (let at = 0; at < bytes.length - 1;) {
    if (chunk.isFlat && values >= chunk.groupRows) return
    const page = pageAt(bytes, at, chunk)
    if (page.kind !== 'dictionary') values += page.values
    at = page.end
    yield page
  }
}

/** Bytes of a decoded value in an array of its own, and in an array per list. */
const flatValueBytes = 16
const nestedValueBytes = 32

/** What can be checked before anything is decompressed. `bytes` is what the page's places refer to. */
export function requirePage(
  bytes: Uint8Array,
  page: Page,
  { chunk, budget }: { chunk: ColumnChunk; budget: Budget },
): void {
  budget.spend(page.uncompressedBytes + page.values * (chunk.isFlat ? flatValueBytes : nestedValueBytes))
  if (page.kind !== 'data2') return
  const { repetitionBytes, definitionBytes } = page.levels
  const content = bytes.subarray(page.start, page.end)
  walkLevels(new ByteReader(content), chunk.maxRepetition, page.values)
  walkLevels(new ByteReader(content, repetitionBytes), chunk.maxDefinition, page.values)
  const levels = repetitionBytes + (chunk.maxDefinition > 0 ? definitionBytes : 0)
  if (!page.isCompressed) requireContent(content.subarray(levels), page, { chunk, budget })
}

/** A page's decompressed bytes: of the second kind without its levels. Errors: what is wrong, as a clause. */
export function requireContent(
  content: Uint8Array,
  page: Page,
  { chunk, budget }: { chunk: ColumnChunk; budget: Budget },
): void {
  if (page.kind === 'dictionary') return
  const reader = new ByteReader(content)
  const count =
    page.kind === 'data' ? valuesBehindLevels(reader, page, chunk) : page.values - page.levels.nulls
  requireValues(reader, page, { chunk, count, budget })
}

const bitsOf = (level: number): number => 32 - Math.clz32(level)

/** How many of the levels are the highest. */
const walkLevels = (reader: ByteReader, highest: number, count: number): number =>
  highest === 0 ? count : walkRuns(reader, { width: bitsOf(highest), count, wanted: highest })

function valuesBehindLevels(reader: ByteReader, page: Page, chunk: ColumnChunk): number {
  let count = page.values
  for (const highest of [chunk.maxRepetition, chunk.maxDefinition]) {
    if (highest === 0) continue
    const end = reader.uint32() + reader.at
    count = walkLevels(reader, highest, page.values)
    if (end > reader.bytes.length) throw new Error('it is cut short')
    reader.at = end
  }
  return chunk.maxDefinition > 0 ? count : page.values
}

interface Values {
  readonly chunk: ColumnChunk
  readonly count: number
  readonly budget: Budget
}

function requireValues(reader: ByteReader, page: Page, { chunk, count, budget }: Values): void {
  switch (page.encoding) {
    case encodings.plainDictionary:
    case encodings.dictionary:
    case encodings.rle:
      requireIndexes(reader, page, { chunk, count, budget })
      break
    case encodings.delta:
    case encodings.deltaLengths:
      walkDifferences(reader, count)
      break
    case encodings.deltaTexts:
      budget.spend(prefixedBytes(reader, count))
      break
    case encodings.split:
      if (count * chunk.typeBytes > reader.left) throw badValues()
  }
}

/** Places in the dictionary, or truth values. */
function requireIndexes(reader: ByteReader, page: Page, { chunk, count }: Values): void {
  const isTruth = page.kind === 'data' ? chunk.type === 'BOOLEAN' : page.encoding === encodings.rle
  if (isTruth) reader.skip(4) // the length
  const width = isTruth ? 1 : reader.byte()
  // Without bits, pages of the first kind have no runs either.
  if (width > 0 || page.kind === 'data2') walkRuns(reader, { width, count })
}
