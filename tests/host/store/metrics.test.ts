import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { MetricCursor, SeriesPoint } from '#host/store/metrics.ts'
import { openStore, type Store } from '#host/store/store.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { evaluation, lineOf, newRun, resumed, step, writeLog } from './logs.ts'
import { createRandom } from './random.ts'

const folder = temporaryFolder()
let number = 0
let [file, runId] = ['', '']
beforeEach(() => {
  file = join(folder, `history-${++number}.sqlite`)
  runId = `run_${number}`
})

/** Step → value (null: no number) of one metric. */
type Truth = Map<number, number | null>

/** A run of a random life: steps with spikes and gaps, sometimes resumed; what counts at its end. */
function randomRun(seed: number, count: number): { readonly text: string; readonly truth: Truth } {
  const random = createRandom(seed)
  let history: { readonly step: number; readonly value: number | null }[] = []
  let [text, rewinds] = ['', 0]
  for (let at = 1; history.length < count; at++) {
    if (random() < 0.01 && history.length > 3 && rewinds < 6) {
      rewinds++
      const keep = Math.floor(random() * history.length)
      history = [...history.slice(0, keep), { step: -1, value: null }] // the resumed event takes a number too
      at = history.reduce((last, { step }) => Math.max(last, step), 0)
      text += lineOf(resumed(keep))
      continue
    }
    if (random() < 0.02) at += Math.floor(random() * 40)
    const value = random() < 0.05 ? null : random() < 0.01 ? 1000 * (random() - 0.5) : random()
    history.push({ step: at, value })
    text += lineOf(step(at, { m: value }))
  }
  return { text, truth: new Map(history.flatMap(({ step, value }) => (step < 0 ? [] : [[step, value]]))) }
}

/** What one point must say of the steps it covers. */
function pointOf(steps: readonly (readonly [number, number])[]): SeriesPoint {
  const values = steps.map(([, value]) => value)
  return {
    step: steps[0]![0],
    lastStep: steps.at(-1)![0],
    min: Math.min(...values),
    max: Math.max(...values),
    mean: values.reduce((a, b) => a + b) / values.length,
    last: values.at(-1)!,
    count: values.length,
  }
}

/** Every number between the bounds is in exactly one point, and the points say nothing else. */
function expectTrue(
  store: Store,
  truth: Truth,
  [from, to, maxPoints]: readonly [number, number, number],
): void {
  const { runs } = store.metrics.series({
    runIds: [runId],
    metric: 'm',
    fromStep: from,
    toStep: to,
    maxPoints,
  })
  const { points, gaps } = runs[0]!
  const inside = [...truth].filter(([step]) => step >= from && step <= to)
  const numbers = inside.flatMap(([step, value]) => (value === null ? [] : [[step, value] as const]))
  const covered = (point: SeriesPoint) =>
    numbers.filter(([step]) => step >= point.step && step <= point.lastStep)
  expect(points.length).toBeLessThanOrEqual(maxPoints)
  expect(points.map(({ mean: _mean, ...point }) => point)).toEqual(
    points.map((point) => {
      const { mean: _mean, ...expected } = pointOf(covered(point))
      return expected
    }),
  )
  for (const point of points) expect(point.mean).toBeCloseTo(pointOf(covered(point)).mean, 9)
  expect(points.reduce((total, { count }) => total + count, 0)).toBe(numbers.length)
  const missing = inside.filter(([, value]) => value === null).map(([step]) => step)
  expect(missing).toEqual(expect.arrayContaining([...gaps]))
  // Between two missing steps that were merged lies at most one point.
  if (maxPoints >= to - from + 1) expect(gaps).toEqual(missing)
  else if (missing.length > 0) expect(gaps[0]).toBe(missing[0])
}

test.each([1, 2, 3, 4, 5, 6])('reduced series say what the rows say (%i)', (seed) => {
  using store = openStore(file)
  const log = newRun(store, folder, runId)
  const { text, truth } = randomRun(seed, seed < 4 ? 300 : 5000)
  const random = createRandom(seed + 50)
  for (let at = 0; at < text.length;) {
    const end = at + 1 + Math.floor(random() * (text.length / 8))
    appendFileSync(log, text.slice(at, end))
    store.ingest(runId, log)
    at = end
  }
  const last = Math.max(...truth.keys())
  expectTrue(store, truth, [0, last, 500])
  expectTrue(store, truth, [0, last, 1])
  expectTrue(store, truth, [0, last + 1000, 10_000])
  for (let at = 0; at < 60; at++) {
    const from = Math.floor(random() * last)
    expectTrue(store, truth, [
      from,
      from + Math.floor(random() * (last - from)),
      1 + Math.floor(random() * 80),
    ])
  }
})

test('a single spike among 20,000 steps is on the chart', () => {
  using store = openStore(file)
  const log = newRun(store, folder, runId)
  const lines = Array.from({ length: 20_000 }, (_, at) => lineOf(step(at + 1, { m: at === 12_345 ? 99 : 0 })))
  appendFileSync(log, lines.join(''))
  store.ingest(runId, log)
  const { points } = store.metrics.series({ runIds: [runId], metric: 'm', maxPoints: 100 }).runs[0]!
  expect(points.length).toBeGreaterThan(60)
  expect(points.filter(({ max }) => max === 99)).toMatchObject([{ min: 0 }])
})

