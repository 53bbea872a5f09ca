import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { collect, createHostFixture, nextOf, smallConfig, type Config } from '../api/hostFixture.ts'
import { isWhole, wholeTitle } from '../../sweeps.ts'

const fixture = createHostFixture()
const { client } = fixture

const exact = `export default function reward({ completion, row, log }: { completion: string; row: { answer: string } }) {
  log.column('length', completion.length)
  return completion.trim() === String(row.answer) ? 1 : 0
}`
const throwing = `export default ({ completion }) => {
  if (completion === 'b') throw new Error('no b')
  return completion.length
}`
let rewardId: string
let versionId: string

beforeAll(async () => {
  rewardId = (await client.call('rewards.create', { kind: 'reward', name: 'Exact' })).id
  const rows = ['a', 'b', 'c'].map((answer) =>
    JSON.stringify({ prompt: `Say ${answer}`, answer, said: answer }),
  )
  const file = fixture.write('rows.jsonl', rows.join('\n'))
  for await (const item of client.stream('datasets.import', { source: { path: file } })) {
    if ('result' in item) versionId = item.result.version.id
  }
})

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

const save = (code: string, gatesStart = false) =>
  client.call('rewards.save', { rewardId, language: 'ts', code, gatesStart })

describe('a reward', () => {
  test('is checked before it is saved, and the same code is the same version', async () => {
    expect(await client.call('rewards.check', { code: { language: 'ts', code: exact } })).toEqual({
      kind: 'reward',
      functions: ['default'],
      settings: {},
    })
    const broken = await client.call('rewards.check', {
      code: { language: 'js', code: '\nexport default (' },
    })
    expect(broken).toMatchObject({ problem: { kind: 'exception', line: 2 } })
    const first = await save(exact)
    const second = await save(throwing)
    expect((await save(exact)).hash).toBe(first.hash)
    expect((await client.call('rewards.versions', { rewardId })).map(({ hash }) => hash)).toEqual([
      second.hash,
      first.hash,
    ])
    expect(await client.call('rewards.list', {})).toMatchObject([{ id: rewardId, versions: 2 }])
  })

  test('is tried on what is given and on rows of a data set', async () => {
    const on = ['a', 'b'].map((completion) => ({ prompt: '', completion, row: {} }))
    const code = { language: 'js', code: throwing } as const
    const given = await collect(client.stream('rewards.dryRun', { code, on }))
    expect(given).toMatchObject([
      { index: 0, score: { total: 1, failures: {} }, progress: { done: 1, total: 2 } },
      { index: 1, score: { total: null, failures: { default: { kind: 'exception', line: 2 } } } },
    ])
    const rows = { versionId, prompt: { column: 'prompt' }, completions: { column: 'said' }, from: 1 }
    const ofRows = await collect(
      client.stream('rewards.dryRun', { code: { language: 'ts', code: exact }, on: rows }),
    )
    expect(ofRows).toMatchObject([
      { input: { prompt: 'Say b', completion: 'b' }, score: { total: 1, columns: { length: 1 } } },
      { input: { prompt: 'Say c' }, score: { total: 1 } },
    ])
  })

  test.runIf(isWhole)(wholeTitle('is tried on completions generated for it'), async () => {
    const completions = { maxNewTokens: 4, seed: 1, temperature: 1 }
    const on = { versionId, prompt: { column: 'prompt' }, completions, model: 'starter' }
    const code = { language: 'js', code: 'export default ({ completion }) => completion.length' } as const
    const items = await collect(client.stream('rewards.dryRun', { code, on }))
    expect(items.map(({ index }) => index).sort()).toEqual([0, 1, 2])
    for (const item of items) {
      if ('problem' in item) throw new Error(item.problem)
      expect(item.score.total).toBe(item.input.completion.length)
    }
    const { model: _, ...without } = on
    await expect(collect(client.stream('rewards.dryRun', { code, on: without }))).rejects.toMatchObject({
      code: 'api/invalid',
    })
  })

  test('has test cases that are run after a change, and may keep runs from starting', async () => {
    const cases = [
      { name: 'right', completion: ' a', row: { answer: 'a' }, expect: { equals: 1 } },
      { name: 'wrong', completion: 'x', row: { answer: 'a' }, expect: { max: 0 } },
    ]
    await client.call('rewards.setTests', { rewardId, tests: cases })
    expect(await client.call('rewards.tests', { rewardId })).toMatchObject(cases)
    const { hash: version, file } = await save(exact, true)
    const passed = await client.call('rewards.runTests', { rewardId, code: { rewardId, version } })
    expect(passed.map(({ name, passed: isPassed }) => [name, isPassed])).toEqual([
      ['right', true],
      ['wrong', true],
    ])
    const bad = await save('export default () => 1', true)
    const failed = await client.call('rewards.runTests', { rewardId })
    expect(failed[1]).toMatchObject({ passed: false, score: { total: 1 } })
    const start = (code: string) => fixture.start({ steps: 1, rewards: [{ function: code }] })
    await expect(start(bad.file)).rejects.toMatchObject({ code: 'reward/failed' })
    expect(await client.call('runs.list', {})).toEqual([])
    const gated = { ...smallConfig, rewards: [{ function: bad.file }] } as Config
    expect(await client.call('runs.check', { config: gated })).toMatchObject({
      problems: [
        {
          path: 'rewards',
          code: 'unusable',
          message: expect.stringContaining('1 of its 2 test cases') as string,
        },
      ],
    })
    const runId = await start(file)
    expect(await fixture.reached(runId, 'finished', 'failed')).toMatchObject({ status: 'finished' })
    expect(await client.call('rewards.usedBy', { rewardId })).toEqual([{ runId, version }])
  })

  test('knows the runs of an environment too', async () => {
    const { id } = await client.call('rewards.create', { kind: 'environment', name: 'guessing' })
    const gallery = await client.call('rewards.gallery')
    const { code, language } = gallery.find(({ kind, code }) => kind === 'environment' && code !== null) ?? {}
    if (!code || !language) throw new Error('Expected an environment of code in the gallery.')
    const saved = await client.call('rewards.save', { rewardId: id, language, code })
    const runId = await fixture.start({ steps: 1, rewards: [], environment: { function: saved.file } })
    expect(await client.call('rewards.usedBy', { rewardId: id })).toEqual([{ runId, version: saved.hash }])
    await fixture.reached(runId, 'finished', 'failed')
    await client.call('runs.delete', { runId })
    await client.call('rewards.delete', { rewardId: id })
  })

  test('scores the stored samples of a run anew', async () => {
    const [run] = await client.call('runs.list', {})
    const runId = run?.id ?? ''
    const [newest] = await client.call('rewards.versions', { rewardId })
    const version = newest?.hash ?? ''
    const items = await collect(client.stream('samples.rescore', { runId, version }))
    const samples = await client.call('samples.list', { runId })
    const scores = await client.call('samples.scores', { runId, version })
    expect(scores).toHaveLength(samples.length)
    expect(scores.every(({ parts }) => parts['default'] === 1)).toBe(true)
    expect(items.flatMap((item) => item.scores)).toHaveLength(samples.length)
    expect(await collect(client.stream('samples.rescore', { runId, version }))).toEqual([])
  })

  test('is tried by cheating', async () => {
    const on = { versionId, prompt: { column: 'prompt' }, honest: 'said' }
    const long = { language: 'js', code: 'export default ({ completion }) => completion.length' } as const
    const { cheats } = await client.call('rewards.battery', { code: long, on })
    expect(cheats.find(({ id }) => id === 'long')).toMatchObject({ passed: false })
    expect(cheats.find(({ id }) => id === 'empty')).toMatchObject({ passed: true, mean: 0 })
    const sound = await client.call('rewards.battery', { code: { language: 'ts', code: exact }, on })
    expect(sound.honestMean).toBe(1)
    expect(sound.cheats.every(({ passed }) => passed)).toBe(true)
  })

  test('is renamed, watched and removed', async () => {
    const feed = client.follow('rewards.watch')
    const before = await nextOf(feed)
    await client.call('rewards.rename', { rewardId, name: 'Other' })
    const after = await nextOf(feed)
    await feed.return?.()
    expect(after.cursor).not.toBe(before.cursor)
    await client.call('rewards.delete', { rewardId })
    expect(await client.call('rewards.list', {})).toEqual([])
    await expect(client.call('rewards.versions', { rewardId })).rejects.toMatchObject({
      code: 'data/invalid',
    })
  })
})

test('the gallery has built-in functions and code to copy', async () => {
  const gallery = await client.call('rewards.gallery')
  expect(gallery.find(({ id, code }) => id === 'exact-match' && code !== null)).toMatchObject({
    language: 'ts',
    examples: expect.arrayContaining([expect.objectContaining({ name: 'the answer' })]) as unknown,
  })
  expect(gallery.filter(({ code }) => code === null).map(({ id }) => id)).toContain('length-penalty')
  expect(fixture.faults).toEqual([])
})
