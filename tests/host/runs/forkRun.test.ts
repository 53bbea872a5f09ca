import { readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listCheckpoints } from '#host/models/checkpoints.ts'
import { openRunFolder, runPaths, type RunFolder } from '#host/workFolder/runFolder.ts'
import { withChanges, type JsonObject } from '#shared/config/paths.ts'
import { forkRun } from '#host/runs/runLifecycle.ts'
import { createHome, historyOf, learnedBy, starterConfig, stepsOf, tensorsOf } from './runFixture.ts'
import { isWhole, wholeTitle } from '../../sweeps.ts'

const home = createHome()
let parent: RunFolder

const shortConfig = { ...starterConfig, steps: 6, checkpoints: { every: 2, keepLast: 9 } }

beforeAll(async () => {
  parent = home.createRun(shortConfig)
  expect(await home.supervise().start(parent, { resumeFrom: null })).toMatchObject({ kind: 'finished' })
})

afterAll(() => {
  home[Symbol.dispose]()
})

const checkpointAt = (step: number): string =>
  listCheckpoints(parent.directory).find((entry) => entry.step === step)?.directory ?? ''

const forkAt = (step: number, changes: JsonObject = {}) =>
  forkRun({
    dataDirectory: home.directory,
    checkpoint: checkpointAt(step),
    changes,
    baseDirectory: home.directory,
  })

/** What a run learned in the steps after the given one; `eval` of that step itself is a fork's own. */
const learnedAfter = (run: RunFolder, step: number) =>
  learnedBy(run).filter((event) => (event as { step: number }).step > step)

describe('a fork', () => {
  test('without changes does what its parent does from the checkpoint on, and needs nothing of it', async () => {
    const run = forkAt(2)
    expect(run.parent).toEqual({ runId: parent.id, step: 2 })
    expect(openRunFolder(home.directory, run.id)).toEqual(run)
    const orphan = forkAt(4)
    rmSync(checkpointAt(4), { recursive: true })
    for (const [fork, step] of [
      [run, 2],
      [orphan, 4],
    ] as const) {
      expect(await home.supervise().start(fork, { resumeFrom: null })).toMatchObject({ kind: 'finished' })
      expect(learnedAfter(fork, step)).toEqual(learnedAfter(parent, step))
      expect(tensorsOf(fork, 6)).toEqual(tensorsOf(parent, 6))
      expect(historyOf(fork, 'evaluation')[0]).toMatchObject({ step })
    }
  })

  const title = 'that was stopped before its first checkpoint begins at its origin again'
  test.runIf(isWhole)(wholeTitle(title), async () => {
    const run = forkAt(2, { seed: 8, 'checkpoints.every': 0 })
    const supervisor = home.supervise({
      onGrown: () => {
        if (stepsOf(run).length === 2 && supervisor.status(run.id) !== null) void supervisor.kill(run.id)
      },
    })
    expect(await supervisor.start(run, { resumeFrom: null })).toMatchObject({ kind: 'killed' })
    expect(await home.supervise().start(run, { resumeFrom: null })).toMatchObject({ kind: 'finished' })
    expect(stepsOf(run)).toEqual([3, 4, 5, 6])
    expect(learnedAfter(run, 2)).not.toEqual(learnedAfter(parent, 2))
  })

  test('has the parent’s config with the changes', () => {
    const run = forkAt(6, { steps: 9, 'optimization.learningRate': 0.5, name: 'higher' })
    const config = JSON.parse(readFileSync(runPaths(run.directory).config, 'utf8')) as typeof starterConfig
    expect(config).toMatchObject({
      name: 'higher',
      steps: 9,
      seed: 7,
      optimization: { learningRate: 0.5, minibatchSize: 4 },
    })
  })

  test('that cannot be is refused in words', () => {
    expect(() => forkAt(6)).toThrow('steps: 6, but the checkpoint is of step 6; set a larger number.')
    expect(() => forkAt(2, { 'adapter.rank': 8 })).toThrow('none of these can change')
    expect(() => forkAt(2, { 'rollout.temprature': 8 })).toThrow('rollout.temprature: unknown key.')
    const elsewhere = path.join(home.directory, 'nowhere')
    expect(() =>
      forkRun({ dataDirectory: home.directory, checkpoint: elsewhere, changes: {}, baseDirectory: '.' }),
    ).toThrow('is not a checkpoint in the folder of its run.')
  })
})

test('another algorithm starts from its own default settings', () => {
  const config = { algorithm: { id: 'grpo', settings: { klCoefficient: 1 } }, steps: 3 }
  expect(withChanges(config, { 'algorithm.id': 'gspo' })).toEqual({
    algorithm: { id: 'gspo' },
    steps: 3,
  })
  expect(withChanges(config, { 'algorithm.id': 'grpo', steps: 4 })).toMatchObject({ ...config, steps: 4 })
  expect(withChanges(config, { 'data.heldOut.share': 0.1 })).toMatchObject({
    data: { heldOut: { share: 0.1 } },
  })
})
