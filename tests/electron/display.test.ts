import { describe, expect, test } from 'vitest'
import type { FindingId, Remark } from '#shared/diagnosis.ts'
import type { RunEntry } from '#shared/runs.ts'
import { alarmNotice, endingNotice } from '#shared/notices.ts'
import { activityOf, diskNotice, isDiskLow, type TrainedRun } from '../../src/main/news.ts'
import { filesOf, readHandover } from '../../src/main/openedFiles.ts'
import { trayTemplate } from '../../src/main/menu.ts'
import { placeWindow, readWindowState } from '../../src/main/mainWindow.ts'

const run = (change: Partial<TrainedRun> = {}): TrainedRun => ({
  id: 'run_0199aaaa-0000',
  name: 'Sums',
  step: 3,
  steps: 12,
  activity: 'running',
  ...change,
})

describe('what is shown of training', () => {
  test.each([
    { runs: [], text: 'No run is being trained', bar: { share: -1, mode: 'none' }, keepsAwake: false },
    { runs: [run()], text: 'Sums: step 3 of 12', bar: { share: 0.25, mode: 'normal' }, keepsAwake: true },
    {
      runs: [run({ name: null, activity: 'starting', step: 0, steps: null })],
      text: 'run_0199aaaa: preparing',
      bar: { share: 0, mode: 'indeterminate' },
      keepsAwake: true,
    },
    {
      runs: [run({ activity: 'paused' })],
      text: 'Sums: paused at step 3 of 12',
      bar: { share: 0.25, mode: 'paused' },
      keepsAwake: false,
    },
    {
      runs: [run({ activity: 'stopping' }), run(), run()],
      text: 'Sums: stopping after this step, step 3 of 12 · 2 more',
      bar: { share: 0.25, mode: 'normal' },
      keepsAwake: true,
    },
    {
      runs: [run({ step: 13 })],
      text: 'Sums: step 13 of 12',
      bar: { share: 1, mode: 'normal' },
      keepsAwake: true,
    },
  ])('$text', ({ runs, ...shown }) => {
    expect(activityOf(runs)).toEqual({ runs, ...shown })
  })

  test('the tray offers what can be done', () => {
    const options = { show() {}, pause() {}, unpause() {}, quit() {} }
    const labels = (...runs: TrainedRun[]) =>
      trayTemplate(activityOf(runs), options).flatMap(({ label }) => label ?? [])
    expect(labels()).toEqual(['No run is being trained', 'Show Turnwise', 'Quit'])
    expect(labels(run())).toContain('Pause Sums')
    expect(labels(run({ activity: 'paused' }))).toContain('Go on with Sums')
    expect(labels(run({ activity: 'stopping' })).join()).not.toContain('Pause')
  })
})

const entry = (change: Partial<RunEntry>): RunEntry =>
  ({
    id: 'run_1',
    name: 'Sums',
    step: 40,
    error: null,
    finding: null,
    reward: 0.5,
    rewardBefore: null,
    rewardAfter: null,
    ...change,
  }) as RunEntry

