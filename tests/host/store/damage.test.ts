import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { beforeEach, describe, expect, test } from 'vitest'
import { AppError } from '#shared/errors.ts'
import { recoverStore } from '#host/store/recover.ts'
import { openStore, type Store } from '#host/store/store.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { checkpoint, everythingOf, lineOf, newRun, samples, step } from './logs.ts'
import { createRandom } from './random.ts'

const root = temporaryFolder()
let [number, folder, file] = [0, '', '']
beforeEach(() => {
  folder = join(root, String(++number))
  mkdirSync(folder)
  file = join(folder, 'history.sqlite')
})

const pageSize = 4096
const runIds = ['run_a', 'run_b', 'run_c']

/** A history with something in every table that counts; closed, so that all is in the one file. */
function fill(): void {
  using store = openStore(file)
  for (const [at, runId] of runIds.entries()) {
    const log = newRun(store, folder, runId, 1000 + at)
    const lines = Array.from({ length: 400 }, (_, n) =>
      lineOf(step(n + 1, { reward: n * at, loss: 1 / (n + 1) })),
    )
    appendFileSync(log, `${lines.join('')}${lineOf(samples(3))}${lineOf(checkpoint(400))}`)
    store.ingest(runId, log)
    store.runs.setTags(runId, ['kept', `tag-${at}`])
    store.runs.setNotes(runId, `notes of ${runId}`)
  }
  const reward = store.rewards.create('reward', 'exact')
  store.rewards.addVersion(reward.id, {
    language: 'ts',
    code: 'export const exact = () => 1 // '.padEnd(9000, 'x'),
  })
  store.settings.set('theme', 'dark')
}

/** Reads all there is, as the program would. */
function readAll(store: Store): void {
  for (const { id } of store.runs.list()) everythingOf(store, id)
  for (const { id } of store.rewards.list()) store.rewards.versions(id)
  store.settings.all()
  store.dataSets.list()
  store.queue.list()
}

