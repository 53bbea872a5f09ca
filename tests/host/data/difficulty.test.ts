import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Api } from '#shared/api/api.ts'
import type { InputOf, OutputOf } from '#shared/api/contract.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { collect, createHostFixture } from '../api/hostFixture.ts'

const fixture = createHostFixture()
const { client } = fixture
let versionId: string

/** Rows of the demo, and one that makes no prompt. */
beforeAll(async () => {
  const lines = readFileSync(path.join(resourcesDirectory, 'demo', 'train.jsonl'), 'utf8')
    .split('\n')
    .slice(0, 12)
  const file = fixture.write('rows.jsonl', `${lines.join('\n')}\n{"other":1}\n`)
  const items = await collect(client.stream('datasets.import', { source: { path: file } }))
  const last = items.at(-1)
  if (last === undefined || !('result' in last)) throw new Error('Expected a result.')
  versionId = last.result.version.id
})

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

type Request = InputOf<Api, 'datasets.difficulty'>
type Item = OutputOf<Api, 'datasets.difficulty'>

const request = (changes: Partial<Request> = {}): Request => ({
  versionId,
  prompt: { messages: [{ role: 'user', content: '{prompt}' }] },
  model: 'starter',
  rewards: [{ function: 'starter-correct', name: 'correct' }],
  samplesPerRow: 3,
  sampling: { maxNewTokens: 8, seed: 5 },
  ...changes,
})

async function measure(
  asked: Request,
): Promise<{ items: Item[]; whole: Extract<Item, { result: unknown }>['result'] }> {
  const items = await collect(client.stream('datasets.difficulty', asked))
  const last = items.at(-1)
  if (last === undefined || !('result' in last)) throw new Error('Expected a result.')
  return { items, whole: last.result }
}

test('every row is answered several times and scored; what was measured is kept', async () => {
  const { items, whole } = await measure(request())
  expect(items).toHaveLength(14)
  const { summary, rows, problems } = whole
  expect(rows.map(({ row }) => row)).toEqual(Array.from({ length: 12 }, (_, row) => row))
  expect(problems).toEqual([{ row: 12, problem: expect.stringContaining('no column “prompt”') as string }])
  for (const { values, mean, text } of rows) {
    expect(values).toHaveLength(3)
    expect(values.every((value) => value === 0 || value === 1)).toBe(true)
    expect(mean).toBeCloseTo(values.reduce<number>((sum, value) => sum + (value ?? 0), 0) / 3)
    expect(text).toContain('<|user|>')
  }
  const means = rows.map(({ mean }) => mean ?? 0)
  expect(new Set(means).size).toBeGreaterThan(1)
  expect(summary).toMatchObject({ rows: 12, problems: 1, failure: null, request: { model: 'starter' } })
  expect(summary.mean).toBeCloseTo(means.reduce((sum, mean) => sum + mean, 0) / 12)
  expect(summary.withoutSpread).toBe(means.filter((mean) => mean === 0 || mean === 1).length)

  expect(await client.call('datasets.difficulties', { versionId })).toEqual({
    known: [summary],
    problems: [],
  })
  expect(await client.call('datasets.difficultyRows', { versionId, id: summary.id })).toEqual(whole)
  // Asked again, it is known.
  expect(await collect(client.stream('datasets.difficulty', request()))).toEqual([{ result: whole }])
})

test('measured rows become a version with their difficulty, by which a run can go from easy to hard', async () => {
  const { whole } = await measure(request())
  const { id } = whole.summary
  const wanted = whole.rows.slice(2, 9).map(({ row }) => row)
  const kept = await client.call('datasets.keepMeasured', { versionId, id, rows: wanted })
  const { version } = await client.call('datasets.version', kept)
  const { dataSetId } = (await client.call('datasets.version', { versionId })).version
  expect(version).toMatchObject({
    dataSetId,
    rows: 7,
    source: expect.stringContaining('measured difficulty') as string,
  })
  const { rows } = await client.call('datasets.rows', { ...kept, from: 0, count: 50 })
  const original = await client.call('datasets.rows', { versionId, from: 2, count: 7 })
  expect(rows).toEqual(
    original.rows.map((row, i) => ({
      ...row,
      difficulty: expect.closeTo(1 - whole.rows[i + 2]!.mean!) as number,
    })),
  )

  const runBy = (order: string) =>
    fixture.start({
      data: { train: version.directory, prompt: { column: 'prompt' }, order },
      steps: 1,
      rollout: { promptsPerStep: 2, maxNewTokens: 4 },
    })
  await fixture.reached(await runBy('difficulty'), 'finished')
  const runId = await runBy('hardness')
  const { error } = await fixture.reached(runId, 'failed')
  expect(error?.message).toContain('No row has a number in the column “hardness”')
  await fixture.left()
  await client.call('runs.delete', { runId })

  await expect(client.call('datasets.keepMeasured', { versionId, id, rows: [2, 400] })).rejects.toMatchObject(
    { message: 'Some of these rows were not measured.' },
  )
  await expect(
    client.call('datasets.keepMeasured', { versionId, id: '0'.repeat(64), rows: [2] }),
  ).rejects.toMatchObject({ code: 'data/invalid' })
})

