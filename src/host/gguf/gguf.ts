/**
 * GGUF version 3, the file format of llama.cpp: `magic, version, counts, key/values, tensor places, padding, data`, all
 * little-endian. This file has the constants and types and writes a file; `ggufReader.ts` reads and
 * validates one, `ggufModel.ts` opens a base model, `adapters/ggufLora.ts` maps LoRA adapters. Format: ggml's docs/gguf.md.
 */
import type { QuantizedDtype, TensorDtype } from '#engine/models/source.ts'
import { AtomicFile } from '#host/files/atomic.ts'
import { elementCount, type TensorToWrite } from '#host/files/safetensors.ts'

export const ggufMagic = 0x46554747 // 'GGUF'
export const ggufVersion = 3
export const defaultAlignment = 32
export const alignmentKey = 'general.alignment'
/** ggml keeps names in 64 bytes, the last of them zero. */
export const maxTensorNameBytes = 63
export const maxDims = 4

/** The format's numbers for the types of values. */
export const valueTypes = {
  uint8: 0,
  int8: 1,
  uint16: 2,
  int16: 3,
  uint32: 4,
  int32: 5,
  float32: 6,
  bool: 7,
  string: 8,
  array: 9,
  uint64: 10,
  int64: 11,
  float64: 12,
} as const

export type GgufType = keyof typeof valueTypes
export type GgufNumberType = Exclude<GgufType, 'bool' | 'string' | 'array' | 'uint64' | 'int64'>
export type GgufBigType = 'uint64' | 'int64'

interface Scalar<Type extends GgufType, Value> {
  readonly type: Type
  readonly value: Value
}

interface List<Type extends GgufType, Items> {
  readonly type: 'array'
  readonly of: Type
  readonly items: Items
}

export type GgufValue =
  | { [Type in GgufNumberType]: Scalar<Type, number> }[GgufNumberType]
  | { [Type in GgufBigType]: Scalar<Type, bigint> }[GgufBigType]
  | Scalar<'bool', boolean>
  | Scalar<'string', string>
  | GgufArray

export type GgufArray =
  | { [Type in GgufNumberType]: List<Type, ArrayLike<number>> }[GgufNumberType]
  | { [Type in GgufBigType]: List<Type, ArrayLike<bigint>> }[GgufBigType]
  /** 1 and 0. */
  | List<'bool', ArrayLike<number>>
  | List<'string', readonly string[]>

/** Bytes of one value; of a string, those of its length. */
export const valueBytes: Readonly<Record<Exclude<GgufType, 'array'>, number>> = {
  uint8: 1,
  int8: 1,
  uint16: 2,
  int16: 2,
  uint32: 4,
  int32: 4,
  float32: 4,
  bool: 1,
  string: 8,
  uint64: 8,
  int64: 8,
  float64: 8,
}

interface TensorType {
  readonly number: number
  readonly name: string
  /** Elements and bytes of a block. */
  readonly block: readonly [elements: number, bytes: number]
}

