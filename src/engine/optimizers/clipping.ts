import type { ParameterGroup } from './optimizer.ts'

/** Keeps the division finite when a group's gradient is all zero; PyTorch's `clip_grad_norm_` uses the same. */
const NORM_OFFSET = 1e-6

/**
 * L2 norm of each group's gradient, summed in f64. Reads only. Squares of f32 numbers cannot overflow f64: a norm that is
 * not finite means a gradient that is not.
 */
export const gradientNorms = (
  gradients: Float32Array,
  groups: readonly Pick<ParameterGroup, 'ranges'>[],
): number[] =>
  groups.map(({ ranges }) =>
    Math.sqrt(ranges.reduce((sum, { start, end }) => sum + sumOfSquares(gradients, start, end), 0)),
  )

/** Factor that brings a gradient of this norm within the limit: min(1, limit / (norm + 1e-6)). */
export function clipScale(norm: number, maxGradNorm: number): number {
  return Math.min(1, maxGradNorm / (norm + NORM_OFFSET))
}

function sumOfSquares(values: Float32Array, start: number, end: number): number {
  let sum = 0
  for (let index = start; index < end; index++) {
    const value = values[index]!
    sum += value * value
  }
  return sum
}
