import type { Dim } from '../graph/shape.ts'
import { type Dtype, type Value, compose, apply, constant } from '../graph/value.ts'
import { div, mul, add, scale, sub, cast } from './arithmetic.ts'
import { inputOf, onlyCotangent, defineOp, int } from './define.ts'
import { matmul } from './matmul.ts'
import { concat, reshape } from './layout.ts'
import { normalizedRows } from './normalization.ts'
import { expandLike, reduceMax, reduceSum } from './reduce.ts'

/*
 * Products with a frozen matrix in 16 bits, which matrix units of GPUs multiply many times faster than f32. What goes in and
 * what comes out is f32; sums run in f32 inside the units.
 */

export type HalfType = 'float16' | 'bfloat16'

const isHalf = (dtype: Dtype): dtype is HalfType => dtype === 'float16' || dtype === 'bfloat16'

/**
 * x op(W) with op(W) = W, or Wᵀ with `transB`. x […, K] f32, W f16 or bf16 and frozen → […, N] f32. The gradient of x is the
 * same product of its cotangent with the other side of W.
 *
 * f16 ends at 65,504 and its smallest normal number is 6·10⁻⁵, while single activations of language models exceed the
 * one and cotangents the other: rows are divided by their largest magnitude first, which takes the place of a loss scale
 * (Micikevicius et al. 2018, arXiv:1710.03740, §3.2). bf16 has the range of f32.
 */
export function halfMatmul(x: Value, weight: Value, { transB = false } = {}): Value {
  const { dtype } = weight
  if (!isHalf(dtype)) throw new Error(`Expected a matrix in 16 bits, got ${dtype}.`)
  return compose(
    {
      name: 'HalfMatMul',
      vjp: ({ node, cotangents }) => [
        halfMatmul(onlyCotangent(cotangents), inputOf(node, 1), { transB: !transB }),
        null,
      ],
    },
    [x, weight],
    [product(x, weight, dtype, transB)],
  )[0] as Value
}

function product(x: Value, weight: Value, dtype: HalfType, transB: boolean): Value {
  const times = (rows: Value) => cast(matmul(cast(rows, dtype), weight, { transB }), 'float32')
  if (dtype === 'bfloat16') return times(x)
  const scales = largestMagnitudes(x)
  return mul(times(div(x, scales)), scales)
}

/*
 * Products in whole numbers. Weights have 8 bits and a scale for each output. What they are multiplied with has 16, as two
 * bytes that are multiplied like two rows: that reads the weights once for both, and what is rounded there is far less
 * than what is rounded of the weights.
 */

const WHOLE_NUMBERS = 'Occurs only inside ByteMatmul, which has its own rule, and in rollouts.'

export const absOp = defineOp('Abs', WHOLE_NUMBERS)
export const quantizeOp = defineOp('QuantizeLinear', WHOLE_NUMBERS)
export const integerMatmulOp = defineOp('MatMulIntegerToFloat', WHOLE_NUMBERS, { domain: 'com.microsoft' })

/** Rows in 16 bits: x ≈ factors · (upper − 128, lower − 128). */
export interface RoundedRows {
  /** [N, 2, K] u8: of every row the upper and the lower bytes. */
  readonly bytes: Value
  /** [N, 1, 2]: what one of the upper bytes stands for and what one of the lower ones does. */
  readonly factors: Value
}

/** Steps of the lower byte to one of the upper. */
const FINE_STEPS = 254
/** A row of zeros is divided by this. */
const SMALLEST_SCALE = 2 ** -100
/** What stands for zero in a byte. */
const zeroByte = (): Value => cast(constant([128], [1]), 'uint8')

/** max |x| of each row, [N, 1]; of a row of zeros a number that it can be divided by. Without a gradient. x [N, K] f32. */
const largestMagnitudes = (x: Value): Value => largestOf(abs(x))

const abs = (x: Value): Value => apply(absOp, [x], {}, [x])[0] as Value
const largestOf = (magnitudes: Value): Value =>
  add(reduceMax(magnitudes, [-1]), constant([SMALLEST_SCALE], [1]))

