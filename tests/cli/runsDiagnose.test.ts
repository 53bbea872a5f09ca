import { writeFileSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import { createRunFolder, runPaths } from '#host/artifacts/runFolder.ts'
import { createWorkplace, linesOf } from './turnwise.ts'

const place = createWorkplace()

afterAll(() => {
  place[Symbol.dispose]()
})

const config = {
  model: 'model',
  data: { train: 'rows.jsonl' },
  rewards: [{ function: 'exact-match' }],
  rollout: { maxNewTokens: 64 },
}

/** A run of ten steps, in the data directory. */
function runWith(metrics: Readonly<Record<string, number>>): string {
  const { id, directory } = createRunFolder(place.path('home'), config)
  const steps = Array.from({ length: 10 }, (_, i) =>
    JSON.stringify({
      ...{ type: 'step', at: 1, step: i + 1, steps: 20 },
      metrics: { step_time: 1, reward: 0.5, loss: 0.3, ...metrics },
    }),
  )
  writeFileSync(runPaths(directory).events, `${steps.join('\n')}\n`)
  return id
}

test('a healthy run gets one sentence', async () => {
  const { status, stdout } = await place.run('runs', 'diagnose', runWith({}))
  expect([status, stdout]).toEqual([0, 'Nothing looks wrong in steps 1 to 10.\n'])
})

test('a finding says what it is, what it rests on and what to change', async () => {
  const id = runWith({ 'completions/clipped_ratio': 0.75 })
  const { stdout } = await place.run('runs', 'diagnose', id)
  expect(stdout.split('\n').slice(0, 3)).toEqual([
    'Warning  75 % of the completions are cut off at 64 tokens, most of them before they come to an end.',
    '         completions/clipped_ratio 0.75 (steps 1 to 10)',
    '      →  Allow 128 tokens. (rollout.maxNewTokens 128)',
  ])
  const json = await place.run('runs', 'diagnose', id, '--json')
  expect(linesOf(json.stdout)).toMatchObject([
    {
      runId: id,
      steps: 10,
      findings: [{ id: 'cap-hits', severity: 'warning', evidence: [{ value: 0.75 }] }],
    },
  ])
})
