/** Convolution of each channel by itself over a few positions: the mixer of LFM2's layers that do not attend. */
import type { Dim } from '../graph/shape.ts'
import { type CompositeOp, type Value, compose } from '../graph/value.ts'
import { add, mul } from './arithmetic.ts'
import { onlyCotangent } from './define.ts'
import { concat, reshape, split, transpose } from './layout.ts'
import { reduceSum } from './reduce.ts'

/**
 * Σ w[:, 0, K − 1 − back] · taps[back]. taps: the K inputs [N, D] of each position, its own first, then those of one position
 * back, of two, …; weight [D, 1, K], the oldest first, as a causal Conv1d stores it → [N, D].
 */
export function shortConvolution(taps: readonly Value[], weight: Value): Value {
  const [channels, , kernel] = weight.shape as readonly [Dim, Dim, number]
  if (taps.length !== kernel)
    throw new Error(`Expected ${String(kernel)} inputs, got ${String(taps.length)}.`)
  const columns = transpose(reshape(weight, [channels, kernel]), [1, 0]) // [K, D]
  const factors = split(columns, 0, kernel).toReversed() // [1, D] each
  const terms = taps.map((tap, back) => mul(tap, factors[back] as Value))
  const vjp: CompositeOp['vjp'] = ({ cotangents }) => {
    const dy = onlyCotangent(cotangents)
    const dFactors = taps.map((tap) => reduceSum(mul(dy, tap), [0])).toReversed()
    const dWeight = reshape(transpose(concat(dFactors, 0), [1, 0]), weight.shape)
    return [...factors.map((factor) => mul(dy, factor)), dWeight]
  }
  return compose({ name: 'ShortConvolution', vjp }, [...taps, weight], [terms.reduce(add)])[0] as Value
}
