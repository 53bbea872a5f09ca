import { execFile, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import type { RunEvent, SamplesEvent } from '#shared/events.ts'
import { openWandb } from '#host/training/wandb.ts'
import { openWandbLog } from '#host/training/wandbLog.ts'
import { openEventLog } from '#host/workFolder/eventLog.ts'
import { runPaths } from '#host/workFolder/runFolder.ts'
import { python } from '../export/python.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { kindsOf, recordsOf } from './wandbRecords.ts'

const step = (at: number, reward: number): RunEvent => ({
  type: 'step',
  step: at,
  steps: 5,
  metrics: { reward, 'time/rollout': 0.25 },
})
const samples = (at: number, prompt: string): SamplesEvent => ({
  type: 'samples',
  step: at,
  source: 'rollout',
  samples: [
    {
      row: 0,
      prompt,
      completion: 'fünf',
      reward: 0.5,
      parts: {},
      advantage: null,
      tokens: 1,
      stopReason: 'stop-id',
    },
  ],
})
const status = (phase: 'preparing' | 'finished', at: number): RunEvent => ({
  type: 'status',
  phase,
  step: at,
  steps: 5,
})

/** Takes a run up after its first events, and reports what follows. */
function takeUp(folder: string, keep: number, events: readonly RunEvent[]): void {
  using log = openEventLog(runPaths(folder).events)
  log.rewind(keep)
  using sink = openWandb(folder, { name: 'mine', seed: 7 })
  for (const event of events) {
    log.append(event)
    sink.take(event)
  }
}

/** A run of five steps that goes on from its checkpoint of step 3 with other values, and ends. */
function resumedRun(): string {
  const folder = temporaryFolder()
  takeUp(folder, 0, [
    status('preparing', 0),
    step(1, 1 / 8),
    samples(1, 'What is 2 + 3?'),
    { type: 'evaluation', step: 1, rows: 1, metrics: { eval_reward: 0.75 } },
    ...[2, 3, 4, 5].map((at) => step(at, at / 8)),
    samples(5, 'given up'),
  ])
  // `resumed` and what is kept: status, 1 with its samples and evaluation, 2, 3
  takeUp(folder, 7, [
    status('preparing', 3),
    ...[4, 5].map((at) => step(at, at)),
    samples(5, 'x'.repeat(100_000)),
    { ...samples(5, 'x'.repeat(100_000)), source: 'evaluation' },
    status('finished', 5),
  ])
  return folder
}

/** The only offline run in a run's folder. */
function offlineRun(folder: string): { readonly directory: string; readonly log: string } {
  const runs = runPaths(folder).wandb
  const [name = '', ...others] = readdirSync(runs)
  expect(others).toEqual([])
  expect(name).toMatch(/^offline-run-\d{8}_\d{6}-/)
  const directory = path.join(runs, name)
  return { directory, log: path.join(directory, `run-${path.basename(folder)}.wandb`) }
}

const kindsOfResumed = [
  ...['run', 'files', 'history', 'summary', 'history', 'summary', 'history', 'summary'],
  ...['history', 'summary', 'files', 'files', 'history', 'summary', 'exit'],
]

test('a resumed run has one folder, with a file for each table of samples that counts', () => {
  const { directory, log } = offlineRun(resumedRun())
  expect(kindsOf(log)).toEqual(kindsOfResumed)
  const tables = path.join(directory, 'files', 'media', 'table')
  const texts = readdirSync(tables).map((name) => readFileSync(path.join(tables, name), 'utf8'))
  expect(texts.map((text) => (JSON.parse(text) as { data: unknown[][] }).data[0]?.[0])).toEqual([
    'What is 2 + 3?',
    'x'.repeat(100_000),
  ])
})

test('a run that is taken up is to be uploaded again, and nothing else in the folder is removed', () => {
  const folder = resumedRun()
  const { log } = offlineRun(folder)
  writeFileSync(`${log}.synced`, '')
  const own = path.join(runPaths(folder).wandb, 'debug-cli.log')
  takeUp(folder, 7, [])
  expect(existsSync(`${log}.synced`)).toBe(false)
  const other = path.join(runPaths(folder).wandb, 'offline-run-20200101_000000-another')
  writeFileSync(own, 'mine')
  mkdirSync(other)
  takeUp(folder, 7, [])
  expect(readFileSync(own, 'utf8')).toBe('mine')
  expect(existsSync(other)).toBe(true)
})

test('a link in the place of the folder is not followed, and a log from elsewhere names no file', () => {
  const [folder, elsewhere] = [temporaryFolder(), temporaryFolder()]
  symlinkSync(elsewhere, runPaths(folder).wandb)
  expect(() => takeUp(folder, 0, [])).toThrow('is a link, so nothing is written there')
  rmSync(runPaths(folder).wandb)
  const hostile = [
    { ...samples(1, 'a'), step: '../../../../a' },
    { ...samples(1, 'b'), source: '../../../../b' },
    { type: 'samples', step: 1, source: 'rollout', samples: null },
  ]
  const lines = hostile.map((event) => JSON.stringify({ at: 1_700_000_000_000, ...event }) + '\n')
  writeFileSync(runPaths(folder).events, lines.join(''))
  takeUp(folder, 3, [])
  const { directory, log } = offlineRun(folder)
  expect(kindsOf(log)).toEqual(['run', 'files', 'history', 'summary'])
  expect(readdirSync(path.join(directory, 'files', 'media', 'table'))).toHaveLength(1)
  expect(readdirSync(elsewhere)).toEqual([])
})

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

const hasStore = spawnSync(python, ['-c', 'import wandb.sdk.internal.datastore']).status === 0

const readBack = `
import json, sys
from wandb.proto.wandb_internal_pb2 import Record
from wandb.sdk.internal.datastore import DataStore
store, records, torn = DataStore(), [], False
store.open_for_scan(sys.argv[1])
try:
    while (data := store.scan_data()) is not None:
        records.append(Record.FromString(data))
except AssertionError:
    torn = store.in_last_block()
def items(of):
    return {item.key: json.loads(item.value_json) for item in of}
history = [items(each.history.item) for each in records if each.HasField("history")]
summary = {}
for each in records:
    if each.HasField("summary"):
        summary.update(items(each.summary.update))
run = next(each.run for each in records if each.HasField("run"))
print(json.dumps({
    "torn": torn,
    "kinds": [each.WhichOneof("record_type") for each in records],
    "numbers": [each.num for each in records],
    "run": [run.run_id, run.project, run.display_name, items(run.config.update), run.start_time.seconds > 1.7e9],
    "reward": [[row["_step"], row["reward"]] for row in history],
    "evaluated": [row["_step"] for row in history if "eval_reward" in row],
    "tables": [[row["_step"], row["samples/rollout"]["path"]] for row in history if "samples/rollout" in row],
    "files": [item.path for each in records for item in each.files.files],
    "times": all(row["_runtime"] >= 0 and row["_timestamp"] > 1.7e9 for row in history),
    "summary": [summary["_step"], summary["reward"], summary.get("eval_reward")],
    "exit": [each.exit.exit_code for each in records if each.HasField("exit")],
}))
`

interface ReadBack extends Readonly<Record<string, unknown>> {
  readonly kinds: readonly string[]
  readonly files: readonly string[]
}

function readByPackage(log: string): ReadBack {
  const { stdout, stderr } = spawnSync(python, ['-c', readBack, log], { encoding: 'utf8' })
  expect(stderr).toBe('')
  return JSON.parse(stdout) as ReadBack
}

test.skipIf(!hasStore)('the Python package wandb reads one history of a resumed run', () => {
  const folder = resumedRun()
  const { directory, log } = offlineRun(folder)
  const { kinds, files, numbers, ...read } = readByPackage(log)
  expect(kinds).toEqual(kindsOfResumed)
  expect(numbers).toEqual(kinds.map((_, index) => index + 1))
  expect(read).toEqual({
    torn: false,
    run: [path.basename(folder), 'turnwise', 'mine', { name: 'mine', seed: 7 }, true],
    reward: [1, 2, 3].map((at) => [at, at / 8]).concat([4, 5].map((at) => [at, at])),
    evaluated: [1],
    tables: [1, 5].map((at, index) => [at, files[index]]),
    times: true,
    summary: [5, 5, 0.75],
    exit: [0],
  })
  for (const file of files) expect(existsSync(path.join(directory, 'files', file))).toBe(true)
})

test.skipIf(!hasStore)('the Python package wandb reads a log up to where a kill cut it off', () => {
  const folder = temporaryFolder()
  takeUp(folder, 0, [step(1, 1), step(2, 2), samples(2, 'cut off')])
  const { log } = offlineRun(folder)
  const whole = readByPackage(log)
  truncateSync(log, readFileSync(log).length - 100)
  expect(whole.kinds).toEqual(['run', 'history', 'summary', 'files', 'history', 'summary'])
  expect(readByPackage(log)).toEqual({
    ...whole,
    kinds: whole.kinds.slice(0, -1),
    numbers: [1, 2, 3, 4, 5],
    summary: [1, 1, null],
    torn: true,
  })
})

/** Records that begin at every distance from the end of a block, and some that are longer than one. */
function everyPlace(): { readonly log: string; readonly records: readonly Buffer[] } {
  const log = path.join(temporaryFolder(), 'run-all.wandb')
  using writer = openWandbLog(log)
  const records: Buffer[] = []
  const add = (length: number) => {
    const record = Buffer.alloc(length, records.length + 1)
    records.push(record)
    writer.append(record)
  }
  for (let left = 0; left <= 20; left++) {
    const room = 32_768 - (readFileSync(log).length % 32_768)
    add(room - 7 - left)
    add(left % 2 === 0 ? 50 : 70_000)
  }
  add(0)
  return { log, records }
}

test('records are split at the end of a block, wherever they begin', () => {
  const { log, records } = everyPlace()
  expect(recordsOf(log).map(sha256)).toEqual(records.map(sha256))
})

const readRecords = `
import hashlib, json, sys
from wandb.sdk.internal.datastore import DataStore
store, records = DataStore(), []
store.open_for_scan(sys.argv[1])
while (data := store.scan_data()) is not None:
    records.append(hashlib.sha256(data).hexdigest())
print(json.dumps(records))
`

test.skipIf(!hasStore)('the Python package wandb reads records wherever they begin', () => {
  const { log, records } = everyPlace()
  const { stdout } = spawnSync(python, ['-c', readRecords, log], { encoding: 'utf8' })
  expect(JSON.parse(stdout)).toEqual(records.map(sha256))
})

/** A server that says as little as `wandb sync` needs; keeps what it was sent. */
async function double() {
  const lines: { readonly offset: number; readonly content: readonly string[] }[] = []
  const [files, ends]: [string[], unknown[]] = [[], []]
  const answers = (query: string, variables: Readonly<Record<string, unknown>>): object => {
    if (query.includes('upsertBucket'))
      return { upsertBucket: { bucket: { id: '1', project: { name: 'turnwise', entity: { name: 'me' } } } } }
    if (query.includes('createRunFiles'))
      return {
        createRunFiles: { runID: '1', uploadHeaders: [], files: uploads(variables['files'] as string[]) },
      }
    return query.includes('serverInfo') ? { serverInfo: { features: [] } } : {}
  }
  const uploads = (names: readonly string[]) =>
    names.map((name) => ({ name, uploadUrl: `${address}/storage/${name}` }))
  const answer = (url: string, body: string): object => {
    if (url.startsWith('/storage/')) files.push(decodeURI(url.slice('/storage/'.length)))
    if (url === '/graphql') {
      const { query, variables } = JSON.parse(body) as { query: string; variables: Record<string, unknown> }
      return { data: answers(query, variables) }
    }
    if (url.endsWith('/file_stream')) {
      const { files: streams, exitcode } = JSON.parse(body) as Stream
      lines.push(...[streams?.['wandb-history.jsonl'] ?? []].flat())
      if (exitcode !== undefined) ends.push(exitcode)
    }
    return {}
  }
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      const plain = request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(answer(request.url ?? '', plain.toString('utf8'))))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { address, lines, files, ends, [Symbol.dispose]: close }
}

