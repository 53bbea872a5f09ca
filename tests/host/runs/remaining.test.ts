import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { runRemaining } from '#host/runs/runRows.ts'
import { openStore } from '#host/store/store.ts'
import { Trials } from '#host/runs/trials.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { checkpoint, newRun, step, writeLog } from '../store/logs.ts'

const root = temporaryFolder()
const stage = { firstStep: 0, lastStep: 14, evaluateEvery: 7, heldOutRows: 20, expected: null }
const status = (phase: string, at: number) => ({ at, type: 'status', phase, step: 0, steps: 14 })

test('is told from the history alone: steps and evaluations apart, from the last of them on', () => {
  using store = openStore(join(root, 'history.sqlite'))
  newRun(store, root, 'run_a')
  const log = join(root, 'events.jsonl')
  const told = () => runRemaining(store, store.runs.get('run_a'))
  const middle = () => Math.sqrt((told()?.low ?? 0) * (told()?.high ?? 0))
  const before = [
    { at: 1, type: 'schedule', step: 0, stages: [stage] },
    status('evaluating', 2),
    { type: 'evaluation', step: 0, rows: 20, metrics: { eval_time: 17 } },
    status('training', 30),
  ]
  writeLog(log, ...before)
  store.ingest('run_a', log)
  expect(told()).toBeNull()
  const steps = Array.from({ length: 7 }, (_, i) => step(i + 1, { step_time: 8 }))
  writeLog(log, ...steps)
  store.ingest('run_a', log)
  expect(middle()).toBeCloseTo(7 * 8 + 2 * 17, 6)
  expect(told()).toMatchObject({ secondsPerStep: 8, current: 17, laterStages: 0 })
  // That of the last step, not of the status before it.
  expect(told()?.since).toBeGreaterThan(1_700_000_000_000)
  writeLog(log, { ...checkpoint(7), seconds: 5 })
  store.ingest('run_a', log)
  // The one of step 7 is done; one of the end is to come.
  expect(middle()).toBeCloseTo(7 * 8 + 2 * 17 + 5, 6)
  expect(
    store.metrics.series({ runIds: ['run_a'], metric: 'checkpoint_time' }).runs[0]?.points,
  ).toMatchObject([{ step: 7, mean: 5 }])
  writeLog(log, status('finished', 99))
  store.ingest('run_a', log)
  expect(told()).toBeNull()
})

test('what a check expected belongs to its settings, whatever the run is called', () => {
  const settings = { model: 'm', data: { train: 'rows.jsonl' }, rewards: [{ function: 'exact-match' }] }
  const trials = new Trials()
  const expected = [{ step: { expected: 2, high: 3 }, evaluation: { expected: 5, high: 8 } }]
  trials.remember(parseRunConfig(settings), expected)
  const written = (changes: object) => JSON.stringify(parseRunConfig({ ...settings, ...changes }))
  expect(trials.of(written({ name: 'first' }))).toEqual(expected)
  expect(trials.of(written({ steps: 3 }))).toBeNull()
})
