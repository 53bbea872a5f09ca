/** What makes a data directory this machine's, and what somebody else may put into one. */
import Database from 'better-sqlite3'
import {
  appendFileSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { SettingChange } from '#shared/config/changes.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { planStudy } from '#rl/studies/plan.ts'
import { createHost, historyFile } from '#host/createHost.ts'
import { saveCheckpoint } from '#host/models/checkpoints.ts'
import { openStore } from '#host/store/store.ts'
import { isOwnSeal, ownSeal } from '#host/files/ownSeals.ts'
import { createRun } from '#host/runs/runLifecycle.ts'
import { LeftRuns } from '#host/runs/leftRuns.ts'
import { queueRun } from '#host/runs/sealedRuns.ts'
import { isOwnWork } from '#host/runs/ownWork.ts'
import { runPaths } from '#host/workFolder/runFolder.ts'
import {
  createStudyFolder,
  openStudyFolder,
  setStudyState,
  studyDigest,
} from '#host/workFolder/studyFolder.ts'
import { subjectOf, trialConfig } from '#host/studies/studyConfig.ts'
import { lockFile } from '#host/workFolder/workFolder.ts'
import { exampleCheckpoint } from './exampleCheckpoint.ts'
import { starterConfig, until } from './runFixture.ts'
import { createHostFixture, smallConfig } from '../api/hostFixture.ts'

const root = mkdtempSync(path.join(tmpdir(), 'turnwise-own-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const opened = (dataDirectory: string, servesQueue = true) => createHost({ dataDirectory, servesQueue })

/** A directory of this machine's in which a run lies; `queued`: and waits. */
async function ownDirectory(name: string, queued: boolean) {
  const directory = path.join(root, name)
  await using host = opened(directory, false)
  const { id } = createRun(host, parseRunConfig(smallConfig))
  if (queued) {
    queueRun(host.store, id, { continueOnError: false })
  }
  return { directory, id, file: historyFile(directory) }
}

async function isHeld(directory: string): Promise<boolean> {
  await using host = opened(directory, true)
  return host.queue.isHeld
}

test('a log that a killed process of this machine left is its own', async () => {
  const { directory, file } = await ownDirectory('killed', false)
  await using _running = opened(directory, false)
  expect(existsSync(`${file}-wal`)).toBe(true)
  expect(mergedInto(file)).not.toBeNull()
  expect(await isHeld(directory)).toBe(false)
})

function mergedInto(file: string) {
  using store = openStore(file)
  return store.merged
}

test('a log that somebody put beside the history makes the directory one from elsewhere', async () => {
  const { directory, id, file } = await ownDirectory('logged', false)
  const copy = path.join(root, 'copy.db')
  copyFileSync(file, copy)
  const stranger = new Database(copy)
  stranger.pragma('journal_mode = WAL')
  stranger.pragma('wal_autocheckpoint = 0')
  stranger.prepare('INSERT INTO queue (run_id, continue_on_error) VALUES (?, 0)').run(id)
  copyFileSync(`${copy}-wal`, `${file}-wal`)
  stranger.close()
  await using host = opened(directory)
  expect(host.store.queue.list()).toMatchObject([{ runId: id }]) // SQLite took it in
  expect(host.queue.isHeld).toBe(true)
})

test('a rollback journal, which none of our processes leaves, is merged into nothing', async () => {
  const { directory, file } = await ownDirectory('journal', true)
  writeFileSync(`${file}-journal`, 'no journal')
  expect(() => opened(directory)).toThrow('the journal of a change that another program began')
  expect(existsSync(`${file}-journal`)).toBe(true)
})

test('an evaluation that a living process seems to be at waits all the same', async () => {
  const stranger = path.join(root, 'stranger')
  let [id, folder] = ['', '']
  {
    await using made = createHostFixture({ dataDirectory: stranger })
    const { client, host } = made
    const runId = await made.start({ ...smallConfig, steps: 1, evaluation: { every: 0, rows: 1 } })
    await made.reached(runId, 'finished')
    id = (await client.call('evaluations.start', { subject: { runId, step: 1 }, limit: 1 })).id
    await until(() => host.evaluations.get(id).status === 'finished')
    host.store.evaluations.set(id, { status: 'waiting', summary: null, endedAt: null })
    folder = path.relative(stranger, host.evaluations.folder(id))
    host.store.settings.set('host.training', [runId])
  }
  const copy = path.join(root, 'stranger-copy')
  cpSync(stranger, copy, { recursive: true })
  writeFileSync(lockFile(path.join(copy, folder)), `${process.ppid}\n`)
  expect(await isHeld(copy)).toBe(true)
})

test('runs that a stranger left are forgotten where they do not go on by themselves', async () => {
  const { directory, id } = await ownDirectory('left', false)
  const copy = path.join(root, 'left-copy')
  {
    await using host = opened(directory, false)
    host.store.settings.set('host.training', [id])
    host.store.runs.setStatus(id, 'stopped')
  }
  cpSync(directory, copy, { recursive: true })
  expect(await isHeld(copy)).toBe(false)
  {
    await using host = opened(copy, false)
    host.store.settings.set('runs.resumeLeft', true)
  }
  await using host = opened(copy)
  expect(host.store.runs.get(id).status).toBe('stopped')
})

test('a conversation that is a link leads to no files of the person’s', async () => {
  const directory = path.join(root, 'linked')
  await using fixture = createHostFixture({ dataDirectory: directory })
  const { client } = fixture
  const { id } = await client.call('chat.create', { model: 'starter' })
  const folder = path.join(directory, 'conversations', id)
  const files = path.join(root, 'files')
  renameSync(folder, files)
  symlinkSync(files, folder)
  const own = path.join(files, 'tax.json')
  writeFileSync(own, '{}')
  await expect(client.call('chat.update', { id, title: 'renamed' })).rejects.toMatchObject({
    message: expect.stringContaining('is a link') as string,
  })
  // Nor is a file of somebody's that stands in the folder itself taken for an answer.
  rmSync(folder)
  renameSync(files, folder)
  await client.call('chat.update', { id, title: 'renamed' })
  expect(existsSync(path.join(folder, 'tax.json'))).toBe(true)
})

/* What goes on by itself is what was left: a history or a folder of somebody else's that comes later changes nothing of that. */

const changed = { error: { message: expect.stringContaining('was changed since it was left') as string } }

/** A directory in which a study waits, as a host leaves it that is closed. */
async function leavingStudy(name: string) {
  const directory = path.join(root, name)
  await using host = opened(directory, false)
  const file = { ...smallConfig, seeds: { values: 2 } }
  const study = createStudyFolder(directory, { file, steps: 2, parallel: 1, start: {} })
  const sealed = [directory, `host.study.${study.id}`, studyDigest(study.directory)] as const
  host.store.settings.set(sealed[1], ownSeal(...sealed))
  const known = () => {
    using store = openStore(historyFile(directory))
    return store.settings.get(`host.study.${study.id}`)
  }
  return { directory, id: study.id, folder: study.directory, known }
}

const replaceIn = (file: string, from: string, to: string) => {
  const text = readFileSync(file, 'utf8')
  expect(text).toContain(from)
  writeFileSync(file, text.replace(from, to))
}

test('a history from elsewhere says nothing of a study that comes later', async () => {
  const { directory, folder, id } = await leavingStudy('announced')
  const later = path.join(root, 'later')
  renameSync(folder, later)
  const copy = path.join(root, 'announced-copy')
  cpSync(directory, copy, { recursive: true })
  expect(await isHeld(copy)).toBe(false)
  renameSync(later, path.join(copy, 'studies', id))
  await using host = opened(copy)
  expect(host.studies.get(id).status).toBe('waiting')
})

test.each([
  ['a link to what does not exist yet', (state: string) => symlinkSync('../../cache/hashes.json', state)],
  ['other JSON', (state: string) => writeFileSync(state, '{"/some/model.safetensors":{"size":1}}')],
])('a study of a directory from elsewhere waits if its state is %s', async (name, write) => {
  const { directory, folder } = await leavingStudy(name)
  const copy = path.join(root, `${name} copy`)
  rmSync(path.join(folder, 'state.json'))
  write(path.join(folder, 'state.json'))
  cpSync(directory, copy, { recursive: true, verbatimSymlinks: true })
  expect(await isHeld(copy)).toBe(true)
})

test('a study that was changed since it was left stops, and says so', async () => {
  const { directory, folder, id, known } = await leavingStudy('exchanged')
  replaceIn(path.join(folder, 'study.json'), '"seed": 7', '"seed": 8')
  await using host = opened(directory)
  expect(host.studies.get(id)).toMatchObject({ status: 'stopped', ...changed })
  expect(known()).toBeUndefined()
  host.studies.resume(id)
  expect(host.studies.get(id).status).toBe('running')
  expect(isOwnSeal(known(), directory, `host.study.${id}`, studyDigest(folder))).toBe(true)
})

test('a study that was deleted, or released in another directory and stopped, is no longer known', async () => {
  const { directory, folder, id, known } = await leavingStudy('deleted')
  setStudyState(folder, { status: 'interrupted', error: null })
  const copy = path.join(root, 'deleted-copy')
  cpSync(directory, copy, { recursive: true })
  {
    await using host = opened(copy)
    expect(host.queue.isHeld).toBe(true)
    host.queue.proceed()
    expect(host.studies.get(id).status).toBe('interrupted')
    expect(host.store.settings.get(`host.study.${id}`)).toBeUndefined()
  }
  await using host = opened(directory)
  expect(known()).toBeDefined()
  host.studies.remove(id)
  expect(known()).toBeUndefined()
})

test('runs that a stranger left are forgotten too where something else waited until it was let go', async () => {
  const { directory, folder } = await leavingStudy('two')
  writeFileSync(path.join(folder, 'state.json'), '{}')
  let id = ''
  {
    await using host = opened(directory, false)
    id = createRun(host, parseRunConfig(smallConfig)).id
    host.store.settings.set('host.training', [id])
    host.store.runs.setStatus(id, 'stopped')
  }
  const copy = path.join(root, 'two-copy')
  cpSync(directory, copy, { recursive: true })
  {
    await using host = opened(copy)
    expect(host.queue.isHeld).toBe(true)
    host.queue.proceed()
    host.store.settings.set('runs.resumeLeft', true)
  }
  await using host = opened(copy)
  expect(host.queue.isHeld).toBe(false)
  expect(host.store.runs.get(id).status).toBe('stopped')
})

test('a queued run that was changed since it was left does not start, and says so', async () => {
  const { directory, id } = await ownDirectory('queued', true)
  const { config } = runPaths(path.join(directory, 'runs', id))
  replaceIn(config, '"seed": 7', '"seed": 8')
  await using host = opened(directory)
  expect(host.store.runs.get(id)).toMatchObject({ status: 'failed', ...changed })
  expect(host.supervisor.list()).toEqual([])
})

const later = '{"at":1795942600000,"type":"settings-changed","step":1,"changes":[%]}\n'
const faster = '{"step":1,"key":"optimization.learningRate","from":0.001,"to":0.9}'

test.each<[string, (run: string) => unknown]>([
  [
    'changes of settings that nobody here made',
    (run) => appendFileSync(runPaths(run).events, later.replace('%', faster)),
  ],
  [
    'a script',
    (run) => writeFileSync(runPaths(run).script, JSON.stringify({ file: '/x/train.ts', sha256: '0' })),
  ],
  [
    'a copy of its code',
    (run) => {
      mkdirSync(runPaths(run).rewards)
      writeFileSync(path.join(runPaths(run).rewards, '0-correct.ts'), 'export const correct = () => 1')
    },
  ],
  ['a checkpoint', (run) => saveCheckpoint(run, exampleCheckpoint(1))],
  [
    'a checkpoint that seems to have been replaced',
    async (run) => {
      const { directory } = await saveCheckpoint(run, exampleCheckpoint(1))
      renameSync(directory, path.join(path.dirname(directory), '.step-000001.previous'))
    },
  ],
  [
    'a checkpoint to begin with',
    async (run) => {
      const { directory } = await saveCheckpoint(run, exampleCheckpoint(1))
      renameSync(directory, runPaths(run).origin)
    },
  ],
])('a queued run does not start with %s', async (name, change) => {
  const { directory, id } = await ownDirectory(`queued with ${name}`, true)
  await change(path.join(directory, 'runs', id))
  await using host = opened(directory)
  expect(host.store.runs.get(id)).toMatchObject({ status: 'failed', ...changed })
  expect(host.supervisor.list()).toEqual([])
})

/** Puts a copy over the directory, as `cp -a` does: what is there is written in place. */
function putOver(copy: string, directory: string): void {
  const before = statSync(historyFile(directory)).ino
  cpSync(copy, directory, { recursive: true, force: true })
  expect(statSync(historyFile(directory)).ino).toBe(before)
}

test('of a changed copy that is put over the directory itself nothing goes on', async () => {
  const { directory, id: queued } = await ownDirectory('mine', false)
  const copy = path.join(root, 'mallory')
  const ids = { left: '', own: '' }
  {
    await using host = opened(directory, false)
    for (const each of ['left', 'own'] as const) ids[each] = createRun(host, parseRunConfig(smallConfig)).id
    queueRun(host.store, ids.own, { continueOnError: false })
    host.store.settings.set('host.queueHaltedBy', queued)
  }
  cpSync(directory, copy, { recursive: true })
  const file = { ...smallConfig, seeds: { values: 2 } }
  const study = createStudyFolder(copy, { file, steps: 2, parallel: 1, start: {} })
  {
    using store = openStore(historyFile(copy))
    store.queue.push(queued)
    for (const [id, status] of [[queued, 'queued'] as const, [ids.left, 'interrupted'] as const])
      store.runs.setStatus(id, status)
    for (const [key, value] of [
      ['runs.resumeLeft', true],
      ['host.training', [ids.left]],
      ['host.queueHaltedBy', queued],
      [`host.study.${study.id}`, studyDigest(study.directory)],
    ] as const)
      store.settings.set(key, value)
  }
  putOver(copy, directory)
  await using host = opened(directory)
  expect(host.queue.isHeld).toBe(false)
  expect(host.studies.get(study.id)).toMatchObject({ status: 'stopped', ...changed })
  expect(host.store.runs.get(ids.left)).toMatchObject({ status: 'failed', ...changed })
  // What was left here is none the worse.
  expect(host.store.runs.get(ids.own).status).toBe('queued')
  host.queue.proceed()
  await until(() => host.supervisor.list().length > 0)
  expect(host.supervisor.list().map(({ runId }) => runId)).toEqual([ids.own])
  await host.supervisor.stop(ids.own)
  await until(() => host.store.runs.get(queued).status === 'failed')
  expect(host.store.runs.get(queued)).toMatchObject(changed)
})

test('nor does an evaluation that such a copy says waits, but one that was left does', async () => {
  const directory = path.join(root, 'evaluated')
  await using made = createHostFixture({ dataDirectory: directory })
  const { client, host } = made
  const runId = await made.start({ ...smallConfig, steps: 1, evaluation: { every: 0, rows: 1 } })
  await made.reached(runId, 'finished')
  const { id } = await client.call('evaluations.start', { subject: { runId, step: 1 }, limit: 1 })
  await until(() => host.evaluations.get(id).status === 'finished')
  const wait = () => host.store.evaluations.set(id, { status: 'waiting', summary: null, endedAt: null })
  wait()
  host.evaluations.takeUpWaiting()
  expect(host.evaluations.get(id)).toMatchObject({ status: 'stopped', ...changed })
  wait()
  host.evaluations.keepAsTheyAre()
  host.evaluations.takeUpWaiting()
  await until(() => host.evaluations.get(id).status === 'finished')
})

test('an evaluation that was left waiting goes on where the directory was moved to', async () => {
  const [from, to] = [path.join(root, 'before the move'), path.join(root, 'moved')]
  let id = ''
  {
    await using made = createHostFixture({ dataDirectory: from })
    const { host, client } = made
    const runId = await made.start({ ...smallConfig, steps: 1, evaluation: { every: 0, rows: 1 } })
    await made.reached(runId, 'finished')
    id = (await client.call('evaluations.start', { subject: { runId, step: 1 }, limit: 1 })).id
    await until(() => host.evaluations.get(id).status === 'finished')
    host.store.evaluations.set(id, { status: 'waiting', summary: null, endedAt: null })
    host.evaluations.keepAsTheyAre()
  }
  renameSync(from, to)
  await using host = opened(to)
  await until(() => ['finished', 'stopped'].includes(host.evaluations.get(id).status))
  expect(host.evaluations.get(id)).toMatchObject({ status: 'finished', error: null })
})

/** A run whose host was killed after it had made these changes. `meanwhile`: done before, while it trained. */
async function leavingRun(
  name: string,
  made: readonly SettingChange[] | null,
  meanwhile: (run: string) => void,
) {
  const { directory, id } = await ownDirectory(name, false)
  const run = path.join(directory, 'runs', id)
  await using host = opened(directory, false)
  const { store, history } = host
  const left = new LeftRuns(store)
  store.settings.set('runs.resumeLeft', true)
  left.remember([{ runId: id, changes: null }])
  meanwhile(run)
  history.ingest({ id, directory: run })
  left.seal([{ runId: id, changes: made }])
  store.runs.setStatus(id, 'interrupted')
  return { directory, id }
}

const reward = 'export const fixed = () => 0.5'

/** A directory in which an evaluation waits that has a copy of the code it judges by. */
async function leavingEvaluation(name: string, train?: (directory: string) => string) {
  const directory = path.join(root, name)
  await using made = createHostFixture({ dataDirectory: directory })
  const { host, client } = made
  const file = made.write('fixed.ts', reward)
  const data = { ...smallConfig.data, heldOut: null, ...(train && { train: train(directory) }) }
  const config = { data, rewards: [{ function: `${file}#fixed`, name: 'fixed', weight: 1 }] }
  const subject = { model: smallConfig.model, adapter: null }
  const { id } = await client.call('evaluations.start', { subject, config, limit: 1 })
  await until(() => host.evaluations.get(id).status === 'finished')
  host.store.evaluations.set(id, { status: 'waiting', summary: null, endedAt: null })
  host.evaluations.keepAsTheyAre()
  return { directory, id, folder: host.evaluations.folder(id) }
}

test('an evaluation that was left waiting goes on with its copies of code alone', async () => {
  const { directory, id, folder } = await leavingEvaluation('evaluated by code')
  {
    await using host = opened(directory)
    await until(() => host.evaluations.get(id).status === 'finished')
    host.store.evaluations.set(id, { status: 'waiting', summary: null, endedAt: null })
    host.evaluations.keepAsTheyAre()
  }
  replaceIn(path.join(runPaths(folder).rewards, '0-fixed.ts'), '0.5', '0.6')
  await using host = opened(directory)
  expect(host.evaluations.get(id)).toMatchObject({ status: 'stopped', ...changed })
})

test('an evaluation of a file elsewhere is not one of a file in the data directory', async () => {
  const elsewhere = path.join(root, 'elsewhere.jsonl')
  copyFileSync(starterConfig.data.train, elsewhere)
  const { directory, id } = await leavingEvaluation('evaluated on data', () => elsewhere)
  {
    using store = openStore(historyFile(directory))
    const record = store.evaluations.find(id)
    const { data } = record!.config
    store.evaluations.remove(id)
    const there = { ...data, train: path.join(directory, elsewhere) }
    store.evaluations.add({ ...record!, config: { ...record!.config, data: there } })
  }
  await using host = opened(directory)
  expect(host.evaluations.get(id)).toMatchObject({ status: 'stopped', ...changed })
})

const asked = [JSON.parse(faster) as SettingChange]
const logChanges = (run: string) => appendFileSync(runPaths(run).events, later.replace('%', faster))

test('a run whose host was killed goes on, with the settings that were changed while it trained', async () => {
  const { directory, id } = await leavingRun('killed while training', asked, logChanges)
  await using host = opened(directory)
  expect(host.supervisor.list().map(({ runId }) => runId)).toEqual([id])
})

const exchangeConfig = (run: string) => replaceIn(runPaths(run).config, '"seed": 7', '"seed": 8')

test.each<[string, readonly SettingChange[] | null, (run: string) => void]>([
  ['its config was exchanged while it trained', null, exchangeConfig],
  [
    'its config was exchanged before settings were changed',
    asked,
    (run) => {
      exchangeConfig(run)
      logChanges(run)
    },
  ],
  ['its log has changes that its host did not make', null, logChanges],
  ['its log has others', [{ ...asked[0]!, to: 0.002 }], logChanges],
])('it does not where %s', async (name, made, meanwhile) => {
  const { directory, id } = await leavingRun(name, made, meanwhile)
  await using host = opened(directory)
  expect(host.store.runs.get(id)).toMatchObject({ status: 'failed', ...changed })
  expect(host.supervisor.list()).toEqual([])
})

test('a killed host leaves no seal where runs do not go on by themselves', async () => {
  const { directory, id } = await leavingRun('not resumed', null, () => undefined)
  const key = `host.run.${id}`
  {
    await using host = opened(directory, false)
    host.store.settings.set('runs.resumeLeft', false)
    expect(host.store.settings.get(key)).toBeDefined()
  }
  await using host = opened(directory)
  expect(host.store.settings.get(key)).toBeUndefined()
})

test('a study trains no run that was put in the place of its own', async () => {
  const { directory, id, folder } = await leavingStudy('swapped')
  {
    await using host = opened(directory, false)
    const run = createRun(host, parseRunConfig({ ...smallConfig, steps: 1 }))
    writeFileSync(
      path.join(folder, 'log.jsonl'),
      `${JSON.stringify({ type: 'trial', trial: 0, runId: run.id })}\n`,
    )
  }
  await using host = opened(directory)
  const { status, error } = await host.studies.ended(id)
  expect(status).toBe('failed')
  expect(error?.message).toContain('has other settings than the study has for its trial 1')
})

test('a study does not train its own run with changes of settings that it did not make', async () => {
  const { directory, id, folder } = await leavingStudy('changed trial')
  {
    await using host = opened(directory, false)
    const run = createRun(host, parseRunConfig({ ...smallConfig, steps: 2 }))
    const line = { type: 'trial', trial: 0, runId: run.id }
    writeFileSync(path.join(folder, 'log.jsonl'), `${JSON.stringify(line)}\n`)
    const { config } = openStudyFolder(folder)
    const [trial] = planStudy(subjectOf(openStudyFolder(folder)), []).trials
    writeFileSync(runPaths(run.directory).config, JSON.stringify(parseRunConfig(trialConfig(config, trial))))
    appendFileSync(runPaths(run.directory).events, later.replace('%', faster))
  }
  await using host = opened(directory)
  const { error } = await host.studies.ended(id)
  expect(error?.message).toContain('has other settings than the study has for its trial 1')
})

test.each<[string, (run: string) => unknown]>([
  ['a copy of code', (run) => mkdirSync(runPaths(run).rewards)],
  ['a checkpoint', (run) => saveCheckpoint(run, exampleCheckpoint(1))],
])('nor with %s that nobody here made, until a person resumes it', async (name, plant) => {
  const { directory, id, folder } = await leavingStudy(`trial with ${name}`)
  {
    await using host = opened(directory, false)
    const study = openStudyFolder(folder)
    const [trial] = planStudy(subjectOf(study), []).trials
    const run = createRun(host, parseRunConfig(trialConfig(study.config, trial)))
    const line = { type: 'trial', trial: 0, runId: run.id }
    writeFileSync(path.join(folder, 'log.jsonl'), `${JSON.stringify(line)}\n`)
    await plant(run.directory)
  }
  await using host = opened(directory)
  const { error } = await host.studies.ended(id)
  expect(error?.message).toContain('was changed since it was left')
  host.studies.resume(id)
  expect((await host.studies.ended(id)).error?.message ?? '').not.toContain('was changed since it was left')
})

test('what a process of a run writes is its own, and nothing that is put there later', async () => {
  await using made = createHostFixture({ dataDirectory: path.join(root, 'written') })
  const { directory, host } = made
  const file = made.write('fixed.ts', reward)
  const rewards = [{ function: `${file}#fixed`, name: 'fixed', weight: 1 }]
  const id = await made.start({ steps: 2, rewards, checkpoints: { every: 1, keepLast: 2 } })
  await made.reached(id, 'finished')
  const { directory: run } = host.store.runs.get(id)
  expect(isOwnWork(run, directory)).toBe(true)
  const [copy, checkpoint] = [runPaths(run).rewards, path.join(runPaths(run).checkpoints, 'step-000001')]
  for (const place of [path.join(copy, '0-fixed.ts'), path.join(checkpoint, 'state.json')]) {
    const text = readFileSync(place)
    writeFileSync(place, Buffer.concat([text, Buffer.from(' ')]))
    expect(isOwnWork(run, directory)).toBe(false)
    writeFileSync(place, text)
  }
  expect(isOwnWork(run, directory)).toBe(true)
  cpSync(checkpoint, path.join(runPaths(run).checkpoints, 'step-000009'), { recursive: true })
  expect(isOwnWork(run, directory)).toBe(false)
})
