import { AtomicFile } from '#host/files/atomic.ts'
import {
  alignedSize,
  defaultAlignment,
  type GgufArray,
  ggufMagic,
  type GgufNumberType,
  type GgufValue,
  ggufVersion,
  maxTensorNameBytes,
  tensorTypeNumber,
  valueTypes,
} from './gguf.ts'
import { dtypeBytes, elementCount, type TensorToWrite } from '#host/files/safetensors.ts'

export interface GgufToWrite {
  /** In this order. */
  readonly metadata: ReadonlyMap<string, GgufValue>
  /** In this order; shapes are row-major, as everywhere. */
  readonly tensors: readonly TensorToWrite[]
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

/** Writes a file whole or not at all. Errors: AppError 'file/unwritable'. */
export function writeGguf(path: string, { metadata, tensors }: GgufToWrite): void {
  const header = encodeHeader(metadata, tensors)
  using file = new AtomicFile(path)
  file.write(header)
  pad(file, header.length)
  for (const tensor of tensors) {
    const size = byteLength(tensor)
    let written = 0
    for (const piece of tensor.pieces()) {
      file.write(piece)
      written += piece.length
    }
    if (written !== size) throw new Error(`Expected ${size} bytes for “${tensor.name}”, got ${written}.`)
    pad(file, size)
  }
  file.commit()
}

const byteLength = ({ shape, dtype }: TensorToWrite): number => elementCount(shape) * dtypeBytes[dtype]

function pad(file: AtomicFile, size: number): void {
  file.write(new Uint8Array(alignedSize(size, defaultAlignment) - size))
}

function encodeHeader(
  metadata: ReadonlyMap<string, GgufValue>,
  tensors: readonly TensorToWrite[],
): Uint8Array {
  const bytes = new Bytes().u32(ggufMagic).u32(ggufVersion).u64(tensors.length).u64(metadata.size)
  for (const [key, value] of metadata) {
    bytes.text(key).u32(valueTypes[value.type])
    writeValue(bytes, value)
  }
  let offset = 0
  for (const tensor of tensors) {
    writePlace(bytes, tensor, offset)
    offset += alignedSize(byteLength(tensor), defaultAlignment)
  }
  return bytes.finish()
}

/** The fastest axis comes first: a row-major [rows, columns] has the dimensions [columns, rows]. */
function writePlace(bytes: Bytes, { name, dtype, shape }: TensorToWrite, offset: number): void {
  if (new TextEncoder().encode(name).length > maxTensorNameBytes) {
    throw new Error(`Expected a name of at most ${maxTensorNameBytes} bytes, got “${name}”.`)
  }
  bytes.text(name).u32(shape.length)
  for (const size of shape.toReversed()) bytes.u64(size)
  bytes.u32(tensorTypeNumber(dtype)).u64(offset)
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