/** x [N, K] f32. Every value is off by at most its row's largest magnitude / 64,516. */
export function roundRows(x: Value): RoundedRows {
  const magnitudes = abs(x)
  // Bytes hide what is not finite, and a maximum skips what is no number; a sum does not: its row becomes NaN.
  const nothing = scale(reduceSum(magnitudes, [-1]), 0)
  return roundTo(x, add(largestOf(magnitudes), nothing))
}

/** The same of numbers that are finite and not negative. */
export const roundPositiveRows = (x: Value): RoundedRows => roundTo(x, largestOf(x))

/** largest [N, 1] */
function roundTo(x: Value, largest: Value): RoundedRows {
  const [rows, width] = x.shape as readonly [Dim, Dim]
  const scales = scale(largest, 1 / 127)
  const steps = reshape(scales, [rows])
  const zeros = expandLike(zeroByte(), steps)
  const upper = quantized(x, steps, zeros)
  const rest = sub(x, dequantized(upper, steps, zeros))
  const lower = quantized(rest, scale(steps, 1 / FINE_STEPS), zeros)
  const factors = matmul(scales, constant([1, 1 / FINE_STEPS], [1, 2]))
  return {
    bytes: reshape(concat([upper, lower], 1), [rows, 2, width]),
    factors: reshape(factors, [rows, 1, 2]),
  }
}

const byRow = { axis: int(0) }

/** x / steps to the nearest whole number, zeros added, as bytes. x [N, K], steps and zeros [N]. */
const quantized = (x: Value, steps: Value, zeros: Value): Value =>
  apply(quantizeOp, [x, steps, zeros], byRow, [{ dtype: 'uint8', shape: x.shape }])[0] as Value

/** The numbers that those bytes stand for. */
const dequantized = (bytes: Value, steps: Value, zeros: Value): Value =>
  apply(dequantizeOp, [bytes, steps, zeros], byRow, [{ dtype: 'float32', shape: bytes.shape }])[0] as Value

/** The largest 16-bit number that leaves room for rounding and for both offsets of 128. */
const LARGEST_STEPS = 32_639
/** A row of zeros is divided by the root of this. */
const SMALLEST_SQUARE = 1e-30

/**
 * As `roundRows`, in half as many nodes, which counts where rows are few: a decoding step has hundreds of these products. Steps
 * are a 32,639th of √K times the root mean square of the row, which no element exceeds: unlike the largest element, the
 * runtime's norm finds it and divides by it in one node. So they are coarser by √K times the root mean square over the largest
 * magnitude. x [N, K] f32.
 */
export function roundFewRows(x: Value): RoundedRows {
  const width = x.shape.at(-1) as number
  const [rows, most] = [x.shape[0] ?? 1, LARGEST_STEPS / Math.sqrt(width)]
  const { normalized, inverse } = normalizedRows(reshape(x, [rows, 1, width]), most, SMALLEST_SQUARE)
  // Both bytes at once: a 256th of a number in steps, and the number itself, of which a cast to bytes keeps the lower one.
  // That cuts the fraction off, so a half more rounds to nearest; 128 more brings each byte to its own zero.
  const parts = mul(normalized, constant([1 / 256, 1], [2, 1]))
  const shifted = add(parts, constant([128 + 128.5 / 256, 128 * 256 + 128.5], [2, 1])) // [128.5 / 256 + …, < 2¹⁶]
  const bytes = cast(cast(shifted, 'int32'), 'uint8')
  const factors = div(constant([256 / most, 1 / most], [1, 2]), inverse)
  return { bytes, factors }
}

/** x W. weights [K, M] i8, multiplied with scales, [M] for the columns or [1] → [N, M] f32. */
export function integerMatmul({ bytes, factors }: RoundedRows, weights: Value, scales: Value): Value {
  const [rows, outputs] = [bytes.shape[0] as Dim, weights.shape[1] as number]
  const inputs = [bytes, weights, constant([1], []), scales, zeroByte()]
  const type = { dtype: 'float32', shape: [rows, 2, outputs] } as const
  const product = apply(integerMatmulOp, inputs, {}, [type])[0] as Value
  // The two parts of a row are added, and its scale is taken back, in one pass: [1, 2] · [2, M] for each row.
  return reshape(matmul(factors, product), [rows, outputs])
}

