import { rmSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { openEventLog } from '#host/workFolder/eventLog.ts'
import { createRunFolder, lockRun, runPaths } from '#host/workFolder/runFolder.ts'
import { createHost, historyFile } from '#host/createHost.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const folder = temporaryFolder()
const config = { name: 'elsewhere', model: 'm', seed: 3, algorithm: { id: 'grpo' } }
const training = { type: 'status', phase: 'training', step: 0, steps: 9 } as const
const step = { type: 'step', step: 1, steps: 9, metrics: { reward: 0.5 } } as const

test('a run that another process makes, trains and leaves appears by itself', async () => {
  const dataDirectory = path.join(folder, 'elsewhere')
  await using host = createHost({ dataDirectory, servesQueue: false })
  expect(host.history.lookAround()).toBe(false)

  const run = createRunFolder(dataDirectory, config)
  expect(host.history.lookAround()).toBe(true)
  expect(host.store.runs.get(run.id)).toMatchObject({ name: 'elsewhere', status: 'new', seed: 3 })

  const lock = lockRun(run.directory)
  using log = openEventLog(runPaths(run.directory).events)
  log.append(training)
  log.append(step)
  expect(host.history.lookAround()).toBe(true)
  expect(host.store.runs.get(run.id)).toMatchObject({ status: 'running', step: 1, reward: 0.5 })
  expect(host.history.lookAround()).toBe(false)

  lock[Symbol.dispose]()
  expect(host.history.lookAround()).toBe(true)
  expect(host.store.runs.get(run.id).status).toBe('interrupted')
})

test('a history that is gone comes back from the folders of the runs', async () => {
  const dataDirectory = path.join(folder, 'lost')
  const run = createRunFolder(dataDirectory, config)
  {
    using log = openEventLog(runPaths(run.directory).events)
    for (const event of [training, step]) log.append(event)
  }
  const look = async () => {
    await using host = createHost({ dataDirectory, servesQueue: false })
    const { status, reward } = host.store.runs.get(run.id)
    return { status, reward, rows: host.store.metrics.table(run.id).rows }
  }
  const before = await look()
  expect(before).toEqual({ status: 'interrupted', reward: 0.5, rows: [{ step: 1, values: [0.5] }] })
  for (const end of ['', '-wal', '-shm']) rmSync(`${historyFile(dataDirectory)}${end}`, { force: true })
  expect(await look()).toEqual(before)
})

test('a host that answers others reads a long history in pieces, and answers in between', async () => {
  const dataDirectory = path.join(folder, 'long')
  const count = 240
  for (let number = 0; number < count; number++) {
    const run = createRunFolder(dataDirectory, config)
    using log = openEventLog(runPaths(run.directory).events)
    for (let at = 1; at <= 150; at++) log.append({ ...step, step: at })
  }
  await using host = createHost({ dataDirectory, servesQueue: true })
  const first = host.store.runs.list().length
  expect(first).toBeLessThan(count)
  expect(host.history.pending).toBe(count - first)
  const seen = new Set<number>()
  while (host.history.pending > 0) {
    seen.add(host.history.pending)
    await new Promise(setImmediate)
  }
  expect(host.store.runs.list()).toHaveLength(count)
  // One who asks waits for one piece, not for all.
  expect(seen.size).toBeGreaterThan(1)
})
