/** Deleted runs come back as they were, whenever a process is killed on the way to the trash or back. */
import { cpSync, existsSync, mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createHost } from '#host/createHost.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import type { Host } from '#host/host.ts'
import { deleteRun, emptyTrash, keptInTrashMs, restoreRun, trashedRuns } from '#host/runs/trash.ts'
import { lockRun, runPaths } from '#host/workFolder/runFolder.ts'
import { RunHistory } from '#host/runs/runHistory.ts'
import { createRun } from '#host/runs/runLifecycle.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { answer } from '../../cli/turnwise.ts'
import { samples, status, step, writeLog } from '../store/logs.ts'
import { starterConfig } from './runFixture.ts'

let dataDirectory: string
let host: Host
let runId: string

const described = () => {
  const { name, tags, notes } = host.store.runs.get(runId)
  return { name, tags, notes }
}
const own = { name: 'mine', tags: ['good'], notes: 'It learned.' }
const folders = () => dataFolders(dataDirectory)
const inTrash = () => path.join(folders().trash, runId)
const about = () => `${inTrash()}.json`
const ids = () => host.store.runs.list().map(({ id }) => id)

/** What the next start of a host does. */
async function restart(): Promise<void> {
  await host[Symbol.asyncDispose]()
  host = createHost({ dataDirectory, servesQueue: true })
}

beforeEach(() => {
  dataDirectory = mkdtempSync(path.join(tmpdir(), 'turnwise-trash-'))
  host = createHost({ dataDirectory, servesQueue: true })
  runId = createRun(host, parseRunConfig(starterConfig)).id
  host.store.runs.setName(runId, own.name)
  host.store.runs.setTags(runId, own.tags)
  host.store.runs.setNotes(runId, own.notes)
})

afterEach(async () => {
  await host[Symbol.asyncDispose]()
  rmSync(dataDirectory, { recursive: true })
})

test('a deleted run is gone from history and folder, is listed for a week and comes back whole', () => {
  const { directory } = host.store.runs.get(runId)
  deleteRun(host, runId)
  expect(ids()).toEqual([])
  expect(existsSync(directory)).toBe(false)
  const [trashed] = trashedRuns(dataDirectory)
  expect(trashed).toMatchObject({ runId, name: 'mine' })
  expect((trashed?.until ?? 0) - (trashed?.deletedAt ?? 0)).toBe(keptInTrashMs)
  expect(trashed?.sizeBytes).toBeGreaterThan(0)
  restoreRun(host, runId)
  expect(described()).toEqual(own)
  expect(trashedRuns(dataDirectory)).toEqual([])
  expect(existsSync(about())).toBe(false)
  expect(() => restoreRun(host, runId)).toThrow('no longer in the trash')
})

test('what only the history knew comes back too: scores of other reward versions, and why it failed', () => {
  const { directory } = host.store.runs.get(runId)
  writeLog(runPaths(directory).events, status('training'), step(1, { reward: 0.5 }), samples(1), samples(2))
  host.history.lookAround()
  const scored = host.store.samples.list({ runId }).map(({ id }, i) => ({
    sampleId: id,
    version: 'a'.repeat(64),
    parts: { exact: i / 4 },
    error: i === 0 ? 'It threw.' : null,
  }))
  expect(scored.length).toBeGreaterThan(2)
  host.store.samples.addScores(scored)
  const error = { code: 'runtime/out-of-memory' as const, message: 'Out of memory.', hint: null }
  host.store.runs.setStatus(runId, 'failed', { error, stderrTail: 'Killed' })
  const known = () => {
    const texts = new Map(
      host.store.samples.list({ runId }).map(({ id, step: at, completion }) => [id, `${at} ${completion}`]),
    )
    return host.store.samples
      .scoresOf(runId)
      .map(({ sampleId, ...score }) => ({ ...score, of: texts.get(sampleId) }))
      .sort((a, b) => (a.parts['exact'] ?? 0) - (b.parts['exact'] ?? 0))
  }
  const before = known()
  deleteRun(host, runId)
  restoreRun(host, runId)
  expect(known()).toEqual(before)
  expect(host.store.runs.get(runId)).toMatchObject({ status: 'failed', error, stderrTail: 'Killed' })
})

test('a restored run is taken in, and described, at once, however many others wait for that', () => {
  deleteRun(host, runId)
  const { store } = host
  const isTrainedHere = () => false
  const onFault = () => undefined
  const busy = new RunHistory({ dataDirectory, store, isTrainedHere, onFault, sliceMs: -1 })
  restoreRun({ dataDirectory, store, history: busy }, runId)
  expect(described()).toEqual(own)
})

