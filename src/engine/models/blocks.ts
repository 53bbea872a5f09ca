/**
 * Rounded matrices. A matrix `W` in 16 bits is the tensor `W.bf16` or `W.f16`. In 8 or 4 bits, the values of a block within a
 * row share a scale, x ≈ (value − zero) · scale: `W.int8` or `W.int4`, with `W.int8.scales`. Generation (MatMulNBits) and the
 * dequantised weights of learning read the same blocks; learning also reads one tensor of zero points, shared by all matrices.
 */
import {
  blockPrecisions,
  halfPrecisions,
  type BasePrecision,
  type BlockPrecision,
  type HalfPrecision,
} from '#shared/precision.ts'
import type { ModelConfig } from './config.ts'
import { type ModelSource, type TensorLocation, isMatrix, layerPrefix, layerTensors } from './source.ts'

export interface BlockForm {
  readonly bits: 8 | 4
  /** Number of values that share a scale. */
  readonly blockSize: number
  /** The stored value that means 0. */
  readonly zero: number
}

/**
 * Block sizes per width. For 8 bits, the kernel takes 15 % less time with blocks of 128 than with 32 for one row, and
 * 28 % less for sixteen; 4 bits are too coarse for such long blocks.
 */
const forms = {
  int8: { bits: 8, blockSizes: [128, 64, 32], zero: 128 },
  int4: { bits: 4, blockSizes: [32], zero: 8 },
} as const

/** The block length for a matrix with that many columns: the longest that divides them, else the shortest. */
export function blockForm(precision: BlockPrecision, columns: number): BlockForm {
  const { bits, blockSizes, zero } = forms[precision]
  const blockSize = blockSizes.find((size) => columns % size === 0) ?? Math.min(...blockSizes)
  return { bits, blockSize, zero }
}

/** ⌈columns / blockSize⌉ */
export const blocksPerRow = (columns: number, { blockSize }: BlockForm): number =>
  Math.ceil(columns / blockSize)

/** U8 [N, ⌈K/block⌉, block · bits / 8]; of two values in a byte the first is in the lower half. */
export const blocksName = (weight: string, precision: BlockPrecision): string => `${weight}.${precision}`
/** F32 [N, ⌈K/block⌉] */
export const scalesName = (weight: string, precision: BlockPrecision): string =>
  `${blocksName(weight, precision)}.scales`
/** U8: bytes of nothing but zero points, enough for the largest matrix. */
export const zerosName = (precision: BlockPrecision): string => `zero points.${precision}`

/** The full names and shapes of a model's linears, by layer. */
export function linearWeights(
  config: ModelConfig,
): { readonly name: string; readonly shape: readonly number[] }[] {
  return Array.from({ length: config.layers }, (_, layer) =>
    layerTensors(config, layer)
      .filter(isMatrix)
      .map(({ name, shape }) => ({ name: `${layerPrefix(config, layer)}${name}`, shape })),
  ).flat()
}

/** Elements that share a scale in an 8-bit matrix for rollouts: blocks of a row, or whole rows. */
export type Int8Form = 'blocks' | 'rows'

/** A matrix in rows of 8 bits with one scale each: transposed, [K, N] in two's complement, which the file calls U8. */
export const rowsName = (weight: string): string => `${weight}.int8 rows`
/** F32 [N] */
export const rowScalesName = (weight: string): string => `${rowsName(weight)}.scales`

/** The same bytes once more, [N, K], not transposed: a base has them, since learning multiplies from both sides. */
export const plainRowsName = (weight: string): string => `${rowsName(weight)}, not transposed`

/** Rows of the vocabulary whose logits exist at once while learning. */
export const SLICE_ROWS = 2048

/**
 * The head's bytes as learning multiplies with them, [K, n] of each slice of at most `SLICE_ROWS` tokens, one after the other: the
 * tensor says [N, K].
 */
export const slicedRowsName = (weight: string): string => `${rowsName(weight)}, in slices`

export interface RowWeight {
  readonly values: TensorLocation
  readonly scales: TensorLocation
  /** Absent in a source used for rollouts alone. */
  readonly plain: TensorLocation | undefined
}

/** A matrix of the source in 8-bit rows; null if it has none. */
export function rowWeight({ tensors }: ModelSource, name: string): RowWeight | null {
  const [values, scales] = [tensors.get(rowsName(name)), tensors.get(rowScalesName(name))]
  return values && scales ? { values, scales, plain: tensors.get(plainRowsName(name)) } : null
}

/** True if the linears exist in rounded form only. */
export const hasRoundedLinears = ({ config, tensors }: ModelSource): boolean =>
  linearWeights(config).some(({ name }) => !tensors.has(name))

export interface BlockWeight {
  readonly precision: BlockPrecision
  readonly form: BlockForm
  readonly blocks: TensorLocation
  readonly scales: TensorLocation
  /** Absent in a source that is only used for generation. */
  readonly zeros: TensorLocation | undefined
}

/** A matrix of the source in blocks; null if it has none. */
export function blockWeight({ tensors }: ModelSource, name: string): BlockWeight | null {
  for (const precision of blockPrecisions) {
    const blocks = tensors.get(blocksName(name, precision))
    const scales = tensors.get(scalesName(name, precision))
    const zeros = tensors.get(zerosName(precision))
    if (!blocks || !scales) continue
    const { bits, zero } = forms[precision]
    const blockSize = ((blocks.shape[2] ?? 0) * 8) / bits
    return { precision, form: { bits, blockSize, zero }, blocks, scales, zeros }
  }
  return null
}

/** F16 or BF16 [N, K] */
export const halfName = (weight: string, precision: HalfPrecision): string => `${weight}.${precision}`

/** The type in which the source holds its linears for 16-bit products; null if it does not. */
export function halfPrecisionOf({ config, tensors }: ModelSource): HalfPrecision | null {
  const [first] = linearWeights(config)
  return halfPrecisions.find((precision) => first && tensors.has(halfName(first.name, precision))) ?? null
}

/** Precision in which the source holds its linears. */
export function basePrecisionOf(source: ModelSource): BasePrecision {
  const [first] = linearWeights(source.config)
  if (!first || source.tensors.has(first.name)) return 'f32'
  return halfPrecisionOf(source) ?? blockWeight(source, first.name)?.precision ?? 'int8'
}

/** A matrix of the source for 16-bit products; null if it has none. */
export function halfWeight(
  { tensors }: ModelSource,
  name: string,
): { readonly name: string; readonly location: TensorLocation } | null {
  for (const precision of halfPrecisions) {
    const location = tensors.get(halfName(name, precision))
    if (location) return { name: halfName(name, precision), location }
  }
  return null
}
