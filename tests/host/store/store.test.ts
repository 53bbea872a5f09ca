import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { beforeEach, describe, expect, test } from 'vitest'
import { Connection } from '#host/store/connection.ts'
import { migrate } from '#host/store/database.ts'
import { migrations } from '#host/store/migrations.ts'
import { openStore, type Store } from '#host/store/store.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { newRun, samples, step, writeLog } from './logs.ts'

const root = temporaryFolder()
let [number, folder, file] = [0, '', '']
beforeEach(() => {
  folder = join(root, String(++number))
  mkdirSync(folder)
  file = join(folder, 'history.sqlite')
})

const schemaOf = (path: string): unknown => {
  const db = new Database(path, { readonly: true })
  const rows = db.prepare('SELECT name, sql FROM sqlite_schema ORDER BY name').all()
  db.close()
  return rows
}

describe('migrations', () => {
  test('are numbered without a gap', () => {
    expect(migrations.map(({ version }) => version)).toEqual(migrations.map((_, at) => at + 1))
  })

  test('an old history opens, with all it held', () => {
    const db = new Database(file)
    db.exec(readFileSync(join(import.meta.dirname, '../../fixtures/store/version-1.sql'), 'utf8'))
    db.close()
    {
      using store = openStore(file)
      expect(store.runs.list()).toMatchObject([
        { id: 'run_old', name: 'Old «run»', tags: ['keep'], notes: 'worth keeping', reward: 0.75, step: 30 },
      ])
      expect(store.events.list('run_old').map(({ event }) => event)).toMatchObject([{ message: 'old' }])
      expect(store.checkpoints.list('run_old')).toMatchObject([{ step: 30, sizeBytes: 1234 }])
      store.settings.set('new', 1)
      const log = join(folder, 'old.jsonl')
      writeLog(log, step(31, { reward: 1 }), samples(31))
      store.ingest('run_old', log)
      expect(store.samples.list({ runId: 'run_old' })).toHaveLength(2)
    }
    openStore(`${file}-fresh`)[Symbol.dispose]()
    expect(schemaOf(file)).toEqual(schemaOf(`${file}-fresh`))
  })

  test('of a run measured once, the reward before training is not that after it, and the other way round', () => {
    {
      using old = new Connection(file)
      migrate(old, 11)
      old.execute(`
        INSERT INTO runs (key, id, created_at, status, algorithm, seed, model, updated_at, parent_step,
          reward_before, reward_after) VALUES
          (1, 'run_before', 1, 'stopped', 'grpo', 1, 'm', 1, NULL, 0.1, 0.1),
          (2, 'run_after', 1, 'finished', 'grpo', 1, 'm', 1, NULL, 0.9, 0.9),
          (3, 'run_both', 1, 'finished', 'grpo', 1, 'm', 1, NULL, 0.1, 0.9),
          (4, 'run_fork', 1, 'stopped', 'grpo', 1, 'm', 1, 20, 0.5, 0.5);
        INSERT INTO run_documents (run, config) SELECT key, '{}' FROM runs;
        INSERT INTO measurements (run, seq, kind, step, at) VALUES (1, 1, 'evaluation', 0, 1),
          (2, 1, 'evaluation', 20, 1), (3, 1, 'evaluation', 0, 1), (3, 2, 'evaluation', 20, 2),
          (4, 1, 'evaluation', 20, 1)`)
    }
    using store = openStore(file)
    const rewards = (id: string) => {
      const { rewardBefore, rewardAfter } = store.runs.get(id)
      return [rewardBefore, rewardAfter]
    }
    expect(['run_before', 'run_after', 'run_both', 'run_fork'].map(rewards)).toEqual([
      [0.1, null],
      [null, 0.9],
      [0.1, 0.9],
      [0.5, null],
    ])
  })

  test('folders of a history that was moved before follow from where it lies, paths in documents from where they were written', () => {
    {
      using old = new Connection(file)
      migrate(old, 10)
      old.execute(`
        INSERT INTO runs (key, id, directory, created_at, status, algorithm, seed, model, updated_at) VALUES
          (1, 'run_a', '/old/home/runs/run_a', 1, 'finished', 'grpo', 1, '/old/home/models/m', 1),
          (2, 'run_b', 'D:\\home\\runs\\run_b', 0, 'finished', 'grpo', 1, '/else/models/m', 1),
          (3, 'run_c', '/imported/by/hand', 3, 'finished', 'grpo', 1, '/old/home/models/m', 1);
        INSERT INTO run_documents VALUES (1, '{"model":"/old/home/models/m"}', '{"data":{"/old/home/d":"x"}}'),
          (2, '{}', NULL), (3, '{}', NULL);
        INSERT INTO checkpoints VALUES (1, '/old/home/runs/run_a/checkpoints/step-000002', 4, 2, 0.5, 10, 1),
          (1, '/older/runs/run_a/checkpoints/step-000002', 9, 2, 0.5, 10, 2);
        INSERT INTO data_sets VALUES ('ds', 'rows', 1);
        INSERT INTO data_set_versions VALUES ('ds', 'digest', '/old/home/datasets/digest', 1, '[]', NULL, NULL, 0, 1);
        INSERT INTO settings VALUES ('draft', '{"model":"/old/home/models/m"}');
        INSERT INTO evaluations (id, title, created_at, status, run_id, model, adapter, config, samples, greedy, judge,
          done, total) VALUES
          ('ev_a', 't', 2, 'stopped', 'run_a', '/old/home/models/m', '/old/home/a', '{"x":"/old/home/x"}', 1, 1, '', 0, 1),
          ('ev_b', 't', 1, 'stopped', NULL, '/old/home/models/m', NULL, '{}', 1, 1, '', 0, 1)`)
    }
    using store = openStore(file)
    const model = join(folder, 'models', 'm')
    expect(store.runs.get('run_a')).toMatchObject({
      directory: join(folder, 'runs', 'run_a'),
      model,
      config: JSON.stringify({ model }),
      manifest: { data: { [join(folder, 'd')]: 'x' } },
    })
    expect(store.runs.get('run_b')).toMatchObject({
      directory: join(folder, 'runs', 'run_b'),
      model: '/else/models/m',
    })
    expect(store.runs.get('run_c').model).toBe('/old/home/models/m')
    const directory = join(folder, 'runs', 'run_a', 'checkpoints', 'step-000002')
    expect(store.checkpoints.list('run_a')).toMatchObject([{ step: 2, directory }])
    expect(store.dataSets.findVersion('digest')?.directory).toBe(join(folder, 'datasets', 'digest'))
    expect(store.settings.get('draft')).toEqual({ model })
    expect(store.evaluations.find('ev_a')).toMatchObject({
      model,
      adapter: join(folder, 'a'),
      config: { x: join(folder, 'x') },
    })
    expect(store.evaluations.find('ev_b')).toMatchObject({ model })
  })

  test('a history stays as it was when opened again', () => {
    {
      using store = openStore(file)
      newRun(store, folder, 'run_a')
      store.runs.setTags('run_a', ['b', 'a', 'b'])
    }
    using store = openStore(file)
    expect(store.runs.get('run_a').tags).toEqual(['a', 'b'])
    expect(store.check()).toEqual([])
  })
})

