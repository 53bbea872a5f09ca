import { isUtf8 } from 'node:buffer'
import { closeSync, fstatSync, openSync, realpathSync, readSync } from 'node:fs'
import { AppError, type ErrorCode } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'
import type { QuantizedDtype, TensorLocation } from '#engine/models/source.ts'
import { readError } from '#host/files/fileErrors.ts'
import { isQuantized } from '#host/files/safetensors.ts'
import { regularFileSize } from '#host/files/strictJson.ts'
import {
  alignedSize,
  alignmentKey,
  defaultAlignment,
  type GgufArray,
  type GgufBigType,
  ggufMagic,
  type GgufNumberType,
  type GgufType,
  type GgufValue,
  ggufVersion,
  maxDims,
  maxTensorNameBytes,
  tensorTypes,
  valueBytes,
  valueTypes,
} from './gguf.ts'

export interface GgufFile {
  /** Absolute, links resolved. */
  readonly file: string
  readonly metadata: ReadonlyMap<string, GgufValue>
  /** Tensors in the file's order; shapes are row-major. */
  readonly tensors: ReadonlyMap<string, TensorLocation>
  /** Tensors of types that are not read here: name → type. */
  readonly unreadable: ReadonlyMap<string, string>
}

/** Longest text that is read: a key, a name or a value such as a chat template. */
const maxTextBytes = 16 * 1024 * 1024
const maxKeyBytes = 65_535
const maxAlignment = 1 << 20

const typeOfNumber = new Map(
  Object.entries(valueTypes).map(([type, number]) => [number as number, type as GgufType]),
)
const tensorTypeOfNumber = new Map(tensorTypes.map((type) => [type.number, type]))

/**
 * Opens and checks a file without reading its tensors: every count, length, type and place, before anything is allocated
 * for it. Strict: no key or name twice, no holes, no overlap, nothing behind the last tensor. Errors: AppError
 * 'file/unreadable', or `code` for wrong content.
 */
export function openGguf(path: string, code: ErrorCode = 'adapter/invalid'): GgufFile {
  regularFileSize(path)
  try {
    const file = realpathSync(path)
    const handle = openSync(file, 'r')
    try {
      return readFile(file, new FileCursor(handle, fstatSync(handle).size))
    } finally {
      closeSync(handle)
    }
  } catch (error) {
    if (!(error instanceof GgufFormatError)) throw readError(path, error)
    throw new AppError(code, `${path} is not a valid GGUF file: ${error.message}.`)
  }
}

function readFile(file: string, cursor: FileCursor): GgufFile {
  if (cursor.rest < 24) throw new GgufFormatError(`it is ${cursor.size} bytes long, too short for a header`)
  if (cursor.u32() !== ggufMagic) throw new GgufFormatError('it does not begin with "GGUF"')
  const version = cursor.u32()
  if (version !== ggufVersion) {
    throw new GgufFormatError(`its version is ${version}; only version ${ggufVersion} can be read`)
  }
  const tensorCount = cursor.count('tensors', 8 + 1 + 4 + 8 + 4 + 8)
  const keyCount = cursor.count('keys', 8 + 1 + 4 + 1)
  const metadata = readMetadata(cursor, keyCount)
  const alignment = alignmentOf(metadata)
  const places = Array.from({ length: tensorCount }, () => readPlace(cursor))
  return { file, metadata, ...locate(file, cursor, places, alignment) }
}

function readMetadata(cursor: FileCursor, count: number): Map<string, GgufValue> {
  const metadata = new Map<string, GgufValue>()
  for (let index = 0; index < count; index++) {
    const key = cursor.text(`key ${index + 1}`, maxKeyBytes)
    if (key === '') throw new GgufFormatError(`key ${index + 1} is empty`)
    if (metadata.has(key)) throw new GgufFormatError(`the key “${shorten(key)}” appears twice`)
    metadata.set(key, readValue(cursor, key))
  }
  return metadata
}

function readType(cursor: FileCursor, key: string): GgufType {
  const number = cursor.u32()
  const type = typeOfNumber.get(number)
  if (type === undefined)
    throw new GgufFormatError(`the value of “${shorten(key)}” is of the unknown type ${number}`)
  return type
}

function readValue(cursor: FileCursor, key: string): GgufValue {
  const type = readType(cursor, key)
  switch (type) {
    case 'array':
      return readArray(cursor, key)
    case 'string':
      return { type, value: cursor.text(`the value of “${shorten(key)}”`, maxTextBytes) }
    case 'bool':
      return { type, value: readBool(cursor, key) === 1 }
    case 'uint64':
      return { type, value: cursor.take(8).readBigUInt64LE(0) }
    case 'int64':
      return { type, value: cursor.take(8).readBigInt64LE(0) }
    default:
      return { type, value: numberReaders[type](cursor.take(valueBytes[type])) }
  }
}

