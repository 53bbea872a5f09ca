import { describe, expect, test } from 'vitest'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { TokenFilter, type Filters } from '#engine/runtime/generation/tokenFilter.ts'

const random = new SequentialRandom(randomStream(5))
const sizes = [1, 2, 7, 100, 3000]
const off: Filters = { topK: 0, topP: 1, minP: 0 }

/** Values of several shapes: smooth, peaked, with many ties, all equal, sorted, mostly none. */
function valuesOf(kind: number, size: number): Float64Array {
  const draw = [
    () => random.uniform(),
    () => Math.exp(8 * random.normal()),
    () => random.integer(4) / 4,
    () => 0.25,
    () => random.uniform(),
    () => Math.max(0, random.uniform() - 0.9),
  ][kind]!
  const values = Float64Array.from({ length: size }, draw)
  values[0] = 0.3
  return kind === 4 ? values.sort() : values
}

const cases = sizes.flatMap((size) => [0, 1, 2, 3, 4, 5].map((kind) => valuesOf(kind, size)))

function kept(weights: Float64Array, filters: Partial<Filters>): readonly number[] {
  const filter = new TokenFilter(weights.length)
  filter.weights.set(weights)
  const { ids, weights: own } = filter.keep({ ...off, ...filters })
  expect([...own]).toEqual(Array.from(ids, (id) => weights[id]))
  return [...ids]
}

/** Ids kept by the literal rule: ascending stable order, drop while the cumulative share is at most 1 − p; then min-p. */
function literal(weights: Float64Array, { topK, topP, minP }: Filters): readonly number[] {
  const sorted = Float64Array.from(weights).sort().reverse()
  const floor = topK > 0 ? (sorted[topK - 1] ?? 0) : 0
  const ids = [...weights.keys()].filter((id) => weights[id]! >= floor)
  const ascending = ids.sort((a, b) => weights[a]! - weights[b]! || a - b)
  const total = ascending.reduce((sum, id) => sum + weights[id]!, 0)
  const largest = weights[ascending.at(-1)!]!
  let cumulative = 0
  const left = ascending.filter((id, index) => {
    cumulative += weights[id]! / total
    return index === ascending.length - 1 || cumulative > 1 - topP
  })
  return left.filter((id) => weights[id]! >= minP * largest && weights[id]! > 0).sort((a, b) => a - b)
}

describe('TokenFilter', () => {
  // Ties at 1/4 make shares exact in binary only for some sizes; 0.83 is never on a border.
  test.each([
    { topP: 0.83 },
    { topP: 0.37, minP: 0.02 },
    { topP: 0.001 },
    { topP: 0.999 },
    { minP: 0.3 },
    { topK: 1 },
    { topK: 5 },
    { topK: 400 },
    { topK: 2999 },
    { topK: 40, topP: 0.61, minP: 0.001 },
    { topK: 7, minP: 0.5 },
  ])('keeps what the ascending rule keeps: %j', (filters) => {
    for (const weights of cases)
      expect(kept(weights, filters)).toEqual(literal(weights, { ...off, ...filters }))
  })

  test('of equal weights at the border of top-p the last stay, at that of top-k all', () => {
    const weights = Float64Array.of(1, 4, 1, 1, 1)
    expect(kept(weights, { topP: 0.7 })).toEqual([1, 3, 4])
    expect(kept(weights, { topK: 2 })).toEqual([0, 1, 2, 3, 4])
  })

  test('weights need no total', () => {
    const weights = valuesOf(1, 500)
    const scaled = weights.map((weight) => weight / 1024)
    for (const filters of [{ topP: 0.6 }, { minP: 0.1 }, { topK: 9, topP: 0.5 }])
      expect(kept(scaled, filters)).toEqual(kept(weights, filters))
  })

  test('may be used again', () => {
    const filter = new TokenFilter(4)
    filter.weights.set([0.1, 0.2, 0.3, 0.4])
    expect([...filter.keep({ ...off, topP: 0.95 }).ids]).toEqual([0, 1, 2, 3])
    filter.weights.set([0.7, 0.1, 0.1, 0.1])
    expect([...filter.keep({ ...off, topP: 0.6 }).ids]).toEqual([0])
  })

  test('nothing passes where nothing is a number', () => {
    expect(kept(Float64Array.of(0, 0), { topP: 0.5 })).toEqual([])
    const filter = new TokenFilter(2)
    filter.weights.set([NaN, NaN])
    for (const filters of [{ topK: 1 }, { topP: 0.5 }, { minP: 0.5 }])
      expect(filter.keep({ ...off, ...filters }).ids).toHaveLength(0)
  })
})