test('several runs, unknown runs, unknown metrics', () => {
  using store = openStore(file)
  const log = newRun(store, folder, runId)
  newRun(store, folder, 'run_other')
  writeLog(log, step(1, { m: 1 }), step(2, { m: null }))
  store.ingest(runId, log)
  const series = (metric: string) =>
    store.metrics.series({ runIds: ['run_other', 'run_none', runId], metric }).runs
  expect(series('m')).toEqual([
    { runId: 'run_other', points: [], gaps: [] },
    { runId, points: [{ step: 1, lastStep: 1, min: 1, max: 1, mean: 1, last: 1, count: 1 }], gaps: [2] },
  ])
  expect(series('none').every(({ points }) => points.length === 0)).toBe(true)
  expect(store.metrics.names('run_none')).toEqual([])
  expect(store.metrics.table('run_none')).toEqual({ metrics: [], rows: [] })
  expect(store.metrics.latest(runId)).toEqual(new Map([['m', { step: 2, value: null }]]))
})

describe('followers', () => {
  /** A chart that adds what it is told: (metric, step) → value. */
  class Follower {
    readonly rows = new Map<string, readonly [step: number, value: number | null]>()
    cursor: MetricCursor = {}

    forgetAfter(last: number): void {
      for (const [name, [step]] of this.rows) if (step > last) this.rows.delete(name)
    }

    follow(store: Store, limit?: number): number {
      let count = 0
      for (let more = true; more;) {
        const news = store.metrics.rowsAfter([runId], this.cursor, limit)
        for (const { rewoundTo } of news.rewound) this.forgetAfter(rewoundTo)
        for (const { metric, step, value } of news.rows) this.rows.set(`${metric} ${step}`, [step, value])
        this.cursor = JSON.parse(JSON.stringify(news.cursor)) as MetricCursor
        count += news.rows.length
        more = news.more
      }
      return count
    }
  }

  const tableOf = (store: Store) => {
    const { metrics, rows } = store.metrics.table(runId)
    return new Map(
      rows.flatMap(({ step, values }) =>
        values.flatMap((value, at) =>
          value === null ? [] : [[`${metrics[at]} ${step}`, [step, value]] as const],
        ),
      ),
    )
  }

  test('get only what is new, and are told how far a run went back', () => {
    using store = openStore(file)
    const log = newRun(store, folder, runId)
    writeLog(log, evaluation(0, 0.5), step(1, { m: 1 }), step(2, { m: 2 }), step(3, { m: 3 }))
    store.ingest(runId, log)
    const { cursor } = store.metrics.series({ runIds: [runId], metric: 'm' })
    expect(store.metrics.rowsAfter([runId], cursor)).toEqual({ rewound: [], rows: [], cursor, more: false })

    writeLog(log, step(4, { m: 4 }))
    store.ingest(runId, log)
    const next = store.metrics.rowsAfter([runId], cursor)
    expect(next).toMatchObject({ rewound: [], rows: [{ runId, metric: 'm', step: 4, value: 4 }] })

    writeLog(log, resumed(2), step(2, { m: 22 }))
    store.ingest(runId, log)
    expect(store.metrics.rowsAfter([runId], next.cursor)).toMatchObject({
      rewound: [{ runId, rewoundTo: 1 }],
      rows: [{ step: 2, value: 22 }],
    })
    expect(store.metrics.rowsAfter([runId], {})).toMatchObject({ rewound: [], more: false })
    expect(store.metrics.rowsAfter([runId], {}).rows).toHaveLength(3)
  })

  test.each([1, 2, 3, 4])('end with the same rows whatever happens (%i)', (seed) => {
    using store = openStore(file)
    const log = newRun(store, folder, runId)
    const random = createRandom(seed)
    const followers = [new Follower(), new Follower(), new Follower()]
    let [seq, last] = [0, 0]
    const stepAt: number[] = []
    for (let at = 0; at < 300; at++) {
      if (random() < 0.05) {
        const keep = Math.floor(random() * (seq + 1))
        writeLog(log, resumed(keep))
        stepAt.length = keep
        last = stepAt.reduce((a, b) => Math.max(a, b), 0)
        stepAt.push(last)
        seq = keep + 1
      } else {
        writeLog(log, step(++last, { m: random(), [`n${at % 3}`]: random() }))
        stepAt.push(last)
        seq++
      }
      store.ingest(runId, log)
      if (random() < 0.5) followers[0]!.follow(store)
      if (random() < 0.1) followers[1]!.follow(store, 3)
    }
    for (const follower of followers) {
      follower.follow(store, 7)
      expect(new Map([...follower.rows].sort())).toEqual(new Map([...tableOf(store)].sort()))
      expect(follower.follow(store)).toBe(0)
    }
  })
})
