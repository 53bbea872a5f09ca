import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Api } from '#shared/api/api.ts'
import type { ChatAnswer, Conversation } from '#shared/api/chat.ts'
import type { InputOf, OutputOf } from '#shared/api/contract.ts'
import { dataFolders, resourcesDirectory } from '#host/dataDirectory.ts'
import { encodeQuestion } from '#host/models/completing.ts'
import { openModel } from '#host/models/openModel.ts'
import { scoreSequences } from '#host/models/scoring.ts'
import { loadTokenizer } from '#host/models/tokenizerFolder.ts'
import { jobStarter, type StartJob } from '#host/processes/job.ts'
import type { WorkerProcess } from '#host/processes/messages.ts'
import { servingJob } from '#host/serving/servedProcess.ts'
import { createHost } from '#host/createHost.ts'
import { eventually } from '../../eventually.ts'
import { collect, createHostFixture } from '../api/hostFixture.ts'

let started = 0
let last: Pick<WorkerProcess<never, never>, 'kill' | 'ended' | 'pid'> | null = null
const start = jobStarter()
const startJob: StartJob = (job, options) => {
  const process = start(job, options)
  if (job.name !== servingJob.name) return process
  started++
  last = process
  return process
}

const fixture = createHostFixture({ startJob })
const { client } = fixture
const starterFolder = path.join(resourcesDirectory, 'starter')
let runId: string

beforeAll(async () => {
  runId = await fixture.start()
  await fixture.reached(runId, 'finished')
})
afterAll(() => fixture[Symbol.asyncDispose]())

type Item = OutputOf<Api, 'chat.answer'>
type Start = InputOf<Api, 'chat.create'>

const checkpoint = (step: number) => ({ runId, step })
const create = (start: Partial<Start> = {}): Promise<Conversation> =>
  client.call('chat.create', { model: 'starter', ...start }) as Promise<Conversation>
const get = (id: string) => client.call('chat.get', { id }) as Promise<Conversation>
const answer = (input: InputOf<Api, 'chat.answer'>) => collect(client.stream('chat.answer', input))
const answersOf = ({ turns }: Conversation, turn = 0): readonly (ChatAnswer | null)[] =>
  turns[turn]?.answers ?? []

const question = 'What is 2 + 3?'
const greedy = { temperature: 0, maxNewTokens: 24 }
/** Nearly every token is as likely as the one that ends an answer: it comes late with this seed. */
const endless = { temperature: 1000, maxNewTokens: 110, seed: 1 }
const varied = { temperature: 1.5, maxNewTokens: 24 }

const textIn = (items: readonly Item[], column: number): string =>
  items.flatMap((item) => (item.type === 'text' && item.column === column ? [item.text] : [])).join('')