interface Stream {
  readonly files?: Readonly<Record<string, { readonly offset: number; readonly content: readonly string[] }>>
  readonly exitcode?: number
}

// Earlier ones sync with a program of their own.
const isNewEnough = 'import wandb; assert tuple(map(int, wandb.__version__.split(".")[:2])) >= (0, 28)'
const hasWandb = spawnSync(python, ['-c', isNewEnough]).status === 0

test.skipIf(!hasWandb)('the Python package wandb uploads one history of a resumed run', async () => {
  const { directory } = offlineRun(resumedRun())
  using server = await double()
  const home = temporaryFolder()
  const env = {
    ...process.env,
    HOME: home,
    WANDB_DIR: home,
    WANDB_BASE_URL: server.address,
    WANDB_API_KEY: 'a'.repeat(40),
    WANDB_ERROR_REPORTING: 'false',
  }
  await promisify(execFile)(python, ['-m', 'wandb', 'sync', directory], { env })
  const rows = server.lines.flatMap(({ offset, content }) =>
    content.map((line, index) => {
      const { _step, reward } = JSON.parse(line) as Record<string, unknown>
      return [offset + index, _step, reward]
    }),
  )
  expect(rows).toEqual([
    ...[1, 2, 3].map((at) => [at - 1, at, at / 8]),
    ...[4, 5].map((at) => [at - 1, at, at]),
  ])
  expect(server.ends).toEqual([0])
  const isTable = (name: string) => name.endsWith('.table.json')
  expect(server.files.filter(isTable).sort()).toEqual(
    readdirSync(path.join(directory, 'files', 'media', 'table'))
      .map((name) => `media/table/${name}`)
      .sort(),
  )
})