test('it depends on the content of code and model, and a checkpoint is a model too', async () => {
  const file = fixture.write('reward.js', 'export default ({ completion }) => completion.length')
  const rewards = [{ function: file }]
  const first = await measure(request({ rewards, rows: 2, samplesPerRow: 1 }))
  expect(first.whole.rows).toHaveLength(2)
  fixture.write('reward.js', `export default ({ completion, row }) => row.prompt.length > 0 ? 7 : boom()`)
  const second = await measure(request({ rewards, rows: 2, samplesPerRow: 1 }))
  expect(second.whole.rows.map(({ mean }) => mean)).toEqual([7, 7])
  expect(second.whole.summary.id).not.toBe(first.whole.summary.id)
  expect(second.whole.rows.map(({ row }) => row)).toEqual(first.whole.rows.map(({ row }) => row))

  const runId = await fixture.start({
    steps: 1,
    evaluation: { every: 0, rows: 1 },
    optimization: { learningRate: 0.05 },
  })
  await fixture.reached(runId, 'finished')
  const trained = await measure(request({ adapter: { runId, step: 1 } }))
  expect(trained.items).toHaveLength(14)
  const { known: untrained } = await client.call('datasets.difficulties', { versionId })
  expect(untrained.map(({ request: { adapter } }) => adapter)).toContainEqual({ runId, step: 1 })
  expect(new Set(untrained.map(({ id }) => id)).size).toBe(4)
})

test('a kept file that cannot be read hides no other one, and is measured again', async () => {
  const { known: before } = await client.call('datasets.difficulties', { versionId })
  const { version } = await client.call('datasets.version', { versionId })
  const { whole } = await measure(request({ samplesPerRow: 1 }))
  const file = path.join(version.directory, 'difficulty', `${whole.summary.id}.json`)
  writeFileSync(file, '{"summary": ')
  const { known, problems } = await client.call('datasets.difficulties', { versionId })
  expect(known).toEqual(before)
  expect(problems).toEqual([expect.stringContaining(`${file} is not a valid JSON file`)])
  expect((await measure(request({ samplesPerRow: 1 }))).whole.rows).toEqual(whole.rows)
  expect((await client.call('datasets.difficulties', { versionId })).problems).toEqual([])
})

test('it is not kept through a link in the place of its folder', async () => {
  const { version } = await client.call('datasets.version', { versionId })
  const [folder, kept] = [path.join(version.directory, 'difficulty'), path.join(version.directory, 'kept')]
  renameSync(folder, kept)
  const before = readdirSync(kept)
  symlinkSync(kept, folder)
  await expect(measure(request({ rows: 1, samplesPerRow: 2 }))).rejects.toThrow(`${folder} is a link`)
  expect(readdirSync(kept)).toEqual(before)
  rmSync(folder)
  renameSync(kept, folder)
})

test('failing rewards are told; wrong ones are refused; what is cancelled is not kept; it goes with the data', async () => {
  const file = fixture.write('bad.js', 'export default () => missing')
  const { whole } = await measure(request({ rewards: [{ function: file }], rows: 1, samplesPerRow: 2 }))
  expect(whole.summary).toMatchObject({ mean: null, failure: expect.stringContaining('missing') as string })
  expect(whole.rows[0]).toMatchObject({ mean: null, values: [null, null] })
  await expect(measure(request({ rewards: [{ function: 'no-such' }] }))).rejects.toMatchObject({
    code: 'config/invalid',
  })

  const before = await client.call('datasets.difficulties', { versionId })
  const cancelled = new AbortController()
  const items = client.stream('datasets.difficulty', request({ samplesPerRow: 2 }), {
    signal: cancelled.signal,
  })
  await expect(
    (async () => {
      for await (const _ of items) cancelled.abort()
    })(),
  ).rejects.toMatchObject({ code: 'api/cancelled' })
  expect(await client.call('datasets.difficulties', { versionId })).toEqual(before)

  const { version } = await client.call('datasets.version', { versionId })
  expect(existsSync(path.join(version.directory, 'difficulty'))).toBe(true)
  await client.call('datasets.delete', { dataSetId: version.dataSetId })
  expect(existsSync(version.directory)).toBe(false)
  expect(fixture.faults).toEqual([])
})