describe('an answer', () => {
  test('is streamed, kept with the turn, and the next turn goes on from it', async () => {
    const { id } = await create({ sampling: greedy, system: 'Be short.' })
    const items = await answer({ id, turn: 0, text: question })
    expect(items.map(({ type }) => type).slice(0, 2)).toEqual(['opening', 'begun'])
    expect(items.filter(({ type }) => type === 'text').length).toBeGreaterThan(2)
    const [first] = answersOf(await get(id))
    expect(first).toMatchObject({ text: textIn(items, 0), stopReason: 'stop-id', by: { model: 'starter' } })
    expect(first?.text).not.toBe('')
    await answer({ id, turn: 1, text: 'And 4 + 4?' })
    const kept = await get(id)
    expect(kept.title).toBe(question)
    const { tokenizer, chatTemplate } = loadTokenizer(starterFolder)
    const prompt = encodeQuestion(
      {
        messages: [
          { role: 'system', content: 'Be short.' },
          { role: 'user', content: question },
          { role: 'assistant', content: first?.text ?? '' },
          { role: 'user', content: 'And 4 + 4?' },
        ],
      },
      { tokenizer, chatTemplate },
    )
    expect(answersOf(kept, 1)[0]?.promptTokens).toBe(prompt.length)
  })

  test('comes from the same process for every turn and conversation', async () => {
    const before = started
    const all = await Promise.all([create({ sampling: greedy }), create({ sampling: greedy })])
    await Promise.all(all.map(({ id }) => answer({ id, turn: 0, text: question })))
    const [one, other] = await Promise.all(all.map(({ id }) => get(id)))
    expect(answersOf(one!)[0]?.text).toBe(answersOf(other!)[0]?.text)
    expect(started).toBe(before)
  })

  test('that is stopped in the middle keeps what was written', async () => {
    const { id } = await create({ sampling: endless })
    let seen = ''
    for await (const item of client.stream('chat.answer', { id, turn: 0, text: question })) {
      if (item.type === 'text') seen += item.text
      if (item.type === 'text' && item.tokens >= 3) break
    }
    await eventually(async () => expect(answersOf(await get(id))[0]).not.toBeNull())
    const [kept] = answersOf(await get(id))
    expect(kept).toMatchObject({ stopReason: 'stopped' })
    expect(kept!.text.startsWith(seen)).toBe(true)
    expect(kept!.tokens).toBeLessThan(100)
    // It can be answered again at once.
    await answer({ id, turn: 0 })
  })

  test('with a seed is the same again, without one another', async () => {
    const { id } = await create({ sampling: { ...varied, seed: 7 } })
    await answer({ id, turn: 0, text: question })
    const first = answersOf(await get(id))[0]
    await answer({ id, turn: 0 })
    const again = answersOf(await get(id))[0]
    expect(again).toMatchObject({ text: first?.text, seed: 7 })
    expect(again?.id).not.toBe(first?.id)
    await client.call('chat.update', { id, sampling: { ...varied, seed: null } })
    // One short answer may be the same by chance.
    const others = []
    for (let asked = 0; asked < 6; asked++) {
      await answer({ id, turn: 0 })
      others.push(answersOf(await get(id))[0])
    }
    expect(new Set(others.map((each) => each?.seed)).size).toBe(6)
    expect(others.map((each) => each?.seed)).not.toContain(7)
    expect(others.some((each) => each?.text !== first?.text)).toBe(true)
  })

  test.each([
    ['the base', null, 0],
    ['a checkpoint', 4, 0.7],
  ])('has the probabilities that scoring gives: %s', async (_, step, temperature) => {
    const columns = [step === null ? null : checkpoint(step)]
    const { id } = await create({ columns, sampling: { ...varied, temperature, seed: 3 } })
    await answer({ id, turn: 0, text: question })
    const [kept] = answersOf(await get(id))
    const tokens = await client.call('chat.tokens', { id, answerId: kept!.id })
    expect(tokens).toHaveLength(kept!.tokens)
    const asked = { messages: [{ role: 'user', content: question }] }
    const prompt = encodeQuestion(asked, loadTokenizer(starterFolder))
    const sequence = Int32Array.from([...prompt, ...tokens.map((token) => token.id)])
    const checkpoints = await client.call('checkpoints.list', { runId })
    using model = await openModel({
      directory: starterFolder,
      adapter: checkpoints.find((each) => each.step === step)?.directory ?? null,
      device: { kind: null, threads: 1 },
      precision: 'f32',
      base: null,
      maxRows: 1,
      cacheDirectory: fixture.directory,
    })
    const scores = await scoreSequences(model, {
      sequences: [sequence],
      temperature: temperature === 0 ? 1 : temperature,
      coefficients: null,
    })
    tokens.forEach(({ logprob, top }, i) => {
      expect(logprob).toBeCloseTo(scores.logprobs[0]![prompt.length - 1 + i]!, 3)
      expect(top).toHaveLength(5)
      if (temperature === 0) expect(top[0]).toMatchObject({ id: tokens[i]!.id, logprob })
    })
  })
})

