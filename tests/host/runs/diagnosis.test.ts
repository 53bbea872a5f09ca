import { writeFileSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import type { RunEvent } from '#shared/events.ts'
import { createRunFolder, runPaths } from '#host/workFolder/runFolder.ts'
import { starterConfig } from './runFixture.ts'
import { createHostFixture } from '../api/hostFixture.ts'

const fixture = createHostFixture()
const { client, host, directory } = fixture

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

/** A run whose log says what is given. */
function runThatSaid(events: readonly RunEvent[]): string {
  const folder = createRunFolder(directory, starterConfig)
  const lines = events.map((event) => JSON.stringify({ at: 1, ...event }))
  writeFileSync(runPaths(folder.directory).events, `${lines.join('\n')}\n`)
  const run = host.history.add(folder)
  host.history.ingest(run)
  return run.id
}

const steps = (count: number, metrics: (step: number) => Record<string, number>): RunEvent[] =>
  Array.from({ length: count }, (_, i) => ({
    ...({ type: 'step', step: i + 1, steps: count } as const),
    metrics: { step_time: 1, reward: 0.5 + (i % 2) / 10, loss: 0.3, ...metrics(i + 1) },
  }))

const samples = (step: number): RunEvent => ({
  type: 'samples',
  step,
  source: 'rollout',
  samples: Array.from({ length: 4 }, (_, row) => ({
    row,
    prompt: 'Add 1 and 2.',
    completion: 'It is three.',
    reward: 0,
    parts: { correct: 0 },
    advantage: 0,
    tokens: 4,
    stopReason: 'stop-id' as const,
    logged: { number: null },
  })),
})

test('a run that goes well has no findings', async () => {
  const runId = runThatSaid(steps(12, () => ({})))
  const { checks, ...diagnosis } = await client.call('runs.diagnosis', { runId })
  expect(diagnosis).toEqual({ stage: null, firstStep: 1, steps: 12, findings: [], soundUntil: null })
  expect(checks.map(({ title }) => title)).toEqual(['Reward'])
})

test('numbers, samples and checkpoints of the history are looked at', async () => {
  const saved = [4, 8].map((step): RunEvent => ({
    type: 'checkpoint-saved',
    step,
    directory: `/checkpoints/${step}`,
    reward: null,
    sizeBytes: 1,
  }))
  const measured = steps(12, (step) => ({
    // No number: JSON has null for it.
    ...(step < 7 ? { grad_norm: 1 } : { grad_norm: NaN }),
    'completions/clipped_ratio': 0.7,
  }))
  const seen = [6, 7, 8, 9, 10, 11, 12].map(samples)
  const runId = runThatSaid([...measured, ...saved, ...seen])
  const { findings } = await client.call('runs.diagnosis', { runId })
  // What was cut off and has no form follows from it.
  expect(findings).toMatchObject([
    {
      id: 'diverged',
      evidence: [{ of: 'grad_norm', value: null, fromStep: 7, toStep: 12 }],
      proposals: [{ changes: { 'optimization.learningRate': 0.0005 }, from: 4 }],
    },
  ])
  const formless = await client.call('runs.diagnosis', {
    runId: runThatSaid([...steps(12, () => ({})), ...seen]),
  })
  expect(formless.findings.map(({ id }) => id)).toEqual(['format-mismatch'])
})

test('held-out prompts are compared with those of training', async () => {
  const asked = (source: 'rollout' | 'evaluation', prompt: (i: number) => string): RunEvent => ({
    type: 'samples',
    step: 12,
    source,
    samples: Array.from({ length: 24 }, (_, i) => ({
      row: i,
      prompt: prompt(i),
      completion: '7',
      reward: 0,
      parts: {},
      advantage: 0,
      tokens: 1,
      stopReason: 'stop-id' as const,
    })),
  })
  const runId = runThatSaid([
    ...steps(12, () => ({})),
    asked('rollout', (i) => (i % 3 ? `Add ${i} and 4` : `What is ${i} plus 4?`)),
    asked('evaluation', (i) => `Translate house number ${i} into French`),
  ])
  const { findings } = await client.call('runs.diagnosis', { runId })
  expect(findings.map(({ id }) => id)).toEqual(['held-out-other-task'])
})

test('what a run says of itself stands in its entry, until it says otherwise or goes back', async () => {
  const remark = (step: number, ...ids: ('cap-hits' | 'policy-destroyed')[]): RunEvent => ({
    type: 'diagnosis',
    step,
    findings: ids.map((id) => ({ id, severity: 'problem', words: `Words of ${id}.` })),
  })
  const entryOf = async (events: readonly RunEvent[]) =>
    (await client.call('runs.get', { runId: runThatSaid(events) })).finding
  expect(await entryOf(steps(2, () => ({})))).toBeNull()
  const destroyed = remark(2, 'policy-destroyed', 'cap-hits')
  expect(await entryOf([...steps(2, () => ({})), remark(1, 'cap-hits'), destroyed])).toEqual({
    id: 'policy-destroyed',
    severity: 'problem',
    words: 'Words of policy-destroyed.',
  })
  expect(await entryOf([destroyed, remark(3)])).toBeNull()
  const resumed = { type: 'resumed', keep: 1 } as unknown as RunEvent
  expect(await entryOf([remark(1, 'cap-hits'), destroyed, resumed])).toMatchObject({ id: 'cap-hits' })
})

test('a run that is not known is said to be unknown', async () => {
  const runId = 'run_00000000-0000-7000-8000-000000000000'
  await expect(client.call('runs.diagnosis', { runId })).rejects.toMatchObject({ code: 'run/not-found' })
})

test('the answers are as the contract says', () => {
  expect(fixture.faults).toEqual([])
})
