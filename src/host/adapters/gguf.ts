/**
 * GGUF version 3, the file format of llama.cpp: `magic, version, counts, key/values, tensor places, padding, data`, all
 * little-endian. Here are its words; `ggufWriter.ts` writes a file, `ggufReader.ts` reads one and believes nothing,
 * `ggufLora.ts` is what of it is a LoRA adapter. Format: ggml's docs/gguf.md.
 */
import type { TensorDtype } from '#engine/models/source.ts'

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

/** Bytes of one value; of a string, those that say how long it is. */
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

/** ggml's types of tensors whose size is known here; only the first three are read. */
export const tensorTypes: readonly TensorType[] = [
  { number: 0, name: 'F32', block: [1, 4] },
  { number: 1, name: 'F16', block: [1, 2] },
  { number: 30, name: 'BF16', block: [1, 2] },
  { number: 2, name: 'Q4_0', block: [32, 18] },
  { number: 3, name: 'Q4_1', block: [32, 20] },
  { number: 6, name: 'Q5_0', block: [32, 22] },
  { number: 7, name: 'Q5_1', block: [32, 24] },
  { number: 8, name: 'Q8_0', block: [32, 34] },
  { number: 10, name: 'Q2_K', block: [256, 84] },
  { number: 11, name: 'Q3_K', block: [256, 110] },
  { number: 12, name: 'Q4_K', block: [256, 144] },
  { number: 13, name: 'Q5_K', block: [256, 176] },
  { number: 14, name: 'Q6_K', block: [256, 210] },
  { number: 24, name: 'I8', block: [1, 1] },
  { number: 25, name: 'I16', block: [1, 2] },
  { number: 26, name: 'I32', block: [1, 4] },
  { number: 27, name: 'I64', block: [1, 8] },
  { number: 28, name: 'F64', block: [1, 8] },
]

/** ggml's number of a type that we write. Errors: Error for U8. */
export function tensorTypeNumber(dtype: TensorDtype): number {
  const type = tensorTypes.find(({ name }) => name === dtype)
  if (!type) throw new Error(`Expected a float type, got ${dtype}.`)
  return type.number
}

/** The next multiple of `alignment`. */
export const alignedSize = (size: number, alignment: number): number =>
  Math.ceil(size / alignment) * alignment
