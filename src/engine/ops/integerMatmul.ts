/**
 * Products in whole numbers. Weights have 8 bits and a scale for each output. What they are multiplied with has 16, as two
 * bytes that are multiplied like two rows: that reads the weights once for both, and what is rounded there is far less
 * than what is rounded of the weights.
 */
import type { Value } from '../graph/value.ts'
import { apply, constant } from '../graph/value.ts'
import { add, div, mul, scale, sub } from './arithmetic.ts'
import { cast } from './cast.ts'
import { defineOp } from './define.ts'
import { concat, reshape } from './layout.ts'
import { matmul } from './matmul.ts'
import { reduceMax } from './reduce.ts'

const ROLLOUTS = 'Used for rollouts only; learning reads weights in f32.'

export const absOp = defineOp('Abs', ROLLOUTS)
export const integerMatmulOp = defineOp('MatMulIntegerToFloat', ROLLOUTS, { domain: 'com.microsoft' })

/** Rows in 16 bits: x ≈ scale · (upper − 128 + (lower − 128) / 254). */
export interface RoundedRows {
  /** [2N, K] u8: the upper bytes of all rows, then the lower ones. */
  readonly bytes: Value
  /** [N, 1] */
  readonly scales: Value
}

/** Steps of the lower byte to one of the upper. */
const FINE_STEPS = 254
/** A row of zeros is divided by this. */
const SMALLEST_SCALE = 2 ** -100

/** max |x| of each row, [N, 1]; of a row of zeros a number that it can be divided by. Without a gradient. x [N, K] f32. */
export const largestMagnitudes = (x: Value): Value =>
  add(reduceMax(apply(absOp, [x], {}, [x])[0] as Value, [-1]), constant([SMALLEST_SCALE], [1]))

/** x [N, K] f32. */
export function roundRows(x: Value): RoundedRows {
  const scales = scale(largestMagnitudes(x), 1 / 127)
  // A cast to bytes cuts the fraction off, so a half more rounds to nearest.
  const shifted = add(div(x, scales), constant([128.5], [1])) // [1.5, 255.5]
  const upper = cast(shifted, 'uint8')
  const fraction = sub(shifted, cast(upper, 'float32')) // [0, 1), a half more than what is left
  const lower = cast(add(scale(fraction, FINE_STEPS), constant([1.5], [1])), 'uint8')
  return { bytes: concat([upper, lower], 0), scales }
}

/** x W. weights [K, M] i8 with a scale for each column, scales [M] → [N, M] f32. */
export function integerMatmul(x: RoundedRows, weights: Value, scales: Value): Value {
  const [rows, outputs] = [x.bytes.shape[0] ?? 1, weights.shape[1] ?? 1]
  const zero = cast(constant([128], []), 'uint8')
  const inputs = [x.bytes, weights, constant([1], []), scales, zero]
  const type = { dtype: 'float32', shape: [rows, outputs] } as const
  const product = apply(integerMatmulOp, inputs, {}, [type])[0] as Value
  // One pass over both halves, where taking them apart would copy them.
  const halves = reshape(product, [2, -1])
  const sums = matmul(constant([1, 1 / FINE_STEPS], [1, 2]), halves)
  return mul(reshape(sums, [-1, outputs]), x.scales)
}
