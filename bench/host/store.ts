/**
 * Speed of the history: metric rows in, a chart over 20 long runs, opening a history of 1,000 runs.
 * `node bench/host/store.ts` prints the figures and what they should be; it proves nothing about correctness.
 */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openStore, type Store } from '#host/store/store.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-bench-'))
/** A log of steps with so many metrics each, into an empty history. */
function benchIngest(): void {
  using store = openStore(path.join(folder, 'ingest.sqlite'))
  const [steps, metrics] = [10_000, 30]
  const log = writeLog('ingest', 0, steps, metrics)
  addRun(store, 'run', 0)
  const ms = timed(() => store.ingest('run', log))
  report('metric rows in', `${thousands((steps * metrics * 1000) / ms)} rows/s`, 'at least 50,000')
}

/** One step at a time, as a training run has it: each is on the disk before the next. */
function benchLive(): void {
  using store = openStore(path.join(folder, 'live.sqlite'))
  addRun(store, 'run', 0)
  const times = Array.from({ length: 200 }, (_, at) => {
    const log = writeLog('live', at, 1, 30)
    return timed(() => store.ingest('run', log))
  })
  report('one step of 30 metrics in', `${median(times).toFixed(1)} ms`, 'small beside a step')
}

function benchCharts(): void {
  using store = openStore(path.join(folder, 'charts.sqlite'))
  const [runs, steps] = [20, 100_000]
  const log = writeLog('charts', 0, steps, 1)
  const runIds = Array.from({ length: runs }, (_, at) => `run_${at}`)
  for (const [at, id] of runIds.entries()) {
    addRun(store, id, at)
    store.ingest(id, log)
  }
  const query = (fromStep: number, toStep: number, maxPoints: number) => () =>
    store.metrics.series({ runIds, metric: 'metric/0', fromStep, toStep, maxPoints })
  report('first chart query', `${timed(query(0, steps, 500)).toFixed(0)} ms`, 'below 100')
  for (const [name, from, to, points] of [
    ['20 × 100,000', 0, steps, 500],
    ['20 × 51,234 of them, cut anywhere', 12_345, 63_578, 500],
    ['20 × 1,900, raw rows', 50_001, 51_900, 500],
    ['20 × 100,000, 250 points each', 0, steps, 250],
  ] as const) {
    const times = Array.from({ length: 15 }, () => timed(query(from, to, points)))
    report(`chart query ${name}`, `${median(times).toFixed(0)} ms`, 'below 100')
  }
}

function benchHistory(): void {
  const file = path.join(folder, 'history.sqlite')
  {
    using store = openStore(file)
    for (let at = 0; at < 1000; at++) {
      addRun(store, `run_${at}`, at)
      store.runs.setTags(`run_${at}`, ['nightly', `size-${at % 7}`])
      store.ingest(`run_${at}`, writeLog(`history_${at}`, 0, 100, 30))
    }
  }
  const times = Array.from({ length: 9 }, () => timed(() => openAndList(file)))
  const megabytes = (statSync(file).size / 1e6).toFixed(0)
  report(`open and list 1,000 runs (${megabytes} MB)`, `${median(times).toFixed(0)} ms`, 'below 200')
}

function openAndList(file: string): void {
  using store = openStore(file)
  if (store.runs.list().length !== 1000) throw new Error('Expected 1,000 runs.')
}

function addRun(store: Store, id: string, createdAt: number): void {
  const config = JSON.stringify({
    name: `Run ${createdAt}`,
    model: 'tiny',
    seed: 1,
    algorithm: { id: 'grpo', settings: { padding: 'x'.repeat(4000) } },
  })
  store.runs.add({ id, home: null, createdAt, config })
}

/** Appends steps to a log and returns its path. */
function writeLog(name: string, from: number, steps: number, metrics: number): string {
  const file = path.join(folder, `${name}.jsonl`)
  const lines = Array.from({ length: steps }, (_, at) => {
    const values = Array.from({ length: metrics }, (_, metric) => [
      `metric/${metric}`,
      Math.sin((from + at) * 0.01 + metric) + (((from + at) * 7919) % 101) / 101,
    ])
    const event = { at: 1_700_000_000_000 + from + at, type: 'step', step: from + at + 1, steps: 100_000 }
    return `${JSON.stringify({ ...event, metrics: Object.fromEntries(values) as unknown })}\n`
  })
  writeFileSync(file, lines.join(''), { flag: 'a' })
  return file
}

function timed(action: () => unknown): number {
  const start = performance.now()
  action()
  return performance.now() - start
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0
const thousands = (value: number): string => Math.round(value).toLocaleString('en-US')

function report(what: string, figure: string, wanted: string): void {
  console.log(`${what.padEnd(50)} ${figure.padStart(16)}   (${wanted})`)
}

try {
  benchIngest()
  benchLive()
  benchCharts()
  benchHistory()
} finally {
  rmSync(folder, { recursive: true, force: true })
}