describe('runs', () => {
  const ids = (store: Store, filter = {}) => store.runs.list(filter).map(({ id }) => id)

  test('adding twice changes nothing, and what the config lacks is empty', () => {
    using store = openStore(file)
    newRun(store, folder, 'run_a')
    store.runs.setName('run_a', 'Mine')
    newRun(store, '/elsewhere', 'run_a')
    expect(store.runs.get('run_a')).toMatchObject({
      name: 'Mine',
      directory: join(folder, 'runs', 'run_a'),
      status: 'new',
      steps: 100,
    })
    store.runs.add({ id: 'run_b', home: null, createdAt: 1, config: 'not even JSON' })
    expect(store.runs.get('run_b')).toMatchObject({
      config: 'not even JSON',
      name: null,
      model: '',
      steps: null,
    })
  })

  test('the newest first, page by page, found by status, tag and text', () => {
    using store = openStore(file)
    for (const [at, id] of ['run_a', 'run_b', 'run_c', 'run_d'].entries())
      newRun(store, folder, id, 5 + (at >> 1))
    expect(ids(store)).toEqual(['run_d', 'run_c', 'run_b', 'run_a'])
    expect(ids(store, { limit: 3 })).toEqual(['run_d', 'run_c', 'run_b'])
    expect(ids(store, { limit: 3, before: 'run_c' })).toEqual(['run_b', 'run_a'])
    store.runs.setStatus('run_b', 'queued')
    store.runs.setTags('run_c', ['nightly'])
    store.runs.setNotes('run_a', 'Ärger mit 100 % der Läufe')
    expect(ids(store, { status: 'queued' })).toEqual(['run_b'])
    expect(ids(store, { tag: 'nightly' })).toEqual(['run_c'])
    expect(ids(store, { text: 'ÄRGER' })).toEqual(['run_a'])
    expect(ids(store, { text: '0 %' })).toEqual(['run_a'])
    expect(ids(store, { text: 'night' })).toEqual(['run_c'])
    expect(ids(store, { text: 'run_' })).toHaveLength(4)
    expect(ids(store, { text: 'run%' })).toEqual([])
    expect(store.runs.tags()).toEqual([{ tag: 'nightly', runs: 1 }])
  })

  test('a status with what belongs to it', () => {
    using store = openStore(file)
    newRun(store, folder, 'run_a')
    const error = { code: 'run/diverged', message: 'It diverged.', hint: null } as const
    store.runs.setStatus('run_a', 'failed', { error, stderrTail: 'Segmentation fault' })
    expect(store.runs.get('run_a')).toMatchObject({
      status: 'failed',
      error,
      stderrTail: 'Segmentation fault',
    })
    store.runs.setStatus('run_a', 'interrupted', { error: null })
    expect(store.runs.get('run_a')).toMatchObject({ error: null, stderrTail: 'Segmentation fault' })
    expect(() => store.runs.setStatus('run_x', 'new')).toThrow(
      expect.objectContaining({ code: 'run/not-found' }),
    )
    expect(() => store.runs.setTags('run_x', [])).toThrow(expect.objectContaining({ code: 'run/not-found' }))
  })

  test('a family is the ancestors and all that was forked from them', () => {
    using store = openStore(file)
    const fork = (id: string, parent: string | null, createdAt: number) =>
      store.runs.add({
        id,
        home: folder,
        createdAt,
        config: '{}',
        parent: parent === null ? null : { runId: parent, step: createdAt },
      })
    fork('root', null, 1)
    fork('child', 'root', 2)
    fork('grandchild', 'child', 3)
    fork('sibling', 'root', 4)
    fork('stranger', null, 5)
    fork('orphan', 'removed', 6)
    expect(store.runs.family('grandchild').map(({ id }) => id)).toEqual([
      'root',
      'child',
      'grandchild',
      'sibling',
    ])
    expect(store.runs.family('orphan').map(({ id }) => id)).toEqual(['orphan'])
    expect(store.runs.get('child')).toMatchObject({ parentRunId: 'root', parentCheckpointStep: 2 })
  })

  test('knows which runs differ in nothing but seed and name', () => {
    using store = openStore(file)
    const keyOf = (id: string, config: string) => {
      store.runs.add({ id, home: folder, createdAt: 1, config })
      return store.runs.settingsButSeed(id)
    }
    const first = keyOf('seed_1', '{"name":"a","seed":1,"optimization":{"learningRate":0.1}}')
    expect(keyOf('seed_2', '{"optimization":{"learningRate":0.1},"seed":2}')).toBe(first)
    expect(keyOf('faster', '{"name":"a","seed":1,"optimization":{"learningRate":0.2}}')).not.toBe(first)
    expect(keyOf('torn_1', '{"seed":')).not.toBe(keyOf('torn_2', '{"seed":'))
  })

  test('removing one leaves nothing of it and all of the others', () => {
    using store = openStore(file)
    for (const id of ['run_a', 'run_b']) {
      const log = newRun(store, folder, id)
      writeLog(log, step(1, { reward: 1 }), samples(1), { type: 'warning', step: 1, message: 'm' })
      store.ingest(id, log)
      store.queue.push(id)
    }
    const [sample] = store.samples.list({ runId: 'run_a' })
    store.runs.remove('run_a')
    expect(store.runs.find('run_a')).toBeNull()
    expect(store.samples.find(sample!.id)).toBeNull()
    expect(store.samples.arrays(sample!.id)).toBeNull()
    expect(store.queue.list().map(({ runId }) => runId)).toEqual(['run_b'])
    expect(store.metrics.names('run_b')).toEqual(['reward'])
    newRun(store, folder, 'run_a')
    expect(store.metrics.names('run_a')).toEqual([])
    expect(store.events.list('run_a')).toEqual([])
  })
})

