import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { createHost, historyFile } from '#host/createHost.ts'
import { openStore } from '#host/store/store.ts'
import { createRun } from '#host/runs/runLifecycle.ts'
import { queueRun } from '#host/runs/sealedRuns.ts'
import { until } from './runFixture.ts'
import { createHostFixture, smallConfig, type Config } from '../api/hostFixture.ts'
import { isWhole, wholeTitle } from '../../sweeps.ts'

const fixture = createHostFixture()
const { client } = fixture

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

const short = { ...smallConfig, steps: 1, evaluation: { every: 0, rows: 1 } } as Config
/** Told only when the rows are read by the training process. */
const failing = { ...short, data: { ...smallConfig.data, prompt: { column: 'missing' } } } as Config

async function push(config: Config, continueOnError: boolean): Promise<string> {
  const request = { config, queue: true, continueOnError }
  return (await client.call('runs.start', request)).runId
}

test('runs wait for each other; one that fails halts the rest until somebody says to go on', async () => {
  const first = await push(short, false)
  const second = await push(failing, false)
  const third = await push(short, false)
  const fourth = await push(short, true)
  const queue = await client.call('queue.get')
  expect(queue.runs.map(({ runId }) => runId)).toEqual([second, third, fourth])
  expect(await client.call('runs.get', { runId: third })).toMatchObject({ status: 'queued' })
  await client.call('queue.move', { runId: fourth, to: 1 })

  const feed = client.follow('queue.watch')
  let halted = null
  for await (const state of feed) {
    halted = state.halted
    if (halted !== null) break
  }
  expect(halted).toMatchObject({ runId: second, error: { code: 'data/invalid' } })
  expect(await client.call('runs.get', { runId: first })).toMatchObject({ status: 'finished' })
  expect(await client.call('runs.get', { runId: second })).toMatchObject({ status: 'failed' })
  expect((await client.call('queue.get')).runs).toEqual([
    { runId: fourth, continueOnError: true },
    { runId: third, continueOnError: false },
  ])

  await client.call('queue.remove', { runId: third })
  expect(await client.call('runs.get', { runId: third })).toMatchObject({ status: 'new' })
  await client.call('queue.setContinueOnError', { runId: fourth, continueOnError: false })
  await client.call('queue.proceed')
  expect(await fixture.reached(fourth, 'finished', 'failed')).toMatchObject({ status: 'finished' })
  await expect(client.call('queue.push', { runId: fourth })).rejects.toMatchObject({ code: 'api/refused' })

  // One that was taken out can be put in again, and one that fails may be passed over.
  const fifth = await push(failing, true)
  await client.call('queue.push', { runId: third })
  expect(await fixture.reached(third, 'finished', 'failed')).toMatchObject({ status: 'finished' })
  expect(await client.call('runs.get', { runId: fifth })).toMatchObject({ status: 'failed' })
  expect(await client.call('queue.get')).toEqual({ runs: [], halted: null })
  expect(fixture.faults).toEqual([])
})

const leaving = 'a process that is just leaving a run that has ended is waited for'
test.runIf(isWhole)(wholeTitle(leaving), async () => {
  const script = fileURLToPath(new URL('./leavingProcess.ts', import.meta.url))
  await using leaving = createHostFixture({ script })
  const runId = await leaving.start(short)
  await leaving.reached(runId, 'finished')
  expect(await leaving.client.call('runs.workers')).toHaveLength(1)
  const queue = { runId, continueOnError: false }
  await expect(leaving.client.call('queue.push', queue)).rejects.toMatchObject({ code: 'api/refused' })

  await leaving.reached(await leaving.start(short), 'finished')
  expect(await leaving.client.call('runs.workers')).toHaveLength(1)
  expect((await leaving.client.call('system.clearCache')).freedBytes).toBeGreaterThan(0)
  expect(leaving.faults).toEqual([])
})

const halted = 'a halt outlasts the host, until somebody says to go on'
test.runIf(isWhole)(wholeTitle(halted), async () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'turnwise-halted-'))
  const open = () => createHost({ dataDirectory: directory, servesQueue: true })
  const waiting: string[] = []
  try {
    {
      await using host = open()
      for (const config of [failing, short]) {
        const { id } = createRun(host, parseRunConfig(config))
        queueRun(host.store, id, { continueOnError: false })
        waiting.push(id)
      }
      host.queue.advance()
      await until(() => host.queue.haltedBy !== null)
    }
    await using next = open()
    expect(next.queue.haltedBy).toBe(waiting[0])
    await setTimeout(200)
    expect(next.store.runs.get(waiting[1] ?? '').status).toBe('queued')
    next.queue.proceed()
    await until(() => next.store.runs.get(waiting[1] ?? '').status === 'finished')
    await using last = open()
    expect(last.queue.haltedBy).toBeNull()
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
})

test('in a directory from elsewhere nothing that waits starts by itself, until somebody says so once', async () => {
  const root = mkdtempSync(path.join(tmpdir(), 'turnwise-elsewhere-'))
  const [stranger, copy] = [path.join(root, 'stranger'), path.join(root, 'copy')]
  const evaluation = { status: 'waiting', owner: null, summary: null, endedAt: null } as const
  const ids = { queued: '', left: '', evaluation: '' }
  try {
    {
      await using made = createHostFixture({ dataDirectory: stranger })
      const { client, host } = made
      ids.left = await made.start(short)
      await made.reached(ids.left, 'finished')
      const subject = { runId: ids.left, step: 1 }
      ids.evaluation = (await client.call('evaluations.start', { subject, limit: 1 })).id
      await until(() => host.evaluations.get(ids.evaluation).status === 'finished')
      host.store.evaluations.set(ids.evaluation, evaluation)
      host.store.runs.setStatus(ids.left, 'interrupted')
      host.store.settings.set('runs.resumeLeft', true)
      ids.queued = createRun(host, parseRunConfig(short)).id
      queueRun(host.store, ids.queued, { continueOnError: false })
    }
    {
      // What a host that was killed leaves.
      using store = openStore(historyFile(stranger))
      store.settings.set('host.training', [ids.left])
    }
    cpSync(stranger, copy, { recursive: true })
    {
      await using fixture = createHostFixture({ dataDirectory: copy })
      const { client, host } = fixture
      const statuses = () => [
        ...[ids.queued, ids.left].map((id) => host.store.runs.get(id).status),
        host.evaluations.get(ids.evaluation).status,
      ]
      expect(await client.call('queue.get')).toMatchObject({
        runs: [{ runId: ids.queued }],
        halted: { runId: null, error: { message: expect.stringContaining('elsewhere') as string } },
      })
      // What a run leaves when it ends, and what is looked at regularly, start nothing either.
      await fixture.reached(await fixture.start(short), 'finished')
      await fixture.left()
      host.queue.advance()
      expect(statuses()).toEqual(['queued', 'interrupted', 'waiting'])
      await client.call('queue.proceed')
      expect((await client.call('queue.get')).halted).toBeNull()
      await until(() => host.evaluations.get(ids.evaluation).status === 'finished')
      expect(await fixture.reached(ids.queued, 'finished', 'failed')).toMatchObject({ status: 'finished' })
      await until(() => host.store.queue.list().length === 0)
      await fixture.left()
      queueRun(host.store, ids.left)
    }
    await using next = createHostFixture({ dataDirectory: copy })
    expect(next.host.queue.isHeld).toBe(false)
    expect((await next.client.call('queue.get')).halted).toBeNull()
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
})
