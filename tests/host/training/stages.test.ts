/** Runs of several stages on the real engine: demonstrations, preferences, a critic, from one config. */
import path from 'node:path'
import { expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { loadCheckpoint } from '#host/models/checkpoints.ts'
import { runPaths, type RunFolder } from '#host/workFolder/runFolder.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { createControl, runTraining } from '#host/training/entry.ts'
import { createHome, historyOf, learnedBy, starterConfig, tensorsOf } from '../runs/runFixture.ts'

const preferences = {
  train: path.join(resourcesDirectory, 'demo', 'preferences.jsonl'),
  heldOut: path.join(resourcesDirectory, 'demo', 'preferences-heldout.jsonl'),
}
const config = parseRunConfig({
  ...starterConfig,
  optimization: { learningRate: 0.002 },
  evaluation: { every: 2, rows: 8 },
  checkpoints: { every: 1, keepLast: 20 },
  shownTrajectories: 1,
  device: { threads: 1 },
  steps: 2,
  stages: [
    { algorithm: { id: 'sft' }, rollout: { promptsPerStep: 8 }, optimization: { learningRate: 0.01 } },
    { algorithm: { id: 'dpo' }, data: preferences, rollout: { promptsPerStep: 4 } },
    { algorithm: { id: 'ppo' }, optimization: { epochs: 2, criticLearningRate: 0.01 } },
  ],
})

const home = createHome()

async function trainRun({ directory }: RunFolder, resumeFrom: string | null, stopAt = Infinity) {
  const control = createControl()
  const request = { runDirectory: directory, cacheDirectory: path.join(home.directory, 'cache'), resumeFrom }
  for await (const event of runTraining(request, control)) {
    if (event.type === 'step' && event.step === stopAt) control.stop()
  }
}

const checkpointOf = (run: RunFolder, step: number) =>
  path.join(runPaths(run.directory).checkpoints, `step-00000${step}`)
const last = ({ actor }: { readonly actor: readonly { readonly data: ArrayLike<number> }[] }) =>
  actor.map(({ data }) => Array.from(data))

test('each stage begins with the policy of the one before it, and any of them resumes exactly', async () => {
  using _ = home
  const whole = home.createRun(config)
  await trainRun(whole, null)
  const expected = [learnedBy(whole), tensorsOf(whole, 6)]
  expect(historyOf(whole, 'step').map(({ step, steps }) => [step, steps])).toEqual(
    [1, 2, 3, 4, 5, 6].map((step) => [step, 6]),
  )
  expect(historyOf(whole, 'status').filter(({ phase }) => phase === 'finished')).toHaveLength(1)

  const measured = (name: string, step: number) =>
    historyOf(whole, 'evaluation').flatMap((event) => {
      const value = (event.metrics as Record<string, number>)[name]
      return event.step === step && value !== undefined ? [value] : []
    })
  expect(measured('eval_loss', 2)[0]).toBeLessThan(measured('eval_loss', 0)[0]!)
  expect(measured('eval_rewards/margins', 2)).toEqual([0])
  expect(measured('eval_rewards/margins', 4)[0]).toBeGreaterThan(0)
  expect(historyOf(whole, 'step').at(-1)!.metrics).toHaveProperty('grad_norm/critic')

  const [afterSft, inDpo, afterDpo] = [2, 3, 4].map((step) => loadCheckpoint(checkpointOf(whole, step)))
  expect(inDpo!.trainer).toMatchObject({ step: 3, stage: 1, promptsDrawn: 4, updates: 1 })
  expect(last({ actor: inDpo!.reference! })).toEqual(last(afterSft!))
  const inPpo = loadCheckpoint(checkpointOf(whole, 5))
  expect(last({ actor: inPpo.reference! })).toEqual(last(afterDpo!))
  expect(last(inPpo)).not.toEqual(last(afterDpo!))
  expect([afterSft!.critic, afterDpo!.critic]).toEqual([null, null])
  expect(inPpo.critic!.valueHead!.weight.some((weight) => weight !== 0)).toBe(true)

  for (const step of [3, 5]) {
    await trainRun(whole, checkpointOf(whole, step))
    expect([learnedBy(whole), tensorsOf(whole, 6)]).toEqual(expected)
  }

  // Stopped where one stage meets the next.
  const stopped = home.createRun(config)
  await trainRun(stopped, null, 2)
  expect(historyOf(stopped, 'status').at(-1)).toMatchObject({ phase: 'stopped', step: 2, steps: 6 })
  await trainRun(stopped, checkpointOf(stopped, 2))
  expect([learnedBy(stopped), tensorsOf(stopped, 6)]).toEqual(expected)
})