test('samples by step, source and row, page by page', () => {
  using store = openStore(file)
  const log = newRun(store, folder, 'run_a')
  writeLog(log, samples(1), samples(2), { ...samples(2), source: 'evaluation' }, samples(3))
  store.ingest('run_a', log)
  const places = (filter = {}) =>
    store.samples
      .list({ runId: 'run_a', ...filter })
      .map(({ step, position, source }) => [step, position, source[0]])
  expect(places({ step: 2 })).toEqual([
    [2, 0, 'e'],
    [2, 1, 'e'],
    [2, 0, 'r'],
    [2, 1, 'r'],
  ])
  expect(places({ step: 2, source: 'rollout' })).toEqual([
    [2, 0, 'r'],
    [2, 1, 'r'],
  ])
  expect(places({ fromStep: 2, toStep: 3, row: 3 })).toEqual([
    [3, 0, 'r'],
    [2, 1, 'e'],
    [2, 1, 'r'],
  ])
  const [, , third] = store.samples.list({ runId: 'run_a' })
  expect(places({ before: third!.id, limit: 2 })).toEqual([
    [2, 1, 'e'],
    [2, 0, 'r'],
  ])
  expect(store.samples.steps('run_a')).toEqual([
    { step: 1, source: 'rollout', count: 2 },
    { step: 2, source: 'evaluation', count: 2 },
    { step: 2, source: 'rollout', count: 2 },
    { step: 3, source: 'rollout', count: 2 },
  ])
})

