import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Api } from '#shared/api/api.ts'
import type { InputOf, OutputOf } from '#shared/api/contract.ts'
import { createHost } from '#host/createHost.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { createHostFixture } from '../api/hostFixture.ts'

const fixture = createHostFixture()
const { client, host, directory } = fixture
let runId: string

type Request = InputOf<Api, 'evaluations.start'>
type Entry = OutputOf<Api, 'evaluations.get'>

beforeAll(async () => {
  runId = await fixture.start({ evaluation: { every: 2 } })
  await fixture.reached(runId, 'finished')
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
  ])
})

test('samples are kept with their rewards, and the same seed gives the same', async () => {
  const request: Request = { subject: { runId, step: 4 }, samples: 4, limit: 5 }
  const [first, second] = [await evaluated(request), await evaluated(request)]
  expect(first).toMatchObject({ status: 'finished', samples: 4, greedy: false, total: 5 })
  expect(first.summary?.pass.map(({ k }) => k)).toEqual([1, 2, 4])
  const promptsOf = async (id: string) => client.call('evaluations.prompts', { id })
  const { total, prompts } = await promptsOf(first.id)
  expect(total).toBe(5)
  expect(prompts.every(({ samples }) => samples.length === 4)).toBe(true)
  expect(prompts).toEqual((await promptsOf(second.id)).prompts)
  const rewards = prompts.map(
    ({ samples }) => samples.reduce((sum, { reward }) => sum + (reward ?? 0), 0) / 4,
  )
  expect(first.summary?.reward?.value).toBeCloseTo(rewards.reduce((sum, reward) => sum + reward, 0) / 5, 9)
  const { columns, groups } = await client.call('evaluations.groups', { id: first.id, column: 'task' })
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

test('what was left goes on where it ended, and comes to the same', async () => {
  const request: Request = { subject: { runId, step: 4 }, samples: 2 }
  const whole = await evaluated(request)
  // As a process leaves it that was killed in the middle of a line.
  const file = path.join(directory, 'evaluations', whole.id, 'answers.jsonl')
  const before = readFileSync(file, 'utf8')
  const lines = before.split('\n')
  writeFileSync(file, `${lines.slice(0, 3).join('\n')}\n${lines[3]?.slice(0, 20) ?? ''}`)
  const dead = { status: 'running', owner: '4194303 1\n', summary: null, endedAt: null } as const
  host.store.evaluations.set(whole.id, dead)

  const left = await client.call('evaluations.get', { id: whole.id })
  expect(left).toMatchObject({ status: 'interrupted', done: 3 })
  expect(left.summary?.prompts).toBe(3)
  await client.call('evaluations.resume', { id: whole.id })
  const { summary } = await over(whole.id)
  expect(summary).toEqual(whole.summary)
  const sorted = (text: string) => text.split('\n').sort()
  expect(sorted(readFileSync(file, 'utf8'))).toEqual(sorted(before))
  await expect(client.call('evaluations.resume', { id: whole.id })).rejects.toThrow('is finished')
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
  const { id } = await evaluated({ subject: { runId, step: 4 }, limit: 2 })
  const waiting = { status: 'waiting', owner: null, summary: null, endedAt: null } as const
  host.store.evaluations.set(id, waiting)
  await client.call('evaluations.stop', { id })
  expect(await client.call('evaluations.get', { id })).toMatchObject({ status: 'stopped', done: 2 })
  host.store.evaluations.set(id, waiting)
  await client.call('evaluations.resume', { id })
  expect(await over(id)).toMatchObject({ status: 'finished', done: 2 })
  host.store.evaluations.set(id, waiting)
  await client.call('evaluations.delete', { id })
  expect(host.store.evaluations.find(id)).toBeNull()
})

test('what rewards are called does not keep evaluations from being compared, what they count does', async () => {
  const judged = (name: string, weight: number) =>
    evaluated({
      subject: { runId, step: 4 },
      limit: 3,
      config: { rewards: [{ function: 'starter-correct', name, weight }] },
    })
  const [first, renamed, heavier] = [await judged('one', 1), await judged('two', 1), await judged('one', 2)]
  const compared = (b: Entry) => client.call('evaluations.compare', { a: first.id, b: b.id })
  expect(await compared(renamed)).toMatchObject({ verdict: 'alike', method: 'paired', difference: 0 })
  expect(await compared(heavier)).toMatchObject({ verdict: 'refused' })
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
  expect(existsSync(path.join(directory, 'evaluations', second))).toBe(false)
})

test('a host that closes leaves what goes on to the next one', async () => {
  const data = path.join(directory, 'closing')
  const rows = Array.from({ length: 40 }, (_, i) => JSON.stringify({ prompt: `Please add ${i} and 1` }))
  const file = fixture.write('adding.jsonl', rows.join('\n'))
  const request = {
    subject: { model: 'starter', adapter: null },
    config: {
      data: { train: file },
      rewards: [{ function: 'length-penalty' }],
      rollout: { maxNewTokens: 8 },
    },
    ...{ samples: 16, limit: null, passAt: null },
  }
  const before = createHost({ dataDirectory: data, servesQueue: true })
  const { id } = await before.evaluations.start(request, { base: directory, by: null })
  await before[Symbol.asyncDispose]()
  await using after = createHost({ dataDirectory: data, servesQueue: true })
  await expect.poll(() => after.evaluations.get(id).status, { timeout: 60_000 }).toBe('finished')
  expect(after.evaluations.get(id)).toMatchObject({ done: 40, total: 40 })
})

test('reward code is the run’s own copy, whatever became of the file', async () => {
  const file = fixture.write('mine.js', 'export default () => 0.25')
  const own = await fixture.start({ steps: 1, rewards: [{ function: file }] })
  await fixture.reached(own, 'finished')
  fixture.write('mine.js', 'export default () => 0.75')
  const before = await evaluated({ subject: { runId: own, step: 1 }, limit: 3 })
  expect(before.summary?.reward).toEqual({ value: 0.25, interval: null })
  // Said anew it is what the file says now, and not to be compared with the other.
  const rewards = [{ function: file, name: 'now' }]
  const now = await evaluated({ subject: { runId: own, step: 1 }, limit: 3, config: { rewards } })
  expect(now.summary?.reward?.value).toBe(0.75)
  expect(await client.call('evaluations.compare', { a: before.id, b: now.id })).toMatchObject({
    verdict: 'refused',
  })
})

test('without a word on lengths half of a short context is for prompts', async () => {
  const file = fixture.write('short.jsonl', '{"prompt":"Please add 1 and 2"}\n')
  const config = { data: { train: file }, rewards: [{ function: 'length-penalty' }] }
  const asked = await evaluated({ subject: { model: 'starter', adapter: null }, config })
  expect(asked).toMatchObject({ status: 'finished', config: { rollout: { maxNewTokens: 64 } } })
})

test('rows that make no prompt are told and cost no other one', async () => {
  const file = fixture.write('holes.jsonl', '{"prompt":"Please add 1 and 2"}\n{"other":1}\n')
  const config = {
    data: { train: file },
    rewards: [{ function: 'length-penalty' }],
    rollout: { maxNewTokens: 4 },
  }
  const { summary } = await evaluated({ subject: { model: 'starter', adapter: null }, config })
  expect(summary).toMatchObject({ prompts: 1, leftOut: 1 })
  expect(summary?.problem).toContain('Row 2 of the data')
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
  const { id } = await evaluated({ subject: { runId, step: 4 }, limit: 2 })
  appendFileSync(path.join(directory, 'evaluations', id, 'answers.jsonl'), '{"row":"x"}\n')
  await expect(client.call('evaluations.prompts', { id })).rejects.toThrow('is damaged in line 3')
})
