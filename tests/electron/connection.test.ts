import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { channels } from '#shared/bridge.ts'
import { pageFrame, startApp, type StartedApp } from './app.ts'
import { answers, ipcMain, said, utilityProcess } from './fakeElectron.ts'

let started: StartedApp

beforeAll(async () => {
  started = await startApp()
})

describe('the API', () => {
  test('answers our page: calls, mistakes, streams', async () => {
    const client = started.connect()
    expect(await client.call('runs.list', {})).toEqual([])
    await expect(client.call('runs.get', { runId: 'x' })).rejects.toMatchObject({ code: 'api/invalid' })
    await expect(client.call('runs.get', { runId: `run_${'0'.repeat(36)}` })).rejects.toMatchObject({
      code: 'run/not-found',
    })
    for await (const { isWhole } of client.follow('runs.watch')) {
      expect(isWhole).toBe(true)
      break
    }
    client.close()
  })

  test('ends a stream when the page gives it up, and its process with it', async () => {
    const client = started.connect()
    const controller = new AbortController()
    const stream = client.stream('system.selftest', { full: false }, { signal: controller.signal })
    const first = await stream.next()
    expect(first.value).toMatchObject({ finding: { passed: true } })
    const child = utilityProcess.all.at(-1)
    expect(child?.script).toMatch(/jobProcess\.[jt]s$/)
    const exited = new Promise((resolve) => child?.once('exit', resolve))
    controller.abort()
    await expect(stream.next()).rejects.toMatchObject({ code: 'api/cancelled' })
    await exited
    client.close()
  })

  test.each([
    { who: 'another site', frame: { url: 'https://example.org/', parent: null } },
    { who: 'a look-alike', frame: { url: 'turnwise://app.example.org/', parent: null } },
    { who: 'a frame inside the page', frame: { url: 'turnwise://app/', parent: {} } },
    { who: 'a page that is gone', frame: null },
  ])('answers nobody else: $who', async ({ frame }) => {
    const client = started.connect(frame as object)
    await expect(client.call('runs.list', {})).rejects.toMatchObject({ code: 'api/disconnected' })
    for (const [channel, handler] of ipcMain.handlers)
      expect(() => handler({ senderFrame: frame }), channel).toThrow('Not our page.')
  })

  test('what is no message ends that connection alone', async () => {
    const [bad, good] = [started.open(), started.connect()]
    const closed = new Promise((resolve) => bad.once('close', resolve))
    bad.postMessage({ kind: 'call' })
    await closed
    expect(await good.call('runs.tags')).toEqual([])
    good.close()
  })
})

describe('dialogs', () => {
  const ask = (channel: string, given?: unknown) =>
    ipcMain.handlers.get(channel)?.({ senderFrame: pageFrame }, given)

  test('answer a path or null', async () => {
    answers.chosen = '/data/train.csv'
    const filters = [{ name: 'Data', extensions: ['csv', 'jsonl'] }]
    // Only Linux tells ROWS.JSONL from rows.jsonl.
    const offered = process.platform === 'linux' ? ['csv', 'CSV', 'jsonl', 'JSONL'] : ['csv', 'jsonl']
    expect(await ask(channels.chooseFile, { title: 'Add data', filters })).toBe('/data/train.csv')
    expect(said.dialogs.at(-1)).toEqual({
      kind: 'open',
      options: {
        title: 'Add data',
        filters: [{ name: 'Data', extensions: offered }],
        properties: ['openFile'],
      },
    })
    expect(await ask(channels.chooseFolder)).toBe('/data/train.csv')
    expect(said.dialogs.at(-1)?.options).toEqual({ properties: ['openDirectory'] })
    expect(await ask(channels.chooseSave, { suggestedName: '../../runs.csv' })).toBe('/data/train.csv')
    expect(said.dialogs.at(-1)).toEqual({ kind: 'save', options: { defaultPath: 'runs.csv' } })
    answers.chosen = null
    expect(await ask(channels.chooseFile)).toBe(null)
    expect(await ask(channels.chooseSave)).toBe(null)
  })

  test.each([7, { title: 7 }, { filters: 'csv' }, { filters: [{ name: 'x', extensions: ['../x'] }] }])(
    'take no nonsense: %j',
    async (given) => {
      await expect((async () => ask(channels.chooseFile, given))()).rejects.toThrow(TypeError)
    },
  )

  test('show a file that is there in its folder', () => {
    const file = path.join(mkdtempSync(path.join(tmpdir(), 'turnwise-reveal-')), 'a.csv')
    writeFileSync(file, '')
    expect(ask(channels.reveal, file)).toBe(true)
    expect(said.revealed).toEqual([file])
    for (const wrong of [`${file}x`, 'package.json', 7]) expect(ask(channels.reveal, wrong)).toBe(false)
    expect(said.revealed).toEqual([file])
  })
})
