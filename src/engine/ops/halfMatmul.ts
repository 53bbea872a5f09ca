/**
 * Products with a frozen matrix in 16 bits, which matrix units of GPUs multiply many times faster than f32. What goes in and
 * what comes out is f32; sums run in f32 inside the units.
 */
import type { Dtype, Value } from '../graph/value.ts'
import { compose } from '../graph/value.ts'
import { div, mul } from './arithmetic.ts'
import { cast } from './cast.ts'
import { inputOf, onlyCotangent } from './define.ts'
import { largestMagnitudes } from './integerMatmul.ts'
import { matmul } from './matmul.ts'

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

/** x Wᵀ with a frozen matrix in whatever it is held in. x […, K], W [N, K] → […, N] f32. */
export const frozenMatmul = (x: Value, weight: Value): Value =>
  isHalf(weight.dtype) ? halfMatmul(x, weight, { transB: true }) : matmul(x, weight, { transB: true })
