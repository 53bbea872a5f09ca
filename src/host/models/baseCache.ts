/**
 * The frozen base with its linears rounded (engine/models/blocks.ts), for generation and for learning. It is made
 * straight from the model's files, whatever their type, into one file of the cache: beside the linears only what stays
 * exact (embedding, head, norms, biases) is in f32, so that no f32 copy of the whole model is ever written.
 */
import { join } from 'node:path'
import { AppError } from '#shared/errors.ts'
import {
  isHalfPrecision,
  type BasePrecision,
  type BlockPrecision,
  type HalfPrecision,
  type RolloutPrecision,
  type RoundedPrecision,
} from '#shared/precision.ts'
import {
  blockForm,
  blocksPerRow,
  halfName,
  type Int8Form,
  linearWeights,
  zerosName,
} from '#engine/models/blocks.ts'
import type { ModelSource, TensorLocation } from '#engine/models/source.ts'
import { bytesOf, isQuantized, type TensorToWrite } from '#host/files/safetensors.ts'
import { f32ToBf16, f32ToF16 } from '#host/files/halfPrecision.ts'
import { asInt8Source, blockTensors, convertedRows, keepTensors, rowScaledTensors } from './int8Cache.ts'
import { zeroByte } from './quantize.ts'
import {
  asFloat32Source,
  cacheFolder,
  type CacheProgress,
  convertedTensor,
  gatherInOneFolder,
  isPlainFloat32,
} from './weightCache.ts'

/** In 8 bits the same numbers lie in two ways; a file of an earlier version has other numbers under its shorter name. */
const baseName = (precision: RoundedPrecision, form: Int8Form): string =>
  precision === 'int8' ? `base-int8-scaled-${form}.safetensors` : `base-${precision}.safetensors`

/** What the linears are held in: for everything, and what rollouts read where that is f32. */
export interface WeightPrecisions {
  readonly base: BasePrecision
  readonly rollout: RolloutPrecision
  readonly int8Form: Int8Form
}

/** The source in the form that a policy computes with. Errors: as `asFloat32Source`. */
export function asPolicySource<Source extends ModelSource>(
  source: Source,
  { base, rollout, int8Form }: WeightPrecisions,
  cacheDirectory: string,
): Promise<Source> {
  if (base !== 'f32') return asRoundedBase(source, base, cacheDirectory, { int8Form })
  if (rollout === 'f32') return asFloat32Source(source, cacheDirectory)
  return asInt8Source(source, cacheDirectory, int8Form)
}

interface BaseOptions {
  /** How 8 bits lie; in blocks, which every device reads, if absent. */
  readonly int8Form?: Int8Form
  readonly onProgress?: CacheProgress
}

/**
 * The source without its linears, which are there rounded instead. Made once. Errors: as `asFloat32Source`; AppError
 * 'model/invalid' where a weight is beyond the range of the type.
 */
export async function asRoundedBase<Source extends ModelSource>(
  source: Source,
  precision: RoundedPrecision,
  cacheDirectory: string,
  { int8Form = 'blocks', onProgress = () => undefined }: BaseOptions = {},
): Promise<Source> {
  const folder = await cacheFolder(source, cacheDirectory, onProgress)
  const linears = new Set(linearWeights(source.config).map(({ name }) => name))
  const tensors = [...source.tensors].flatMap(([name, location]) =>
    linears.has(name)
      ? roundedTensors(name, location, precision, int8Form)
      : [convertedTensor(name, location)],
  )
  const hasBlocks = precision === 'int4' || (precision === 'int8' && int8Form === 'blocks')
  const written = await keepTensors(
    join(folder, baseName(precision, int8Form)),
    hasBlocks ? [...tensors, zeroPoints(source, precision)] : tensors,
    onProgress,
  )
  return { ...source, tensors: written }
}

function roundedTensors(
  name: string,
  location: TensorLocation,
  precision: RoundedPrecision,
  int8Form: Int8Form,
): readonly TensorToWrite[] {
  if (isHalfPrecision(precision)) return [halfTensor(name, location, precision)]
  return precision === 'int8'
    ? rowScaledTensors(name, location, int8Form)
    : blockTensors(name, location, precision)
}

/** The largest f16 number. */
const LARGEST_HALF = 65504

function halfTensor(name: string, location: TensorLocation, precision: HalfPrecision): TensorToWrite {
  const narrow = precision === 'f16' ? f32ToF16 : f32ToBf16
  const dtype = precision === 'f16' ? 'F16' : 'BF16'
  return convertedRows(name, location)(halfName(name, precision), dtype, location.shape, (weights) => {
    if (precision === 'f16' && weights.some((value) => Math.abs(value) > LARGEST_HALF)) {
      throw new AppError(
        'model/invalid',
        `${name} has weights larger than ${LARGEST_HALF.toLocaleString('en')}, the largest number of f16.`,
        'Set base.precision to bf16 or f32.',
      )
    }
    const bits = new Uint16Array(weights.length)
    narrow(weights, bits)
    return bytesOf(bits)
  })
}

/** As many as the matrix with the most blocks needs. */
function zeroPoints({ config }: ModelSource, precision: BlockPrecision): TensorToWrite {
  const sizes = linearWeights(config).map(({ shape: [rows = 0, columns = 0] }) => {
    const form = blockForm(precision, columns)
    return Math.ceil((rows * blocksPerRow(columns, form) * form.bits) / 8)
  })
  const bytes = Math.max(0, ...sizes)
  return {
    name: zerosName(precision),
    dtype: 'U8',
    shape: [bytes],
    pieces: () => [new Uint8Array(bytes).fill(zeroByte(blockForm(precision, 0)))],
  }
}

/** Whether graphs can read all of it from its own files. */
const isReadAsStored = ({ tensors }: ModelSource): boolean =>
  [...tensors.values()].every(
    ({ dtype, arrangement }) =>
      !isQuantized(dtype) && (arrangement === undefined || arrangement.kind === 'transposed'),
  )

/**
 * The model with exact linears, read from its own files as they are (in f32 where graphs cannot read those), beside what a rounded base keeps exact: for learning
 * and scoring only. Its files are brought into the base's folder as hard links where the disk allows. Errors: as
 * `asRoundedBase`.
 */
export async function exactBeside<Source extends ModelSource>(
  source: Source,
  precision: RoundedPrecision,
  cacheDirectory: string,
  int8Form?: Int8Form,
): Promise<Source> {
  if (isPlainFloat32(source) || !isReadAsStored(source)) return asFloat32Source(source, cacheDirectory)
  const rounded = await asRoundedBase(source, precision, cacheDirectory, { ...(int8Form && { int8Form }) })
  const gathered = await gatherInOneFolder(source, cacheDirectory, () => undefined)
  const tensors = [...gathered.tensors].map(
    ([name, location]) => [name, rounded.tensors.get(name) ?? location] as const,
  )
  return { ...source, tensors: new Map(tensors) }
}
