import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { StudyEntry } from '#shared/api/studies.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { chosenTrial } from '#host/studies/winner.ts'
import { createHostFixture, smallConfig } from '../api/hostFixture.ts'

const rate = 'optimization.learningRate'
const fixture = createHostFixture()

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
  expect(fixture.faults).toEqual([])
})

/** Two trials, of which one goes on after the first step. */
const file = {
  ...smallConfig,
  name: 'rates',
  steps: 2,
  parallel: 1,
  evaluation: { ...smallConfig.evaluation, every: 1 },
  sweep: {
    method: 'random',
    trials: 2,
    parameters: { [rate]: { min: 1e-4, max: 1e-2 } },
    early: { method: 'halving', keep: 2, from: 1 },
  },
}

async function studied(): Promise<StudyEntry> {
  const { id } = await fixture.client.call('studies.start', { file: { ...file } })
  return fixture.host.studies.ended(id)
}

const reference = studied()

const adapterOf = (runId: string | null | undefined, step: number): string => {
  const run = fixture.host.store.runs.get(runId ?? '')
  const folder = path.join(run.directory, 'checkpoints', `step-${String(step).padStart(6, '0')}`)
  return readFileSync(path.join(folder, 'actor', 'adapter_model.safetensors'), 'base64')
}

test('a sweep ends its weak trial early, and the other goes on where it was', async () => {
  const study = await reference
  expect(study).toMatchObject({ status: 'finished', error: null })
  expect(study.trials.map(({ results }) => results.map(({ step }) => step)).toSorted()).toEqual([[1], [1, 2]])
  const ended = study.trials.find(({ results }) => results.length === 1)
  expect(await fixture.client.call('runs.get', { runId: ended?.runId ?? '' })).toMatchObject({
    status: 'stopped',
    step: 1,
  })
  expect(study.best?.step).toBe(2)
})

test('nothing is promoted from a study without a result', async () => {
  const study = await reference
  const entry = { ...study, best: null, trials: [] }
  expect(() => chosenTrial(entry, null)).toThrow('No trial of this study has a result yet.')
  const failed = {
    ...entry.pending[0],
    trial: 0,
    step: 2,
    fitness: null,
    tokens: 0,
    seconds: 0,
    error: 'It diverged.',
  }
  const [trial] = study.trials
  if (trial === undefined) throw new Error('Expected a trial.')
  const alone = { ...entry, trials: [{ ...trial, results: [failed] }] }
  expect(() => chosenTrial(alone, 0)).toThrow('Trial 1 has no result that counts: It diverged.')
  expect(() => chosenTrial({ ...entry, trials: [{ ...trial, results: [] }] }, 0)).toThrow(
    'Trial 1 has no result yet.',
  )
})

test('the best is promoted: a copy that outlives checkpoint, run and study, and a run continues it', async () => {
  const study = await reference
  const { client, directory } = fixture
  const { best, trials } = study
  if (best === null) throw new Error('Expected a best trial.')
  const chosen = await client.call('studies.exportConfig', { id: study.id })
  expect(chosen).toMatchObject({ trial: best.trial, step: 2, fitness: best.fitness })
  const { sweep: _, ...run } = file
  expect(chosen.config).toMatchObject({
    model: run.model,
    steps: 2,
    name: `rates · trial ${chosen.trial + 1}`,
    optimization: { learningRate: trials[chosen.trial]?.settings[rate] },
  })
  expect(await client.call('runs.check', { config: parseRunConfig(chosen.config) })).toMatchObject({
    steps: 2,
  })

  const promoted = await client.call('studies.promote', { id: study.id })
  expect(promoted).toMatchObject({
    name: `rates-trial-${chosen.trial + 1}-step-2`,
    origin: {
      studyId: study.id,
      study: 'rates',
      runId: best.runId,
      metric: 'eval_reward',
      trial: chosen.trial,
      step: 2,
      fitness: chosen.fitness,
      model: run.model,
    },
  })
  const trained = adapterOf(best.runId, 2)
  const weaker = trials.findIndex(({ index }) => index !== chosen.trial)
  const other = await client.call('studies.promote', { id: study.id, trial: weaker, name: 'weaker' })
  // It ended at the first rung.
  expect(other.origin).toMatchObject({ trial: weaker, step: 1 })
  await expect(client.call('studies.promote', { id: study.id })).rejects.toMatchObject({
    code: 'usage/invalid',
    message: `An adapter called “${promoted.name}” already exists.`,
  })
  await expect(client.call('studies.promote', { id: study.id, trial: 9 })).rejects.toMatchObject({
    message: 'There is no trial 10; the study has 2.',
  })

  await client.call('checkpoints.delete', { runId: best.runId ?? '', step: 2 })
  await expect(client.call('studies.promote', { id: study.id, name: 'late' })).rejects.toMatchObject({
    code: 'run/not-found',
    message: `The run ${best.runId} has no checkpoint of step 2.`,
  })
  await client.call('runs.delete', { runId: best.runId ?? '' })
  await expect(client.call('studies.promote', { id: study.id, name: 'late' })).rejects.toMatchObject({
    message: `The run of trial ${chosen.trial + 1} was deleted, and its checkpoints with it.`,
  })
  await client.call('studies.delete', { id: study.id })
  const [listed] = (await client.call('models.adapters')).filter(({ name }) => name === promoted.name)
  expect(listed).toEqual(promoted)
  const copy = path.join(promoted.directory, 'actor', 'adapter_model.safetensors')
  expect(readFileSync(copy, 'base64')).toBe(trained)
  expect(existsSync(path.join(promoted.directory, 'optimizer.safetensors'))).toBe(false)

  const formats = await client.call('checkpoints.formats', { adapter: promoted.name })
  expect(formats.find(({ format }) => format === 'merged')?.problem).toBe(null)
  const out = path.join(directory, 'exports', 'out')
  const items = []
  for await (const item of client.stream('checkpoints.export', {
    adapter: promoted.name,
    format: 'merged',
    out,
  }))
    items.push(item)
  const report = items.flatMap((item) => ('result' in item ? [item.result] : []))[0]
  expect(report?.parity.every(({ passed }) => passed)).toBe(true)
  await expect(client.call('checkpoints.formats', { adapter: '../runs' })).rejects.toMatchObject({
    code: 'adapter/invalid',
  })
  const next = await fixture.start({ steps: 1, adapter: { initial: promoted.directory } })
  await fixture.reached(next, 'finished')
})
