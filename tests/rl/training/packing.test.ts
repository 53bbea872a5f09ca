import { describe, expect, test } from 'vitest'
import type { MicroBatches } from '#rl/training/packing.ts'
import { forMicroBatches, microBatches, planMinibatches } from '#rl/training/packing.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'

const random = new SequentialRandom(randomStream(5))
const cases = Array.from({ length: 40 }, () => {
  const unit = 1 + random.integer(2)
  const lengths = Array.from({ length: unit * random.integer(30) }, () => 1 + random.integer(60))
  return { unit, lengths, budget: 20 + random.integer(200) }
})

const sumOf = (rows: readonly number[], lengths: readonly number[]) =>
  rows.reduce((sum, row) => sum + lengths[row]!, 0)

function expectUnits(batches: MicroBatches['batches'], lengths: readonly number[], unit: number): void {
  expect(batches.flat().toSorted((a, b) => a - b)).toEqual(lengths.map((_, row) => row))
  for (const batch of batches) {
    for (let at = 0; at < batch.length; at += unit) {
      expect(batch[at]! % unit).toBe(0)
      for (let k = 1; k < unit; k++) expect(batch[at + k]).toBe(batch[at]! + k)
    }
  }
}

describe('micro-batches one after the other', () => {
  test.each(cases)('$lengths.length rows in units of $unit within $budget', ({ unit, lengths, budget }) => {
    const { batches, together } = microBatches(
      { lengths },
      { tokens: budget, isLimit: true, replicas: 1, sharesPrefixes: true },
      unit,
    )
    const tokens = batches.map((batch) => sumOf(batch, lengths))

    expect(together).toBe(false)
    expectUnits(batches, lengths, unit)
    batches.forEach((batch, b) => expect(tokens[b]! <= budget || batch.length === unit).toBe(true))
    const sizes = batches.map((batch) =>
      Array.from({ length: batch.length / unit }, (_, k) =>
        sumOf(batch.slice(k * unit, (k + 1) * unit), lengths),
      ),
    )
    // Nothing of a later batch would have fitted into an earlier one.
    tokens.forEach((filled, b) => {
      for (const later of sizes.slice(b + 1).flat()) expect(filled + later).toBeGreaterThan(budget)
    })
    const longest = batches.map((batch) => Math.max(...batch.map((row) => lengths[row]!)))
    expect(longest).toEqual(longest.toSorted((a, b) => b - a))
  })
})

describe('micro-batches for replicas', () => {
  test.each(cases)('$lengths.length rows in units of $unit within $budget', ({ unit, lengths, budget }) => {
    for (const replicas of [2, 3]) {
      const share = Math.floor(budget / replicas)
      const { batches } = microBatches(
        { lengths },
        { tokens: budget, isLimit: false, replicas, sharesPrefixes: true },
        unit,
      )
      const tokens = batches.map((batch) => sumOf(batch, lengths))

      expectUnits(batches, lengths, unit)
      batches.forEach((batch, b) => expect(tokens[b]! <= share || batch.length === unit).toBe(true))
      // Each replica gets equally many, unless every unit stands alone.
      const areAlone = batches.every(({ length }) => length === unit)
      expect(areAlone || batches.length % replicas === 0).toBe(true)
      // No two differ by more than the longest unit, or the shorter one would have got it.
      const largest = Math.max(...batches.flat().map((row) => lengths[row]!)) * unit
      if (!areAlone) expect(Math.max(...tokens) - Math.min(...tokens)).toBeLessThanOrEqual(largest)
    }
  })

  test('a limit that a row per replica would pass is kept: one after the other, all tokens for each', () => {
    const lengths = [700, 300, 300, 300]
    const limited = microBatches(
      { lengths },
      { tokens: 1000, isLimit: true, replicas: 2, sharesPrefixes: true },
      1,
    )
    expect(limited).toEqual({
      batches: [
        [0, 1],
        [2, 3],
      ],
      together: false,
    })
    expect(
      microBatches({ lengths }, { tokens: 1000, isLimit: false, replicas: 2, sharesPrefixes: true }, 1)
        .together,
    ).toBe(true)
    expect(
      microBatches(
        { lengths: [400, 300, 300] },
        { tokens: 1000, isLimit: true, replicas: 2, sharesPrefixes: true },
        1,
      ).together,
    ).toBe(true)
  })

  test('16 ragged rows are shared out almost evenly', () => {
    const lengths = Array.from({ length: 16 }, () => 32 + random.integer(481))
    const { batches } = microBatches(
      { lengths },
      { tokens: 1024, isLimit: false, replicas: 2, sharesPrefixes: true },
      1,
    )
    const tokens = batches.map((batch) => sumOf(batch, lengths))
    expect(Math.min(...tokens) / Math.max(...tokens)).toBeGreaterThan(0.75)
  })
})