function readBool(cursor: FileCursor, key: string): number {
  const byte = cursor.take(1).readUInt8(0)
  if (byte > 1) throw new GgufFormatError(`the truth value of “${shorten(key)}” is ${byte}, not 0 or 1`)
  return byte
}

const numberReaders: Readonly<Record<GgufNumberType, (bytes: Buffer) => number>> = {
  uint8: (bytes) => bytes.readUInt8(0),
  int8: (bytes) => bytes.readInt8(0),
  uint16: (bytes) => bytes.readUInt16LE(0),
  int16: (bytes) => bytes.readInt16LE(0),
  uint32: (bytes) => bytes.readUInt32LE(0),
  int32: (bytes) => bytes.readInt32LE(0),
  float32: (bytes) => bytes.readFloatLE(0),
  float64: (bytes) => bytes.readDoubleLE(0),
}

/** Arrays of the width of their type, so that they take no more memory than in the file. */
const typedArrays = {
  uint8: Uint8Array,
  int8: Int8Array,
  uint16: Uint16Array,
  int16: Int16Array,
  uint32: Uint32Array,
  int32: Int32Array,
  float32: Float32Array,
  float64: Float64Array,
} as const

function readArray(cursor: FileCursor, key: string): GgufArray {
  const of = readType(cursor, key)
  if (of === 'array') throw new GgufFormatError(`the value of “${shorten(key)}” is a list of lists`)
  const count = cursor.count(`items of “${shorten(key)}”`, valueBytes[of])
  switch (of) {
    case 'string': {
      const what = `an item of “${shorten(key)}”`
      return {
        type: 'array',
        of,
        items: Array.from({ length: count }, () => cursor.text(what, maxTextBytes)),
      }
    }
    case 'bool':
      return { type: 'array', of, items: fillFrom(new Uint8Array(count), () => readBool(cursor, key)) }
    case 'uint64':
    case 'int64':
      return { type: 'array', of, items: readBigs(cursor, of, count) }
    default:
      return { type: 'array', of, items: readNumbers(cursor, of, count) }
  }
}

function readNumbers(cursor: FileCursor, of: GgufNumberType, count: number): ArrayLike<number> {
  const read = numberReaders[of]
  return fillFrom(new typedArrays[of](count), () => read(cursor.take(valueBytes[of])))
}

function readBigs(cursor: FileCursor, of: GgufBigType, count: number): ArrayLike<bigint> {
  const items = of === 'uint64' ? new BigUint64Array(count) : new BigInt64Array(count)
  for (let index = 0; index < count; index++) items[index] = cursor.take(8).readBigUInt64LE(0)
  return items
}

function fillFrom<Items extends { readonly length: number; [index: number]: number }>(
  items: Items,
  next: () => number,
): Items {
  for (let index = 0; index < items.length; index++) items[index] = next()
  return items
}

function alignmentOf(metadata: ReadonlyMap<string, GgufValue>): number {
  const given = metadata.get(alignmentKey)
  if (given === undefined) return defaultAlignment
  const { type, value } = given as { readonly type: GgufType; readonly value?: unknown }
  const isPower = typeof value === 'number' && value > 0 && (value & (value - 1)) === 0
  if (type !== 'uint32' || !isPower || value < 8 || value > maxAlignment) {
    throw new GgufFormatError(`its ${alignmentKey} is not a power of two from 8 to ${maxAlignment}`)
  }
  return value
}

interface Place {
  readonly name: string
  /** Row-major. */
  readonly shape: readonly number[]
  readonly type: string
  readonly byteLength: number
  /** Offset from the start of the data. */
  readonly offset: number
}

function readPlace(cursor: FileCursor): Place {
  const name = cursor.text('the name of a tensor', maxTensorNameBytes)
  const label = `tensor “${shorten(name)}”`
  const rank = cursor.u32()
  if (rank < 1 || rank > maxDims) throw new GgufFormatError(`${label} has ${rank} dimensions`)
  const dims = Array.from({ length: rank }, () => cursor.u64(`a dimension of ${label}`))
  if (dims.includes(0)) throw new GgufFormatError(`${label} has a dimension of 0`)
  const number = cursor.u32()
  const type = tensorTypeOfNumber.get(number)
  if (type === undefined) throw new GgufFormatError(`${label} has the unknown type ${number}`)
  const byteLength = sizeOf(dims, type.block, label, cursor.size)
  return {
    name,
    shape: dims.reverse(),
    type: type.name,
    byteLength,
    offset: cursor.u64(`the offset of ${label}`),
  }
}

