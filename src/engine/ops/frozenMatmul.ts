import { type Dtype, type Value, compose, apply, constant } from '../graph/value.ts'
import { div, mul, add, cast } from './arithmetic.ts'
import { inputOf, onlyCotangent, defineOp, int } from './define.ts'
import { matmul } from './matmul.ts'
import { reshape } from './layout.ts'
import { normalizedRows } from './normalization.ts'
import { reduceMax } from './reduce.ts'

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

export const absOp = defineOp('Abs', 'Only finds what rows are divided by, which cancels.')

/** A row of zeros is divided by this. */
const SMALLEST_SCALE = 2 ** -100

/** max |x| of each row, [N, 1]; of a row of zeros a number that it can be divided by. Without a gradient. x [N, K] f32. */
const largestMagnitudes = (x: Value): Value =>
  add(reduceMax(apply(absOp, [x], {}, [x])[0] as Value, [-1]), constant([SMALLEST_SCALE], [1]))

/** x Wᵀ with a frozen matrix in whatever it is held in. x […, K], W [N, K] → […, N] f32. */
export const frozenMatmul = (x: Value, weight: Value): Value =>
  isHalf(weight.dtype) ? halfMatmul(x, weight, { transB: true }) : matmul(x, weight, { transB: true })

/*
 * Products in whole numbers. Weights have 8 bits and a scale for each output. What they are multiplied with has 16, as two
 * bytes that are multiplied like two rows: that reads the weights once for both, and what is rounded there is far less
 * than what is rounded of the weights. A decoding step has hundreds of these products, so every node around them counts.
 */

const ROLLOUTS = 'Used for rollouts only; learning reads weights in f32.'

export const integerMatmulOp = defineOp('MatMulIntegerToFloat', ROLLOUTS, { domain: 'com.microsoft' })

/** Rows in 16 bits: x ≈ factors · (upper − 128, lower − 128). */
export interface RoundedRows {
  /** [N, 2, K] u8: of every row the upper and the lower bytes. */
  readonly bytes: Value
  /** [N, 1, 2]: what one of the upper bytes stands for and what one of the lower ones does. */
  readonly factors: Value
}

/** The largest 16-bit number that leaves room for rounding and for both offsets of 128. */
const LARGEST_STEPS = 32_639
/** A row of zeros is divided by the root of this. */
const SMALLEST_SQUARE = 1e-30

/**
 * x [N, K] f32. Steps are a 32,639th of √K times the root mean square of the row, which no element exceeds: unlike the
 * largest element, the runtime's norm finds it and divides by it in one node.
 */
export function roundRows(x: Value): RoundedRows {
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

/** x W. weights [K, M] i8 with a scale for each column, scales [M] → [N, M] f32. */
export function integerMatmul({ bytes, factors }: RoundedRows, weights: Value, scales: Value): Value {
  const [rows, outputs] = [bytes.shape[0] ?? 1, weights.shape[1] ?? 1]
  const zero = cast(constant([128], []), 'uint8')
  const inputs = [bytes, weights, constant([1], []), scales, zero]
  const type = { dtype: 'float32', shape: [rows, 2, outputs] } as const
  const product = apply(integerMatmulOp, inputs, {}, [type])[0] as Value
  return reshape(matmul(factors, product), [rows, outputs])
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