/** Types of ggml's tensors: those that are read, then those that are only known by name. */
export const tensorTypes: readonly TensorType[] = [
  { number: 0, name: 'F32', block: [1, 4] },
  { number: 1, name: 'F16', block: [1, 2] },
  { number: 30, name: 'BF16', block: [1, 2] },
  { number: 2, name: 'Q4_0', block: [32, 18] },
  { number: 3, name: 'Q4_1', block: [32, 20] },
  { number: 6, name: 'Q5_0', block: [32, 22] },
  { number: 7, name: 'Q5_1', block: [32, 24] },
  { number: 8, name: 'Q8_0', block: [32, 34] },
  { number: 12, name: 'Q4_K', block: [256, 144] },
  { number: 13, name: 'Q5_K', block: [256, 176] },
  { number: 14, name: 'Q6_K', block: [256, 210] },
  { number: 20, name: 'IQ4_NL', block: [32, 18] },
  { number: 39, name: 'MXFP4', block: [32, 17] },
  { number: 10, name: 'Q2_K', block: [256, 84] },
  { number: 11, name: 'Q3_K', block: [256, 110] },
  { number: 16, name: 'IQ2_XXS', block: [256, 66] },
  { number: 17, name: 'IQ2_XS', block: [256, 74] },
  { number: 18, name: 'IQ3_XXS', block: [256, 98] },
  { number: 19, name: 'IQ1_S', block: [256, 50] },
  { number: 21, name: 'IQ3_S', block: [256, 110] },
  { number: 22, name: 'IQ2_S', block: [256, 82] },
  { number: 23, name: 'IQ4_XS', block: [256, 136] },
  { number: 24, name: 'I8', block: [1, 1] },
  { number: 25, name: 'I16', block: [1, 2] },
  { number: 26, name: 'I32', block: [1, 4] },
  { number: 27, name: 'I64', block: [1, 8] },
  { number: 28, name: 'F64', block: [1, 8] },
  { number: 29, name: 'IQ1_M', block: [256, 56] },
  { number: 34, name: 'TQ1_0', block: [256, 54] },
  { number: 35, name: 'TQ2_0', block: [256, 66] },
]

/** Errors: Error for U8. */
function tensorType(dtype: GgufTensor['dtype']): TensorType {
  const type = tensorTypes.find(({ name }) => name === dtype)
  if (!type) throw new Error(`Expected a type of ggml, got ${dtype}.`)
  return type
}

/** Blocks are written as they come. */
export interface GgufTensor extends Omit<TensorToWrite, 'dtype'> {
  readonly dtype: TensorDtype | QuantizedDtype
}

/** The next multiple of `alignment`. */
export const alignedSize = (size: number, alignment: number): number =>
  Math.ceil(size / alignment) * alignment

export interface GgufToWrite {
  /** Metadata, written in this order. */
  readonly metadata: ReadonlyMap<string, GgufValue>
  /** Tensors, written in this order; shapes are row-major, as everywhere. */
  readonly tensors: readonly GgufTensor[]
}

/** Little-endian bytes, one behind the other. */
class Bytes {
  readonly #parts: Uint8Array[] = []

  add(size: number, write: (view: DataView) => void): this {
    const part = new Uint8Array(size)
    write(new DataView(part.buffer))
    this.#parts.push(part)
    return this
  }

  u32(value: number): this {
    return this.add(4, (view) => {
      view.setUint32(0, value, true)
    })
  }

  u64(value: number): this {
    return this.add(8, (view) => {
      view.setBigUint64(0, BigInt(value), true)
    })
  }

  text(value: string): this {
    const bytes = new TextEncoder().encode(value)
    this.u64(bytes.length)
    this.#parts.push(bytes)
    return this
  }