/** A frozen matrix W [N, K] in 8 bits with a scale for each row: W[n, k] = scales[n] · rows[n, k]. */
export interface ByteRows {
  /** [N, K] i8 */
  readonly rows: Value
  /** [N] */
  readonly scales: Value
}

/** The same with its bytes the other way round as well, so that no product has to turn them first. */
export interface ByteMatrix extends ByteRows {
  /** [K, N] i8 */
  readonly columns: Value
}

/**
 * x Wᵀ, x [R, K] f32 → [R, N]. The gradient of x is a product in whole numbers too: the scales go to the cotangent, since they
 * belong to what is summed over there. `rounded` are the rows of x, where other products read them as well.
 */
export const byteMatmul = (x: Value, matrix: ByteMatrix, rounded = roundRows(x)): Value =>
  compose(
    {
      name: 'ByteMatmul',
      vjp: ({ cotangents }) => [sumOfRows(onlyCotangent(cotangents), matrix), null, null],
    },
    [x, matrix.columns, matrix.scales],
    [productWithColumns(rounded, matrix)],
  )[0] as Value

/** What rounded rows stand for: [N, K] f32. */
export function roundedRows({ bytes, factors }: RoundedRows): Value {
  const [rows, , width] = bytes.shape as readonly [Dim, number, Dim]
  const steps = sub(cast(bytes, 'float32'), constant([128], [1]))
  return reshape(matmul(factors, steps), [rows, width])
}

/** x Wᵀ, x [R, K] → [R, N]. Without a gradient: the head has a rule of its own, for which there is the other product. */
export const productWithColumns = (x: RoundedRows, { columns, scales }: ByteMatrix): Value =>
  integerMatmul(x, columns, scales)

/** x W, x [R, N] → [R, K]. */
export const sumOfRows = (x: Value, { rows, scales }: ByteRows, round = roundRows): Value =>
  integerMatmul(round(mul(x, scales)), rows, constant([1], [1]))

/** W in f32; of rows chosen by `gather` as well. */
export const floatRows = ({ rows, scales }: ByteRows): Value =>
  mul(cast(rows, 'float32'), reshape(scales, [scales.shape[0] as Dim, 1]))

/** A frozen matrix [N, K] as a product reads it: in f32, in 16 bits or in 8. */
export type FrozenMatrix = Value | ByteMatrix

/**
 * x Wᵀ with a frozen matrix in whatever it is held in. x […, K], W [N, K] → […, N] f32. `round` may remember the rows that
 * several products read.
 */
export function frozenMatmul(x: Value, matrix: FrozenMatrix, round = roundRows): Value {
  if ('columns' in matrix) return byteMatmul(x, matrix, round(x))
  return isHalf(matrix.dtype) ? halfMatmul(x, matrix, { transB: true }) : matmul(x, matrix, { transB: true })
}

/* Frozen weights in the forms in which they lie on disk, turned into f32 while a graph runs. */

export const dequantizeOp = defineOp(
  'DequantizeLinear',
  'Stored weights are frozen; the trained adapter is separate.',
)

export interface BlockedMatrix {
  /** [N, K] u8 or u4, K a multiple of the block. */
  readonly blocks: Value
  /** [N, K / block] */
  readonly scales: Value
  /** [N, K / block], of the type of the blocks. */
  readonly zeros: Value
  readonly blockSize: number
}

/** (blocks − zeros) · scales: [N, K] f32. */
export const dequantize = ({ blocks, scales, zeros, blockSize }: BlockedMatrix): Value =>
  apply(dequantizeOp, [blocks, scales, zeros], { axis: int(1), block_size: int(blockSize) }, [
    { dtype: 'float32', shape: blocks.shape },
  ])[0] as Value
