import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { createHost } from '#host/createHost.ts'
import { createHostFixture, smallConfig, type HostFixture } from '../api/hostFixture.ts'
import { isWhole, wholeTitle } from '../../sweeps.ts'

type StudyEntry = OutputOf<Api, 'studies.get'>

const rate = 'optimization.learningRate'
const fixture = createHostFixture()
const { client, host } = fixture
/** Its host is closed in the middle of a study. */
const disturbed = createHostFixture()

afterAll(async () => {
  for (const each of [fixture, disturbed]) {
    await each[Symbol.asyncDispose]()
    expect(each.faults).toEqual([])
  }
})

/** How many train together is said, so that nothing is measured before a study starts (studyEstimate.test.ts does that). */
const oneByOne = { ...smallConfig, parallel: 1 }

const population = {
  ...oneByOne,
  name: 'rates',
  population: {
    size: 2,
    every: 2,
    tournament: 1,
    mutation: { probability: 1, elite: false, parameters: { [rate]: { min: 1e-4, max: 1e-2 } } },
  },
}

async function over(id: string): Promise<StudyEntry> {
  for await (const _ of client.follow('studies.watch')) {
    const entry = await client.call('studies.get', { id })
    if (entry.status !== 'waiting' && entry.status !== 'running') return entry
  }
  throw new Error('The feed ended.')
}

async function studied(file: object): Promise<StudyEntry> {
  return over((await client.call('studies.start', { file: { ...file } })).id)
}

/** All but ids and times. */
const outcome = ({ trials }: StudyEntry) =>
  trials.map(({ runId: _, results, ...trial }) => ({
    ...trial,
    results: results.map(({ seconds: _seconds, ...result }) => result),
  }))

const adapterOf = (directory: string, runId: string | null, step: number): string => {
  const checkpoint = path.join(
    directory,
    'runs',
    runId ?? '',
    'checkpoints',
    `step-${String(step).padStart(6, '0')}`,
  )
  return readFileSync(path.join(checkpoint, 'actor', 'adapter_model.safetensors'), 'base64')
}

const finalAdapters = ({ directory }: HostFixture, { trials }: StudyEntry): string[] =>
  trials.flatMap(({ runId, results }) => results.map(({ step }) => adapterOf(directory, runId, step)))

/** The one member that was cloned, and its parent. */
function clonedIn({ trials }: StudyEntry) {
  const [, , clone] = trials
  const parent = trials[clone?.parent?.index ?? -1]
  if (clone === undefined || parent === undefined) throw new Error('Expected a clone.')
  return { clone, parent }
}

const reference = studied(population)

test('members are evaluated, selected, cloned and mutated; the best trains on', async () => {
  const study = await reference
  expect(study).toMatchObject({ status: 'finished', error: null, steps: 4 })
  const { trials } = study
  expect(trials.map(({ generation }) => generation)).toEqual([0, 0, 1])
  expect(trials.flatMap(({ results }) => results.map(({ step }) => step)).toSorted()).toEqual([2, 2, 4, 4])
  const { clone, parent } = clonedIn(study)
  expect(clone.mutation?.from).toBe(parent.settings[rate])
  expect(clone.settings[rate]).toBe(clone.mutation?.to)
  // Tokens are counted once: what its parent generated is not the clone's.
  const totalOf = (runId: string | null) => {
    const { metrics, rows } = host.store.metrics.table(runId ?? '')
    return rows.flatMap(({ values }) => values[metrics.indexOf('num_tokens')] ?? []).at(-1) ?? NaN
  }
  expect(clone.results[0]?.tokens).toBe(totalOf(clone.runId) - (parent.results[0]?.tokens ?? NaN))

  const runs = await client.call('runs.list', {})
  const members = runs.filter(({ studyId }) => studyId === study.id)
  expect(members.map(({ trial }) => trial).toSorted()).toEqual([0, 1, 2])
  const forked = members.find(({ trial }) => trial === 2)
  expect(forked).toMatchObject({ parentRunId: parent.runId, parentCheckpointStep: 2 })
  for (const { runId, results } of trials)
    for (const { step, fitness } of results) {
      const { rows, metrics } = host.store.metrics.table(runId ?? '')
      const row = rows.find((each) => each.step === step)
      expect(row?.values[metrics.indexOf('eval_reward')]).toBe(fitness)
    }
})

