import { rmSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Api } from '#shared/api/api.ts'
import type { InputOf } from '#shared/api/contract.ts'
import { chatGroup, sampleGroup, voteGroup } from '#shared/labelGroups.ts'
import { createHost } from '#host/createHost.ts'
import { readDataSet } from '#host/data/readDataSet.ts'
import { answer as turnwise } from '../../cli/turnwise.ts'
import { collect, createHostFixture } from './hostFixture.ts'

const fixture = createHostFixture()
const { client } = fixture
let runId: string

beforeAll(async () => {
  runId = await fixture.start()
  await fixture.reached(runId, 'finished')
})
afterAll(() => fixture[Symbol.asyncDispose]())

type Answered = InputOf<Api, 'labels.set'>['answered']
type Changes = InputOf<Api, 'labels.set'>['changes']

const set = (answered: Answered, changes: Changes) => client.call('labels.set', { answered, changes })
const vote = (column: number, answers: string[], over: Partial<Answered> = {}): Answered => ({
  kind: 'vote',
  round: '11111111-1111-4111-8111-111111111111',
  column,
  by: 'starter',
  prompt: 'Say it.',
  answers,
  isTruncated: false,
  ...(over as object),
})

async function rowsOf(kind: 'ratings' | 'pairs', scope?: string) {
  const made = await client.call('labels.makeDataSet', {
    kind,
    name: `${kind} of ${scope ?? 'all'}`,
    ...(scope === undefined ? {} : { scope }),
  })
  const { version } = await client.call('datasets.version', { versionId: made.versionId })
  return readDataSet(version.directory)
}

/** A group of the run with two different completions. */
async function someGroup() {
  const samples = await client.call('samples.list', { runId, source: 'rollout' })
  const groups = [...Map.groupBy(samples, (sample) => sampleGroup(sample)).entries()]
  const found = groups.find(([, each]) => new Set(each.map(({ completion }) => completion)).size > 1)
  if (found === undefined) throw new Error('Expected completions that differ.')
  const [group, members] = found
  const first = members[0]!
  return { group, first, other: members.find(({ completion }) => completion !== first.completion)!, members }
}

test('what is pressed twice at once is taken back', async () => {
  const { group, first } = await someGroup()
  const pressed = { answered: { kind: 'sample', sampleId: first.id }, isToggled: true } as const
  const press = (changes: Changes) => client.call('labels.set', { ...pressed, changes })
  for (const changes of [{ rating: 'good' }, { isPreferred: true }] as const) {
    await Promise.all([press(changes), press(changes)])
    expect(await client.call('labels.of', { group })).toEqual([])
    await Promise.all([press(changes), press(changes), press(changes)])
    expect(await client.call('labels.of', { group })).toMatchObject([changes])
    await press(changes)
  }
  await press({ rating: 'good' })
  await press({ rating: 'bad' })
  expect(await client.call('labels.of', { group })).toMatchObject([{ rating: 'bad' }])
  await press({ rating: 'bad' })
})

test('a sample is rated, preferred and edited; each change can be taken back', async () => {
  const { group, first, other, members } = await someGroup()
  expect(await set({ kind: 'sample', sampleId: first.id }, { rating: 'bad' })).toMatchObject([
    { rating: null },
  ])
  await set({ kind: 'sample', sampleId: first.id }, { isPreferred: true })
  const before = await set({ kind: 'sample', sampleId: other.id }, { isPreferred: true })
  expect(await client.call('labels.of', { group })).toMatchObject([
    { member: first.position, completion: first.completion, rating: 'bad', isPreferred: false },
    { member: other.position, isPreferred: true },
  ])
  await client.call('labels.restore', before)
  expect(await client.call('labels.of', { group })).toMatchObject([{ rating: 'bad', isPreferred: true }])
  await set({ kind: 'sample', sampleId: other.id }, { isPreferred: true, edit: 'Much better.' })
  const { messages } = await client.call('samples.origin', { sampleId: first.id })
  const prompt = messages ?? first.prompt
  expect(await rowsOf('ratings', runId)).toEqual([
    { prompt, completion: 'Much better.', label: true, from: expect.stringContaining('edited') as string },
    {
      prompt,
      completion: first.completion,
      label: false,
      from: `${runId}, step ${first.step}, training row ${first.row + 1}`,
    },
  ])
  const pairs = await rowsOf('pairs', runId)
  const others = members.map(({ completion }) => completion).filter((text) => text !== other.completion)
  expect(pairs.map(({ chosen, rejected }) => [chosen, rejected])).toEqual([
    ...[...new Set(others)].map((rejected) => [other.completion, rejected]),
    ['Much better.', other.completion],
  ])
})

