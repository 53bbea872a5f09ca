import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { defaultThreads } from '#engine/processor.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { receiveUpload } from '#host/transports/uploads.ts'
import { collect, createHostFixture, nextOf } from '../api/hostFixture.ts'

const fixture = createHostFixture()
const { client } = fixture

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

describe('models', () => {
  test('tell what rounding would do to them', async () => {
    const effects = await collect(
      client.stream('models.precision', { model: 'starter', precisions: ['int8', 'int4'] }),
    )
    expect(effects).toMatchObject([{ precision: 'int8' }, { precision: 'int4' }])
    const [int8, int4] = effects
    expect(int8?.mean).toBeLessThan(int4?.mean ?? 0)
    await expect(
      collect(client.stream('models.precision', { model: 'nowhere', precisions: ['int8'] })),
    ).rejects.toMatchObject({ code: 'model/invalid' })
  })

  test('are listed, looked at, imported and deleted', async () => {
    const [starter] = await client.call('models.list')
    expect(starter).toMatchObject({ name: 'starter', parameters: expect.any(Number) as number })
    expect(await client.call('models.info', { model: 'starter' })).toMatchObject({
      isBuiltIn: true,
      hasChatTemplate: true,
      dtypes: [expect.stringMatching(/F(16|32)/)],
    })
    const folder = path.join(fixture.directory, 'random')
    await writeRandomModel(folder, modelShapes['tiny-llama'], 1, 'F32')
    expect(await client.call('models.inspect', { path: folder })).toMatchObject({ name: 'random' })
    expect(await client.call('models.inspect', { path: fixture.directory })).toMatchObject({
      problem: expect.stringContaining('config.json') as string,
    })
    const items = await collect(client.stream('models.import', { path: folder, name: 'mine' }))
    expect(items.at(-1)).toMatchObject({ result: { name: 'mine' } })
    expect((await client.call('models.list')).map(({ name }) => name)).toEqual(['starter', 'mine'])

    // A copy is the same model, another one is not; a run's manifest names it the same way.
    const digestOf = async (model: string) => (await client.call('models.digest', { model })).sha256
    expect(await digestOf('mine')).toBe(await digestOf(folder))
    expect(await digestOf('mine')).not.toBe(await digestOf('starter'))
    const runId = await fixture.start({ model: 'mine', steps: 1 })
    const manifest = async () => (await client.call('runs.get', { runId })).manifest
    await expect.poll(async () => (await manifest())?.model).toBe(await digestOf('mine'))
    await client.call('runs.kill', { runId })
    await expect(client.call('models.delete', { name: 'mine' })).rejects.toMatchObject({
      code: 'api/refused',
    })
    await client.call('runs.delete', { runId })
    await client.call('models.delete', { name: 'mine' })
    expect(existsSync(path.join(fixture.directory, 'models', 'mine'))).toBe(false)
    await expect(client.call('models.delete', { name: 'starter' })).rejects.toMatchObject({
      code: 'model/invalid',
    })
  })

  test('and adapters come from folders that a browser sent, file by file', async () => {
    const uploads = dataFolders(fixture.directory).uploads
    const send = async (folder: string) => {
      let into = 'new'
      for (const name of readdirSync(folder)) {
        const content = [readFileSync(path.join(folder, name))] as unknown as AsyncIterable<Uint8Array>
        const request = {
          directory: uploads,
          name: `dropped/${name}`,
          into,
          sizeBytes: null,
          limitBytes: Infinity,
        }
        into = (await receiveUpload(request, content)).uploadId
      }
      return into
    }
    const folder = path.join(fixture.directory, 'sent')
    await writeRandomModel(folder, modelShapes['tiny-llama'], 1, 'F32')
    const uploadId = await send(folder)
    expect(await client.call('models.inspect', { uploadId })).toMatchObject({
      name: 'dropped',
      architecture: 'llama',
    })
    const items = await collect(client.stream('models.import', { uploadId }))
    expect(items.at(-1)).toMatchObject({ result: { name: 'dropped' } })
    expect(await client.call('models.inspect', { uploadId })).toMatchObject({
      problem: expect.stringContaining('no longer exists') as string,
    })
    await client.call('models.delete', { name: 'dropped' })

    const first = await fixture.start({ steps: 1, evaluation: { every: 0, rows: 1 } })
    const { directory } = await fixture.reached(first, 'finished')
    const checkpoint = path.join(directory, 'checkpoints', 'step-000001')
    const sent = await send(path.join(checkpoint, 'actor'))
    const feed = client.follow('models.watch')
    const before = await nextOf(feed)
    const adapter = await client.call('models.importAdapter', { uploadId: sent, name: 'taught' })
    expect((await nextOf(feed)).cursor).not.toBe(before.cursor)
    await feed.return?.()
    expect(adapter).toMatchObject({ name: 'taught', rank: 2, alpha: 4 })
    expect(readdirSync(uploads)).toEqual([])
    await expect(
      client.call('models.importAdapter', { path: checkpoint, name: 'taught' }),
    ).rejects.toMatchObject({
      code: 'usage/invalid',
    })
    await client.call('models.importAdapter', { path: checkpoint, name: 'same' })
    expect((await client.call('models.adapters')).map(({ name }) => name)).toEqual(['same', 'taught'])
    const bytes = ['same', 'taught'].map((name) =>
      readFileSync(path.join(fixture.directory, 'adapters', name, 'adapter_model.safetensors'), 'base64'),
    )
    expect(bytes[0]).toBe(bytes[1])
    await expect(client.call('models.importAdapter', { path: fixture.directory })).rejects.toMatchObject({
      code: 'adapter/invalid',
    })

    // A run begins with it, and it stays as long as that is not over.
    const second = await fixture.start({ steps: 1, adapter: { initial: adapter.directory } })
    await client.call('runs.kill', { runId: second })
    await expect(client.call('models.deleteAdapter', { name: 'taught' })).rejects.toMatchObject({
      code: 'api/refused',
    })
    await client.call('runs.delete', { runId: second })
    await client.call('models.deleteAdapter', { name: 'taught' })
    expect((await client.call('models.adapters')).map(({ name }) => name)).toEqual(['same'])
  })

  test('take text apart and mark up chats', async () => {
    const text = 'Add 29 and 25'
    const tokens = await client.call('models.tokenize', { model: 'starter', text })
    expect(tokens.map((token) => token.text).join('')).toBe(text)
    const messages = [{ role: 'user', content: text }]
    expect((await client.call('models.renderChat', { model: 'starter', messages })).text).toContain(text)
  })
})

