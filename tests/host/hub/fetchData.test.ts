import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { importDataSet } from '#host/data/importDataSet.ts'
import {
  chooseSplit,
  fetchSplit,
  openHubData,
  originOf,
  readFetched,
  writeFetched,
} from '#host/hub/fetchData.ts'
import type { HubAccess } from '#host/hub/hub.ts'
import { dataCommit, dataRepo, startHub, type LoopbackHub } from './loopbackHub.ts'

const home = mkdtempSync(path.join(tmpdir(), 'turnwise-hub-data-'))
const source = path.join(home, 'source')
const place = { kind: 'dataset', repo: dataRepo, revision: 'main' } as const
let hub: LoopbackHub

const shard = (from: number) =>
  Array.from({ length: 3 }, (_, at) => `${JSON.stringify({ question: `What is ${from + at}?` })}\n`).join('')

function write(name: string, text: string): void {
  mkdirSync(path.dirname(path.join(source, name)), { recursive: true })
  writeFileSync(path.join(source, name), text)
}

beforeAll(async () => {
  // The second shard is listed before the first, and has a line that is none.
  write('data/train-00001-of-00002.jsonl', `${shard(3)}no JSON\n`)
  write('data/train-00000-of-00002.jsonl', shard(0))
  write('data/test-00000-of-00001.jsonl', shard(9))
  write('README.md', '# Rows\n')
  hub = await startHub(source, source)
})

afterAll(async () => {
  await hub[Symbol.asyncDispose]()
  rmSync(home, { recursive: true, force: true })
})

beforeEach(() => {
  Object.assign(hub.fault, { cutAfter: null, lies: false })
  hub.fault.asked.length = 0
  hub.fault.tokens.clear()
})

const access = (change: Partial<HubAccess> = {}): HubAccess => ({
  endpoint: hub.endpoint,
  token: null,
  onRequest: () => undefined,
  signal: new AbortController().signal,
  ...change,
})

async function fetchTrain(name: string): Promise<string> {
  const folder = path.join(home, name)
  const data = await openHubData(place, access())
  const chosen = chooseSplit(data, {})
  for await (const _ of fetchSplit(data, chosen, folder));
  writeFetched(folder, originOf(data, chosen), chosen.split.files)
  return folder
}

describe('a data set from a hub', () => {
  test('tells its parts', async () => {
    let requests = 0
    const data = await openHubData(place, access({ onRequest: () => (requests += 1) }))
    expect(data.commit.commit).toBe(dataCommit)
    expect(data.configs).toEqual([
      {
        name: 'default',
        splits: [
          { name: 'train', files: ['data/train-00000-of-00002.jsonl', 'data/train-00001-of-00002.jsonl'] },
          { name: 'test', files: ['data/test-00000-of-00001.jsonl'] },
        ],
      },
    ])
    expect(requests).toBe(hub.fault.asked.length)
  })

  test('becomes one data set of all its shards, in their order, with rows counted through', async () => {
    const folder = await fetchTrain('whole')
    expect(hub.fault.asked.some((line) => line.includes('test-00000') || line.includes('.py'))).toBe(false)
    const { origin, files } = readFetched(folder)!
    expect(origin).toBe(`someone/rows (default, train) at ${dataCommit}`)
    const { version } = await importDataSet(files, { folder: path.join(home, 'sets'), origin })
    expect(version.rows(0, 10).map(({ question }) => question)).toEqual(
      [0, 1, 2, 3, 4, 5].map((at) => `What is ${at}?`),
    )
    expect(version.info).toMatchObject({
      name: 'train-00000-of-00002',
      source: { path: origin, format: 'jsonl' },
      problems: {
        count: 1,
        listed: [{ number: 7, line: 4, sentence: expect.stringContaining('00001-of-00002') as string }],
      },
    })
  })

  test('goes on where the connection was lost', async () => {
    hub.fault.cutAfter = 20
    await expect(fetchTrain('resumed')).rejects.toMatchObject({ code: 'api/disconnected' })
    const inside = path.join(home, 'resumed/data')
    const part = readdirSync(inside).find((name) => name.endsWith('.part')) ?? ''
    expect(readFetched(path.join(home, 'resumed'))).toBe(null)
    hub.fault.asked.length = 0
    const folder = await fetchTrain('resumed')
    expect(part).toMatch(/^train-00000/)
    expect(readFileSync(path.join(folder, 'data/train-00000-of-00002.jsonl'), 'utf8')).toBe(shard(0))
  })

  test('of other bytes than stated is refused', async () => {
    hub.fault.lies = true
    await expect(fetchTrain('lies')).rejects.toMatchObject({ code: 'data/invalid' })
  })

  test('without that split or config is refused, with those there are', async () => {
    const data = await openHubData(place, access())
    expect(chooseSplit(data, { split: 'test' }).split.name).toBe('test')
    expect(() => chooseSplit(data, { split: 'dev' })).toThrow('no split “dev”')
    expect(() => chooseSplit(data, { config: 'main' })).toThrow('no config “main”')
  })

  test('of code alone is refused, naming the program', async () => {
    const bare = path.join(home, 'bare')
    mkdirSync(bare)
    await using scripted = await startHub(bare, bare)
    await expect(openHubData(place, access({ endpoint: scripted.endpoint }))).rejects.toMatchObject({
      code: 'data/invalid',
      message: 'someone/rows is generated by a script, run_me.py, and scripts from a hub are never run.',
    })
    expect(scripted.fault.asked.some((line) => line.includes('run_me.py'))).toBe(false)
  })

  test('is asked for with the token of whatever form', async () => {
    await openHubData(place, access({ token: 'a-token-of-ours' }))
    expect([...hub.fault.tokens]).toEqual(['Bearer a-token-of-ours'])
  })

  test('whose files would lie elsewhere is refused', async () => {
    const data = await openHubData(place, access())
    const { files } = data.configs[0]!.splits[1]!
    const outside = { ...data.files.get(files[0]!)!, path: '../outside.jsonl' }
    const moved = { ...data, files: new Map([[outside.path, outside]]) }
    const split = { name: 'train', files: [outside.path] }
    const reading = fetchSplit(moved, { config: 'default', split }, path.join(home, 'outside'))
    await expect(reading.next()).rejects.toThrow('a file whose name cannot be used')
  })

  test('stops when it is told to, and keeps what came', async () => {
    const stop = new AbortController()
    const data = await openHubData(place, access({ signal: stop.signal }))
    const reading = fetchSplit(data, chooseSplit(data, {}), path.join(home, 'stopped'))
    await reading.next()
    stop.abort()
    await expect(
      (async () => {
        for await (const _ of reading);
      })(),
    ).rejects.toMatchObject({ code: 'api/cancelled' })
  })
})