test('a run that came again and is deleted again takes the place of the one in the trash', () => {
  const { directory } = host.store.runs.get(runId)
  deleteRun(host, runId)
  cpSync(inTrash(), directory, { recursive: true })
  host.history.adopt()
  host.store.runs.setName(runId, 'later')
  deleteRun(host, runId)
  expect(trashedRuns(dataDirectory).map(({ name }) => name)).toEqual(['later'])
})

test('killed before the folder was moved: the run is there, and nothing is left of the attempt', async () => {
  const old = Date.now() / 1000 - 120
  deleteRun(host, runId)
  restoreRun(host, runId)
  writeFileSync(about(), JSON.stringify({ deletedAt: Date.now(), ...own }))
  utimesSync(about(), old, old)
  await restart()
  expect(described()).toEqual(own)
  expect(existsSync(about())).toBe(false)
})

test('killed before the history forgot it: the next host does', async () => {
  deleteRun(host, runId)
  restoreRun(host, runId)
  const { directory } = host.store.runs.get(runId)
  writeFileSync(about(), JSON.stringify({ deletedAt: Date.now(), ...own }))
  renameSync(directory, inTrash())
  await restart()
  expect(ids()).toEqual([])
  restoreRun(host, runId)
  expect(described()).toEqual(own)
})

test('killed between folder and description on the way back: the next host describes it', async () => {
  const { directory } = host.store.runs.get(runId)
  deleteRun(host, runId)
  const old = Date.now() / 1000 - 120
  utimesSync(about(), old, old)
  renameSync(inTrash(), directory)
  await restart()
  expect(described()).toEqual(own)
})

test('a run that is in use, or whose folder is not one of a run, is left alone', () => {
  const { directory } = host.store.runs.get(runId)
  {
    using _lock = lockRun(directory)
    expect(() => deleteRun(host, runId)).toThrow(expect.objectContaining({ code: 'run/busy' }))
  }
  rmSync(runPaths(directory).run)
  expect(() => deleteRun(host, runId)).toThrow('is not the folder of a run')
  expect(ids()).toEqual([runId])
  expect(existsSync(runPaths(directory).config)).toBe(true)
  expect(existsSync(folders().trash)).toBe(false)
})

test('a run whose description is lost can be restored under the name in its settings', () => {
  runId = createRun(host, parseRunConfig({ ...starterConfig, name: 'of the settings' })).id
  for (const other of ids()) deleteRun(host, other)
  emptyTrash(
    dataDirectory,
    trashedRuns(dataDirectory).flatMap((each) => (each.runId === runId ? [] : each.runId)),
  )
  rmSync(about())
  expect(trashedRuns(dataDirectory)).toMatchObject([{ runId, name: 'of the settings' }])
  restoreRun(host, runId)
  expect(ids()).toEqual([runId])
})

test('after a week, and when it is emptied, the space is freed', async () => {
  const kept = createRun(host, parseRunConfig(starterConfig)).id
  deleteRun(host, runId)
  deleteRun(host, kept)
  writeFileSync(about(), JSON.stringify({ deletedAt: Date.now() - keptInTrashMs - 1000, ...own }))
  await restart()
  expect(trashedRuns(dataDirectory).map((run) => run.runId)).toEqual([kept])
  expect(existsSync(inTrash())).toBe(false)
  expect(emptyTrash(dataDirectory)).toBeGreaterThan(0)
  expect(trashedRuns(dataDirectory)).toEqual([])
  expect(existsSync(path.join(folders().trash, kept))).toBe(false)
})

test('a removal for good that was killed half-way is finished', async () => {
  deleteRun(host, runId)
  renameSync(inTrash(), path.join(folders().trash, `.${runId}.removed`))
  await restart()
  expect(trashedRuns(dataDirectory)).toEqual([])
  expect(existsSync(path.join(folders().trash, `.${runId}.removed`))).toBe(false)
})

test('the command line deletes, lists, restores and removes for good', async () => {
  const at = ['--data-dir', dataDirectory]
  expect((await answer('runs', 'delete', runId, ...at)).stdout).toContain(`turnwise runs restore ${runId}`)
  expect((await answer('runs', 'trash', ...at)).stdout).toContain(runId)
  expect((await answer('runs', 'restore', runId.slice(-8), ...at)).stdout).toBe('Restored mine.\n')
  host.history.lookAround()
  expect(host.store.runs.get(runId)).toMatchObject({ name: 'mine', notes: 'It learned.' })
  await answer('runs', 'delete', runId, '--for-good', ...at)
  expect((await answer('runs', 'trash', ...at)).stdout).toBe('The trash is empty.\n')
  const { status, stderr } = await answer('runs', 'restore', runId, ...at)
  expect([status, stderr]).toEqual([
    expect.any(Number),
    expect.stringContaining(`There is no run “${runId}”`),
  ])
})
