/**
 * The frozen base with its linears rounded (engine/models/blocks.ts), for generation and for learning. It is made
 * straight from the model's files, whatever their type, into one file of the cache: beside the linears only what stays
 * exact (embedding, head, norms, biases) is in f32, so that no f32 copy of the whole model is ever written. A matrix in rows of
 * bytes lies there transposed too, and so do the head's slices: twice the disk, but no more memory than what a product reads.
 */
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { invalidModel } from '#shared/errors.ts'
import {
  isHalfPrecision,
  type HeldPrecision,
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
import { headWeightName, type ModelSource, type TensorLocation } from '#engine/models/source.ts'
import { bytesOf, elementCount, isQuantized, type TensorToWrite } from '#host/files/safetensors.ts'
import { f32ToBf16, f32ToF16 } from '#host/files/halfPrecision.ts'
import {
  asInt8Source,
  blockTensors,
  convertedRows,
  keepTensors,
  headTensors,
  quantizableWeights,
  rowScaledTensors,
  rowTensors,
  type RowRounding,
} from './int8Cache.ts'
import { blockScales, closestRowScales, dequantizeRows, quantizeRows, zeroByte } from './quantize.ts'
import {
  asFloat32Source,
  cacheFolder,
  type CacheProgress,
  convertedTensor,
  gatherInOneFolder,
  isPlainFloat32,
  weightsFolder,
} from './weightCache.ts'

/**
 * File name of a rounded base. In 8 bits the same numbers lie in two forms; files of earlier versions have other
 * numbers under other names, or less, and are written again.
 */
const baseName = (precision: RoundedPrecision, form: Int8Form): string =>
  precision === 'int8' ? `base-int8-with-head-${form}.safetensors` : `base-${precision}.safetensors`

/** Precisions of the linears: of the base, and of what rollouts read where the base is f32. */
export interface WeightPrecisions {
  readonly base: HeldPrecision
  readonly rollout: RolloutPrecision
  readonly int8Form: Int8Form
  /** Most rows that decode together, where that is known. */
  readonly maxRows?: number
}

/**
 * Blocks where there are experts: products of bytes take a dozen nodes, each expert has three, and the runtime's time to open a
 * program grows with the square of its nodes.
 */
const formOf = ({ config }: ModelSource, { int8Form }: Pick<WeightPrecisions, 'int8Form'>): Int8Form =>
  config.experts === null ? int8Form : 'blocks'

/** The source in the form that a policy computes with. Errors: as `asFloat32Source`. */
export async function asPolicySource<Source extends ModelSource>(
  source: Source,
  precisions: WeightPrecisions,
  cacheDirectory: string,
): Promise<Source> {
  const { base, rollout } = precisions
  const int8Form = formOf(source, precisions)
  if (base !== 'f32') {
    const rounded = await asRoundedBase(source, base, cacheDirectory, { int8Form })
    // Learning and rollouts read the same rows in 8 bits.
    if (base !== 'int4' || int8Form === 'blocks') return rounded
    return withRows(rounded, source, weightsInRows(source, precisions))
  }
  if (rollout === 'f32') return asFloat32Source(source, cacheDirectory)
  return asInt8Source(source, cacheDirectory, int8Form)
}

/** Share of the machine's memory that the row form may take: the base was rounded because there is little. */
const ROWS_SHARE = 1 / 4

/**
 * Selects the weights of a 4-bit base that rollouts read in rows of 8 bits. Products of rows are faster, except those
 * of a single row with a 4-bit matrix, which is read in half the time. They are also larger: where memory is short,
 * none is selected.
 */
export function weightsInRows(
  source: ModelSource,
  { maxRows }: Pick<WeightPrecisions, 'maxRows'>,
  memoryBytes = totalmem(),
): readonly string[] {
  const names = maxRows === 1 ? [headWeightName(source.config)] : quantizableWeights(source)
  const sizes = names.map((name) => elementCount(source.tensors.get(name)?.shape ?? []))
  return sizes.reduce((sum, size) => sum + size, 0) <= ROWS_SHARE * memoryBytes ? names : []
}

/**
 * Returns the base in 4 bits with some of its weights once more in rows of 8 bits, for rollouts. Rounding the
 * block-rounded weights again changes the result less than products of blocks do, which round what they are multiplied
 * with to 8 bits.
 */
async function withRows<Source extends ModelSource>(
  rounded: Source,
  source: ModelSource,
  names: readonly string[],
): Promise<Source> {
  const [folder, head] = [weightsFolder(rounded), headWeightName(source.config)]
  if (folder === null) throw new Error('Expected the rounded base to lie in one folder.')
  if (names.length === 0) return rounded
  const tensors = names.flatMap((name) => {
    const location = source.tensors.get(name)
    if (!location) throw new Error(`Expected the source to have “${name}”.`)
    return rowTensors(name, location, name === head ? undefined : throughBlocks(location))
  })
  const path = join(folder, names.length === 1 ? 'rows-int4-head.safetensors' : 'rows-int4.safetensors')
  const written = await keepTensors(path, tensors, () => undefined)
  return { ...rounded, tensors: new Map([...rounded.tensors, ...written]) }
}

/** Returns the rows that the 4-bit blocks of a matrix stand for. */
function throughBlocks({ shape: [, columns = 1] }: TensorLocation): RowRounding {
  const form = blockForm('int4', columns)
  return {
    known(weights) {
      const scales = blockScales(weights, columns, form)
      return dequantizeRows(quantizeRows(weights, scales, columns, form), scales, columns, form)
    },
    scales: (weights) => closestRowScales(weights, columns),
  }
}

interface BaseOptions {
  /** Form of 8-bit weights; blocks, which every device reads, if absent. */
  readonly int8Form?: Int8Form
  readonly onProgress?: CacheProgress
}

/**
 * Returns the source with rounded linears in place of its own. The rounded file is made once. Errors: as
 * `asFloat32Source`; AppError 'model/invalid' where a weight is beyond the range of the type.
 */
export async function asRoundedBase<Source extends ModelSource>(
  source: Source,
  precision: RoundedPrecision,
  cacheDirectory: string,
  { int8Form = 'blocks', onProgress = () => undefined }: BaseOptions = {},
): Promise<Source> {
  const folder = await cacheFolder(source, cacheDirectory, onProgress)
  const linears = new Set(linearWeights(source.config).map(({ name }) => name))
  const head = headWeightName(source.config)
  const tensors = [...source.tensors].flatMap(([name, location]) => {
    if (linears.has(name)) return roundedTensors(name, location, precision, int8Form)
    // An exact head is the embedding where the two are tied; else `exactBeside` reads it.
    const exact = convertedTensor(name, location)
    return precision === 'int8' && name === head ? [exact, ...headTensors(name, location, int8Form)] : [exact]
  })
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
      throw invalidModel(
        `${name} has weights larger than ${LARGEST_HALF.toLocaleString('en')}, the largest number of f16.`,
        'Set base.precision to bf16 or f32.',
      )
    }
    const bits = new Uint16Array(weights.length)
    narrow(weights, bits)
    return bytesOf(bits)
  })
}