test('members beside each other, some of them killed, and a host that closes change nothing of what comes out', async () => {
  const expected = await reference
  const { client, host, directory } = disturbed
  const { id } = await client.call('studies.start', { file: { ...population, parallel: 2 } })
  for (let kills = 0; kills < 2;) {
    const worker = host.supervisor.list().find(({ pid, activity }) => pid !== null && activity === 'running')
    if (worker === undefined) await setTimeout(5)
    else {
      process.kill(worker.pid ?? 0, 'SIGKILL')
      kills++
      while (host.supervisor.list().some(({ pid }) => pid === worker.pid)) await setTimeout(5)
    }
  }
  await host.studies[Symbol.asyncDispose]()
  expect((await client.call('studies.get', { id })).status).toBe('waiting')
  const damaged = path.join(directory, 'studies', 'st_00000000-0000-0000-0000-000000000000')
  mkdirSync(damaged)
  host.store.settings.set(`host.study.${path.basename(damaged)}`, true)
  writeFileSync(path.join(damaged, 'study.json'), '{')
  // One that somebody put there, with whatever state, is nobody's to go on with.
  const foreign = `${damaged.slice(0, -1)}1`
  cpSync(path.join(directory, 'studies', id), foreign, { recursive: true })
  const described = path.join(foreign, 'study.json')
  writeFileSync(described, readFileSync(described, 'utf8').replace(id, path.basename(foreign)))
  // What the next host does.
  const faults: unknown[] = []
  const onFault = (_: string, error: unknown) => void faults.push(error)
  await using next = createHost({ dataDirectory: directory, servesQueue: true, onFault })
  expect(faults).toHaveLength(1)
  expect(next.studies.get(path.basename(foreign)).status).toBe('waiting')
  const study = await next.studies.ended(id)
  expect(study.status).toBe('finished')
  expect(outcome(study)).toEqual(outcome(expected))
  expect(finalAdapters(disturbed, study)).toEqual(finalAdapters(fixture, expected))
})

const stopped = 'a study stops after the step of its trial, is resumed, and is deleted without its runs'
test.runIf(isWhole)(wholeTitle(stopped), async () => {
  await reference // no other run is going on then
  const listed = async () => {
    const { studies, unreadable } = await client.call('studies.list', undefined)
    return { studies: studies.filter((each) => each.id === id), unreadable }
  }
  const { id } = await client.call('studies.start', { file: { ...oneByOne, seeds: { values: [1, 2] } } })
  for await (const { workers } of client.follow('runs.watch'))
    if (workers.some(({ activity }) => activity === 'running')) break
  await client.call('studies.stop', { id })
  const stopped = await client.call('studies.get', { id })
  expect(stopped).toMatchObject({ status: 'stopped', error: null })
  const [first] = stopped.trials
  await expect(client.call('runs.resume', { runId: first?.runId ?? '' })).rejects.toMatchObject({
    code: 'api/refused',
    message: expect.stringContaining('trial of a study') as string,
  })
  await client.call('studies.resume', { id })
  const study = await over(id)
  expect(study).toMatchObject({ status: 'finished' })
  expect(study.trials.map(({ settings }) => settings['seed'])).toEqual([1, 2])
  await expect(client.call('studies.resume', { id })).rejects.toThrow('finished')
  const all = 2 * study.steps
  expect((await listed()).studies).toMatchObject([
    { id, kind: 'seeds', trials: 2, trained: { steps: all }, plannedSteps: all },
  ])
  // One that is damaged is named with the reason, and can go too.
  writeFileSync(path.join(fixture.directory, 'studies', id, 'log.jsonl'), 'not a line of ours\n')
  expect(await listed()).toMatchObject({
    studies: [],
    unreadable: [{ id, error: { code: 'data/invalid' } }],
  })
  await client.call('studies.delete', { id })
  expect(await listed()).toEqual({ studies: [], unreadable: [] })
  const left = (await client.call('runs.list', {})).map((run) => run.id)
  expect(left).toEqual(expect.arrayContaining(study.trials.map(({ runId }) => runId)))
})

