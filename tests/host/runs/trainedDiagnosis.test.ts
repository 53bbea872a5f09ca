import { afterAll, expect, test } from 'vitest'
import { createRunFolder } from '#host/workFolder/runFolder.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { createControl, runTraining } from '#host/training/entry.ts'
import { createHostFixture } from '../api/hostFixture.ts'
import { checkpointsOf, historyOf, starterConfig } from './runFixture.ts'

const fixture = createHostFixture()
const { host, directory, client } = fixture

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

/** A learning rate that destroys the policy within a few updates; a checkpoint after every step, of which one stays. */
const destructive = {
  ...starterConfig,
  seed: 1,
  adapter: { rank: 16, alpha: 32 },
  rollout: { promptsPerStep: 16, groupSize: 8, maxNewTokens: 16 },
  algorithm: { id: 'grpo', settings: { klCoefficient: 0 } },
  optimization: { learningRate: 0.1 },
  checkpoints: { every: 1, keepLast: 1, keepBest: 0 },
  evaluation: { every: 0, rows: 4 },
}

async function train(config: object) {
  const run = createRunFolder(directory, config)
  const request = {
    runDirectory: run.directory,
    cacheDirectory: dataFolders(directory).cache,
    resumeFrom: null,
  }
  let error: unknown = null
  try {
    for await (const _ of runTraining(request, createControl()));
  } catch (thrown) {
    error = thrown
  }
  const entry = host.history.add(run)
  host.history.ingest(entry)
  return { run, error, entry: host.store.runs.get(run.id) }
}

test('a run that destroys its policy says so, and ends there where its config wants that', async () => {
  const { run, error, entry } = await train({ ...destructive, diagnosis: { stopOn: 'destroyed' } })
  expect(error).toMatchObject({ code: 'run/destroyed' })
  const [said] = historyOf(run, 'diagnosis').slice(-1)
  expect(said).toMatchObject({ findings: [{ id: 'policy-destroyed', severity: 'problem' }] })
  expect(entry).toMatchObject({
    status: 'failed',
    error: { code: 'run/destroyed' },
    finding: { id: 'policy-destroyed', severity: 'problem' },
  })
  expect(entry.step).toBeLessThan(30)
  // The newest one from before it stays, though only one was to be kept.
  const { soundUntil, findings } = await client.call('runs.diagnosis', { runId: run.id })
  const kept = checkpointsOf(run).map((name) => Number(name.replace(/\D/g, '')))
  expect(kept.some((step) => step <= (soundUntil ?? 0))).toBe(true)
  expect(findings[0]?.proposals[0]).toMatchObject({
    changes: { 'optimization.learningRate': 0.001 },
    from: kept.findLast((step) => step <= (soundUntil ?? 0)),
  })
  expect(entry.error?.hint).toContain(`step ${String(kept.findLast((step) => step <= (soundUntil ?? 0)))}`)
})

test('a run that does well says nothing', async () => {
  const { run, error, entry } = await train({ ...starterConfig, steps: 8, diagnosis: { stopOn: 'problem' } })
  expect([error, entry.finding, historyOf(run, 'diagnosis')]).toEqual([null, null, []])
})