/** Zero points, as many as the matrix with the most blocks needs. */
function zeroPoints({ config, tensors }: ModelSource, precision: BlockPrecision): TensorToWrite {
  const head = precision === 'int8' ? tensors.get(headWeightName(config)) : undefined
  const sizes = [...linearWeights(config), ...(head ? [head] : [])].map(
    ({ shape: [rows = 0, columns = 0] }) => {
      const form = blockForm(precision, columns)
      return Math.ceil((rows * blocksPerRow(columns, form) * form.bits) / 8)
    },
  )
  const bytes = Math.max(0, ...sizes)
  return {
    name: zerosName(precision),
    dtype: 'U8',
    shape: [bytes],
    pieces: () => [new Uint8Array(bytes).fill(zeroByte(blockForm(precision, 0)))],
  }
}

/** Returns true if graphs can read all of it from its own files. */
const isReadAsStored = ({ tensors }: ModelSource): boolean =>
  [...tensors.values()].every(
    ({ dtype, arrangement }) =>
      !isQuantized(dtype) && (arrangement === undefined || arrangement.kind === 'transposed'),
  )

/**
 * Returns the model with exact linears, read from its own files as they are (in f32 where graphs cannot read those),
 * together with what a rounded base keeps exact: for learning and scoring only. Its files are brought into the base's
 * folder as hard links where the disk allows. Errors: as `asRoundedBase`.
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