describe('generating', () => {
  const request = {
    candidates: [{ model: 'starter' }],
    prompt: { messages: [{ role: 'user', content: 'Add 29 and 25' }] },
    sampling: { maxNewTokens: 8, seed: 3, temperature: 0 },
  }

  test('comes piece by piece, the same for the same seed, side by side', async () => {
    const candidates = [{ model: 'starter' }, { model: 'starter' }]
    const items = await collect(client.stream('models.generate', { ...request, candidates }))
    const textOf = (candidate: number) =>
      items.flatMap((item) => (item.candidate === candidate ? [item.text] : [])).join('')
    expect(textOf(0)).not.toBe('')
    expect(textOf(1)).toBe(textOf(0))
    const ends = items.filter(({ stopReason }) => stopReason !== null)
    expect(ends).toMatchObject([{ candidate: 0 }, { candidate: 1 }])
    expect(ends[0]?.tokensPerSecond).toBeGreaterThan(0)
    expect(items.length).toBeGreaterThan(3)
  })

  test('says what is wrong, and ends when its reader goes away', async () => {
    const empty = { ...request, prompt: { text: '' } }
    await expect(collect(client.stream('models.generate', empty))).rejects.toMatchObject({
      code: 'data/invalid',
    })
    const over = new AbortController()
    const long = { ...request, sampling: { maxNewTokens: 200, temperature: 1 } }
    const asked = client.stream('models.generate', long, { signal: over.signal })
    await asked.next()
    over.abort()
    await expect(asked.next()).rejects.toMatchObject({ code: 'api/cancelled' })
  })
})

describe('the system', () => {
  test('tells what it is, how busy it is and what takes up room', async () => {
    const info = await client.call('system.info')
    expect(info).toMatchObject({ dataDirectory: fixture.directory })
    expect(info.devices.find(({ kind }) => kind === 'cpu')).toEqual({ kind: 'cpu', available: true })
    expect(info.cpu.physicalCores).toBeGreaterThan(0)
    expect(info.cpu.defaultThreads).toBe(defaultThreads())
    const load = await client.call('system.load')
    expect(load.memory.usedBytes).toBeLessThan(load.memory.totalBytes)
    expect(load.disk.turnwiseBytes).toBeGreaterThan(0)
    const watching = client.follow('system.watch')
    expect(await nextOf(watching)).toMatchObject({ cpuShare: expect.any(Number) as number })
    await watching.return?.()

    const storage = await client.call('system.storage')
    const cache = storage.find(({ folder }) => folder.endsWith('cache'))
    expect(cache).toMatchObject({ isDisposable: true })
    expect(await client.call('system.clearCache')).toEqual({ freedBytes: cache?.sizeBytes })
  })

  test('checks itself until it was enough', async () => {
    const checking = client.stream('system.selftest', {})
    expect(await nextOf(checking)).toMatchObject({ finding: { passed: true }, progress: { done: 1 } })
    await checking.return?.()
  })

  test('shows folders to choose from', async () => {
    fixture.write('b.txt', 'b')
    const { entries, parent } = await client.call('system.browse', { path: fixture.directory })
    expect(parent).toBe(path.dirname(fixture.directory))
    expect(entries).toContainEqual({ name: 'b.txt', isFolder: false, sizeBytes: 1 })
    expect(entries.findIndex(({ isFolder }) => !isFolder)).toBeGreaterThan(0)
    const missing = { path: path.join(fixture.directory, 'missing') }
    await expect(client.call('system.browse', missing)).rejects.toMatchObject({ code: 'file/unreadable' })
  })
})

describe('settings', () => {
  test('are kept, and their changes told', async () => {
    const feed = client.follow('settings.watch')
    await client.call('settings.set', { key: 'theme', value: { dark: true } })
    expect(await nextOf(feed)).toMatchObject({ changed: { theme: { dark: true } } })
    await client.call('settings.set', { key: 'other', value: [1, null] })
    const value = await nextOf(feed)
    expect(value.changed).toEqual({ other: [1, null] })
    await feed.return?.()
    await client.call('settings.set', { key: 'theme', value: null })
    const later = client.follow('settings.watch', undefined, { from: value.cursor })
    expect((await nextOf(later)).changed).toEqual({ theme: null })
    await later.return?.()
    expect(await client.call('settings.all')).toEqual({ other: [1, null] })
    expect(await client.call('settings.get', { key: 'theme' })).toBeNull()
  })

  test('of runs are described', async () => {
    const algorithms = await client.call('settings.algorithms')
    expect(algorithms.find(({ id }) => id === 'grpo')?.settings[0]).toMatchObject({
      key: 'algorithm.settings.clipCoefficient',
      label: 'Clip range',
      control: { kind: 'number-or-pair' },
    })
    expect(fixture.faults).toEqual([])
  })
})
