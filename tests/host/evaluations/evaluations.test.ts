import { appendFileSync, cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Api } from '#shared/api/api.ts'
import type { InputOf, OutputOf } from '#shared/api/contract.ts'
import { createHost } from '#host/createHost.ts'
import { holdLock } from '#host/files/living.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { eventually } from '../../eventually.ts'
import { createHostFixture } from '../api/hostFixture.ts'
import { starterConfig } from '../runs/runFixture.ts'

const fixture = createHostFixture()
const { client, host, directory } = fixture
let runId: string
/** Four samples of each of five prompts of the trained policy. */
let sampled: Entry

type Request = InputOf<Api, 'evaluations.start'>
type Entry = OutputOf<Api, 'evaluations.get'>

/** Reward code that is another one as soon as the run is over. */
const mine = fixture.write('mine.js', 'export default ({ completion }) => completion.length / 100')

const demo = readFileSync(starterConfig.data.heldOut, 'utf8').split('\n')
const heldOut = fixture.write('heldout.jsonl', demo.slice(0, 24).join('\n'))

beforeAll(async () => {
  runId = await fixture.start({
    data: { ...starterConfig.data, heldOut },
    evaluation: { every: 4 },
    rewards: [...starterConfig.rewards, { function: mine }],
  })
  await fixture.reached(runId, 'finished')
  fixture.write('mine.js', 'export default () => 0.75')
  sampled = await evaluated({ subject: { runId, step: 4 }, samples: 4, limit: 5 })
})

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
  expect(fixture.faults).toEqual([])
})

async function over(id: string): Promise<Entry> {
  for await (const _ of client.follow('evaluations.watch')) {
    const entry = await client.call('evaluations.get', { id })
    if (entry.status !== 'waiting' && entry.status !== 'running') return entry
  }
  throw new Error('The feed ended.')
}

async function evaluated(request: Request): Promise<Entry> {
  return over((await client.call('evaluations.start', request)).id)
}

const folderOf = (id: string): string => path.join(directory, 'evaluations', id)
let copies = 0

/** What was sampled, as an evaluation of its own that a test may do with as it likes. */
function copied(): string {
  const id = `${sampled.id.slice(0, -4)}${String(++copies).padStart(4, '0')}`
  cpSync(folderOf(sampled.id), folderOf(id), { recursive: true })
  const record = host.store.evaluations.find(sampled.id)
  if (record === null) throw new Error('Expected what was sampled.')
  host.store.evaluations.add({ ...record, id })
  return id
}

test('greedy on the validation rows it is what the run measured itself, of the checkpoint and of the base', async () => {
  const { rewardBefore, rewardAfter } = await client.call('runs.get', { runId })
  const trained = await evaluated({ subject: { runId, step: 4 } })
  const base = await evaluated({ subject: { runId, step: null } })
  expect(trained).toMatchObject({ status: 'finished', greedy: true, runId, step: 4, error: null })
  expect(trained.done).toBe(trained.total)
  expect(trained.summary?.reward?.value).toBeCloseTo(rewardAfter ?? NaN, 9)
  expect(base.summary?.reward?.value).toBeCloseTo(rewardBefore ?? NaN, 9)
  expect(base.title).toMatch(/, base model$/)

  const comparison = await client.call('evaluations.compare', { a: base.id, b: trained.id })
  expect(comparison).toMatchObject({ method: 'paired', prompts: trained.total })
  expect(comparison.difference).toBeCloseTo((rewardAfter ?? NaN) - (rewardBefore ?? NaN), 9)
  expect((await client.call('evaluations.list', { runId })).map(({ id }) => id)).toEqual([
    base.id,
    trained.id,
    sampled.id,
  ])
})

test('samples are kept with their rewards', async () => {
  expect(sampled).toMatchObject({ status: 'finished', samples: 4, greedy: false, total: 5 })
  expect(sampled.summary?.pass.map(({ k }) => k)).toEqual([1, 2, 4])
  const { total, prompts } = await client.call('evaluations.prompts', { id: sampled.id })
  expect(total).toBe(5)
  expect(prompts.every(({ samples }) => samples.length === 4)).toBe(true)
  const rewards = prompts.map(
    ({ samples }) => samples.reduce((sum, { reward }) => sum + (reward ?? 0), 0) / 4,
  )
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / 5
  expect(sampled.summary?.reward?.value).toBeCloseTo(mean, 9)
  const { columns, groups } = await client.call('evaluations.groups', { id: sampled.id, column: 'task' })
  expect(columns).toContain('task')
  expect(groups.reduce((sum, group) => sum + group.prompts, 0)).toBe(5)
})

