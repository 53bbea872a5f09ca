import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { importDataSet } from '#host/data/importDataSet.ts'
import { dataFolders, resourcesDirectory } from '#host/dataDirectory.ts'
import { collect, createHostFixture, nextOf, smallConfig } from '../api/hostFixture.ts'

const fixture = createHostFixture()
const { client } = fixture
type Imported = Extract<OutputOf<Api, 'datasets.import'>, { result: unknown }>['result']

const rows = [
  ...Array.from({ length: 38 }, (_, at) =>
    JSON.stringify({ question: `What is ${at} + 1?`, answer: at + 1 }),
  ),
  '{"question": "What is 3 + 1?", "answer": 4}', // says the same as row 4
  'no JSON',
  '{"question":"Why?","answer":null}',
]

async function importFile(
  request: Parameters<typeof client.stream<'datasets.import'>>[1],
): Promise<Imported> {
  const items = await collect(client.stream('datasets.import', request))
  const last = items.at(-1)
  if (last === undefined || !('result' in last)) throw new Error('Expected a result.')
  return last.result
}

let imported: Imported
let versionId: string

beforeAll(async () => {
  const file = fixture.write('questions.jsonl', `${rows.join('\n')}\n`)
  imported = await importFile({ source: { path: file }, name: 'Questions' })
  versionId = imported.version.id
})

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

describe('a data set that was imported', () => {
  test('lists what was left out, and is there', async () => {
    expect(imported).toMatchObject({
      isNew: true,
      dataSet: { name: 'Questions' },
      version: { rows: 40, problems: 1, unusable: null },
      problems: [{ number: 40, line: 40 }],
    })
    expect(await client.call('datasets.list')).toEqual([imported.dataSet])
    const { version, shape } = await client.call('datasets.version', { versionId })
    expect(version).toEqual(imported.version)
    expect(shape).toMatchObject({ id: 'question-answer', answer: 'answer' })
    const page = await client.call('datasets.rows', { versionId, from: 36, count: 10 })
    expect(page.total).toBe(40)
    expect(page.rows.map(({ question }) => question)).toEqual([
      'What is 36 + 1?',
      'What is 37 + 1?',
      'What is 3 + 1?',
      'Why?',
    ])
  })

  test('is the same version when it comes again, and gets another one from other rows', async () => {
    const file = path.join(fixture.directory, 'questions.jsonl')
    const { id: dataSetId } = imported.dataSet
    expect(await importFile({ source: { path: file }, dataSetId })).toMatchObject({ isNew: false })
    const other = fixture.write('more.csv', 'question,answer\nWhat is 3+1?,4\n what  is 0 + 1? ,1\n')
    const added = await importFile({ source: { path: other }, dataSetId })
    expect(added.dataSet.versions).toHaveLength(2)
    expect(added.dataSet.versions.map(({ id }) => id)).toContain(versionId)
  })

  test('shows prompts as text and as tokens, and how long they are', async () => {
    const prompt = { messages: [{ role: 'user', content: '{question}' }] }
    const plain = await client.call('datasets.preview', {
      versionId,
      prompt: { column: 'question' },
      count: 1,
    })
    expect(plain).toEqual([{ row: 0, text: 'What is 0 + 1?', tokens: null }])
    const [marked] = await client.call('datasets.preview', {
      versionId,
      prompt,
      model: 'starter',
      from: 2,
      count: 1,
    })
    if (marked === undefined || !('tokens' in marked)) throw new Error('Expected a prompt.')
    expect(marked.text).toContain('What is 2 + 1?')
    const lengths = await collect(
      client.stream('datasets.histogram', { versionId, prompt, model: 'starter' }),
    )
    const { progress, histogram } = lengths.at(-1) ?? {}
    expect(progress).toMatchObject({ done: 40, total: 40 })
    expect(histogram).toMatchObject({ rows: 40, problems: 0 })
    expect(histogram?.min).toBeLessThanOrEqual(marked.tokens?.length ?? 0)
    expect(histogram?.max).toBeGreaterThanOrEqual(marked.tokens?.length ?? Infinity)
    await expect(client.call('datasets.preview', { versionId, prompt: { colum: 1 } })).rejects.toMatchObject({
      code: 'config/invalid',
    })
  })

  test('shows prompts with the tools and the switches of the template that a run would give', async () => {
    const model = path.join(fixture.directory, 'switching')
    cpSync(path.join(resourcesDirectory, 'starter'), model, { recursive: true })
    writeFileSync(
      path.join(model, 'chat_template.jinja'),
      '{% if tools %}{{ tools | length }} tools. {% endif %}{{ messages[0].content }}{% if enable_thinking %} Think.{% endif %}',
    )
    const file = fixture.write('tools.jsonl', '{"question":"Why?","functions":[{"name":"add"}]}\n')
    const { dataSet, version } = await importFile({ source: { path: file }, name: 'With tools' })
    const prompt = { messages: [{ role: 'user', content: '{question}' }] }
    const asked = { versionId: version.id, prompt, model }
    const textOf = async (template: object) =>
      (await client.call('datasets.preview', { ...asked, count: 1, ...template }))[0]
    expect(await textOf({})).toMatchObject({ text: 'Why?' })
    const template = { tools: 'functions', templateVariables: { enable_thinking: true } }
    expect(await textOf(template)).toMatchObject({ text: '1 tools. Why? Think.' })
    const lengthWith = async (given: object) =>
      (await collect(client.stream('datasets.histogram', { ...asked, ...given }))).at(-1)?.histogram?.max ?? 0
    expect(await lengthWith(template)).toBeGreaterThan(await lengthWith({}))
    await client.call('datasets.delete', { dataSetId: dataSet.id })
  })

  test('is split by a rule, and rows that are alike are found', async () => {
    const split = { rows: 10, seed: 1 }
    const sides = await client.call('datasets.split', { versionId, split })
    expect(sides.train + sides.heldOut).toBe(40)
    expect(sides.heldOut).toBeGreaterThanOrEqual(10)
    const whole = await client.call('datasets.leaks', { versionId, heldOut: split })
    expect(whole.leaks.count).toBe(0)
    expect(whole.trainDuplicates.count + whole.heldOutDuplicates.count).toBe(1)
    const more = (await client.call('datasets.get', { dataSetId: imported.dataSet.id })).versions
    const other = more.find(({ id }) => id !== versionId)?.id ?? ''
    const request = { versionId, heldOut: { versionId: other }, columns: ['question'] }
    const { leaks } = await client.call('datasets.leaks', request)
    expect(leaks.pairs.map(({ first, second }) => [first, second])).toEqual([[0, 1]])
  })
})

