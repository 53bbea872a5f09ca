/** A model that sometimes calls a function learns to call it always, where nothing else tells it the answer. */
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { runPaths, type RunFolder } from '#host/workFolder/runFolder.ts'
import { createControl, runTraining } from '#host/training/entry.ts'
import { isLong, longTitle } from '../../sweeps.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { createHome, historyOf } from '../runs/runFixture.ts'
import { writeCallingModel } from './callingModel.ts'

const home = createHome()
afterAll(() => home[Symbol.dispose]())
const folder = temporaryFolder()
const file = (name: string) => path.join(folder, name)

const shared = {
  model: file('model'),
  adapter: { rank: 16, alpha: 32, targets: 'all-linear' },
  optimization: { learningRate: 0.002, weightDecay: 0, tokenBudget: 4096 },
  checkpoints: { every: 0, keepLast: 1 },
  device: { threads: 2 },
}

async function train(config: object): Promise<RunFolder> {
  const run = home.createRun({ ...shared, ...config })
  const cacheDirectory = path.join(home.directory, 'cache')
  const request = { runDirectory: run.directory, cacheDirectory, resumeFrom: null }
  for await (const _ of runTraining(request, createControl()));
  return run
}

/** Trains on the demonstrations, then in the environment. */
async function learn(seed: number): Promise<RunFolder> {
  const begun = await train({
    seed,
    steps: 120,
    evaluation: { every: 0 },
    algorithm: { id: 'sft' },
    data: { train: file('demonstrations.jsonl'), heldOut: null, prompt: { column: 'prompt' } },
    optimization: { ...shared.optimization, learningRate: 0.003 },
    rollout: { promptsPerStep: 48, maxNewTokens: 24 },
  })
  const initial = path.join(runPaths(begun.directory).checkpoints, 'step-000120')
  return train({
    seed,
    steps: 10,
    evaluation: { every: 2 },
    algorithm: { id: 'grpo', settings: { klCoefficient: 0 } },
    data: { train: file('train.jsonl'), heldOut: file('heldOut.jsonl') },
    environment: { function: file('tools.ts') },
    adapter: { ...shared.adapter, initial },
    rollout: { promptsPerStep: 16, groupSize: 8, maxNewTokens: 24 },
  })
}

test.runIf(isLong)(longTitle('a run on functions learns to call them'), async () => {
  writeCallingModel(folder)
  const run = await learn(1)
  const of = (type: string, name: string) =>
    historyOf(run, type).map(({ metrics }) => (metrics as Readonly<Record<string, number>>)[name]!)
  const [calls, rewards] = [of('step', 'logged/tool calls'), of('evaluation', 'eval_reward')]
  expect(calls[0]).toBeLessThan(0.7)
  expect(calls.at(-1)).toBeGreaterThan(0.9)
  // A tenth of the codes can be guessed.
  expect(rewards[0]).toBeLessThan(0.6)
  expect(rewards.at(-1)).toBeGreaterThan(0.8)
})
