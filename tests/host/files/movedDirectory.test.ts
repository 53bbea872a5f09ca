/** A data directory that is copied or moved between two starts of the host goes along whole. */
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import Database from 'better-sqlite3'
import { beforeAll, expect, test } from 'vitest'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { historyFile } from '#host/createHost.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { createRun } from '#host/runs/runLifecycle.ts'
import { resolveRunConfig } from '#host/runs/runConfigFile.ts'
import { Connection } from '#host/store/connection.ts'
import { migrate } from '#host/store/database.ts'
import { answer } from '../../cli/turnwise.ts'
import { collect, createHostFixture, smallConfig, type HostFixture } from '../api/hostFixture.ts'
import { temporaryFolder } from './temporaryFolder.ts'
import { isWhole, wholeTitle } from '../../sweeps.ts'

const root = temporaryFolder()
const original = path.join(root, 'original')
/** Several processes train and answer, one after the other. */
const patience = 600_000
const place = (name: string): string => path.join(root, name)

/** What was made in the original; runs and studies are not finished. */
const made = { runId: '', deletedId: '', versionId: '', evaluationId: '', studyId: '', chatId: '' }

type Evaluation = OutputOf<Api, 'evaluations.get'>
type Study = OutputOf<Api, 'studies.get'>

async function evaluated({ client }: HostFixture, id: string): Promise<Evaluation> {
  for await (const _ of client.follow('evaluations.watch')) {
    const entry = await client.call('evaluations.get', { id })
    if (entry.status !== 'waiting' && entry.status !== 'running') return entry
  }
  throw new Error('The feed ended.')
}

async function studied({ client }: HostFixture, id: string): Promise<Study> {
  for await (const _ of client.follow('studies.watch')) {
    const entry = await client.call('studies.get', { id })
    if (entry.status !== 'waiting' && entry.status !== 'running') return entry
  }
  throw new Error('The feed ended.')
}

/** A model, rows and a reward that lie in the data directory, and a config that uses them. */
async function importParts({ client }: HostFixture) {
  const starter = path.join(resourcesDirectory, 'starter')
  await collect(client.stream('models.import', { path: starter, name: 'mine' }))
  const rows = ['1 + 1', '2 + 3', '4 + 1', '2 + 2'].map((sum) => JSON.stringify({ prompt: sum, answer: '5' }))
  writeFileSync(place('rows.jsonl'), rows.join('\n'))
  const source = { path: place('rows.jsonl') }
  const items = await collect(client.stream('datasets.import', { source, name: 'sums' }))
  const [version] = items.flatMap((item) => ('result' in item ? [item.result.version] : []))
  const { id: rewardId } = await client.call('rewards.create', { kind: 'reward', name: 'short' })
  const code = 'export default ({ completion }) => -completion.length'
  const { file } = await client.call('rewards.save', { rewardId, language: 'js', code })
  const { prompt } = smallConfig['data'] as { readonly prompt: object }
  const config = {
    ...smallConfig,
    name: 'first',
    model: 'mine',
    rewards: [{ function: file, name: 'short' }],
    steps: 3,
    data: { train: version?.directory, heldOut: version?.directory, prompt },
    evaluation: { every: 0, rows: 1 },
    checkpoints: { every: 1 },
  }
  return { config, versionId: version?.id ?? '' }
}

async function makeHistory(fixture: HostFixture): Promise<void> {
  const { client, host, directory } = fixture
  const { config, versionId } = await importParts(fixture)
  const run = createRun(host, await resolveRunConfig(config, directory))
  expect(await host.supervisor.start(run, { resumeFrom: null, until: 2 })).toMatchObject({ kind: 'stopped' })
  const { runId: deletedId } = await client.call('runs.fork', {
    runId: run.id,
    step: 1,
    changes: { name: 'second' },
    start: false,
  })
  await client.call('runs.delete', { runId: deletedId })
  const subject = { runId: run.id, step: 2 }
  const { id: evaluationId } = await client.call('evaluations.start', { subject, limit: 1 })
  await client.call('evaluations.stop', { id: evaluationId })
  await evaluated(fixture, evaluationId)
  const { id: studyId } = await client.call('studies.start', {
    file: { ...config, steps: 1, seeds: { values: 2 } },
  })
  await client.call('studies.stop', { id: studyId })
  await studied(fixture, studyId)
  const model = path.join(directory, 'models', 'mine')
  const checkpoint = path.join(run.directory, 'checkpoints', 'step-000002')
  const { id: chatId } = await client.call('chat.create', { model, columns: [{ path: checkpoint }] })
  await client.call('settings.set', { key: 'newRun.kept', value: { model, steps: 3 } })
  Object.assign(made, { runId: run.id, deletedId, versionId, evaluationId, studyId, chatId })
}