test('a file is looked at before it is imported', async () => {
  const file = fixture.write('alpaca.json', '[{"instruction":"Say hi","input":"","output":"hi"}]')
  const found = await client.call('datasets.inspect', { source: { path: file } })
  expect(found).toMatchObject({ format: { id: 'json' }, shape: { id: 'instruction' }, isWhole: true })
  const mapping = [{ kind: 'column', from: 'output', to: 'answer' }]
  const mapped = await client.call('datasets.inspect', { source: { path: file }, mapping })
  expect(mapped.rows).toEqual([{ instruction: 'Say hi', input: '', answer: 'hi' }])
  const wrong = [{ kind: 'no-such' }]
  await expect(
    client.call('datasets.inspect', { source: { path: file }, mapping: wrong }),
  ).rejects.toMatchObject({ code: 'data/invalid' })
})

test('what another process imports is told of, what a browser uploaded is used up', async () => {
  const feed = client.follow('datasets.watch')
  const first = await nextOf(feed)
  const file = fixture.write('elsewhere.jsonl', '{"prompt":"a"}\n{"prompt":"b"}\n')
  await importDataSet(file, { folder: dataFolders(fixture.directory).datasets })
  const second = await nextOf(feed)
  await feed.return?.()
  expect(second.cursor).not.toBe(first.cursor)
  const list = await client.call('datasets.list')
  expect(list.map(({ name }) => name)).toEqual(['elsewhere', 'Questions'])

  const uploadId = 'upl_00000000-0000-7000-8000-000000000000'
  const upload = path.join(dataFolders(fixture.directory).uploads, uploadId)
  mkdirSync(upload, { recursive: true })
  writeFileSync(path.join(upload, 'chosen.tsv'), 'prompt\tanswer\nx\ty\n')
  const { dataSet } = await importFile({ source: { uploadId } })
  expect(dataSet).toMatchObject({ name: 'chosen', versions: [{ rows: 1 }] })
  await expect(importFile({ source: { uploadId } })).rejects.toMatchObject({ code: 'file/unreadable' })
})

test('a data set that a run needs stays', async () => {
  const [elsewhere] = await client.call('datasets.list')
  const directory = elsewhere?.versions[0]?.directory ?? ''
  const dataSetId = elsewhere?.id ?? ''
  const config = { ...smallConfig, data: { train: directory, heldOut: null } }
  const { runId } = await client.call('runs.start', { config })
  await client.call('runs.kill', { runId })
  await expect(client.call('datasets.delete', { dataSetId })).rejects.toMatchObject({ code: 'api/refused' })
  await client.call('runs.delete', { runId })
  await client.call('datasets.rename', { dataSetId, name: 'Last' })
  expect(await client.call('datasets.get', { dataSetId })).toMatchObject({ name: 'Last' })
  await client.call('datasets.delete', { dataSetId })
  await expect(client.call('datasets.get', { dataSetId })).rejects.toMatchObject({ code: 'data/invalid' })
  expect((await client.call('datasets.list')).map(({ id }) => id)).not.toContain(dataSetId)
  expect(fixture.faults).toEqual([])
})