test('members of a population that begin the same begin with the config’s values, said or not', async () => {
  const parameters = {
    [rate]: { min: 1e-4, max: 1e-2 },
    'algorithm.settings.klCoefficient': { min: 0.001, max: 1 },
  }
  const { algorithm: _, optimization: __, ...bare } = oneByOne as Record<string, unknown>
  const same = { size: 2, every: 2, initial: 'same', mutation: { parameters } }
  const { id } = await client.call('studies.start', { file: { ...bare, population: same } })
  const { start } = await client.call('studies.get', { id })
  expect(start).toEqual({
    [rate]: expect.any(Number) as number,
    'algorithm.settings.klCoefficient': expect.any(Number) as number,
  })
  await client.call('studies.stop', { id })
})

test('a trial whose settings cannot be trained with loses, and says why', async () => {
  const sweep = { method: 'grid', parameters: { 'rollout.maxNewTokens': { values: [4, 100_000] } } }
  const file = { ...oneByOne, steps: 2, sweep }
  expect(await client.call('studies.check', { file })).toMatchObject({ trials: 2, steps: 2, totalSteps: 4 })
  const study = await studied(file)
  expect(study.status).toBe('finished')
  expect(study.trials[1]?.results[0]).toMatchObject({ fitness: null })
  expect(study.trials[1]?.results[0]?.error).toMatch(/./)
  expect(study.best?.trial).toBe(0)
})

test('trials whose workflow rewards them, without a reward function, are compared by that', async () => {
  const file = path.join(host.dataDirectory, 'own.ts')
  writeFileSync(
    file,
    'export default defineWorkflow({ episode: () => ({ ids: [1], actions: [[0, 1]], reward: 1 }) })',
  )
  const rollout = { ...smallConfig.rollout, workflow: { function: file } }
  const asked = { ...smallConfig, rewards: [], rollout, seeds: { values: 2 } }
  expect(await client.call('studies.check', { file: asked })).not.toHaveProperty('problems')
})

test.each([
  [{ sweep: { parameters: { 'optimization.learningRat': { min: 0, max: 1 } } } }, 'optimization.learningRat'],
  [
    { population: { every: 2, mutation: { parameters: { 'adapter.rank': { min: 2, max: 8 } } } } },
    'adapter.rank',
  ],
  [
    { population: { every: 50, mutation: { parameters: { [rate]: { min: 1e-4, max: 1 } } } } },
    'population.every',
  ],
  [
    {
      optimization: { maxGradNorm: null },
      population: {
        every: 2,
        initial: 'same',
        mutation: { parameters: { 'optimization.maxGradNorm': { min: 0.1, max: 10 } } },
      },
    },
    'population.mutation.parameters.optimization.maxGradNorm',
  ],
  [{ sweep: { parameters: { [rate]: { min: 1e-4, max: 1e9 } } } }, 'sweep.parameters'],
  [{ data: { ...smallConfig.data, heldOut: null }, seeds: { values: 2 } }, 'data.heldOut'],
  [
    {
      algorithm: { id: 'sft' },
      optimization: { minibatchSize: 2 },
      rewards: [],
      seeds: { values: 2 },
    },
    'seeds.fitness.metric',
  ],
])('refuses %o', async (file, where) => {
  const answer = await client.call('studies.check', { file: { ...smallConfig, ...file } })
  const paths = 'problems' in answer ? answer.problems.map((each) => each.path) : []
  expect(paths.some((each) => each.includes(where))).toBe(true)
})