describe('rows that begin alike', () => {
  /** Groups of `size` rows behind a prompt: its length, then those of the completions. */
  const groupsOf = (
    groups: readonly { readonly prompt: number; readonly completions: readonly number[] }[],
  ) => {
    const lengths = groups.flatMap(({ prompt, completions }) => completions.map((length) => prompt + length))
    let row = 0
    const families = groups.map(({ prompt, completions }) =>
      completions.map((_, at) => ({ row: row++, common: at === 0 ? 0 : prompt })),
    )
    return { lengths, families }
  }
  const eight = (prompt: number, completion: number) => ({
    prompt,
    completions: Array.from({ length: 8 }, () => completion),
  })
  const load = { tokens: 2048, isLimit: false, replicas: 2, sharesPrefixes: true }

  test('a group stays together where there is a micro-batch for each', () => {
    const { batches } = microBatches(groupsOf([eight(96, 96), eight(96, 96)]), load, 1)
    expect(batches).toEqual([
      [0, 1, 2, 3, 4, 5, 6, 7],
      [8, 9, 10, 11, 12, 13, 14, 15],
    ])
  })

  test('a long prompt keeps its group together where micro-batches are small, too', () => {
    const long = groupsOf([eight(512, 128), eight(512, 128)])
    const { batches } = microBatches(long, { ...load, tokens: 512 }, 1)
    expect(batches).toEqual([
      [0, 1, 2, 3, 4, 5, 6, 7],
      [8, 9, 10, 11, 12, 13, 14, 15],
    ])
    // A short one is not worth that.
    expect(
      microBatches(groupsOf([eight(96, 96), eight(96, 96)]), { ...load, tokens: 512 }, 1).batches,
    ).toHaveLength(4)
  })

  test('a budget is kept, whatever a larger micro-batch would save', () => {
    const { batches, together } = microBatches(
      groupsOf([eight(512, 128), eight(512, 128)]),
      { ...load, isLimit: true },
      1,
    )
    expect(together).toBe(true)
    for (const batch of batches) expect(512 + 128 * batch.length).toBeLessThanOrEqual(1024)
  })

  test('a group is shared out to replicas that would have nothing to do', () => {
    const { batches } = microBatches(groupsOf([eight(96, 96)]), load, 1)
    expect(batches).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
    ])
    const three = microBatches(groupsOf([eight(96, 96), eight(96, 96), eight(96, 96)]), load, 1)
    expect(three.batches.map(({ length }) => length)).toEqual([12, 12])
    expect(three.batches.flat().toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 24 }, (_, row) => row),
    )
  })

  test('a larger micro-batch is better than a long prompt twice', () => {
    const { batches } = microBatches(groupsOf([eight(512, 128), eight(512, 128)]), load, 1)
    expect(batches.map(({ length }) => length)).toEqual([8, 8])
    const longer = microBatches(groupsOf([eight(3072, 128), eight(3072, 128)]), load, 1)
    expect(longer.batches.length).toBeGreaterThan(2)
  })

  test('no micro-batch has more distinct tokens than the limit allows', () => {
    const limited = { ...load, isLimit: true, tokens: 1000, replicas: 1 }
    const rows = groupsOf([eight(100, 200), eight(300, 50)])
    const { batches } = microBatches(rows, limited, 1)
    const commonOf = rows.families.flat().toSorted((a, b) => a.row - b.row)
    const family = (row: number) =>
      rows.families.findIndex((members) => members.some((each) => each.row === row))
    for (const batch of batches) {
      const known = new Set<number>()
      const tokens = batch.reduce((sum, row) => {
        const shared = known.has(family(row)) ? commonOf[row]!.common : 0
        known.add(family(row))
        return sum + rows.lengths[row]! - shared
      }, 0)
      expect(tokens).toBeLessThanOrEqual(1000)
    }
    // 8 × 300 and 8 × 350 tokens, of which 1700 and 700 are distinct.
    expect(batches.length).toBe(3)
  })
})

describe('work on micro-batches', () => {
  const batches = [[0], [1], [2]]
  const after = async (calls: number[], rows: readonly number[], together: boolean) => {
    calls.push(rows[0]!)
    await Promise.resolve()
    if (rows[0] === 1) throw new Error('the second')
    if (rows[0] === 2 && together) throw new Error('the third')
  }

  test('together: all begin, and the first error is told when all have ended', async () => {
    const calls: number[] = []
    const work = forMicroBatches({ batches, together: true }, (rows) => after(calls, rows, true))
    expect(calls).toEqual([0, 1, 2])
    await expect(work).rejects.toThrow('the second')
  })

  test('in turn: nothing begins behind an error', async () => {
    const calls: number[] = []
    await expect(
      forMicroBatches({ batches, together: false }, (rows) => after(calls, rows, false)),
    ).rejects.toThrow('the second')
    expect(calls).toEqual([0, 1])
  })
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