test('an answer of Chat keeps its label and its edit, and loses both with the conversation', async () => {
  const sampling = { temperature: 0, maxNewTokens: 24 }
  const { id } = await client.call('chat.create', { model: 'starter', sampling, columns: [null, null] })
  await collect(client.stream('chat.answer', { id, turn: 0, text: 'What is 2 + 3?' }))
  const { turns } = await client.call('chat.get', { id })
  const text = turns[0]?.answers[0]?.text ?? ''
  await set({ kind: 'chat', id, turn: 0, column: 1 }, { rating: 'good' })
  await client.call('chat.editAnswer', { id, turn: 0, column: 0, text: '5' })
  expect(await client.call('labels.of', { group: chatGroup(id, 0) })).toMatchObject([
    { member: 1, completion: text, rating: 'good' },
    { member: 0, completion: text, edit: '5' },
  ])
  const prompt = [{ role: 'user', content: 'What is 2 + 3?' }]
  expect(await rowsOf('pairs', id)).toMatchObject([{ prompt, chosen: '5', rejected: text }])
  await client.call('chat.editAnswer', { id, turn: 0, column: 0, text })
  expect(await client.call('labels.counts', { scope: id })).toMatchObject({ good: 1, edited: 0 })
  await client.call('chat.delete', { id })
  expect(await client.call('labels.counts', { scope: id })).toMatchObject({ good: 0, rows: { ratings: 0 } })
})

test('a vote prefers its winner; an answer that was cut off is never learned as good', async () => {
  await set(vote(0, ['7', '8', '7']), { isPreferred: true })
  await set(vote(1, ['7', '8', '7'], { isTruncated: true }), { rating: 'good' })
  expect(await client.call('labels.counts', { scope: 'vote' })).toMatchObject({
    good: 1,
    preferred: 1,
    truncated: 1,
    rows: { ratings: 0, pairs: 1 },
  })
  expect(await rowsOf('pairs', 'vote')).toEqual([
    { prompt: 'Say it.', chosen: '7', rejected: '8', from: 'blind vote, starter' },
  ])
  await expect(rowsOf('ratings', 'vote')).rejects.toThrow('No label makes a row of ratings')
  const group = voteGroup('11111111-1111-4111-8111-111111111111')
  expect(await client.call('labels.of', { group })).toHaveLength(2)
})

test('labels are there for another process, say that their run is gone, and are forgotten only on demand', async () => {
  await using other = createHost({ dataDirectory: fixture.directory, servesQueue: false })
  const kept = other.store.labels.list({ scope: runId })
  expect(kept.length).toBeGreaterThan(0)
  const { rows } = await client.call('labels.counts', {})
  const made = await turnwise('--data-dir', fixture.directory, '--json', 'dataset', 'labels', 'pairs')
  expect(JSON.parse(made.stdout)).toMatchObject({ name: 'labels-pairs', rows: rows.pairs })
  await client.call('runs.delete', { runId })
  rmSync(path.join(fixture.directory, 'trash'), { recursive: true, force: true })
  expect(await client.call('labels.counts', { scope: runId })).toMatchObject({ ofDeletedRuns: kept.length })
  expect((await rowsOf('ratings', runId)).length).toBe(2)
  expect(await client.call('labels.delete', { scope: runId })).toEqual({ deleted: kept.length })
  expect(await client.call('labels.counts', {})).toMatchObject({ ofDeletedRuns: 0, preferred: 1 })
})
