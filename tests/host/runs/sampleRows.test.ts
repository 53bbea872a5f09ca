/** A row has the number of the data set wherever it is told, whatever part of it a run was given. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { collect, createHostFixture, smallConfig, type HostFixture } from '../api/hostFixture.ts'

let fixture: HostFixture
let runId: string
const train = path.join(resourcesDirectory, 'demo', 'train.jsonl')
const rows = readFileSync(train, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Record<string, unknown>)
const data = { ...smallConfig.data, train, heldOut: { share: 0.4, seed: 3 } }

beforeAll(async () => {
  fixture = createHostFixture()
  runId = await fixture.start({ data, steps: 2 })
  await fixture.reached(runId, 'finished')
})

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

test.each(['rollout', 'evaluation'] as const)(
  'of %s: samples, their origin and the filter agree',
  async (source) => {
    const { client } = fixture
    const samples = await client.call('samples.list', { runId, source })
    expect(samples.length).toBeGreaterThan(0)
    expect(samples.some(({ row, dataRow }) => row !== dataRow)).toBe(true)
    for (const { id, prompt, dataRow } of samples) {
      const row = rows[dataRow ?? -1]
      expect(prompt).toContain(row?.['prompt'])
      expect((await client.call('samples.origin', { sampleId: id })).row).toEqual(row)
      const found = await client.call('samples.list', { runId, source, dataRow: dataRow ?? 0 })
      expect(found.map((each) => each.id)).toContain(id)
      expect(found.every((each) => each.dataRow === dataRow)).toBe(true)
    }
  },
)

test('the row that is tried before a run', async () => {
  const items = await collect(fixture.client.stream('runs.calibrate', { config: { ...smallConfig, data } }))
  const result = items.flatMap((item) => ('result' in item ? [item.result] : []))[0]
  const sample = result?.samples[0]
  expect(sample?.prompt).toContain(rows[result?.longest.row ?? -1]?.['prompt'])
  expect(sample?.row).toBe(result?.longest.row)
})

test('pairs of rows that say the same in both parts of a split', async () => {
  const { client } = fixture
  const texts = ['a b', 'c', 'A  B', 'd', 'e', 'f', 'g', 'h', 'c', 'i']
  const file = fixture.write('twice.jsonl', texts.map((text) => JSON.stringify({ text })).join('\n'))
  const items = await collect(client.stream('datasets.import', { source: { path: file } }))
  const versionId = items.flatMap((item) => ('result' in item ? [item.result.version.id] : []))[0] ?? ''
  const found = await client.call('datasets.leaks', {
    versionId,
    heldOut: { share: 0.4, seed: 3 },
    columns: [],
  })
  const pairs = [found.trainDuplicates, found.heldOutDuplicates, found.leaks].flatMap((each) => each.pairs)
  expect(pairs.length).toBe(2)
  const normal = (text: string | undefined) => text?.toLowerCase().replace(/\s+/g, ' ')
  for (const { first, second } of pairs) expect(normal(texts[first])).toBe(normal(texts[second]))
})

test('a row that cannot become a prompt is named by it', async () => {
  const { client } = fixture
  // Among the training rows, the first without a question would be one of the first ten.
  const texts = Array.from({ length: 20 }, (_, i) => ({
    text: `row ${String(i)}`,
    ...(i < 10 ? { q: 'x' } : {}),
  }))
  const file = fixture.write('gap.jsonl', texts.map((row) => JSON.stringify(row)).join('\n'))
  const config = {
    ...smallConfig,
    data: { train: file, heldOut: { share: 0.3, seed: 3 }, prompt: { template: '{q}' } },
  }
  const asked = collect(client.stream('runs.calibrate', { config }))
  await expect(asked).rejects.toThrow(/Row (1[1-9]|20) of the data/)
})