  finish(): Uint8Array {
    return Buffer.concat(this.#parts)
  }
}

/** Writes a small file completely or not at all. Errors: AppError 'file/unwritable'. */
export function writeGguf(path: string, content: GgufToWrite): void {
  using file = new AtomicFile(path)
  for (const piece of filePieces(content)) file.write(piece)
  file.commit()
}

/**
 * The same for a large file, whose tensors come piece by piece; other work of the process goes on between them. Errors:
 * AppError 'file/unwritable'.
 */
export async function streamGguf(
  path: string,
  content: GgufToWrite,
  onProgress: (writtenBytes: number) => void,
): Promise<void> {
  using file = new AtomicFile(path)
  let written = 0
  for (const piece of filePieces(content)) {
    file.write(piece)
    written += piece.length
    onProgress(written)
    await new Promise((resolve) => setImmediate(resolve)) // the progress has to get out
  }
  file.commit()
}

function* filePieces({ metadata, tensors }: GgufToWrite): Generator<Uint8Array> {
  const header = encodeHeader(metadata, tensors)
  yield header
  yield padding(header.length)
  for (const tensor of tensors) {
    const size = ggufTensorBytes(tensor)
    let written = 0
    for (const piece of tensor.pieces()) {
      yield piece
      written += piece.length
    }
    if (written !== size) throw new Error(`Expected ${size} bytes for “${tensor.name}”, got ${written}.`)
    yield padding(size)
  }
}

export function ggufTensorBytes({ shape, dtype }: Pick<GgufTensor, 'shape' | 'dtype'>): number {
  const [elements, bytes] = tensorType(dtype).block
  return (elementCount(shape) / elements) * bytes
}

const padding = (size: number): Uint8Array => new Uint8Array(alignedSize(size, defaultAlignment) - size)

function encodeHeader(metadata: ReadonlyMap<string, GgufValue>, tensors: readonly GgufTensor[]): Uint8Array {
  const bytes = new Bytes().u32(ggufMagic).u32(ggufVersion).u64(tensors.length).u64(metadata.size)
  for (const [key, value] of metadata) {
    bytes.text(key).u32(valueTypes[value.type])
    writeValue(bytes, value)
  }
  let offset = 0
  for (const tensor of tensors) {
    writePlace(bytes, tensor, offset)
    offset += alignedSize(ggufTensorBytes(tensor), defaultAlignment)
  }
  return bytes.finish()
}

/** The fastest axis comes first: a row-major [rows, columns] has the dimensions [columns, rows]. */
function writePlace(bytes: Bytes, { name, dtype, shape }: GgufTensor, offset: number): void {
  if (new TextEncoder().encode(name).length > maxTensorNameBytes) {
    throw new Error(`Expected a name of at most ${maxTensorNameBytes} bytes, got “${name}”.`)
  }
  bytes.text(name).u32(shape.length)
  for (const size of shape.toReversed()) bytes.u64(size)
  bytes.u32(tensorType(dtype).number).u64(offset)
}

function writeValue(bytes: Bytes, value: GgufValue): void {
  if (value.type === 'array') writeArray(bytes, value)
  else if (value.type === 'string') bytes.text(value.value)
  else if (value.type === 'bool') writeNumber(bytes, 'uint8', Number(value.value))
  else if (value.type === 'uint64' || value.type === 'int64') writeBig(bytes, value.value)
  else writeNumber(bytes, value.type, value.value)
}

function writeArray(bytes: Bytes, array: GgufArray): void {
  bytes.u32(valueTypes[array.of]).u64(array.items.length)
  if (array.of === 'string') for (const item of array.items) bytes.text(item)
  else if (array.of === 'uint64' || array.of === 'int64') {
    for (const item of Array.from(array.items)) writeBig(bytes, item)
  } else {
    const type = array.of === 'bool' ? 'uint8' : array.of
    for (const item of Array.from(array.items)) writeNumber(bytes, type, item)
  }
}

const writeBig = (bytes: Bytes, value: bigint): void =>
  void bytes.add(8, (view) => {
    view.setBigUint64(0, BigInt.asUintN(64, value), true)
  })

type NumberWriter = readonly [size: number, write: (view: DataView, value: number) => void]

const numberWriters: Readonly<Record<GgufNumberType, NumberWriter>> = {
  uint8: [1, (view, value) => view.setUint8(0, value)],
  int8: [1, (view, value) => view.setInt8(0, value)],
  uint16: [2, (view, value) => view.setUint16(0, value, true)],
  int16: [2, (view, value) => view.setInt16(0, value, true)],
  uint32: [4, (view, value) => view.setUint32(0, value, true)],
  int32: [4, (view, value) => view.setInt32(0, value, true)],
  float32: [4, (view, value) => view.setFloat32(0, value, true)],
  float64: [8, (view, value) => view.setFloat64(0, value, true)],
}

function writeNumber(bytes: Bytes, type: GgufNumberType, value: number): void {
  const [size, write] = numberWriters[type]
  bytes.add(size, (view) => {
    write(view, value)
  })
}
