import { cpSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SettingChange } from '#shared/config/changes.ts'
import { listCheckpoints } from '#host/models/checkpoints.ts'
import { lastEvent } from '#host/workFolder/eventLog.ts'
import { runPaths, type RunFolder } from '#host/workFolder/runFolder.ts'
import { forkRun } from '#host/runs/runLifecycle.ts'
import { resolveResume } from '#host/runs/runTarget.ts'
import { changesOfRun } from '#host/runs/settingChanges.ts'
import { createHome, historyOf, learnedBy, starterConfig, stepsOf, tensorsOf, until } from './runFixture.ts'
import { isWhole, wholeTitle } from '../../sweeps.ts'

const home = createHome()
const config = {
  ...starterConfig,
  optimization: { ...starterConfig.optimization, warmupProportion: 0 },
  evaluation: { every: 4, rows: 4 },
  checkpoints: { every: 2, keepLast: 20 },
  steps: 6,
}
/** What forks can express too. */
const wanted = {
  'optimization.learningRate': 0.001,
  'algorithm.settings.klCoefficient': 0.1,
  'algorithm.settings.entropyCoefficient': 0.02,
  'rollout.temperature': 0.8,
  'rollout.maxNewTokens': 5,
  steps: 8,
  'evaluation.every': 3,
  'checkpoints.every': 3,
}

afterAll(() => {
  home[Symbol.dispose]()
})

const changesAt = (step: number, values: object = wanted): SettingChange[] =>
  Object.entries(values).map(([key, to]) => ({ step, key, from: null, to: to as unknown }))

const checkpointAt = (run: RunFolder, step: number): string =>
  listCheckpoints(run.directory).find((entry) => entry.step === step)?.directory ?? ''

async function train(run: RunFolder, from: string | null, changes?: readonly SettingChange[]) {
  const ending = await home.supervise().start(run, { resumeFrom: from, changes })
  expect(ending).toMatchObject({ kind: 'finished', error: null })
}

const newestOf = (run: RunFolder): string => resolveResume(home.directory, run.id).checkpoint?.directory ?? ''

/** Trains until something is so, and is killed then. */
async function killWhen(run: RunFolder, from: string, isSo: () => boolean, changes?: SettingChange[]) {
  const supervisor = home.supervise({
    onGrown: () => {
      if (isSo() && supervisor.status(run.id) !== null) void supervisor.kill(run.id)
    },
  })
  expect(await supervisor.start(run, { resumeFrom: from, changes })).toMatchObject({ kind: 'killed' })
}

const learnedAfter = (run: RunFolder, step: number) =>
  learnedBy(run).filter((event) => (event as { step: number }).step > step)

const isChanged = (run: RunFolder) => lastEvent(runPaths(run.directory).events, 'settings-changed') !== null

/** Six steps done. */
let plain: RunFolder
/** The same, but for the settings that change after step 2; and the fork that has them from there. */
let changed: RunFolder
let forked: RunFolder

function copyOfPlain(): RunFolder {
  const run = home.createRun(config)
  for (const name of ['checkpoints', 'events.jsonl'])
    cpSync(path.join(plain.directory, name), path.join(run.directory, name), { recursive: true })
  return run
}

beforeAll(async () => {
  plain = home.createRun(config)
  await train(plain, null)
  changed = copyOfPlain()
  forked = forkRun({
    dataDirectory: home.directory,
    checkpoint: checkpointAt(changed, 2),
    changes: wanted,
    baseDirectory: home.directory,
  })
  await train(forked, null)
  await train(changed, checkpointAt(changed, 2), changesAt(2))
})

describe('a run whose settings change where it is resumed', () => {
  test('goes on as a fork with these settings', () => {
    expect(stepsOf(changed)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    expect(learnedAfter(changed, 2)).toEqual(learnedAfter(forked, 2))
    expect(tensorsOf(changed, 8)).toEqual(tensorsOf(forked, 8))
    const evaluated = historyOf(changed, 'evaluation').map(({ step }) => step)
    expect(evaluated).toEqual([0, 3, 6, 8])
  })

  test('says so in its log, and keeps the config it began with', () => {
    expect(historyOf(changed, 'settings-changed')).toMatchObject([{ step: 2, changes: changesAt(2) }])
    expect(JSON.parse(readFileSync(runPaths(changed.directory).config, 'utf8'))).toEqual(config)
    expect(historyOf(changed, 'manifest')).toHaveLength(1)
    expect(historyOf(changed, 'warning')).toEqual([])
    expect(historyOf(changed, 'schedule').at(-1)).toMatchObject({
      step: 2,
      stages: [{ lastStep: 8, evaluateEvery: 3, checkpointEvery: 3 }],
    })
  })

  test('replays the change where it goes on from before it', async () => {
    const before = learnedBy(changed)
    const bytes = tensorsOf(changed, 8)
    await train(changed, null)
    expect(learnedBy(changed)).toEqual(before)
    expect(tensorsOf(changed, 8)).toEqual(bytes)
    expect(changesOfRun(changed.directory)).toEqual(changesAt(2))
  })

  test('hands them on to a fork of a later checkpoint, not of an earlier one', () => {
    const temperatureOf = (step: number) => {
      const { directory } = forkRun({
        dataDirectory: home.directory,
        checkpoint: checkpointAt(changed, step),
        changes: {},
        baseDirectory: home.directory,
      })
      const { rollout } = JSON.parse(readFileSync(runPaths(directory).config, 'utf8')) as typeof config & {
        rollout: { temperature: number }
      }
      return rollout.temperature
    }
    expect([2, 6].map(temperatureOf)).toEqual([0.8, 0.8])
    expect(changesOfRun(forked.directory)).toEqual([])
  })
})

const killed = 'a run that is killed after its settings changed goes on with them, to the same bytes'
test.runIf(isWhole)(wholeTitle(killed), async () => {
  const run = copyOfPlain()
  await killWhen(run, checkpointAt(run, 2), () => isChanged(run), changesAt(2))
  expect(stepsOf(run)).toEqual([1, 2])
  for (const step of [3, 5]) {
    await killWhen(run, newestOf(run), () => stepsOf(run).at(-1) === step)
    expect(changesOfRun(run.directory)).toEqual(changesAt(2))
  }
  await train(run, newestOf(run))
  expect(learnedBy(run)).toEqual(learnedBy(changed))
  expect(tensorsOf(run, 8)).toEqual(tensorsOf(changed, 8))
})

test('a paused run goes on with other settings in the same process', async () => {
  const run = copyOfPlain()
  const supervisor = home.supervise()
  const ended = supervisor.start(run, { resumeFrom: checkpointAt(run, 2) })
  supervisor.pause(run.id)
  await until(() => supervisor.status(run.id)?.activity === 'paused')
  const { pid } = supervisor.status(run.id) ?? {}
  supervisor.unpause(run.id, changesAt(2))
  await until(() => isChanged(run))
  expect(supervisor.status(run.id)?.pid).toBe(pid)
  expect(await ended).toMatchObject({ kind: 'finished' })
  expect(learnedBy(run)).toEqual(learnedBy(changed))
  expect(tensorsOf(run, 8)).toEqual(tensorsOf(changed, 8))
})