/** Number of elements; a BigInt, since a product of dimensions can exceed what a number holds exactly. */
function sizeOf(
  dims: readonly number[],
  [elements, bytes]: readonly [number, number],
  label: string,
  fileSize: number,
): number {
  if ((dims[0] ?? 0) % elements !== 0) {
    throw new GgufFormatError(`the row length of ${label} is not a multiple of its block size ${elements}`)
  }
  const count = dims.reduce((product, size) => product * BigInt(size), 1n)
  const size = (count / BigInt(elements)) * BigInt(bytes)
  if (size > BigInt(fileSize))
    throw new GgufFormatError(`${label} claims ${size} bytes in a file of ${fileSize}`)
  return Number(size)
}

/**
 * Places the tensors: each must begin where the one before it ends, padded; the file may end with or without the last
 * padding.
 */
function locate(
  file: string,
  cursor: FileCursor,
  places: readonly Place[],
  alignment: number,
): Pick<GgufFile, 'tensors' | 'unreadable'> {
  const dataStart = alignedSize(cursor.position, alignment)
  const tensors = new Map<string, TensorLocation>()
  const unreadable = new Map<string, string>()
  let [expected, end] = [0, cursor.position]
  for (const { name, shape, type, byteLength, offset } of places) {
    if (tensors.has(name) || unreadable.has(name)) {
      throw new GgufFormatError(`the tensor “${shorten(name)}” appears twice`)
    }
    if (offset !== expected) {
      throw new GgufFormatError(`tensor “${shorten(name)}” is at offset ${offset}, expected ${expected}`)
    }
    end = dataStart + offset + byteLength
    expected = alignedSize(offset + byteLength, alignment)
    if (isRead(type)) {
      tensors.set(name, { file, offset: dataStart + offset, byteLength, dtype: type, shape })
    } else unreadable.set(name, type)
  }
  const whole = places.length === 0 ? dataStart : dataStart + expected
  if (cursor.size !== end && cursor.size !== whole) {
    throw new GgufFormatError(`it is ${cursor.size} bytes long, but its contents end at byte ${end}`)
  }
  return { tensors, unreadable }
}

const isRead = (type: string): type is 'F32' | 'F16' | 'BF16' | QuantizedDtype =>
  type === 'F32' || type === 'F16' || type === 'BF16' || isQuantized(type)

/** Error with a reason; `openGguf` adds the file's name. */
class GgufFormatError extends Error {}

const windowBytes = 1 << 16

/** Reads a file from front to back through a small window. */
class FileCursor {
  readonly size: number
  #position = 0
  #window = Buffer.alloc(0)
  #windowStart = 0
  readonly #handle: number

  constructor(handle: number, size: number) {
    this.#handle = handle
    this.size = size
  }

  get position(): number {
    return this.#position
  }

  get rest(): number {
    return this.size - this.#position
  }

  /** The next bytes, valid until the next call. */
  take(count: number): Buffer {
    if (count > this.rest) throw new GgufFormatError(`it ends early, at byte ${this.size}`)
    const start = this.#position - this.#windowStart
    if (start + count > this.#window.length) this.#fill(Math.max(count, windowBytes))
    const from = this.#position - this.#windowStart
    this.#position += count
    return this.#window.subarray(from, from + count)
  }

  #fill(wanted: number): void {
    const bytes = Buffer.alloc(Math.min(wanted, this.rest))
    for (let done = 0; done < bytes.length;) {
      const read = readSync(this.#handle, bytes, done, bytes.length - done, this.#position + done)
      if (read === 0) throw new GgufFormatError('it was truncated while being read')
      done += read
    }
    this.#window = bytes
    this.#windowStart = this.#position
  }

  u32(): number {
    return this.take(4).readUInt32LE(0)
  }

  /** A count or a place, which a number must hold exactly. */
  u64(what: string): number {
    const bytes = this.take(8)
    const high = bytes.readUInt32LE(4)
    if (high >= 1 << 21) throw new GgufFormatError(`${what} is ${bytes.readBigUInt64LE(0)}, too large`)
    return high * 2 ** 32 + bytes.readUInt32LE(0)
  }

  /** A count of things that take at least `least` bytes each. */
  count(what: string, least: number): number {
    const count = this.u64(`the number of ${what}`)
    if (count > this.rest / least) {
      throw new GgufFormatError(`it claims ${count} ${what}, too many for the remaining ${this.rest} bytes`)
    }
    return count
  }

  text(what: string, maxBytes: number): string {
    const length = this.u64(`the length of ${what}`)
    if (length > maxBytes) throw new GgufFormatError(`${what} is ${length} bytes long, more than ${maxBytes}`)
    const bytes = this.take(length)
    const text = bytes.toString('utf8')
    // The mark of an invalid byte, or itself part of the text: a vocabulary has hundreds of thousands of texts, so only
    // these are looked at twice.
    if (text.includes('\ufffd') && !isUtf8(bytes)) throw new GgufFormatError(`${what} is not valid UTF-8`)
    return text
  }
}
