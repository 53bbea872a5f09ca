import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { InputOf } from '#shared/api/contract.ts'
import type { Api } from '#shared/api/api.ts'
import { summarizeRun } from '#host/api/queueService.ts'
import { createRunFolder, openRunFolder } from '#host/workFolder/runFolder.ts'
import { planChanges } from '#host/runs/settingChanges.ts'
import { configOf } from '#host/runs/runRows.ts'
import { openStore } from '#host/store/store.ts'
import { createHostFixture, smallConfig } from '../api/hostFixture.ts'

const fixture = createHostFixture()
const { client } = fixture
let runId: string
let step: number

beforeAll(async () => {
  runId = await fixture.start({ steps: 6, checkpoints: { every: 3 } })
  await client.call('runs.pause', { runId })
  step = (await fixture.reached(runId, 'paused')).step
})

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

type Changes = NonNullable<InputOf<Api, 'runs.resume'>['changes']>
const check = (changes: Changes) => client.call('runs.checkChanges', { runId, changes })

/** Path and words of what is wrong with changes. */
async function problems(changes: Changes): Promise<string[]> {
  const verdict = await check(changes)
  return 'problems' in verdict ? verdict.problems.map(({ path, message }) => `${path}: ${message}`) : []
}

describe('changes of a paused run', () => {
  test('are judged as a new config is', async () => {
    expect(await check({ 'optimization.learningRate': 0.001, steps: 9 })).toMatchObject({
      step,
      steps: 9,
      warnings: [],
      made: [
        { step, key: 'optimization.learningRate', from: 0.005, to: 0.001 },
        { step, key: 'steps', from: 6, to: 9 },
      ],
    })
    // The config leaves it out.
    expect(await check({ 'algorithm.settings.clipCoefficient': 0.3 })).toMatchObject({
      made: [{ key: 'algorithm.settings.clipCoefficient', from: 0.2, to: 0.3 }],
    })
    expect(await problems({ 'optimization.learningRate': -1 })).toEqual([
      'optimization.learningRate: expected more than 0, got -1.',
    ])
    expect(await problems({ 'rollout.temprature': 1 })).toEqual(['rollout.temprature: unknown key.'])
    expect(await problems({ 'algorithm.settings.nonsense': 1 })).toEqual([
      'algorithm.settings.nonsense: unknown key.',
    ])
    expect(await problems({ 'rollout.minNewTokens': 500 })).toEqual([
      expect.stringContaining('`rollout.maxNewTokens` truncates completions at'),
    ])
    expect(await problems({ 'rollout.maxNewTokens': 100_000 })).toEqual([
      expect.stringContaining('rollout.maxNewTokens: 100000, but the model reads'),
    ])
    expect(await problems({ 'rollout.groupSize': 8, model: 'other' })).toHaveLength(2)
  })

  test('warn of what is hardly meant, but not of what was so before', async () => {
    const verdict = await check({ 'optimization.learningRate': 0.5 })
    expect('warnings' in verdict && verdict.warnings.map(({ path }) => path)).toEqual([
      'optimization.learningRate',
    ])
  })

  test('apply where it goes on, and the history, the folder and a new history say the same', async () => {
    const changes = { 'optimization.learningRate': 0.001, steps: step + 1 }
    await client.call('runs.unpause', { runId, changes })
    expect(await fixture.reached(runId, 'finished', 'failed')).toMatchObject({
      status: 'finished',
      step: step + 1,
      steps: step + 1,
    })
    const run = await client.call('runs.get', { runId })
    expect(run.settingChanges.map(({ key }) => key)).toEqual(['optimization.learningRate', 'steps'])
    expect(configOf(run)).toMatchObject({ steps: step + 1, optimization: { learningRate: 0.001 } })
    expect(JSON.parse(run.config)).toMatchObject({ steps: 6, optimization: { learningRate: 0.005 } })
    expect(summarizeRun(openRunFolder(fixture.directory, runId))).toMatchObject({ steps: step + 1 })
    using store = openStore(`${fixture.directory}/rebuilt.db`)
    const folder = openRunFolder(fixture.directory, runId)
    store.runs.add({ ...folder, config: run.config })
    store.ingest(runId, `${folder.directory}/events.jsonl`)
    expect(store.runs.get(runId).settingChanges).toEqual(run.settingChanges)
  })

  test('cannot be made while it trains or when it is over', async () => {
    const changes = { 'rollout.temperature': 0.5 }
    await expect(client.call('runs.resume', { runId, changes })).rejects.toMatchObject({
      code: 'api/refused',
    })
    await expect(client.call('runs.unpause', { runId, changes })).rejects.toMatchObject({
      code: 'api/refused',
      message: 'Settings can change only while the run is paused or stopped.',
    })
  })
})

test('a trial of a study keeps its settings', async () => {
  const study = { studyId: 'st_00000000-0000-7000-8000-000000000000', trial: 0 }
  const trial = { runId: 'run_00000000-0000-7000-8000-000000000000', study }
  const run = createRunFolder(fixture.directory, smallConfig, { trial })
  const host = { dataDirectory: fixture.directory, askText: () => Promise.reject(new Error('not asked')) }
  await expect(planChanges(host, run.directory, { steps: 9 })).rejects.toMatchObject({
    code: 'api/refused',
    message: expect.stringContaining('its settings belong to the study') as string,
  })
})