beforeAll(async () => {
  mkdirSync(original)
  const fixture = createHostFixture({ dataDirectory: original })
  await makeHistory(fixture)
  await fixture[Symbol.asyncDispose]()
  expect(fixture.faults).toEqual([])
}, patience)

const digests = (folder: string): ReadonlyMap<string, string> =>
  new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.join(entry.parentPath, entry.name))
      .map((file) => [file, createHash('sha256').update(readFileSync(file)).digest('hex')]),
  )

/** Every path that a host tells leads into the data directory where it lies. */
async function expectPlaces({ client, directory }: HostFixture): Promise<void> {
  const { runId, versionId, evaluationId, studyId, chatId } = made
  const told = [
    await client.call('runs.get', { runId }),
    await client.call('checkpoints.list', { runId }),
    await client.call('evaluations.get', { id: evaluationId }),
    await client.call('studies.get', { id: studyId }),
    await client.call('chat.get', { id: chatId }),
    await client.call('settings.get', { key: 'newRun.kept' }),
    await client.call('datasets.list'),
  ]
  const paths = JSON.stringify(told).match(new RegExp(`${root}/[^"\\\\]*`, 'g')) ?? []
  expect(paths.length).toBeGreaterThan(20)
  const inside = (each: string) => each.startsWith(`${directory}/`) || each === place('rows.jsonl')
  expect(paths.filter((each) => !inside(each))).toEqual([])
  expect(await client.call('datasets.rows', { versionId, from: 0, count: 9 })).toMatchObject({ total: 4 })
}

/** What was begun is finished there, and deleted runs come back. */
async function expectToGoOn(fixture: HostFixture): Promise<void> {
  const { client, directory } = fixture
  const { runId, deletedId, evaluationId } = made
  await client.call('evaluations.resume', { id: evaluationId })
  expect(await evaluated(fixture, evaluationId)).toMatchObject({ status: 'finished', error: null, done: 1 })
  expect(await client.call('runs.resume', { runId })).toMatchObject({ step: 2 })
  expect(await fixture.reached(runId, 'finished', 'failed')).toMatchObject({ status: 'finished', step: 3 })
  await fixture.left()
  const steps = (await client.call('checkpoints.list', { runId })).map(({ step }) => step)
  expect(steps).toEqual([...new Set(steps)])
  expect(steps).toContain(3)
  expect(JSON.stringify(await client.call('runs.events', { runId }))).not.toContain(
    'changed since this run began',
  )
  await client.call('runs.restore', { runId: deletedId })
  expect(await client.call('runs.get', { runId: deletedId })).toMatchObject({ name: 'second' })
  await client.call('runs.delete', { runId: deletedId })
  expect(existsSync(path.join(directory, 'trash', deletedId))).toBe(true)
}

async function expectStudy(fixture: HostFixture): Promise<void> {
  const { client, directory } = fixture
  await client.call('studies.resume', { id: made.studyId })
  expect(await studied(fixture, made.studyId)).toMatchObject({ status: 'finished', error: null })
  const promoted = await client.call('studies.promote', { id: made.studyId, name: 'best' })
  expect(promoted.directory).toBe(path.join(directory, 'adapters', 'best'))
}

/** A new evaluation of the run, and an answer in the conversation. */
async function expectNewWork(fixture: HostFixture): Promise<void> {
  const { client } = fixture
  const subject = { runId: made.runId, step: 3 }
  const { id } = await client.call('evaluations.start', { subject, limit: 1 })
  expect(await evaluated(fixture, id)).toMatchObject({ status: 'finished', error: null })
  const answers = await collect(client.stream('chat.answer', { id: made.chatId, turn: 0, text: '1 + 1' }))
  expect(answers.at(-1)).toMatchObject({ type: 'done' })
}

/** Of a checkpoint the base is found; what was promoted is exported with it. */
async function expectExports({ client }: HostFixture, out: string): Promise<void> {
  const formats = await client.call('checkpoints.formats', { runId: made.runId, step: 2 })
  expect(formats.find(({ format }) => format === 'merged')).toMatchObject({ problem: null })
  const items = await collect(client.stream('checkpoints.export', { adapter: 'best', format: 'merged', out }))
  expect(items.at(-1)).toMatchObject({ result: { format: 'merged' } })
}

