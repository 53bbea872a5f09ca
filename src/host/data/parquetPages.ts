/** The pages of a column: checks their headers against the data, and walks levels and values before they are decoded. */
import { ByteReader, walkStruct } from './parquetThrift.ts'
import { maxOutputBytes } from './parquetCodecs.ts'
import type { ColumnChunk } from './parquetColumns.ts'

export interface Page {
  readonly kind: 'dictionary' | 'data' | 'data2'
  readonly values: number
  readonly encoding: number
  /** Bytes [start, end) behind the header, as they are in the file. */
  readonly start: number
  readonly end: number
  readonly uncompressedBytes: number
  /** Levels, only in version-2 data pages, where they are never compressed. */
  readonly levels: {
    readonly nulls: number
    readonly repetitionBytes: number
    readonly definitionBytes: number
  }
  readonly isCompressed: boolean
}

/** Limit on the decoded values; spending more throws. */
export interface Budget {
  spend(bytes: number): void
}

const maxPageBytes = 1 << 28
/** Most values of a page: longer arrays become slow maps in the library. */
const maxPageValues = 2 ** 24

/** Page kinds by the numbers of the format: 0 data, 2 dictionary, 3 data of version 2. */
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

/** Reads the page whose header is at `at`. Errors: the problem, as a clause. */
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
  if (page.end > size) throw new Error('it ends early')
  if (uncompressedBytes > Math.min(maxPageBytes, maxOutputBytes(chunk.codec, bytes))) {
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

/** Yields every page in these bytes, as far as the library reads them. Errors: the problem, as a clause. */
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

/** Checks everything that can be checked before anything is decompressed. The page's offsets refer to `bytes`. */
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

/** Checks a page's decompressed bytes; those of version 2 lack the levels. Errors: the problem, as a clause. */
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

/** Counts the levels that equal the highest one. */
const walkLevels = (reader: ByteReader, highest: number, count: number): number =>
  highest === 0 ? count : walkRuns(reader, { width: bitsOf(highest), count, wanted: highest })

function valuesBehindLevels(reader: ByteReader, page: Page, chunk: ColumnChunk): number {
  let count = page.values
  for (const highest of [chunk.maxRepetition, chunk.maxDefinition]) {
    if (highest === 0) continue
    const end = reader.uint32() + reader.at
    count = walkLevels(reader, highest, page.values)
    if (end > reader.bytes.length) throw new Error('it ends early')
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

/* The encodings of a page's levels and values, walked without decoding: the library writes as many values as a run
 * claims, and steps as far as a block of differences says, backwards too. */

interface Runs {
  /** Bits of each value. */
  readonly width: number
  /** Number of values that there must be. */
  readonly count: number
  /** Value whose occurrences are counted. */
  readonly wanted?: number
}

/**
 * Walks runs of equal values and of packed ones, and counts how often `wanted` occurs. Errors: the problem, as a
 * clause.
 */
function walkRuns(reader: ByteReader, { width, count, wanted = -1 }: Runs): number {
  if (width > 32) throw new Error('it has values wider than 32 bits')
  let seen = 0
  let found = 0
  while (seen < count) {
    const head = reader.varint32()
    const left = count - seen
    if ((head & 1) === 0) {
      const length = head >>> 1
      requireRun(length, left)
      if (runValue(reader, width) === wanted) found += Math.min(length, left)
      seen += length
    } else {
      const length = (head >>> 1) * 8
      if (width === 0) requireRun(length, left)
      const start = reader.at
      // A byte is read even where nothing is packed in it.
      reader.skip(Math.min(reader.left, Math.max(1, Math.ceil((length * width) / 8))))
      if (wanted >= 0)
        found += countPacked(reader.bytes.subarray(start), { width, count: Math.min(length, left), wanted })
      seen += length
    }
  }
  return found
}

/** Writers may fill up the last group of eight. */
function requireRun(length: number, left: number): void {
  if (length > left + 7) throw new Error('it has more values than it says')
}

function runValue(reader: ByteReader, width: number): number {
  let value = 0
  for (let bits = 0; bits < width; bits += 8) value |= reader.byte() << bits
  return value
}

function countPacked(bytes: Uint8Array, { width, count, wanted = -1 }: Runs): number {
  let found = 0
  const mask = 2 ** width - 1
  for (let index = 0; index < count; index++) {
    const bit = index * width
    const at = bit >> 3
    const value = (((bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8)) >> (bit & 7)) & mask
    if (value === wanted) found++
  }
  return found
}

/** Walks blocks of packed differences between `count` numbers; passes each number to `tell` in turn. */
function walkDifferences(reader: ByteReader, count: number, tell?: (value: number) => void): void {
  const { parts, size } = readBlockShape(reader)
  let value = lowBits(reader.zigZag64())
  if (count > 0) tell?.(value)
  for (let left = count - 1; left > 0;) {
    const least = lowBits(reader.zigZag64())
    const widths = reader.at
    reader.skip(parts)
    for (let part = 0; part < parts && left > 0; part++) {
      const width = reader.bytes[widths + part] ?? 0
      if (width > 64) throw new Error('it has values wider than 64 bits')
      const length = Math.min(size, left)
      if (tell) value = tellSums(reader, { width, length, least, value }, tell)
      left -= length
      // The last part may be cut off where its values end.
      const bytes = (size * width) / 8
      reader.skip(left > 0 ? bytes : Math.min(bytes, reader.left))
    }
  }
}

/** Reads the number of parts of a block, and of values in a part. */
function readBlockShape(reader: ByteReader): { readonly parts: number; readonly size: number } {
  const blockSize = reader.varint32()
  const parts = reader.varint32()
  reader.varint32() // the number of values, which the page's header says too
  const size = blockSize / parts
  if (!(blockSize > 0 && parts > 0 && size % 32 === 0)) throw new Error('it has blocks of an invalid size')
  return { parts, size }
}

const lowBits = (value: bigint): number => Number(BigInt.asIntN(32, value))

interface Differences {
  readonly width: number
  readonly length: number
  /** Least difference, which was subtracted from all of them. */
  readonly least: number
  /** The number before them. */
  readonly value: number
}

/** The last of the numbers that these differences lead to. */
function tellSums(reader: ByteReader, part: Differences, tell: (value: number) => void): number {
  let { value } = part
  for (let index = 0; index < part.length; index++) {
    value = (value + part.least + packed(reader, index * part.width, part.width)) | 0
    tell(value)
  }
  return value
}

/** The lower 32 bits of a packed number that begins `bit` bits behind the reader. */
function packed({ bytes, at }: ByteReader, bit: number, width: number): number {
  let value = 0
  for (let taken = 0; taken < Math.min(32, width);) {
    const place = bit + taken
    const bits = Math.min(8 - (place & 7), width - taken)
    const byte = bytes[at + (place >> 3)] ?? 0
    value |= ((byte >> (place & 7)) & ((1 << bits) - 1)) << taken
    taken += bits
  }
  return value
}

/**
 * Byte strings that begin as the one before them does: bytes they take when written out, which can be far more than the
 * page has.
 */
function prefixedBytes(reader: ByteReader, count: number): number {
  const prefixes = new Int32Array(count)
  let told = 0
  walkDifferences(reader, count, (length) => (prefixes[told++] = length))
  let total = 0
  let before = 0
  told = 0
  walkDifferences(reader, count, (length) => {
    const prefix = prefixes[told++] ?? 0
    if (prefix < 0 || prefix > before || length < 0) throw new Error('it has texts of an invalid length')
    before = prefix + length
    total += before
  })
  return total
}