test('an environment is played to its end', async () => {
  const { summary, ...entry } = await evaluated({
    subject: { model: 'starter', adapter: null },
    config: {
      data: { train: { episodes: 6 } },
      environment: { function: 'number-guessing', maxTurns: 3 },
      rollout: { maxNewTokens: 6 },
    },
    samples: 2,
  })
  expect(entry).toMatchObject({ status: 'finished', error: null, done: 6 })
  expect(summary?.samples).toBe(12)
  expect(summary?.turns).toBeGreaterThanOrEqual(1)
})

test('what was left goes on where it ended, and the same seed comes to the same', async () => {
  const id = copied()
  // As a process leaves it that was killed in the middle of a line.
  const file = path.join(folderOf(id), 'answers.jsonl')
  const before = readFileSync(file, 'utf8')
  const lines = before.split('\n')
  writeFileSync(file, `${lines.slice(0, 3).join('\n')}\n${lines[3]?.slice(0, 20) ?? ''}`)
  const dead = { status: 'running', summary: null, endedAt: null } as const
  host.store.evaluations.set(id, dead)

  const left = await client.call('evaluations.get', { id })
  expect(left).toMatchObject({ status: 'interrupted', done: 3 })
  expect(left.summary?.prompts).toBe(3)
  await client.call('evaluations.resume', { id })
  const { summary } = await over(id)
  expect(summary).toEqual(sampled.summary)
  const sorted = (text: string) => text.split('\n').sort()
  expect(sorted(readFileSync(file, 'utf8'))).toEqual(sorted(before))
  await expect(client.call('evaluations.resume', { id })).rejects.toThrow('is finished')
})

test('data that changed since is no longer what it began with', async () => {
  const rows = (more: string) =>
    fixture.write(
      'changing.jsonl',
      ['a', 'b', 'c'].map((word) => JSON.stringify({ prompt: word + more })).join('\n'),
    )
  const config = {
    data: { train: rows('') },
    rewards: [{ function: 'length-penalty' }],
    rollout: { maxNewTokens: 4 },
  }
  const { id } = await evaluated({ subject: { model: 'starter', adapter: null }, config })
  host.store.evaluations.set(id, { status: 'stopped' })
  rows('!')
  await client.call('evaluations.resume', { id })
  const { status, error, done } = await over(id)
  expect({ status, done }).toEqual({ status: 'failed', done: 3 })
  expect(error?.message).toContain('The data changed since this evaluation began')
})

test('one that waits for a host to come can be gone on with, stopped and deleted', async () => {
  const id = copied()
  const waiting = { status: 'waiting', summary: null, endedAt: null } as const
  host.store.evaluations.set(id, waiting)
  await client.call('evaluations.stop', { id })
  expect(await client.call('evaluations.get', { id })).toMatchObject({ status: 'stopped', done: 5 })
  host.store.evaluations.set(id, waiting)
  await client.call('evaluations.resume', { id })
  expect(await over(id)).toMatchObject({ status: 'finished', done: 5 })
  host.store.evaluations.set(id, waiting)
  await client.call('evaluations.delete', { id })
  expect(host.store.evaluations.find(id)).toBeNull()
})

test('one that another process computes is left to it', async () => {
  const id = copied()
  host.store.evaluations.set(id, { status: 'running', summary: null, endedAt: null })
  using _lock = holdLock(path.join(folderOf(id), 'lock'))
  expect(await client.call('evaluations.get', { id })).toMatchObject({ status: 'running' })
  await expect(client.call('evaluations.stop', { id })).rejects.toThrow('Another process is running')
  await expect(client.call('evaluations.resume', { id })).rejects.toThrow('is already running')
  await expect(client.call('evaluations.delete', { id })).rejects.toThrow('cannot be deleted')
})

test('what rewards are called does not keep evaluations from being compared, what they count does', async () => {
  const judged = (name: string, weight: number) =>
    client.call('evaluations.start', {
      subject: { runId, step: 4 },
      config: { rewards: [{ function: 'starter-correct', name, weight }] },
    })
  const started = [await judged('one', 1), await judged('two', 1), await judged('one', 2)]
  for (const { id } of started.toReversed()) await client.call('evaluations.stop', { id })
  // Evaluations are compared where this is the same (comparing.test.ts).
  const [first, renamed, heavier] = await Promise.all(started.map(async ({ id }) => (await over(id)).judge))
  expect(renamed).toBe(first)
  expect(heavier).not.toBe(first)
})

test('one that is stopped keeps what is done, and those behind it go on', async () => {
  const request: Request = { subject: { runId, step: 4 }, samples: 64 }
  const [{ id: first }, { id: second }, { id: third }] = [
    await client.call('evaluations.start', request),
    await client.call('evaluations.start', request),
    await client.call('evaluations.start', { subject: { runId, step: 4 }, limit: 1 }),
  ]
  await expect(client.call('evaluations.delete', { id: first })).rejects.toThrow('cannot be deleted')
  await client.call('evaluations.stop', { id: second })
  await client.call('evaluations.stop', { id: first })
  expect(await over(first)).toMatchObject({ status: 'stopped', error: null })
  expect(await over(second)).toMatchObject({ status: 'stopped', done: 0 })
  expect(await over(third)).toMatchObject({ status: 'finished', done: 1 })
  await client.call('evaluations.delete', { id: second })
  await expect(client.call('evaluations.get', { id: second })).rejects.toThrow('There is no such evaluation.')
  expect(existsSync(folderOf(second))).toBe(false)
})

