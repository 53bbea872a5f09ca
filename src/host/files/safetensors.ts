/**
 * Files on disk for models and adapters. Start here, then in `models/` `modelFolder.ts` (a Hugging Face folder, checked
 * against its config) · `weightCache.ts` and `int8Cache.ts` (weights converted once) · `randomModel.ts` (models with
 * random weights); in `adapters/` `peft.ts`; here `atomic.ts` (how anything is written). Nothing a file claims is believed before it is checked, and nothing is ever unpickled.
 */
import { closeSync, fstatSync, openSync, readSync, realpathSync } from 'node:fs'
import { AppError, type ErrorCode } from '#shared/errors.ts'
import type { NamedTensor, QuantizedDtype, TensorDtype, TensorLocation } from '#engine/models/source.ts'
import { blockLayouts, dequantize, mxfp4Block, widenMxfp4 } from './dequantize.ts'
import { AtomicFile } from './atomic.ts'
import { readError } from './fileErrors.ts'
import { bf16ToF32, f16ToF32 } from './halfPrecision.ts'
import {
  compareForWriting,
  encodeSafetensorsHeader,
  maxHeaderLength,
  parseSafetensorsHeader,
  SafetensorsFormatError,
} from './safetensorsHeader.ts'
import { regularFileSize } from './strictJson.ts'

export const dtypeBytes: Readonly<Record<TensorDtype, number>> = { F32: 4, F16: 2, BF16: 2, U8: 1 }

const isReadable = (dtype: string): dtype is TensorDtype => Object.hasOwn(dtypeBytes, dtype)

export const elementCount = (shape: readonly number[]): number =>
  shape.reduce((product, size) => product * size, 1)

export interface SafetensorsFile {
  /** Absolute, links resolved. */
  readonly file: string
  readonly tensors: ReadonlyMap<string, TensorLocation>
  /** Tensors of types that are not read here: name → type. */
  readonly unreadable: ReadonlyMap<string, string>
  readonly metadata: ReadonlyMap<string, string>
}

/** Opens and checks a file without reading its data. Errors: AppError 'file/unreadable', or `code` for wrong content. */
export function openSafetensors(path: string, code: ErrorCode = 'model/invalid'): SafetensorsFile {
  regularFileSize(path)
  try {
    const file = realpathSync(path)
    const handle = openSync(file, 'r')
    try {
      return readFileHeader(file, handle)
    } finally {
      closeSync(handle)
    }
  } catch (error) {
    if (!(error instanceof SafetensorsFormatError)) throw readError(path, error)
    throw new AppError(
      code,
      `${path} is not a valid safetensors file: ${error.message}.`,
      'Download or copy the file again; nothing was changed.',
    )
  }
}

function readFileHeader(file: string, handle: number): SafetensorsFile {
  const size = fstatSync(handle).size
  if (size < 8) throw new SafetensorsFormatError(`it is ${size} bytes long, too short for a header`)
  const prefix = Buffer.alloc(8)
  readFully(handle, prefix, 0)
  const length = prefix.readBigUInt64LE(0)
  if (length > BigInt(maxHeaderLength) || length > BigInt(size - 8)) {
    throw new SafetensorsFormatError(`it claims a header of ${length} bytes in a file of ${size}`)
  }
  const bytes = new Uint8Array(Number(length))
  readFully(handle, bytes, 8)
  const dataStart = 8 + bytes.length
  const { entries, metadata } = parseSafetensorsHeader(bytes, size - dataStart)
  const tensors = new Map<string, TensorLocation>()
  const unreadable = new Map<string, string>()
  for (const { name, dtype, shape, begin, end } of entries) {
    if (isReadable(dtype)) {
      tensors.set(name, { file, offset: dataStart + begin, byteLength: end - begin, dtype, shape })
    } else unreadable.set(name, dtype)
  }
  return { file, tensors, unreadable, metadata }
}

/** Fills `target` from `position` in the file. */
function readFully(handle: number, target: Uint8Array, position: number): void {
  for (let done = 0; done < target.length;) {
    const read = readSync(handle, target, done, Math.min(target.length - done, 1 << 30), position + done)
    if (read === 0) throw new SafetensorsFormatError('it was truncated while being read')
    done += read
  }
}

/** The raw bytes of a tensor in pieces of at most `pieceBytes`; the same buffer is filled again for each piece. */
export function* readPieces(location: TensorLocation, pieceBytes: number): Generator<Uint8Array> {
  const { file, offset, byteLength } = location
  const buffer = new Uint8Array(Math.min(pieceBytes, byteLength))
  let handle: number | null = null
  try {
    handle = openSync(file, 'r')
    for (let done = 0; done < byteLength;) {
      const piece = buffer.subarray(0, Math.min(pieceBytes, byteLength - done))
      readFully(handle, piece, offset + done)
      yield piece
      done += piece.length
    }
  } catch (error) {
    if (!(error instanceof SafetensorsFormatError)) throw readError(file, error)
    throw new AppError('file/unreadable', `${file} could not be read: ${error.message}.`)
  } finally {
    if (handle !== null) closeSync(handle)
  }
}

/**
 * Yields the values of a float tensor in pieces of at most `pieceElements`, whole blocks of a quantised one; each piece
 * is valid until the next is requested.
 */
