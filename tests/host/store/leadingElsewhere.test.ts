import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { openStore, openStoreCopy } from '#host/store/store.ts'
import { findLeftovers } from '#host/workFolder/leftovers.ts'
import { repairCheckpoints } from '#host/runs/checkpointRetention.ts'
import { tidyTrash } from '#host/runs/trash.ts'
import { createHost, historyFile } from '#host/createHost.ts'
import { withFile } from '#host/code/rewardVersions.ts'
import { openCorpus } from '#host/code/corpus.ts'
import { dataFolders, resourcesDirectory } from '#host/dataDirectory.ts'
import { rememberThroughput } from '#host/devices/deviceRecords.ts'
import { answerRows } from '#host/jobs/process/answering.ts'
import type { TaughtRows, TeachingInput } from '#host/jobs/taught.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { asFloat32Source } from '#host/models/weightCache.ts'
import type { Tools } from '#host/processes/job.ts'
import { entryOf, ownDataDirectory } from '#host/files/ownFiles.ts'
import type { RewardVersionRecord } from '#host/store/rewards.ts'
import { programKeysOf } from '#host/serving/serving.ts'
import { readStudyLog } from '#host/workFolder/studyFolder.ts'
import { Connection } from '#host/store/connection.ts'
import { openPolicy, resume, train } from '../../../src/library/turnwise.ts'
import { answer } from '../../cli/turnwise.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const starter = path.join(resourcesDirectory, 'starter')

const out = 'x/../../../home'
const id = 'run_01900000-0000-7000-8000-00000000000a'

/** Rows that a stranger may put into a history, each with one value that would lead out of the data directory. */
const rows: readonly (readonly [what: string, sql: string])[] = [
  ['id', `UPDATE runs SET id = '../../home/.ssh'`],
  ['id', `UPDATE runs SET id = '.ssh'`],
  ['id', `UPDATE runs SET id = '${id}/../evil'`],
  ['study_id', `UPDATE runs SET study_id = '../x'`],
  ['directory', `INSERT INTO checkpoints VALUES (1, '..', 0, 1, NULL, 1, 1)`],
  ['id', `INSERT INTO data_sets VALUES ('../ds', 'x', 1)`],
  [
    'id',
    `INSERT INTO data_sets VALUES ('ds', 'x', 1);
     INSERT INTO data_set_versions (data_set, id, rows, columns, problems, created_at) VALUES ('ds', '${out}', 1, '[]', 0, 1)`,
  ],
  ['id', `INSERT INTO rewards VALUES ('a\\b', 'reward', 'x', '[]', 1)`],
  ...(['hash', 'language'] as const).map((column): [string, string] => [
    column,
    `INSERT INTO rewards VALUES ('rw', 'reward', 'x', '[]', 1);
     INSERT INTO reward_versions (reward, hash, language, code, note, gates_start, created_at)
       VALUES ('rw', '${column === 'hash' ? out : 'ab'}', '${column === 'language' ? out : 'js'}', '', '', 0, 1)`,
  ]),
  ['run_id', `INSERT INTO queue VALUES (1, '${out}', 0)`],
]

function historyWith(sql: string): string {
  const file = path.join(temporaryFolder(), 'history.db')
  openStore(file)[Symbol.dispose]()
  using db = new Connection(file)
  db.execute(
    `INSERT INTO runs (id, created_at, updated_at, status, algorithm, seed, model) VALUES ('${id}', 1, 1, 'finished', 'grpo', 1, 'm')`,
  )
  db.execute(sql)
  return file
}

test.each(rows)(
  'a history whose %s would lead out of the data directory is not opened: %s',
  (column, sql) => {
    const file = historyWith(sql)
    for (const open of [openStore, openStoreCopy]) expect(() => open(file)).toThrow(`has the ${column} “`)
  },
)

test('a history with plain names is opened', () => {
  openStore(historyWith(`INSERT INTO checkpoints VALUES (1, 'step-000012', 0, 1, NULL, 1, 1)`))[
    Symbol.dispose
  ]()
})

test('nothing is cleared or deleted through a link in the place of a folder', () => {
  const [dataDirectory, home] = [temporaryFolder(), temporaryFolder()]
  writeFileSync(path.join(home, 'film.mkv.999999.partial'), '')
  mkdirSync(path.join(home, '.mail.removed'))
  mkdirSync(path.join(home, '.step-000001.previous'))
  for (const name of ['cache', 'trash', 'runs', 'checkpoints'])
    symlinkSync(home, path.join(dataDirectory, name))
  const before = readdirSync(home).sort()
  expect(findLeftovers(dataDirectory)).toEqual([])
  expect(() => repairCheckpoints(dataDirectory)).toThrow('is a link')
  expect(() => tidyTrash({ dataDirectory } as Parameters<typeof tidyTrash>[0])).toThrow('is a link')
  expect(readdirSync(home).sort()).toEqual(before)
  expect(existsSync(path.join(home, '.mail.removed'))).toBe(true)
})

test('exports that lead elsewhere are refused like every other folder', () => {
  const dataDirectory = temporaryFolder()
  symlinkSync(temporaryFolder(), path.join(dataDirectory, 'exports'))
  expect(() => ownDataDirectory(dataDirectory)).toThrow('exports is a link')
})

test('a line of a study’s log whose run would lie elsewhere is not taken', () => {
  const folder = temporaryFolder()
  const line = JSON.stringify({ type: 'trial', trial: 0, runId: '../../home/.config/planted' })
  writeFileSync(path.join(folder, 'log.jsonl'), `${line}\n`)
  expect(() => readStudyLog(folder)).toThrow('is damaged in line 1')
})

