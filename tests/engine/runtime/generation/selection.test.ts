import { describe, expect, test } from 'vitest'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { isKept, Selection } from '#engine/runtime/generation/selection.ts'

const random = new SequentialRandom(randomStream(5))
const sizes = [1, 2, 7, 100, 3000]

/** Values of several shapes: smooth, peaked, with many ties, all equal, sorted. */
function valuesOf(kind: number, size: number): Float64Array {
  const draw = [
    () => random.uniform(),
    () => Math.exp(8 * random.normal()),
    () => random.integer(4) / 4,
    () => 0.25,
    () => random.uniform(),
  ][kind]!
  const values = Float64Array.from({ length: size }, draw)
  return kind === 4 ? values.sort() : values
}

describe('Selection.kthLargest', () => {
  test('equals sorting, for any size, k and ties', () => {
    for (const size of sizes) {
      for (let kind = 0; kind < 5; kind++) {
        const values = valuesOf(kind, size)
        for (const k of [1, 2, 5, 50, 400, 2999]) {
          const sorted = Float64Array.from(values).sort().reverse()
          const expected = k >= size ? -Infinity : sorted[k - 1]
          expect(new Selection(size).kthLargest(values, k)).toBe(expected)
        }
      }
    }
  })

  test('is minus infinity when fewer than k values are above it', () => {
    const values = [-Infinity, 3, -Infinity, 1]
    expect(new Selection(4).kthLargest(values, 3)).toBe(-Infinity)
    expect(new Selection(4).kthLargest(values, 2)).toBe(1)
  })
})

/** Ids kept by the literal rule: ascending stable order, drop while the cumulative share is at most 1 − p; then min-p. */
function literalNucleus(weights: Float64Array, floor: number, topP: number, minP: number): number[] {
  const ids = [...weights.keys()].filter((id) => weights[id]! >= floor)
  const ascending = ids.sort((a, b) => weights[a]! - weights[b]! || a - b)
  const total = ascending.reduce((sum, id) => sum + weights[id]!, 0)
  const largest = weights[ascending.at(-1)!]!
  let cumulative = 0
  const kept = ascending.filter((id, index) => {
    cumulative += weights[id]! / total
    return index === ascending.length - 1 || cumulative > 1 - topP
  })
  return kept.filter((id) => weights[id]! >= minP * largest).sort((a, b) => a - b)
}

describe('Selection.nucleus', () => {
  test('keeps what the ascending rule keeps', () => {
    for (const size of sizes) {
      for (let kind = 0; kind < 5; kind++) {
        // Ties at 1/4 make shares exact in binary only for some sizes; 0.83 is never on a border.
        for (const [topP, minP, k] of [
          [0.83, 0, 0],
          [0.37, 0.02, 0],
          [1, 0.3, 0],
          [0.61, 0.001, 40],
          [0.001, 0, 0],
        ] as const) {
          const weights = valuesOf(kind, size)
          weights[0] = 0.3
          const selection = new Selection(size)
          const floor = k > 0 ? Math.max(0, selection.kthLargest(weights, k)) : 0
          const cut = selection.nucleus(weights, { floor, topP, minP })
          const kept = [...weights.keys()].filter((id) => isKept(cut, weights[id]!, id))
          expect(kept).toEqual(literalNucleus(weights, floor, topP, minP))
        }
      }
    }
  })
})
