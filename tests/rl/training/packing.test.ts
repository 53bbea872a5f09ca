import { describe, expect, test } from 'vitest'
import { packMicroBatches, planMinibatches } from '#rl/training/packing.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'

const random = new SequentialRandom(randomStream(5))
const cases = Array.from({ length: 40 }, () => {
  const unit = 1 + random.integer(2)
  const lengths = Array.from({ length: unit * random.integer(30) }, () => 1 + random.integer(60))
  return { unit, lengths, budget: 20 + random.integer(200) }
})

describe('micro-batches', () => {
  test.each(cases)(
    '$lengths.length rows in units of $unit within $budget tokens',
    ({ unit, lengths, budget }) => {
      const batches = packMicroBatches(lengths, budget, unit)
      const tokens = batches.map((batch) => batch.reduce((sum, row) => sum + lengths[row]!, 0))

      expect(batches.flat().toSorted((a, b) => a - b)).toEqual(lengths.map((_, row) => row))
      batches.forEach((batch, b) => expect(tokens[b]! <= budget || batch.length === unit).toBe(true))
      for (const batch of batches) {
        for (let at = 0; at < batch.length; at += unit) {
          expect(batch[at]! % unit).toBe(0)
          for (let k = 1; k < unit; k++) expect(batch[at + k]).toBe(batch[at]! + k)
        }
      }
      const sizes = batches.map((batch) =>
        Array.from({ length: batch.length / unit }, (_, k) =>
          batch.slice(k * unit, (k + 1) * unit).reduce((sum, row) => sum + lengths[row]!, 0),
        ),
      )
      // Nothing of a later batch would have fitted into an earlier one.
      tokens.forEach((filled, b) => {
        for (const later of sizes.slice(b + 1).flat()) expect(filled + later).toBeGreaterThan(budget)
      })
      const longest = batches.map((batch) => Math.max(...batch.map((row) => lengths[row]!)))
      expect(longest).toEqual(longest.toSorted((a, b) => b - a))
    },
  )
})

describe('minibatches', () => {
  const plan = { size: 4, epochs: 2, unit: 1, seed: 1, step: 3 }

  test('every epoch visits every row once; only its last minibatch may be smaller', () => {
    const batches = planMinibatches(10, plan)
    expect(batches.map((batch) => batch.length)).toEqual([4, 4, 2, 4, 4, 2])
    for (const epoch of [batches.slice(0, 3), batches.slice(3)]) {
      expect(epoch.flat().toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    }
  })

  test('the order depends on seed, step and epoch alone', () => {
    expect(planMinibatches(10, plan)).toEqual(planMinibatches(10, plan))
    expect(planMinibatches(10, plan)).not.toEqual(planMinibatches(10, { ...plan, step: 4 }))
    expect(planMinibatches(10, plan)).not.toEqual(planMinibatches(10, { ...plan, seed: 2 }))
    const [first, second] = [planMinibatches(10, plan).slice(0, 3), planMinibatches(10, plan).slice(3)]
    expect(first).not.toEqual(second)
  })

  test('pairs stay together', () => {
    for (const batch of planMinibatches(12, { ...plan, unit: 2 })) {
      for (let at = 0; at < batch.length; at += 2) expect(batch[at + 1]).toBe(batch[at]! + 1)
    }
    expect(() => planMinibatches(7, { ...plan, unit: 2 })).toThrow('units of 2')
  })

  test('no size means one minibatch, in order; no rows means none', () => {
    expect(planMinibatches(3, { ...plan, size: null, epochs: 1 })).toEqual([[0, 1, 2]])
    expect(planMinibatches(0, plan)).toEqual([])
  })
})
