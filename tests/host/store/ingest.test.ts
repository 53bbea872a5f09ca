import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { openEventLog, readEvents } from '#host/workFolder/eventLog.ts'
import { openStore } from '#host/store/store.ts'
import { createRandom } from './random.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import {
  checkpoint,
  evaluation,
  everythingOf,
  lineOf,
  newRun,
  randomLines,
  resumed,
  samples,
  status,
  step,
  writeLog,
} from './logs.ts'

const folder = temporaryFolder()
let number = 0
let file = ''
beforeEach(() => {
  file = join(folder, `history-${++number}.sqlite`)
})

const typesOf = (events: readonly { readonly event: { readonly type: string } }[]) =>
  events.map(({ event }) => event.type)

test('every event is recorded once, where it belongs', () => {
  using store = openStore(file)
  const log = newRun(store, folder, `run_${number}`)
  const runId = `run_${number}`
  writeLog(log, status('preparing'), { type: 'manifest', manifest: { app: '1', config: 'c' } })
  writeLog(log, evaluation(0, 0.25), status('training'), step(1, { reward: 0.5, loss: null }, 40), samples(1))
  const first = store.ingest(runId, log)
  expect(store.runs.get(runId)).toMatchObject({ rewardBefore: 0.25, rewardAfter: null }) // measured once
  writeLog(log, step(2, { reward: 0.75, loss: 2 }, 40), checkpoint(2), checkpoint(3))
  writeLog(log, { type: 'checkpoints-removed', step: 3, directories: ['/checkpoints/2'] })
  writeLog(log, { type: 'warning', step: 2, message: 'odd' }, evaluation(2, 0.9), status('finished', 2, 40))
  const second = store.ingest(runId, log)

  expect(typesOf(first)).toEqual(['status', 'manifest', 'evaluation', 'status', 'step', 'samples'])
  expect(second.map(({ seq }) => seq)).toEqual([6, 7, 8, 9, 10, 11, 12])
  expect(store.ingest(runId, log)).toEqual([])
  expect(store.runs.get(runId)).toMatchObject({
    status: 'finished',
    phase: 'finished',
    step: 2,
    steps: 40,
    reward: 0.75,
    rewardBefore: 0.25,
    rewardAfter: 0.9,
    manifest: { app: '1', config: 'c' },
    error: null,
  })
  expect(store.metrics.table(runId)).toEqual({
    metrics: ['eval_reward', 'loss', 'reward'],
    rows: [
      { step: 0, values: [0.25, null, null] },
      { step: 1, values: [null, null, 0.5] },
      { step: 2, values: [0.9, 2, 0.75] },
    ],
  })
  expect(store.checkpoints.list(runId)).toEqual([
    expect.objectContaining({
      runId,
      step: 3,
      reward: 0.3,
      sizeBytes: 1000,
      directory: join(folder, 'runs', runId, 'checkpoints', '3'),
    }),
  ])
  expect(typesOf(store.events.list(runId))).toEqual([
    ...['status', 'manifest', 'status', 'checkpoint-saved', 'checkpoint-saved', 'checkpoints-removed'],
    ...['warning', 'status'],
  ])
})

test('samples are kept whole, their token arrays apart', () => {
  using store = openStore(file)
  const log = newRun(store, folder, `run_${number}`)
  writeLog(log, samples(4))
  const [told] = store.ingest(`run_${number}`, log)
  const [first, second] = store.samples.list({ runId: `run_${number}` })
  expect(JSON.stringify(told)).not.toContain('arrays')
  expect(first).toEqual({
    id: first!.id,
    runId: `run_${number}`,
    step: 4,
    source: 'rollout',
    row: 4,
    position: 0,
    prompt: 'Größe? «1+1»',
    completion: 'two\n4',
    reward: 0.5,
    parts: { exact: 1, length: null },
    advantage: -0.25,
    tokens: 3,
    stopReason: 'stop-id',
    version: 2,
    logged: { answer: '2' },
    failures: ['length: it threw.'],
    hasArrays: true,
  })
  expect(store.samples.arrays(first!.id)).toEqual({
    ids: Int32Array.of(1, 2, 3),
    actionMask: Float32Array.of(0, 1),
    logprobs: Float32Array.of(-0.5, 4),
    behaviorLogprobs: Float32Array.of(-0.5, -1.5),
    referenceLogprobs: null,
    entropies: Float32Array.of(0.25, 0.125),
    advantages: null,
    rewards: Float32Array.of(0, 0.75),
  })
  expect(second).toMatchObject({
    reward: null,
    parts: {},
    version: null,
    logged: {},
    failures: [],
    hasArrays: false,
  })
  expect(store.samples.arrays(second!.id)).toBeNull()
})

