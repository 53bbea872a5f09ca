/**
 * The encodings of a page's levels and values, walked without decoding: the library writes as many values as a run
 * claims, and steps as far as a block of differences says, backwards too.
 */
import type { ByteReader } from './parquetThrift.ts'

export interface Runs {
  /** Bits of each value. */
  readonly width: number
  /** Values there must be. */
  readonly count: number
  /** Value whose occurrences are counted. */
  readonly wanted?: number
}

/** Runs of equal values and of packed ones; says how often `wanted` occurs. Errors: what is wrong, as a clause. */
export function walkRuns(reader: ByteReader, { width, count, wanted = -1 }: Runs): number {
  if (width > 32) throw new Error('it has values of more than 32 bits')
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

/** Blocks of packed differences between `count` numbers; each number in turn is told to `tell`. */
export function walkDifferences(reader: ByteReader, count: number, tell?: (value: number) => void): void {
  const { parts, size } = readBlockShape(reader)
  let value = lowBits(reader.zigZag64())
  if (count > 0) tell?.(value)
  for (let left = count - 1; left > 0;) {
    const least = lowBits(reader.zigZag64())
    const widths = reader.at
    reader.skip(parts)
    for (let part = 0; part < parts && left > 0; part++) {
      const width = reader.bytes[widths + part] ?? 0
      if (width > 64) throw new Error('it has values of more than 64 bits')
      const length = Math.min(size, left)
      if (tell) value = tellSums(reader, { width, length, least, value }, tell)
      left -= length
      // The last part may be cut off where its values end.
      const bytes = (size * width) / 8
      reader.skip(left > 0 ? bytes : Math.min(bytes, reader.left))
    }
  }
}

/** Parts of a block, and values of a part. */
function readBlockShape(reader: ByteReader): { readonly parts: number; readonly size: number } {
  const blockSize = reader.varint32()
  const parts = reader.varint32()
  reader.varint32() // the number of values, which the page's header says too
  const size = blockSize / parts
  if (!(blockSize > 0 && parts > 0 && size % 32 === 0)) throw new Error('it has blocks of no sensible size')
  return { parts, size }
}

const lowBits = (value: bigint): number => Number(BigInt.asIntN(32, value))

interface Differences {
  readonly width: number
  readonly length: number
  /** What all of them have in common. */
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
export function prefixedBytes(reader: ByteReader, count: number): number {
  const prefixes = new Int32Array(count)
  let told = 0
  walkDifferences(reader, count, (length) => (prefixes[told++] = length))
  let total = 0
  let before = 0
  told = 0
  walkDifferences(reader, count, (length) => {
    const prefix = prefixes[told++] ?? 0
    if (prefix < 0 || prefix > before || length < 0) throw new Error('it has texts of no sensible length')
    before = prefix + length
    total += before
  })
  return total
}