test.runIf(isWhole)(
  wholeTitle('a copy goes on by itself, and the original stays as it is to the last byte'),
  async () => {
    cpSync(original, place('copy'), { recursive: true })
    const before = digests(original)
    const fixture = createHostFixture({ dataDirectory: place('copy') })
    await expectPlaces(fixture)
    await expectToGoOn(fixture)
    await expectStudy(fixture)
    const folder = path.join(original, 'runs', made.runId)
    const refused = await answer('resume', folder, '--data-dir', place('copy'))
    expect(refused.stderr).toContain('does not belong to the data directory')
    expect(refused.status).not.toBe(0)
    await fixture[Symbol.asyncDispose]()
    expect(fixture.faults).toEqual([])
    expect(digests(original)).toEqual(before)
  },
  patience,
)

test(
  'what was moved goes on where it lies now, twice, and nothing comes into being in the old place',
  async () => {
    cpSync(original, place('before'), { recursive: true })
    renameSync(original, place('moved'))
    const fixture = createHostFixture({ dataDirectory: place('moved') })
    await expectPlaces(fixture)
    await expectToGoOn(fixture)
    await expectStudy(fixture)
    await expectNewWork(fixture)
    await fixture[Symbol.asyncDispose]()
    renameSync(place('moved'), place('again'))
    const second = createHostFixture({ dataDirectory: place('again') })
    await expectPlaces(second)
    await expectExports(second, place('export'))
    await second[Symbol.asyncDispose]()
    expect([...fixture.faults, ...second.faults]).toEqual([])
    expect([original, place('moved')].filter((each) => existsSync(each))).toEqual([])
  },
  patience,
)

/** As the version before wrote it, when it lay where the original did. */
function makeOld(directory: string): void {
  const documents = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /(?:^|\/)(?:run|study|conversation|origin)\.json$/.test(name),
  )
  expect(documents.length).toBeGreaterThan(3)
  for (const file of documents.map((name) => path.join(directory, name))) {
    const { home: _, ...document } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
    writeFileSync(file, JSON.stringify(document))
  }
  rmSync(path.join(directory, 'home.json'))
  const file = historyFile(directory)
  renameSync(file, `${file}-new`)
  {
    using connection = new Connection(file)
    migrate(connection, 10)
    connection.pragma('application_id = 1416983150')
  }
  const db = new Database(file)
  db.exec(`ATTACH '${file}-new' AS new; PRAGMA foreign_keys = OFF`)
  const derived: Readonly<Record<string, string>> = {
    runs: `'${original}/runs/' || id`,
    checkpoints: `'${original}/runs/' || (SELECT id FROM new.runs WHERE key = run) || '/checkpoints/' || directory`,
    data_set_versions: `'${original}/datasets/' || id`,
  }
  const tables = db.prepare(
    "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
  )
  for (const table of tables.pluck().all() as string[]) {
    const columns = db
      .prepare(`SELECT name FROM pragma_table_info('${table}', 'main')`)
      .pluck()
      .all() as string[]
    const values = columns.map((name) => (name === 'directory' ? (derived[table] ?? name) : `"${name}"`))
    db.exec(
      `INSERT INTO main.${table} ("${columns.join('", "')}") SELECT ${values.join(', ')} FROM new.${table}`,
    )
  }
  db.close()
  rmSync(`${file}-new`)
}

test.runIf(isWhole)(
  wholeTitle('a history of an earlier version that was moved before becomes right'),
  async () => {
    makeOld(place('before'))
    const fixture = createHostFixture({ dataDirectory: place('before') })
    await expectPlaces(fixture)
    await expectToGoOn(fixture)
    await fixture[Symbol.asyncDispose]()
    expect(fixture.faults).toEqual([])
    expect(existsSync(original)).toBe(false)
  },
  patience,
)

test('deleting a run whose folder is gone says so', async () => {
  const directory = place('again')
  rmSync(path.join(directory, 'runs', made.runId), { recursive: true })
  const { status, stdout } = await answer('runs', 'delete', made.runId, '--data-dir', directory)
  expect(status).toBe(0)
  expect(stdout).toContain('Removed first from the history alone: its folder')
  expect(stdout).not.toContain('0 files')
})
