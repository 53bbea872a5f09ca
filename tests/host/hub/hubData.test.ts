import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startHub, type LoopbackHub } from './loopbackHub.ts'
import { collect, createHostFixture } from '../api/hostFixture.ts'

const fixture = createHostFixture()
const { client } = fixture
let hub: LoopbackHub

beforeAll(async () => {
  const source = path.join(fixture.directory, 'hub')
  mkdirSync(source)
  for (const at of [0, 1])
    writeFileSync(
      path.join(source, `train-0000${at}-of-00002.jsonl`),
      `{"question":"Q${at}","answer":"${at}"}\n`,
    )
  hub = await startHub(source, source)
  await client.call('settings.set', { key: 'hub.endpoint', value: hub.endpoint })
})

afterAll(async () => {
  await hub[Symbol.asyncDispose]()
  await fixture[Symbol.asyncDispose]()
})

const resultOf = <Item extends object>(
  items: readonly Item[],
): Extract<Item, { result: unknown }>['result'] => {
  const last = items.at(-1)
  if (last !== undefined && 'result' in last) return last.result
  throw new Error('Expected a result.')
}

describe('a data set of a hub', () => {
  test('is listed, fetched, inspected and imported as one table with its origin', async () => {
    const listed = await client.call('datasets.listOnHub', { address: 'someone/rows' })
    expect(listed.configs).toEqual([
      { name: 'default', splits: [{ name: 'train', files: 2, sizeBytes: expect.any(Number) as number }] },
    ])
    const fetched = await collect(client.stream('datasets.fetch', { address: 'someone/rows' }))
    const { uploadId, name } = resultOf(fetched)
    expect(name).toBe('rows-train')
    const total = listed.configs[0]?.splits[0]?.sizeBytes
    expect(fetched.at(-2)).toEqual({ progress: { phase: 'Fetching', done: total, total, unit: 'bytes' } })

    const seen = await client.call('datasets.inspect', { source: { uploadId } })
    expect(seen).toMatchObject({ isWhole: true, sizeBytes: total, shape: { id: 'question-answer' } })
    expect(seen.rows.map(({ question }) => question)).toEqual(['Q0', 'Q1'])

    const imported = resultOf(await collect(client.stream('datasets.import', { source: { uploadId }, name })))
    expect(imported.version).toMatchObject({
      rows: 2,
      source: `someone/rows (default, train) at ${listed.commit}`,
    })
    await expect(client.call('datasets.inspect', { source: { uploadId } })).rejects.toMatchObject({
      code: 'file/unreadable',
    })
    expect(fixture.faults).toEqual([])
  })

  test('goes on where it was given up', async () => {
    hub.fault.cutAfter = 10
    const ask = () => collect(client.stream('datasets.fetch', { address: 'someone/rows', split: 'train' }))
    await expect(ask()).rejects.toMatchObject({ code: 'api/disconnected' })
    expect(resultOf(await ask()).name).toBe('rows-train')
  })
})