test('scores of other versions of a reward stay beside a sample', () => {
  using store = openStore(file)
  const log = newRun(store, folder, 'run_a')
  writeLog(log, samples(1))
  store.ingest('run_a', log)
  const { id } = store.samples.list({ runId: 'run_a' })[0]!
  const score = { sampleId: id, version: 'abc', parts: { exact: 0.5 }, error: null }
  store.samples.addScores([score, { ...score, sampleId: 999 }])
  store.samples.addScores([{ ...score, parts: { exact: null }, error: 'it threw' }])
  expect(store.samples.scores(id)).toEqual([{ ...score, parts: { exact: null }, error: 'it threw' }])
  expect(store.samples.scores(999)).toEqual([])
})

test('the queue keeps its order, and each run is taken once', () => {
  using store = openStore(file)
  using other = openStore(file)
  for (const runId of ['a', 'b', 'c', 'd']) store.queue.push(runId, { continueOnError: runId !== 'b' })
  store.queue.push('a')
  store.queue.move('d', 0)
  other.queue.move('a', 99)
  expect(store.queue.list().map(({ runId }) => runId)).toEqual(['d', 'b', 'c', 'a'])
  expect(store.queue.remove('c')).toBe(true)
  expect(store.queue.remove('c')).toBe(false)
  expect(other.queue.takeNext()).toEqual({ runId: 'd', continueOnError: true })
  expect(store.queue.takeNext()).toEqual({ runId: 'b', continueOnError: false })
  expect(other.queue.takeNext()).toEqual({ runId: 'a', continueOnError: true })
  expect(store.queue.takeNext()).toBeNull()
  expect(() => store.queue.move('a', 0)).toThrow(expect.objectContaining({ code: 'run/not-found' }))
})

test('settings, data sets and rewards', () => {
  using store = openStore(file)
  store.settings.set('theme', { dark: true })
  expect(store.settings.get('theme')).toEqual({ dark: true })
  store.settings.set('theme', undefined)
  expect(store.settings.all().size).toBe(0)

  const dataSet = store.dataSets.create('Sums')
  const version = {
    id: 'hash',
    dataSetId: dataSet.id,
    rows: 3,
    columns: [{ name: 'prompt' }],
    source: '/sums.jsonl',
    mapping: null,
    problems: 1,
    createdAt: 5,
  }
  store.dataSets.addVersion(version)
  store.dataSets.addVersion({ ...version, rows: 99 })
  store.dataSets.addVersion({ ...version, id: 'newer', createdAt: 6, mapping: { a: 'b' } })
  expect(store.dataSets.versions(dataSet.id)).toMatchObject([{ id: 'newer', mapping: { a: 'b' } }, version])
  const directory = join(folder, 'datasets', 'hash')
  expect(store.dataSets.findVersion('hash')).toEqual({ ...version, directory })
  expect(store.dataSets.rename(dataSet.id, 'Better sums')).toBe(true)
  expect(store.dataSets.list()).toEqual([{ ...dataSet, name: 'Better sums' }])
  expect(store.dataSets.remove(dataSet.id)).toBe(true)
  expect(store.dataSets.findVersion('hash')).toBeNull()

  const reward = store.rewards.create('reward', 'exact')
  store.rewards.create('environment', 'maze')
  const first = store.rewards.addVersion(reward.id, { language: 'ts', code: 'one' })
  store.rewards.addVersion(reward.id, { language: 'ts', code: 'two', note: 'better' })
  expect(store.rewards.addVersion(reward.id, { language: 'ts', code: 'one', gatesStart: true })).toEqual({
    ...first,
    gatesStart: true,
  })
  expect(store.rewards.versions(reward.id).map(({ code, note }) => [code, note])).toEqual([
    ['two', 'better'],
    ['one', ''],
  ])
  expect(store.rewards.findVersion(first.hash)?.code).toBe('one')
  store.rewards.setTestCases(reward.id, [{ name: 'right' }])
  expect(store.rewards.testCases(reward.id)).toEqual([{ name: 'right' }])
  expect(store.rewards.list('environment').map(({ name }) => name)).toEqual(['maze'])
  expect(store.rewards.remove(reward.id)).toBe(true)
  expect(store.rewards.findVersion(first.hash)).toBeNull()
})