describe('columns', () => {
  test('answer at the same time', async () => {
    const { id } = await create({ columns: [checkpoint(2), checkpoint(4)], sampling: endless })
    const items = await answer({ id, turn: 0, text: question })
    const at = (column: number) =>
      items.flatMap((item, i) => (item.type === 'text' && item.column === column ? [i] : []))
    // None waited for another to end.
    const [two, four] = [at(0), at(1)]
    expect(Math.max(two[0]!, four[0]!)).toBeLessThan(Math.min(two.at(-1)!, four.at(-1)!))
  })

  test('have each their own adapter and their own history', async () => {
    const before = started
    const columns = [null, checkpoint(2), checkpoint(4)]
    const { id } = await create({ columns, sampling: { ...varied, seed: 1 } })
    await answer({ id, turn: 0, text: question })
    const kept = answersOf(await get(id))
    for (const [column, written] of kept.entries()) {
      const alone = await create({ columns: [columns[column]!], sampling: { ...varied, seed: 1 } })
      await answer({ id: alone.id, turn: 0, text: question })
      expect(answersOf(await get(alone.id))[0]?.text).toBe(written?.text)
    }
    expect(new Set(kept.map((each) => JSON.stringify(each?.by))).size).toBe(3)
    expect(started).toBe(before)
  })

  test('are answered again, added and taken away one by one', async () => {
    const { id } = await create({ columns: [null, checkpoint(2)], sampling: varied })
    await answer({ id, turn: 0, text: question })
    const [base, two] = answersOf(await get(id))
    await answer({ id, turn: 0, columns: [1] })
    const [same, other] = answersOf(await get(id))
    expect(same).toEqual(base)
    expect(other?.id).not.toBe(two?.id)
    const added = [
      { adapter: checkpoint(2), was: 1 },
      { adapter: checkpoint(4), was: null },
    ]
    await client.call('chat.update', { id, columns: added })
    expect(answersOf(await get(id))).toEqual([other, null])
    await answer({ id, turn: 0, columns: [1] })
    expect(answersOf(await get(id))[1]?.by).toEqual({ model: 'starter', adapter: checkpoint(4) })
  })

  test('fail alone, with the reason in the answer', async () => {
    const { id } = await create({ columns: [null, { path: fixture.directory }], sampling: greedy })
    await expect(answer({ id, turn: 0, text: question })).rejects.toMatchObject({ code: 'adapter/invalid' })
    const broken = path.join(fixture.directory, 'broken')
    const { directory } = (await client.call('checkpoints.list', { runId }))[0]!
    await copyBroken(path.join(directory, 'actor'), broken)
    await client.call('chat.update', {
      id,
      columns: [null, { path: broken }].map((adapter, was) => ({ adapter, was })),
    })
    await answer({ id, turn: 0 })
    const [base, failed] = answersOf(await get(id))
    expect(base?.stopReason).toBe('stop-id')
    expect(failed).toMatchObject({ stopReason: 'failed', text: '', error: { code: 'adapter/invalid' } })
  })

  test('refuse a checkpoint that was trained on another base', async () => {
    const other = path.join(fixture.directory, 'other')
    await cp(starterFolder, other, { recursive: true })
    const { id } = await create({ model: other, columns: [checkpoint(2)] })
    await expect(answer({ id, turn: 0, text: question })).rejects.toThrow(/was trained on another base/)
  })
})

/** Its config tells another rank than its matrices have. */
async function copyBroken(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true })
  const config = path.join(to, 'adapter_config.json')
  writeFileSync(config, readFileSync(config, 'utf8').replace(/"r": \d+/, '"r": 3'))
}

describe('an earlier message', () => {
  test('is edited: what followed is removed, with its tokens', async () => {
    const { id } = await create({ sampling: greedy })
    for (const [turn, text] of [question, 'And 4 + 4?', 'And 1 + 1?'].entries())
      await answer({ id, turn, text })
    const before = await get(id)
    await answer({ id, turn: 1, text: 'And 7 + 1?' })
    const after = await get(id)
    expect(after.turns.map(({ user }) => user)).toEqual([question, 'And 7 + 1?'])
    expect(after.turns[0]).toEqual(before.turns[0])
    const files = readdirSync(path.join(dataFolders(fixture.directory).conversations, id))
    const kept = after.turns.map(({ answers }) => `${answers[0]?.id ?? ''}.json`)
    expect(files.sort()).toEqual(['conversation.json', ...kept].sort())
  })

  test('of the model is edited: the conversation goes on from it', async () => {
    const { id } = await create({ sampling: greedy })
    await answer({ id, turn: 0, text: question })
    await client.call('chat.editAnswer', { id, turn: 0, column: 0, text: 'Six.' })
    const [edited] = answersOf(await get(id))
    expect(edited).toMatchObject({ text: 'Six.', stopReason: 'edited' })
    expect(await client.call('chat.tokens', { id, answerId: edited!.id })).toEqual([])
  })
})

