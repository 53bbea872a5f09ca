import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { judge, type RecordedRun } from '../../../scripts/diagnosis/recorded.ts'

/** Runs that scripts/diagnosis/corpus.ts trained and recorded, of two seeds that rules were made with and of one they were not. */
const recorded = new URL('corpus.jsonl.gz', import.meta.url)

const verdicts = gunzipSync(readFileSync(recorded))
  .toString('utf8')
  .trim()
  .split('\n')
  .map((line) => judge(JSON.parse(line) as RecordedRun))

describe.each([...Map.groupBy(verdicts, ({ run }) => run.seed)])('runs with seed %i', (_, own) => {
  const broken = own.filter(({ run }) => run.expected !== null)
  const healthy = own.filter(({ run }) => run.expected === null)
  const wrong = (some: typeof own) =>
    some.flatMap(({ run, first, isRight }) => (isRight ? [] : [`${run.name}: ${first ?? 'nothing'}`]))

  test('the cause is named first in 28 of 30 broken ones', () => {
    expect(wrong(broken).length, wrong(broken).join('; ')).toBeLessThanOrEqual((2 / 30) * broken.length)
  })

  test('no healthy one is accused at any of its steps', () => {
    expect(wrong(healthy)).toEqual([])
  })
})

test('there are enough of either kind, on two tasks, with several algorithms', () => {
  const runs = verdicts.map(({ run }) => run)
  expect(runs.filter(({ expected }) => expected !== null).length).toBeGreaterThanOrEqual(30)
  expect(runs.filter(({ expected }) => expected === null).length).toBeGreaterThanOrEqual(10)
  for (const word of ['digits', 'sentence', 'grpo', 'rloo', 'ppo', 'cispo'])
    expect(runs.filter(({ name }) => name.includes(word)).length).toBeGreaterThan(1)
})
