import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { quantile } from '#rl/algorithms/terms/groups.ts'
import { exactGapLimit } from '#rl/training/updateGuard.ts'
import { judge, type RecordedRun } from '../../../scripts/diagnosis/recorded.ts'

/** Runs that scripts/diagnosis/corpus.ts trained and recorded, of two seeds that rules were made with and of one they were not. */
const runs = recordedIn('corpus.jsonl.gz')

function recordedIn(file: string): RecordedRun[] {
  const lines = gunzipSync(readFileSync(new URL(file, import.meta.url)))
    .toString('utf8')
    .trim()
    .split('\n')
  return lines.map((line) => JSON.parse(line) as RecordedRun)
}

const verdicts = runs.map((run) => judge(run))

const wrong = (some: typeof verdicts) =>
  some.flatMap(({ run, first, isRight }) =>
    isRight ? [] : [`${run.name}, ${run.seed}: ${first ?? 'nothing'}`],
  )

describe.each([...Map.groupBy(verdicts, ({ run }) => run.seed)])('runs with seed %i', (_, own) => {
  const broken = own.filter(({ run }) => run.expected !== null)
  const healthy = own.filter(({ run }) => run.expected === null)

  test('the cause is named first in 28 of 30 broken ones', () => {
    expect(wrong(broken).length, wrong(broken).join('; ')).toBeLessThanOrEqual((2 / 30) * broken.length)
  })

  test('no healthy one is accused at any of its steps', () => {
    expect(wrong(healthy)).toEqual([])
  })
})

test('there are enough of either kind, on two tasks, with several algorithms', () => {
  expect(runs.filter(({ expected }) => expected !== null).length).toBeGreaterThanOrEqual(30)
  expect(runs.filter(({ expected }) => expected === null).length).toBeGreaterThanOrEqual(10)
  for (const word of ['digits', 'sentence', 'grpo', 'rloo', 'ppo', 'cispo'])
    expect(runs.filter(({ name }) => name.includes(word)).length).toBeGreaterThan(1)
})

describe('causes that no single setting shows, with seeds that rules were not made with', () => {
  const [broken, healthy] = [true, false].map((isBroken) =>
    recordedIn('causes.jsonl.gz')
      .filter(({ expected }) => (expected !== null) === isBroken)
      .map((run) => judge(run)),
  )

  test('of ten kinds in four ways each the cause is named first in 36 of 40', () => {
    expect(new Set(broken?.map(({ run }) => run.name.split(',')[0])).size).toBe(10)
    expect(broken).toHaveLength(40)
    expect(wrong(broken ?? []).length, wrong(broken ?? []).join('; ')).toBeLessThanOrEqual(4)
  })

  test('none of twenty sound ones is accused', () => {
    expect(healthy).toHaveLength(20)
    expect(wrong(healthy ?? [])).toEqual([])
  })
})

describe('what the guard over updates would have said', () => {
  const numbersOf = ({ series }: RecordedRun, name: string) => {
    const found = series[name] ?? []
    const values = 'from' in found ? found.values : found.map(([, value]) => value)
    return values.filter((value) => value !== null)
  }

  test('no run jumps a tenth as far as is refused, those included that destroy their policy', () => {
    for (const run of runs) {
      const norms = numbersOf(run, 'grad_norm')
      norms.slice(1).forEach((norm, i) => {
        const usual = quantile(norms.slice(Math.max(0, i - 19), i + 1), 0.5)
        expect(norm / Math.max(usual, 1e-3), `${run.name}, step ${i + 2}`).toBeLessThan(1e5)
      })
    }
  })

  test('in none of them do sampler and learner disagree by a hundredth of the bound', () => {
    for (const run of runs)
      for (const gap of numbersOf(run, 'sampling/sampling_logp_difference/mean'))
        expect(gap, run.name).toBeLessThan(exactGapLimit / 100)
  })
})