test('a host that closes leaves what goes on to the next one', async () => {
  const data = path.join(directory, 'closing')
  const rows = Array.from({ length: 20 }, (_, i) => JSON.stringify({ prompt: `Please add ${i} and 1` }))
  const file = fixture.write('adding.jsonl', rows.join('\n'))
  const request = {
    subject: { model: 'starter', adapter: null },
    config: {
      data: { train: file },
      rewards: [{ function: 'length-penalty' }],
      rollout: { maxNewTokens: 8 },
    },
    samples: 8,
    limit: null,
    passAt: null,
  }
  const before = createHost({ dataDirectory: data, servesQueue: true })
  const { id } = await before.evaluations.start(request, { base: directory, by: null })
  await before[Symbol.asyncDispose]()
  await using after = createHost({ dataDirectory: data, servesQueue: true })
  await eventually(() => expect(after.evaluations.get(id).status).toBe('finished'))
  expect(after.evaluations.get(id)).toMatchObject({ done: 20, total: 20 })
})

test('reward code is the run’s own copy, whatever became of the file', async () => {
  const { prompts } = await client.call('evaluations.prompts', { id: sampled.id })
  const samples = prompts.flatMap((prompt) => prompt.samples)
  const scored = samples.map(({ parts }) => Object.values(parts).at(-1))
  expect(scored).toEqual(samples.map(({ completion }) => completion.length / 100))
  // Said anew it is what the file says now, and not to be compared with the other.
  const rewards = [...starterConfig.rewards, { function: mine, name: 'now' }]
  const now = await evaluated({ subject: { runId, step: 4 }, limit: 3, config: { rewards } })
  expect(now.summary?.parts['now']).toBe(0.75)
  expect(await client.call('evaluations.compare', { a: sampled.id, b: now.id })).toMatchObject({
    verdict: 'refused',
  })
})

test('rows that make no prompt are told and cost no other one; half of a short context is for prompts', async () => {
  const file = fixture.write('holes.jsonl', '{"prompt":"Please add 1 and 2"}\n{"other":1}\n')
  // Without a word on lengths.
  const config = { data: { train: file }, rewards: [{ function: 'length-penalty' }] }
  const asked = await evaluated({ subject: { model: 'starter', adapter: null }, config })
  expect(asked).toMatchObject({ status: 'finished', config: { rollout: { maxNewTokens: 64 } } })
  expect(asked.summary).toMatchObject({ prompts: 1, leftOut: 1 })
  expect(asked.summary?.problem).toContain('Row 2 of the data')
})

test('bad requests are refused in a sentence, and nothing is left of them', async () => {
  const count = host.evaluations.list().length
  const refused = async (request: Request, sentence: string) => {
    await expect(client.call('evaluations.start', request)).rejects.toThrow(sentence)
  }
  const model = { model: 'starter', adapter: null }
  const rewards = [{ function: 'length-penalty' }]
  const rows = fixture.write('one.jsonl', '{"prompt":"a"}\n')
  const empty = fixture.write('empty.jsonl', '')
  const none = 'run_00000000-0000-7000-8000-000000000000'
  await refused({ subject: { runId: none, step: 1 } }, 'no run')
  await refused({ subject: { runId, step: 3 } }, 'has no checkpoint of step 3')
  await refused({ subject: { model: 'nobody', adapter: null } }, 'There is no model “nobody”.')
  await refused({ subject: model, config: { data: { train: rows } } }, 'nothing would be scored')
  await refused({ subject: model, config: { data: { train: empty }, rewards } }, 'holds no rows')
  await refused(
    { subject: model, config: { data: { train: rows }, rewards: [{ function: 'nothing' }] } },
    'nothing',
  )
  await refused({ subject: { runId, step: 4 }, samples: 4, greedy: true }, 'Greedy decoding gives the same')
  const tiny = path.join(directory, 'tiny')
  await writeRandomModel(tiny, modelShapes['tiny-llama'], 3, 'F32')
  const adapter = path.join(
    (await client.call('runs.get', { runId })).directory,
    'checkpoints',
    'step-000004',
  )
  await refused(
    { subject: { model: tiny, adapter }, config: { data: { train: rows }, rewards } },
    'but this model needs',
  )
  expect(host.evaluations.list()).toHaveLength(count)
})

test('a damaged answer is told', async () => {
  const id = copied()
  appendFileSync(path.join(folderOf(id), 'answers.jsonl'), '{"row":"x"}\n')
  await expect(client.call('evaluations.prompts', { id })).rejects.toThrow('is damaged in line 6')
})