describe('notices', () => {
  test('of an end', () => {
    expect(endingNotice(entry({ status: 'finished', rewardBefore: 0.1, rewardAfter: 0.87654 }))).toEqual({
      kind: 'done',
      title: 'Sums is done',
      body: '40 steps; eval reward 0.1 → 0.877.',
      route: '/runs/run_1',
    })
    const error = { code: null, message: 'Out of memory.', hint: null }
    expect(endingNotice(entry({ status: 'failed', error }))).toMatchObject({
      kind: 'failed',
      title: 'Sums failed at step 40',
      body: 'Out of memory.',
    })
    expect(endingNotice(entry({ status: 'interrupted' }))?.kind).toBe('failed')
    for (const status of ['stopped', 'paused', 'running', 'queued'] as const)
      expect(endingNotice(entry({ status })), status).toBe(null)
  })

  test('of a problem, once each; warnings are for the page', () => {
    const told = new Set<FindingId>()
    const notice = (id: FindingId, severity: Remark['severity'] = 'problem') =>
      alarmNotice(entry({ finding: { id, severity, words: `Words of ${id}.` } }), told)
    expect(alarmNotice(entry({}), told)).toBe(null)
    expect(notice('cap-hits', 'warning')).toBe(null)
    expect(notice('diverged')).toEqual({
      kind: 'alarm',
      title: 'Sums needs a look at step 40 (diverged)',
      body: 'Words of diverged.',
      route: '/runs/run_1/diagnosis',
    })
    expect(notice('diverged')).toBe(null)
    expect(notice('no-reward')?.body).toBe('Words of no-reward.')
    expect(notice('diverged')).toBe(null)
  })

  test('of a disk that fills up: once, until there is room again', () => {
    const gibibyte = 2 ** 30
    expect([1.9, 2.1].map((free) => isDiskLow(free * gibibyte, false))).toEqual([true, false])
    expect([2.9, 3.1].map((free) => isDiskLow(free * gibibyte, true))).toEqual([true, false])
    expect(diskNotice(1.54 * gibibyte).body).toContain('1.5 GiB are free.')
  })
})

describe('the place of the window', () => {
  const primary = { x: 0, y: 0, width: 1920, height: 1080 }
  const right = { x: 1920, y: 200, width: 1280, height: 800 }
  const saved = (x: number, y: number, width: number, height: number) => ({
    bounds: { x, y, width, height },
    isMaximized: false,
  })

  test.each([
    { what: 'as it was', state: saved(100, 50, 1200, 800), place: [100, 50, 1200, 800] },
    { what: 'on the other display', state: saved(1950, 250, 1000, 700), place: [1950, 250, 1000, 700] },
    { what: 'half outside', state: saved(-400, 900, 1000, 700), place: [0, 380, 1000, 700] },
    { what: 'larger than its display', state: saved(1900, 200, 2000, 1500), place: [1920, 200, 1280, 800] },
    { what: 'on a display that is gone', state: saved(9000, 50, 1200, 800), place: [360, 140, 1200, 800] },
    { what: 'too small to use', state: saved(0, 0, 10, 10), place: [0, 0, 960, 640] },
    { what: 'for the first time', state: null, place: [240, 90, 1440, 900] },
  ])('$what', ({ state, place }) => {
    const { x, y, width, height } = placeWindow(state, [primary, right]).bounds
    expect([x, y, width, height]).toEqual(place)
  })

  test('a display smaller than the least size is filled', () => {
    const small = { x: 0, y: 0, width: 800, height: 600 }
    expect(placeWindow(null, [small]).bounds).toEqual(small)
  })

  test('stays maximised, and nonsense is nothing', () => {
    const state = { ...saved(1, 2, 1000, 700), isMaximized: true }
    expect(readWindowState(state)).toEqual(state)
    expect(placeWindow(state, [primary]).isMaximized).toBe(true)
    for (const wrong of [
      undefined,
      null,
      7,
      {},
      { bounds: null },
      { bounds: { x: 0, y: 0, width: 'a', height: 1 } },
    ])
      expect(readWindowState(wrong), JSON.stringify(wrong)).toBe(null)
    expect(readWindowState({ bounds: { x: 0, y: 0, width: 0, height: 5 } })).toBe(null)
  })
})

test('files of a command line are those that are there', () => {
  const folder = import.meta.dirname
  const given = ['--flag', 'display.test.ts', 'missing.csv', '.']
  expect(filesOf(['/usr/bin/turnwise', ...given], true, folder)).toEqual([import.meta.filename, folder])
  expect(filesOf(['electron', '--inspect=0', '.', ...given], false, folder)).toEqual([
    import.meta.filename,
    folder,
  ])
  expect(readHandover({ files: ['/a', 1, null] })).toEqual(['/a'])
  for (const wrong of [null, 'x', {}, { files: 'x' }]) expect(readHandover(wrong)).toEqual([])
})