test.each([
  ['that nobody has opened yet', false],
  ['in which something waits', true],
])(
  'a directory from elsewhere %s has other keys for programs and agents than its maker knows',
  async (_, isWaiting) => {
    const [made, dataDirectory] = [temporaryFolder(), temporaryFolder()]
    let known: readonly string[]
    {
      using store = openStore(historyFile(made))
      known = programKeysOf(store)
      expect(programKeysOf(store)).toEqual(known)
      if (isWaiting) store.settings.set('host.training', ['run_1'])
      if (isWaiting) store.settings.set('runs.resumeLeft', true)
    }
    cpSync(made, dataDirectory, { recursive: true })
    {
      // As it is shown where nothing can be written.
      using store = openStoreCopy(historyFile(dataDirectory))
      const keys = programKeysOf(store)
      store.refuseChanges()
      expect(programKeysOf(store)).toEqual(keys)
      expect(new Set([...known, ...keys]).size).toBe(4)
    }
    await using host = createHost({ dataDirectory, servesQueue: true })
    expect(host.queue.isHeld).toBe(isWaiting)
    const { key, agentKey } = host.serving
    expect(new Set([...known, key, agentKey]).size).toBe(4)
    expect([host.serving.key, host.serving.agentKey]).toEqual([key, agentKey])
  },
)

test.each(['..', '.', '', '../other', '/etc/other', 'a/../../other', '..\\other', 'a\0'])(
  'the name %j leads to no other folder',
  (name) => {
    expect(() => entryOf('/data/runs', name)).toThrow('does not name anything in /data/runs.')
  },
)

test('names that somebody could have given to a model are names of its folder', () => {
  for (const name of ['run_1', '…', '..a', 'Qwen 3.5', 'モデル'])
    expect(entryOf('/data/models', name)).toBe(`/data/models/${name}`)
})

test.each(Object.keys(dataFolders('')) as (keyof ReturnType<typeof dataFolders>)[])(
  'a link in the place of %s is not gone through, so that nothing behind it is written or deleted',
  async (name) => {
    const [dataDirectory, elsewhere] = [temporaryFolder(), temporaryFolder()]
    const rows = path.join(dataDirectory, 'rows.jsonl')
    writeFileSync(rows, '{"prompt":"1+1=","answer":"2"}\n')
    symlinkSync(elsewhere, dataFolders(dataDirectory)[name])
    expect(() => createHost({ dataDirectory, servesQueue: false })).toThrow('is a link')
    const commands = [
      ['dataset', 'import', rows],
      ['model', 'import', starter, '--name', 'mine'],
      ['generate', '--prompt', '1+1=', '--model', starter, '--max-new-tokens', '1'],
    ]
    for (const words of commands) {
      const { status, stderr } = await answer('--data-dir', dataDirectory, ...words)
      expect([status, stderr]).toEqual([1, expect.stringContaining('is a link, so nothing is written there')])
    }
    const config = { model: 'starter', data: { train: rows }, rewards: [{ function: 'exact-match' }] }
    await expect(train(config, { dataDirectory }).next()).rejects.toThrow('is a link')
    await expect(resume('run_1', { dataDirectory }).next()).rejects.toThrow('is a link')
    await expect(openPolicy({ model: 'starter' }, { dataDirectory })).rejects.toThrow('is a link')
    expect(readdirSync(elsewhere)).toEqual([])
  },
)

test('nothing is written through a link in the place of a folder below those of the data directory', async () => {
  const [dataDirectory, elsewhere] = [temporaryFolder(), temporaryFolder()]
  const documents = path.join(dataDirectory, 'documents.jsonl')
  writeFileSync(documents, '{"text":"a"}\n')
  const { cache, answers } = dataFolders(dataDirectory)
  const [model, weights] = [path.join(dataDirectory, 'random'), path.join(dataDirectory, 'weights')]
  await writeRandomModel(model, modelShapes['tiny-llama'], 1, 'BF16')
  const convert = () => asFloat32Source(openModelFolder(model), weights)
  await convert()
  const converted = readdirSync(weights, { withFileTypes: true }).find((entry) => entry.isDirectory())!.name
  rmSync(path.join(weights, converted), { recursive: true })
  const throughput = { at: 1, parameters: 1, rates: [] }
  const teaching = { folder: path.join(answers, 'teacher-1') } as TeachingInput
  const tools = {} as Tools<TaughtRows>
  const ways: [folder: string, write: () => unknown][] = [
    [path.join(cache, 'corpora'), () => openCorpus(documents, cache)],
    [path.join(cache, 'devices'), () => rememberThroughput({ kind: 'cpu', deviceId: 0 }, cache, throughput)],
    [path.join(weights, converted), convert],
    [teaching.folder, () => answerRows(teaching, tools)],
  ]
  for (const [folder, write] of ways) {
    mkdirSync(path.dirname(folder), { recursive: true })
    symlinkSync(elsewhere, folder)
    await expect((async () => await write())()).rejects.toThrow(`${folder} is a link`)
  }
  expect(readdirSync(elsewhere)).toEqual([])
})

test('code of a reward is not written through a link in the place of its folder', () => {
  const [dataDirectory, elsewhere] = [temporaryFolder(), temporaryFolder()]
  const { rewards } = dataFolders(dataDirectory)
  mkdirSync(rewards)
  symlinkSync(elsewhere, path.join(rewards, 'rw_1'))
  const version = { rewardId: 'rw_1', hash: 'ab', language: 'js', code: 'x' } as RewardVersionRecord
  expect(() => withFile({ dataDirectory }, version)).toThrow('is a link')
  expect(readdirSync(elsewhere)).toEqual([])
})