/** The clear error that an action ends in, or null; any other error fails the test. */
const failureOf = (action: () => unknown): AppError | null => {
  try {
    action()
    return null
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}

const openAndRead = () =>
  failureOf(() => {
    using store = openStore(file)
    readAll(store)
  })

/** Overwrites bytes of the file. */
function damage(from: number, bytes: Buffer): void {
  const content = readFileSync(file)
  bytes.copy(content, from)
  writeFileSync(file, content)
}

/** Adds to the schema. */
function changed(sql: string): void {
  const db = new Database(file)
  db.exec(sql)
  // All is in the one file again.
  db.close()
}

/** Number of the first page of a table. */
function rootPage(table: string): number {
  const db = new Database(file, { readonly: true })
  const { rootpage } = db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(table) as {
    rootpage: number
  }
  db.close()
  return rootpage - 1
}

describe('the file is refused and left byte for byte as it was', () => {
  test.each([
    [
      'text',
      () => writeFileSync(file, 'this is not a database, but long enough to be looked at'.repeat(100)),
    ],
    ['a wrong magic', () => damage(0, Buffer.from('SQLite format 4'))],
    ['a wrong page size', () => damage(16, Buffer.from([0x0b, 0xad]))],
    ['a wrong schema format', () => damage(44, Buffer.from([9, 9, 9, 9]))],
    ['an overwritten list of tables', () => damage(100, Buffer.alloc(300, 0x5a))],
    [
      'a changed table',
      () =>
        writeFileSync(
          file,
          readFileSync(file, 'latin1').replaceAll('algorithm TEXT', 'algorythm TEXT'),
          'latin1',
        ),
    ],
    ['runs overwritten', () => damage(rootPage('runs') * pageSize, Buffer.alloc(64, 0xff))],
    ['a reward overwritten', () => damage(rootPage('reward_versions') * pageSize, Buffer.alloc(64, 0xff))],
    ['half of it', () => truncateSync(file, Math.floor(readFileSync(file).length / 2))],
    ['its first page', () => truncateSync(file, pageSize)],
    ['a few bytes', () => truncateSync(file, 50)],
    [
      'another program’s database',
      () => {
        writeFileSync(file, '')
        const db = new Database(file)
        db.exec('CREATE TABLE cookies (name TEXT)')
        db.close()
      },
    ],
    ...[
      `CREATE TRIGGER loot AFTER INSERT ON settings BEGIN
        INSERT OR REPLACE INTO settings (key, value) VALUES ('hub.endpoint', '"http://127.0.0.1:1"');
      END`,
      // Triggers have names of their own.
      'CREATE TRIGGER settings AFTER DELETE ON settings BEGIN DELETE FROM runs; END',
      "CREATE VIEW loot AS SELECT * FROM settings WHERE key = 'hub.token'",
      'CREATE TABLE loot (run TEXT REFERENCES runs (id))',
    ].map((sql): [string, () => void] => [sql, () => changed(sql)]),
  ])('%s', (_, spoil) => {
    fill()
    spoil()
    const before = readFileSync(file)
    expect(failureOf(() => openStore(file))).toMatchObject({
      code: 'store/unreadable',
      message: expect.stringContaining(file) as unknown,
    })
    expect(readFileSync(file).equals(before)).toBe(true)
  })

  test.each(['in the file', 'not yet in the file'])('a newer version, %s', (place) => {
    fill()
    const db = new Database(file)
    db.pragma('user_version = 99')
    const newer = join(folder, 'newer.sqlite')
    if (place === 'in the file') db.close()
    // What a crash leaves: the change is in the write-ahead log only.
    copyFileSync(file, newer)
    if (existsSync(`${file}-wal`)) copyFileSync(`${file}-wal`, `${newer}-wal`)
    db.close()
    const before = readFileSync(newer)
    expect(failureOf(() => openStore(newer))).toMatchObject({
      code: 'store/too-new',
      message: expect.stringContaining('99') as unknown,
    })
    expect(readFileSync(newer).equals(before)).toBe(true)
  })
})

test('a folder that is not there is made, a file in its place is told of', () => {
  openStore(join(folder, 'new', 'history.sqlite'))[Symbol.dispose]()
  expect(readdirSync(folder)).toEqual(['new'])
  writeFileSync(join(folder, 'file'), '')
  expect(failureOf(() => openStore(join(folder, 'file', 'history.sqlite')))).toMatchObject({
    code: 'file/unwritable',
  })
})

test('damage in a table of numbers is said when it is read, and the rest stays usable', () => {
  fill()
  damage(rootPage('metric_rows') * pageSize, Buffer.alloc(64, 0xff))
  using store = openStore(file)
  expect(store.runs.list()).toHaveLength(3)
  expect(failureOf(() => store.metrics.table('run_a'))).toMatchObject({ code: 'store/unreadable' })
  expect(store.check().length).toBeGreaterThan(0)
})

test('code that is not what was written is not handed out', () => {
  fill()
  damage(readFileSync(file).indexOf('xxxxxxxx') + 100, Buffer.from('y'))
  using store = openStore(file)
  const [reward] = store.rewards.list()
  expect(failureOf(() => store.rewards.versions(reward!.id))).toMatchObject({ code: 'store/unreadable' })
})

describe('recovery', () => {
  test('of a whole file is a copy', () => {
    fill()
    const { recoveredFile, lost, rowsByTable } = recoverStore(file)
    expect(lost).toEqual([])
    expect(rowsByTable).toMatchObject({
      runs: 3,
      run_tags: 6,
      metric_rows: 2400,
      samples: 6,
      reward_versions: 1,
    })
    using store = openStore(file)
    using recovered = openStore(recoveredFile)
    for (const runId of runIds) expect(everythingOf(recovered, runId)).toEqual(everythingOf(store, runId))
    expect(recovered.check()).toEqual([])
    expect(readdirSync(folder).filter((name) => name.includes('recovery-'))).toEqual([])
    expect(recoverStore(file).recoveredFile).not.toBe(recoveredFile)
  })

  test('leaves out rows that name files elsewhere, which no log brings in', () => {
    fill()
    const log = join(folder, 'run_a.jsonl')
    appendFileSync(log, lineOf({ ...checkpoint(15), directory: '/x/..' }))
    const store = openStore(file)
    store.ingest('run_a', log)
    store[Symbol.dispose]()
    openStore(file)[Symbol.dispose]()
    changed("UPDATE checkpoints SET directory = '..' WHERE run = 1")
    expect(failureOf(() => openStore(file))).toMatchObject({ code: 'store/unreadable' })
    const { recoveredFile, lost } = recoverStore(file)
    expect(lost).toEqual(['Rows of checkpoints named files elsewhere.'])
    using recovered = openStore(recoveredFile)
    expect(recovered.runs.list()).toHaveLength(3)
  })

  test('counts what is only in the write-ahead log', () => {
    fill()
    using store = openStore(file)
    store.runs.setNotes('run_a', 'written just now')
    using recovered = openStore(recoverStore(file).recoveredFile)
    expect(recovered.runs.get('run_a').notes).toBe('written just now')
  })

  test.each([
    ['a wrong header', () => damage(0, Buffer.alloc(24, 0x77))],
    ['a wrong page count and no change counter', () => damage(24, Buffer.alloc(8, 0x77))],
    ['a wrong encoding and version', () => damage(56, Buffer.from([9, 9, 9, 9, 0, 0, 1, 0]))],
  ])('of a file with %s loses nothing', (_, spoil) => {
    fill()
    const db = openStore(file)
    const before = runIds.map((runId) => everythingOf(db, runId))
    db[Symbol.dispose]()
    spoil()
    const { recoveredFile, lost } = recoverStore(file)
    expect(lost).toEqual([])
    using recovered = openStore(recoveredFile)
    expect(runIds.map((runId) => everythingOf(recovered, runId))).toEqual(before)
  })

  test('numbers that are lost come back from the logs', () => {
    fill()
    const whole = openStore(file)
    const before = runIds.map((runId) => everythingOf(whole, runId))
    whole[Symbol.dispose]()
    damage(rootPage('metric_rows') * pageSize, Buffer.alloc(64, 0xff))
    const { recoveredFile, lost } = recoverStore(file)
    expect(lost).toEqual(['Rows of metric_rows could not be read.'])
    using recovered = openStore(recoveredFile)
    expect(recovered.runs.list().map(({ notes }) => notes)).toEqual([
      'notes of run_c',
      'notes of run_b',
      'notes of run_a',
    ])
    for (const runId of runIds) recovered.ingest(runId, join(folder, `${runId}.jsonl`))
    expect(runIds.map((runId) => everythingOf(recovered, runId))).toEqual(before)
    expect(recovered.check()).toEqual([])
  })

  test('reads around a page in the middle of a table', () => {
    using store = openStore(file)
    const log = newRun(store, folder, 'run_a')
    const lines = Array.from({ length: 3000 }, (_, at) =>
      lineOf({ type: 'warning', step: at, message: `number ${at}` }),
    )
    appendFileSync(log, lines.join(''))
    store.ingest('run_a', log)
    store[Symbol.dispose]()
    const at = readFileSync(file).indexOf('"message":"number 1500"')
    damage(Math.floor(at / pageSize) * pageSize, Buffer.alloc(pageSize))
    const { rowsByTable, lost } = recoverStore(file)
    expect(lost).toEqual(['Rows of events could not be read.'])
    expect(rowsByTable['events']).toBeGreaterThan(2900)
    expect(rowsByTable['events']).toBeLessThan(3000)
  })

  test('of a file cut in half saves what is in the half', () => {
    fill()
    const store = openStore(file)
    store.settings.set('large', 'x'.repeat(1 << 20)) // the tables' own pages are all in the first half
    store[Symbol.dispose]()
    truncateSync(file, Math.floor(readFileSync(file).length / 2 / pageSize) * pageSize)
    const { rowsByTable, lost } = recoverStore(file)
    expect(lost.length).toBeGreaterThan(0)
    expect(rowsByTable['runs']).toBe(3)
  })

  test('where nothing can be read says so', () => {
    writeFileSync(file, Buffer.alloc(50_000, 7))
    expect(failureOf(() => recoverStore(file))).toMatchObject({ code: 'store/unreadable' })
    expect(readdirSync(folder)).toEqual(['history.sqlite'])
  })
})

test('wherever bytes flip: a clear error or an answer, and a recovery', () => {
  fill()
  const whole = readFileSync(file)
  const random = createRandom(5)
  const outcomes = { read: 0, refused: 0, recovered: 0, beyond: 0 }
  for (let at = 0; at < 60; at++) {
    const spoilt = Buffer.from(whole)
    const place = Math.floor(random() * spoilt.length)
    const length = 1 + Math.floor(random() * 40)
    for (let i = place; i < Math.min(place + length, spoilt.length); i++)
      spoilt[i] = Math.floor(random() * 256)
    writeFileSync(file, spoilt)
    outcomes[openAndRead() === null ? 'read' : 'refused']++
    outcomes[failureOf(() => recoverStore(file)) === null ? 'recovered' : 'beyond']++
  }
  // How many depends on the paths that are in the file.
  expect(outcomes.refused).toBeGreaterThan(0)
  expect(outcomes.recovered).toBeGreaterThan(50)
})
