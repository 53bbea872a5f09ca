import type { NamedTensor } from '#engine/models/source.ts'

/** max |a − b|; not a number where the lengths differ. */
export function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return NaN
  let largest = 0
  for (let index = 0; index < a.length; index++) largest = Math.max(largest, Math.abs(a[index]! - b[index]!))
  return largest
}

/** ‖a − b‖ / ‖b‖; not a number where the lengths differ. */
export function relativeError(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return NaN
  let [error, norm] = [0, 0]
  for (let index = 0; index < a.length; index++) {
    error += (a[index]! - b[index]!) ** 2
    norm += b[index]! ** 2
  }
  return Math.sqrt(error) / Math.sqrt(norm)
}

/** The relative error of each tensor; not a number for one that `actual` lacks. */
export function tensorErrors(
  actual: readonly NamedTensor[],
  expected: readonly NamedTensor[],
): Record<string, number> {
  const byName = new Map(actual.map((tensor) => [tensor.name, tensor.data]))
  return Object.fromEntries(
    expected.map(({ name, data }) => [name, relativeError(byName.get(name) ?? [], data)]),
  )
}