describe('what is refused', () => {
  test('a conversation that fills the context, in a sentence', async () => {
    const { id } = await create({ sampling: greedy })
    expect(await client.call('chat.room', await get(id))).toMatchObject({
      contextLength: 128,
      base: 'f32',
      hasChatTemplate: true,
      problem: null,
    })
    await answer({ id, turn: 0, text: 'and '.repeat(200) })
    const [failed] = answersOf(await get(id))
    expect(failed).toMatchObject({ stopReason: 'failed', error: { code: 'data/invalid' } })
    expect(failed?.error?.message).toMatch(/The prompt has \d+ tokens; the model reads 128 in all/)
  })

  test('two answers at a time, an empty message, turns and columns that are not there', async () => {
    const { id } = await create({ sampling: endless })
    const stream = client.stream('chat.answer', { id, turn: 0, text: question })[Symbol.asyncIterator]()
    await stream.next()
    await expect(answer({ id, turn: 0 })).rejects.toMatchObject({ code: 'run/busy' })
    await stream.return?.()
    await eventually(async () => {
      await expect(answer({ id, turn: 1, text: ' ' })).rejects.toThrow('The message is empty.')
    })
    await expect(answer({ id, turn: 5, text: 'x' })).rejects.toThrow('no such turn')
    await expect(answer({ id, turn: 0, columns: [1] })).rejects.toThrow('no such column')
  })

  test('a model that is gone; a process that dies is started again for the next answer', async () => {
    const gone = await create({ model: '/nowhere/model' })
    await expect(client.call('chat.room', gone)).rejects.toMatchObject({ code: 'model/invalid' })
    await expect(answer({ id: gone.id, turn: 0, text: question })).rejects.toThrow('There is no model')
    const { id } = await create({ sampling: endless })
    const before = started
    for await (const item of client.stream('chat.answer', { id, turn: 0, text: question }))
      if (item.type === 'text' && item.tokens === 2) last?.kill()
    const [failed] = answersOf(await get(id))
    expect(failed).toMatchObject({ stopReason: 'failed', error: { code: 'runtime/killed' } })
    await answer({ id, turn: 0 })
    expect(answersOf(await get(id))[0]?.error).toBeNull()
    expect(started).toBe(before + 1)
  })
})

describe('conversations', () => {
  test('are listed, renamed and deleted, and another host finds them', async () => {
    const { id } = await create({ sampling: greedy })
    await answer({ id, turn: 0, text: question })
    await client.call('chat.update', { id, title: 'Sums' })
    const [first] = await client.call('chat.list')
    expect(first).toMatchObject({ id, title: 'Sums', model: 'starter', turns: 1 })
    await using other = createHost({ dataDirectory: fixture.directory, servesQueue: false })
    expect(other.chats.files.get(id)).toEqual(await get(id))
    await client.call('chat.delete', { id })
    await expect(get(id)).rejects.toThrow('There is no such conversation')
    expect(existsSync(path.join(dataFolders(fixture.directory).conversations, id))).toBe(false)
  })

  test('that cannot be read are told and left alone', async () => {
    const { id } = await create()
    const file = path.join(dataFolders(fixture.directory).conversations, id, 'conversation.json')
    writeFileSync(file, '{"format": 2}')
    const listed = await client.call('chat.list')
    expect(listed.find((each) => each.id === id)).toMatchObject({
      problem: expect.stringContaining('is not a conversation') as string,
    })
    await client.call('chat.list')
    expect(existsSync(file)).toBe(true)
  })

  test('give the model back when they are told to, and share it with the server', async () => {
    const { id } = await create({ sampling: greedy })
    await answer({ id, turn: 0, text: question })
    expect(await client.call('chat.room', await get(id))).toMatchObject({ state: 'open' })
    await client.call('chat.close')
    expect(await client.call('chat.room', await get(id))).toMatchObject({ state: 'closed' })
    const before = started
    await client.call('serving.start', { model: 'starter' })
    await answer({ id, turn: 1, text: question })
    expect(started).toBe(before + 1)
    // The server needs it still.
    await client.call('chat.close')
    expect(await client.call('serving.status')).toMatchObject({ state: 'on' })
    await client.call('serving.stop')
    await eventually(async () =>
      expect(await client.call('chat.room', await get(id))).toMatchObject({ state: 'closed' }),
    )
  })

  test('have caused no fault', () => expect(fixture.faults).toEqual([]))
})