export function* readFloatPieces(location: TensorLocation, pieceElements: number): Generator<Float32Array> {
  const { dtype, shape } = location
  if (dtype === 'U8') throw new Error('Expected a float tensor, got U8.')
  if (location.scales !== undefined) {
    yield* readScaledPieces(location, location.scales, pieceElements)
    return
  }
  const { elements, bytes } = isQuantized(dtype)
    ? blockLayouts[dtype]
    : { elements: 1, bytes: dtypeBytes[dtype] }
  const blocks = Math.max(1, Math.floor(pieceElements / elements))
  const floats = new Float32Array(dtype === 'F32' ? 0 : Math.min(blocks * elements, elementCount(shape)))
  for (const piece of readPieces(location, blocks * bytes)) {
    const count = (piece.length / bytes) * elements
    if (dtype === 'F32') yield new Float32Array(piece.buffer as ArrayBuffer, 0, count)
    else {
      if (isQuantized(dtype)) dequantize(dtype, piece, floats)
      else {
        const widen = dtype === 'F16' ? f16ToF32 : bf16ToF32
        widen(new Uint16Array(piece.buffer as ArrayBuffer, 0, count), floats)
      }
      yield floats.subarray(0, count)
    }
  }
}

/** Yields the same of MXFP4 blocks whose scales lie apart. */
function* readScaledPieces(
  location: TensorLocation,
  place: NonNullable<TensorLocation['scales']>,
  pieceElements: number,
): Generator<Float32Array> {
  const blocks = Math.max(1, Math.floor(pieceElements / mxfp4Block.elements))
  const byteLength = location.byteLength / mxfp4Block.bytes
  const all = readPieces(location, blocks * mxfp4Block.bytes)
  try {
    for (const powers of readPieces({ ...place, byteLength, dtype: 'U8', shape: [byteLength] }, blocks)) {
      const pairs = all.next()
      if (pairs.done === true) throw new Error('Expected as many blocks as scales.')
      const floats = new Float32Array(2 * pairs.value.length)
      widenMxfp4(powers, pairs.value, floats)
      yield floats
    }
  } finally {
    all.return(undefined)
  }
}

export const isQuantized = (dtype: string): dtype is QuantizedDtype => Object.hasOwn(blockLayouts, dtype)

const pieceElements = 1 << 20

/** A whole tensor as f32, row-major. Errors: AppError 'file/unreadable'. */
export function readTensor(location: TensorLocation): Float32Array {
  const values = new Float32Array(elementCount(location.shape))
  let done = 0
  for (const piece of readFloatPieces(location, pieceElements)) {
    values.set(piece, done)
    done += piece.length
  }
  return values
}

/** Index of the first NaN or infinity; −1 when every value is a number. */
export function firstNonFinite(values: Float32Array): number {
  // Zero times a number is zero, zero times NaN or infinity is NaN: one sum tells, without a branch per value.
  let sum = 0
  for (let index = 0; index < values.length; index++) sum += (values[index] ?? 0) * 0
  return sum === 0 ? -1 : values.findIndex((value) => !Number.isFinite(value))
}

/** Tensor whose bytes come in pieces, so that one larger than memory can be written. */
export interface TensorToWrite {
  readonly name: string
  readonly dtype: TensorDtype
  readonly shape: readonly number[]
  /** Little-endian, row-major; together as long as type and shape say. */
  readonly pieces: () => Iterable<Uint8Array>
}

/** The bytes of numbers in memory, not copied. */
export const bytesOf = (values: Float32Array | Uint16Array): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength)

export const f32ToWrite = ({ name, shape, data }: NamedTensor): TensorToWrite => ({
  name,
  dtype: 'F32',
  shape,
  pieces: () => [bytesOf(data)],
})

export interface WriteSafetensorsOptions {
  readonly metadata?: Readonly<Record<string, string>>
  /** Bytes written so far, and in all. */
  readonly onProgress?: (writtenBytes: number, totalBytes: number) => void
  readonly signal?: AbortSignal
}

const bytesBetweenPauses = 1 << 26

/**
 * Writes a file completely or not at all, in the reference writer's order. Errors: AppError 'file/unwritable'; the
 * signal's reason when aborted.
 */
export async function writeSafetensors(
  path: string,
  tensors: readonly TensorToWrite[],
  { metadata = {}, onProgress, signal }: WriteSafetensorsOptions = {},
): Promise<void> {
  const sized = tensors.map((tensor) => ({
    ...tensor,
    byteLength: elementCount(tensor.shape) * dtypeBytes[tensor.dtype],
  }))
  sized.sort(compareForWriting)
  const totalBytes = sized.reduce((sum, { byteLength }) => sum + byteLength, 0)
  using file = new AtomicFile(path)
  file.write(encodeSafetensorsHeader(sized, metadata))
  let writtenBytes = 0
  let pauseAt = bytesBetweenPauses
  for (const { name, byteLength, pieces } of sized) {
    const end = writtenBytes + byteLength
    for (const piece of pieces()) {
      file.write(piece)
      writtenBytes += piece.length
      if (writtenBytes < pauseAt) continue
      pauseAt = writtenBytes + bytesBetweenPauses
      onProgress?.(writtenBytes, totalBytes)
      await pause(signal)
    }
    if (writtenBytes !== end)
      throw new Error(`Expected ${byteLength} bytes for “${name}”, got another length.`)
  }
  file.commit()
  onProgress?.(writtenBytes, totalBytes)
}

/** Lets other work of the process run, then stops if asked to. */
async function pause(signal: AbortSignal | undefined): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
  signal?.throwIfAborted()
}

/** A matrix whose file has its transpose; whole in memory, since its columns lie scattered. */
export function transposedTensor(location: TensorLocation): Float32Array {
  const [rows = 0, columns = 0] = location.shape
  const stored = readTensor(location) // [columns, rows]
  const result = new Float32Array(stored.length)
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      result[row * columns + column] = stored[column * rows + row] ?? 0
    }
  }
  return result
}
