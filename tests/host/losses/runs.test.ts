/** Runs with algorithms as people write them end with the adapters of the built-in ones, on the real engine. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { type Checkpoint, loadCheckpoint } from '#host/models/checkpoints.ts'
import { runPaths } from '#host/workFolder/runFolder.ts'
import { createControl, runTraining } from '#host/training/entry.ts'
import { casesOf, eachOf, isWhole, wholeTitle } from '../../sweeps.ts'
import { createHome, historyOf } from '../runs/runFixture.ts'

const resources = path.join(import.meta.dirname, '../../../resources')
const demo = (file: string) =>
  JSON.parse(readFileSync(path.join(resources, 'demo', file), 'utf8')) as Record<string, object>

const steps = casesOf(1, 2)

/** Small steps of two updates, the second of which has ratios other than 1. */
function configOf(id: string, algorithm: string, workflow: string | null = null) {
  const isPairs = id === 'dpo'
  const { data, ...rest } = demo(isPairs ? 'dpo.json' : 'run.json')
  const file = isPairs ? 'preferences.jsonl' : 'train.jsonl'
  return parseRunConfig({
    ...rest,
    model: path.join(resources, 'starter'),
    data: { ...data, train: path.join(resources, 'demo', file), heldOut: path.join(resources, 'demo', file) },
    algorithm: { id: algorithm, settings: {} },
    rollout: {
      promptsPerStep: 4,
      maxNewTokens: 8,
      ...(isPairs ? {} : { groupSize: 4 }),
      ...(workflow === null ? {} : { workflow: { function: workflow } }),
    },
    optimization: { learningRate: 0.002, weightDecay: 0, epochs: 2 },
    device: { threads: 1 },
    steps,
    evaluation: { every: 0, rows: 1 },
    checkpoints: { every: steps },
    seed: 3,
  })
}

const home = createHome()
afterAll(() => home[Symbol.dispose]())

async function trained(id: string, algorithm: string, workflow: string | null = null) {
  const run = home.createRun(configOf(id, algorithm, workflow))
  const cacheDirectory = path.join(home.directory, 'cache')
  const request = { runDirectory: run.directory, cacheDirectory, resumeFrom: null }
  for await (const _ of runTraining(request, createControl()));
  const checkpoint = loadCheckpoint(path.join(runPaths(run.directory).checkpoints, `step-00000${steps}`))
  return { checkpoint, steps: historyOf(run, 'step') }
}

const builtIns = new Map<string, ReturnType<typeof trained>>()

/** Once for each algorithm. */
function trainedBuiltIn(id: string) {
  const known = builtIns.get(id) ?? trained(id, id)
  builtIns.set(id, known)
  return known
}

const adapters = ({ actor, critic }: Checkpoint) => [...actor, ...(critic?.adapter ?? [])]

const written = ['grpo', 'gspo', 'cispo', 'ppo', 'reinforce', 'reinforce-plus-plus', 'rloo', 'remax', 'dpo']
/** In every run one with a critic, and one of pairs; every loss is traced in gallery.test.ts. */
const isAlways = (id: string) => ['ppo', 'dpo'].includes(id)

eachOf(
  test,
  { rows: written, isAlways },
  'a run with %s as written ends with the adapter of the built-in one',
  async (id) => {
    const builtIn = await trainedBuiltIn(id)
    const written = await trained(id, path.join(resources, 'losses', `${id}.ts`))
    const [expected, tensors] = [adapters(builtIn.checkpoint), adapters(written.checkpoint)]
    expect(tensors.map(({ name }) => name)).toEqual(expected.map(({ name }) => name))
    let [largest, furthest] = [0, 0]
    tensors.forEach(({ data }, k) =>
      data.forEach((x, i) => {
        largest = Math.max(largest, Math.abs(x))
        furthest = Math.max(furthest, Math.abs(x - expected[k]!.data[i]!))
      }),
    )
    expect(largest).toBeGreaterThan(1e-3)
    expect(furthest).toBeLessThanOrEqual(1e-6)
    expect(written.steps).toHaveLength(steps)
  },
)

const both =
  'ReMax of a workflow and a loss from the gallery meets the same trajectories and ends with the same adapter'
test.runIf(isWhole)(wholeTitle(both), async () => {
  const builtIn = await trainedBuiltIn('remax')
  const [loss, workflow] = [
    path.join(resources, 'losses', 'remax.ts'),
    path.join(resources, 'workflows', 'greedy-baseline.ts'),
  ]
  const written = await trained('remax', loss, workflow)
  expect(written.checkpoint.actor).toEqual(builtIn.checkpoint.actor)
  const rewards = ({ steps }: typeof written) =>
    steps.map(({ metrics }) => (metrics as Readonly<Record<string, number>>)['reward'])
  expect(rewards(written)).toEqual(rewards(builtIn))
  expect(rewards(written)[0]).toBeGreaterThan(0)
})
