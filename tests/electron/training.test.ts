import { existsSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Api } from '#shared/api/api.ts'
import type { Client } from '#shared/api/client.ts'
import { smallConfig, type Config } from '../host/api/hostFixture.ts'
import { startApp, type StartedApp } from './app.ts'
import { answers, app, preventable, said, Tray, utilityProcess } from './fakeElectron.ts'
import { eventually } from '../eventually.ts'
import { isWhole, wholeTitle } from '../sweeps.ts'

let started: StartedApp
let client: Client<Api>

beforeAll(async () => {
  started = await startApp()
  client = started.connect()
  started.window.show()
})

const long = { steps: 2000, evaluation: { every: 1000, rows: 2 }, checkpoints: { every: 1000 } } as const

const start = async (config: Partial<Config> = {}) =>
  (await client.call('runs.start', { config: { ...smallConfig, ...config } })).runId

const tray = () => Tray.all[0]!
const trayEntry = (words: string) => tray().menu.find(({ label }) => label?.startsWith(words) === true)
const isShown = () => started.window.isShown

describe('while a run is trained', () => {
  test('the taskbar, the tray and the wake lock show it', async () => {
    await eventually(() => expect(started.window.bar).toEqual({ share: -1, mode: 'none' }))
    expect(tray().toolTip).toBe('Turnwise — No run is being trained')
    const runId = await start({ ...long, name: 'Long' })
    await eventually(() => {
      expect(started.window.bar?.mode).toBe('normal')
      expect(started.window.bar?.share).toBeGreaterThan(0)
      expect(tray().toolTip).toMatch(/^Turnwise — Long: step \d+ of 2000$/)
    })
    expect(said.wakeLocks.size).toBe(1)
    expect(trayEntry('This machine stays awake')).toBeDefined()
    trayEntry('Pause Long')?.click?.()
    await eventually(() => expect(started.window.bar?.mode).toBe('paused'))
    expect(said.wakeLocks.size).toBe(0)
    trayEntry('Go on with Long')?.click?.()
    await eventually(() => expect(started.window.bar?.mode).toBe('normal'))
    expect(said.wakeLocks.size).toBe(1)
    expect((await client.call('runs.get', { runId })).status).toBe('running')
  })

  test('closing asks, and can leave it in the background', async () => {
    const close = () => {
      const event = preventable()
      started.window.emit('close', event)
      expect(event.isPrevented).toBe(true)
    }
    answers.buttons = [2]
    close()
    await eventually(() => expect(said.questions).toHaveLength(1))
    expect(said.questions[0]).toMatchObject({
      message: 'A run is being trained',
      buttons: ['Keep training in the background', 'Stop and save', 'Cancel'],
    })
    expect(isShown()).toBe(true)
    answers.buttons = [0]
    await eventually(() => {
      close()
      expect(isShown()).toBe(false)
    })
    expect(await client.call('runs.workers')).toHaveLength(1)
    tray().emit('click')
    expect(isShown()).toBe(true)
  })

  test('a process that dies is told, with its last words in the history', async () => {
    const [worker] = await client.call('runs.workers')
    process.kill(utilityProcess.all.at(-1)?.pid ?? 0, 'SIGKILL')
    await eventually(() => expect(said.notices).toHaveLength(1))
    expect(said.notices[0]?.options.title).toMatch(/^Long failed at step \d+$/)
    expect((await client.call('runs.get', { runId: worker?.runId ?? '' })).status).toBe('interrupted')
    await eventually(() => expect(started.window.bar).toEqual({ share: -1, mode: 'none' }))
    expect(said.wakeLocks.size).toBe(0)
  })
})

const end = 'the end of a run is told once, checkpoints are not; a click leads to it'
test.runIf(isWhole)(wholeTitle(end), async () => {
  said.notices.length = 0
  const runId = await start({ name: 'Short' })
  await eventually(() => expect(said.notices).toHaveLength(1))
  expect((await client.call('checkpoints.list', { runId })).length).toBeGreaterThan(1)
  expect(said.notices[0]?.options).toMatchObject({ title: 'Short is done' })
  expect(said.notices[0]?.options.body).toMatch(/^4 steps; eval reward [\d.]+ → [\d.]+\.$/)
  started.window.hide()
  said.notices[0]?.emit('click')
  expect(isShown()).toBe(true)
  expect(started.told().at(-1)).toEqual({ type: 'go', route: `/runs/${runId}` })
  answers.isFocused = true
  await start({ name: 'Seen' })
  await eventually(async () =>
    expect((await client.call('runs.list', { status: 'finished' })).length).toBe(2),
  )
  await eventually(() => expect(tray().toolTip).toContain('No run'))
  expect(said.notices).toHaveLength(1)
})

const wrong = 'a run that goes wrong is told as soon as it says so, once; a click leads to its diagnosis'
test.runIf(isWhole)(wholeTitle(wrong), async () => {
  said.notices.length = 0
  answers.isFocused = false
  const never = { function: 'exact-match', name: 'correct', settings: { column: 'task' } }
  const runId = await start({ ...long, name: 'Wrong', rewards: [never] })
  await eventually(() => expect(said.notices).toHaveLength(1))
  const { finding, step } = await client.call('runs.get', { runId })
  expect(finding).toMatchObject({ id: 'constant-reward', severity: 'problem' })
  expect(said.notices[0]?.options.title).toMatch(/^Wrong needs a look at step \d+ \([a-z ]+\)$/)
  expect(said.notices[0]?.options.body).toBe(finding?.words)
  said.notices[0]?.emit('click')
  expect(started.told().at(-1)).toEqual({ type: 'go', route: `/runs/${runId}/diagnosis` })
  await eventually(async () =>
    expect((await client.call('runs.get', { runId })).step).toBeGreaterThan(step + 2),
  )
  expect(said.notices).toHaveLength(1)
  await client.call('runs.stop', { runId })
  await eventually(() => expect(tray().toolTip).toContain('No run'))
})

test('quitting stops a run with a checkpoint, and shows that it does', async () => {
  const runId = await start({ ...long, name: 'Left' })
  await eventually(() => expect(started.window.bar?.share).toBeGreaterThan(0))
  said.questions.length = 0
  answers.buttons = [1, 0]
  app.quit()
  await eventually(() => expect(started.told().at(-1)).toEqual({ type: 'stopping', runs: 1 }))
  expect(started.window.title).toContain('saving a checkpoint')
  expect(said.exitCode).toBe(null)
  const checkpoints = await client.call('checkpoints.list', { runId })
  await eventually(() => expect(said.exitCode).toBe(0))
  await expect(client.call('runs.list', {})).rejects.toMatchObject({ code: 'api/disconnected' })
  const { createHost } = await import('#host/createHost.ts')
  await using host = createHost({ dataDirectory: started.directory, servesQueue: false })
  const run = host.store.runs.get(runId)
  const saved = host.store.checkpoints.list(runId)
  expect(run.status).toBe('stopped')
  expect(saved.length).toBeGreaterThan(checkpoints.length)
  expect(saved.at(-1)).toMatchObject({ step: run.step })
  expect(existsSync(saved.at(-1)?.directory ?? '')).toBe(true)
})