test('arrays that are not whole are left out, the sample is kept', () => {
  using store = openStore(file)
  const log = newRun(store, folder, `run_${number}`)
  writeFileSync(log, lineOf(samples(1)).replace(/"actionMask":"[^"]*"/, '"actionMask":"AAA="'))
  store.ingest(`run_${number}`, log)
  expect(store.samples.list({ runId: `run_${number}` }).map(({ hasArrays }) => hasArrays)).toEqual([
    false,
    false,
  ])
})

describe('a log that is not as it should be', () => {
  test('a last line without its end waits for it', () => {
    using store = openStore(file)
    const log = newRun(store, folder, `run_${number}`)
    const line = lineOf(step(2, { reward: 2 }))
    writeLog(log, step(1, { reward: 1 }))
    appendFileSync(log, line.slice(0, 20))
    expect(store.ingest(`run_${number}`, log)).toHaveLength(1)
    appendFileSync(log, line.slice(20, -1))
    expect(store.ingest(`run_${number}`, log)).toHaveLength(0)
    appendFileSync(log, '\n')
    expect(store.ingest(`run_${number}`, log)).toHaveLength(1)
    expect(store.runs.get(`run_${number}`).reward).toBe(2)
  })

  test('a damaged line is counted and told of, the rest is read', () => {
    using store = openStore(file)
    const log = newRun(store, folder, `run_${number}`)
    writeLog(log, step(1, { reward: 1 }))
    appendFileSync(log, '{"at":1,"type":"st\0ep"\n[]\n\n\xff\xfe\n')
    writeLog(log, step(2, { reward: 2 }))
    expect(typesOf(store.ingest(`run_${number}`, log))).toEqual([
      'step',
      ...['damaged-line', 'damaged-line', 'damaged-line', 'damaged-line'],
      'step',
    ])
    expect(store.events.damagedLines(`run_${number}`)).toBe(4)
    expect(store.runs.get(`run_${number}`)).toMatchObject({ step: 2, reward: 2 })
  })

  test('an event of an unknown form is kept as it is', () => {
    using store = openStore(file)
    const log = newRun(store, folder, `run_${number}`)
    const odd = [
      { type: 'step', step: 'one', metrics: {} },
      { type: 'samples', step: 1, source: 'rollout', samples: [{}] },
      { type: 'resumed', keep: -1 },
      { type: 'from-the-future', field: [1] },
      { type: 'step', step: 1.5, steps: 3, metrics: { reward: 1 } },
    ]
    // A time that no calendar has is none.
    writeLog(log, ...odd, { at: 1e300, type: 'warning', message: 'late' })
    store.ingest(`run_${number}`, log)
    const stored = store.events.list(`run_${number}`).map(({ event }) => event)
    const late = { at: 0, type: 'warning', message: 'late' }
    expect(stored).toEqual([...odd, late].map((event) => expect.objectContaining(event) as unknown))
  })

  test('a log that was replaced is taken from its start', () => {
    using store = openStore(file)
    const runId = `run_${number}`
    const log = newRun(store, folder, runId)
    writeLog(log, step(1, { reward: 1 }), step(2, { reward: 2 }), samples(2), checkpoint(2))
    store.ingest(runId, log)
    for (const rewards of [[9], [8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4]]) {
      writeFileSync(log, rewards.map((reward, at) => lineOf(step(at + 1, { reward }))).join(''))
      store.ingest(runId, log)
      expect(store.metrics.table(runId).rows.map(({ values }) => values[0])).toEqual(rewards)
    }
    expect(store.samples.list({ runId })).toEqual([])
    expect(store.checkpoints.list(runId)).toEqual([])
  })

  test('no log, an empty log and a folder', () => {
    using store = openStore(file)
    const log = newRun(store, folder, `run_${number}`)
    expect(store.ingest(`run_${number}`, log)).toEqual([])
    writeFileSync(log, '')
    expect(store.ingest(`run_${number}`, log)).toEqual([])
    expect(() => store.ingest(`run_${number}`, folder)).toThrow(
      expect.objectContaining({ code: 'file/unreadable' }),
    )
    expect(() => store.ingest('run_none', log)).toThrow(expect.objectContaining({ code: 'run/not-found' }))
  })
})

test('a line longer than a piece and a log of many pieces are read whole', () => {
  using store = openStore(file)
  const runId = `run_${number}`
  const log = newRun(store, folder, runId)
  const long = 'x'.repeat(9 << 20)
  writeLog(log, { type: 'warning', step: 0, message: long }, step(1, { reward: 1 }))
  writeLog(log, { type: 'warning', step: 0, message: long }, step(2, { reward: 2 }))
  expect(store.ingest(runId, log)).toHaveLength(4)
  expect(store.events.list(runId).map(({ event }) => (event['message'] as string).length)).toEqual([
    long.length,
    long.length,
  ])
})

describe('a resumed run', () => {
  test('forgets what was lost and keeps the checkpoint it went on from', () => {
    using store = openStore(file)
    const runId = `run_${number}`
    const log = newRun(store, folder, runId)
    writeLog(log, step(1, { reward: 1 }), samples(1), checkpoint(1))
    writeLog(log, step(2, { reward: 2, extra: 5 }), samples(2), checkpoint(2), {
      type: 'error',
      code: null,
      message: 'x',
    })
    store.ingest(runId, log)
    expect(store.runs.get(runId)).toMatchObject({
      status: 'failed',
      error: { code: null, message: 'x' },
      step: 2,
    })
    writeLog(log, resumed(2))
    store.ingest(runId, log)
    expect(store.runs.get(runId)).toMatchObject({ status: 'running', error: null, step: 1, reward: 1 })
    expect(store.metrics.names(runId)).toEqual(['reward'])
    expect(store.samples.steps(runId)).toEqual([{ step: 1, source: 'rollout', count: 2 }])
    expect(store.checkpoints.list(runId).map(({ step }) => step)).toEqual([1])
    expect(store.events.list(runId).map(({ seq, event }) => [seq, event.type])).toEqual([[2, 'resumed']])
  })

  test('an earlier value of a step counts again when the later one is lost', () => {
    using store = openStore(file)
    const runId = `run_${number}`
    const log = newRun(store, folder, runId)
    writeLog(log, evaluation(5, 0.1), evaluation(5, 0.2))
    store.ingest(runId, log)
    expect(store.metrics.latest(runId).get('eval_reward')).toEqual({ step: 5, value: 0.2 })
    writeLog(log, resumed(1))
    store.ingest(runId, log)
    expect(store.metrics.latest(runId).get('eval_reward')).toEqual({ step: 5, value: 0.1 })
    const [series] = store.metrics.series({ runIds: [runId], metric: 'eval_reward' }).runs
    expect(series!.points).toMatchObject([{ min: 0.1, max: 0.1, count: 1 }])
  })
})

test.each([1, 2, 3, 4, 5, 6])('bit by bit or at once: the same history (%i)', (seed) => {
  using bits = openStore(file)
  using once = openStore(`${file}-once`)
  const runId = `run_${number}`
  const log = newRun(bits, folder, runId)
  newRun(once, folder, runId)
  const text = randomLines(seed, 300).join('')
  const random = createRandom(seed + 100)
  for (let at = 0; at < text.length;) {
    const length = 1 + Math.floor(random() ** 3 * 20_000)
    appendFileSync(log, text.slice(at, at + length))
    at += length
    bits.ingest(runId, log)
  }
  once.ingest(runId, log)
  expect(everythingOf(bits, runId)).toEqual(everythingOf(once, runId))
  expect(bits.check()).toEqual([])

  // The log itself says the same.
  const truth = readEvents(log)
  const steps = truth.filter(({ type }) => type === 'step')
  expect(bits.runs.get(runId).step).toBe(steps.at(-1)?.['step'] ?? 0)
  const stored = bits.events.list(runId).map(({ seq, event }) => [seq, event.type])
  const own = ['step', 'evaluation', 'samples']
  expect(stored).toEqual(truth.flatMap(({ type }, seq) => (own.includes(type) ? [] : [[seq, type]])))
  const samplesTold = truth.filter(({ type }) => type === 'samples').length
  expect(bits.samples.list({ runId })).toHaveLength(2 * samplesTold)
})

test('a log as the training process writes it', () => {
  using store = openStore(file)
  const runId = `run_${number}`
  const path = newRun(store, folder, runId)
  {
    using log = openEventLog(path)
    for (let at = 1; at <= 5; at++) log.append(step(at, { reward: at }))
    store.ingest(runId, path)
  }
  appendFileSync(path, '{"at":5,"type":"st')
  store.ingest(runId, path)
  {
    using log = openEventLog(path)
    log.rewind(3)
    log.append(step(4, { reward: 44 }))
  }
  store.ingest(runId, path)
  expect(store.metrics.table(runId).rows.map(({ values }) => values[0])).toEqual([1, 2, 3, 44])
})
