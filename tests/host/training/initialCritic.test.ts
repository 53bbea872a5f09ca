/** A run with a critic that starts from the checkpoint of another. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseRunConfig, type RunConfig } from '#shared/runConfig.ts'
import { loadCheckpoint } from '#host/models/checkpoints.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { f32ToWrite, writeSafetensors } from '#host/files/safetensors.ts'
import { runPaths } from '#host/workFolder/runFolder.ts'
import { createControl, runTraining } from '#host/training/entry.ts'
import { openTraining } from '#host/training/openTraining.ts'
import { readStages, type StageBeginning } from '#host/training/stages.ts'
import { algorithmById } from '#rl/algorithms/registry.ts'
import { createHome, starterConfig } from '../runs/runFixture.ts'

const home = createHome()
afterAll(() => home[Symbol.dispose]())

const cacheDirectory = path.join(home.directory, 'cache')
const ppo = {
  ...starterConfig,
  algorithm: { id: 'ppo' },
  steps: 2,
  evaluation: { every: 0 },
  checkpoints: { every: 2 },
}
const model = openModelFolder(starterConfig.model)
let checkpoint: string

beforeAll(async () => {
  const run = home.createRun(parseRunConfig(ppo))
  const request = { runDirectory: run.directory, cacheDirectory, resumeFrom: null }
  for await (const _ of runTraining(request, createControl()));
  checkpoint = path.join(runPaths(run.directory).checkpoints, 'step-000002')
})

const rows = [
  { ids: Int32Array.of(5, 9, 14, 3, 7, 11), actionMask: Uint8Array.of(0, 0, 1, 1, 1) },
  { ids: Int32Array.of(8, 2, 6), actionMask: Uint8Array.of(0, 1) },
]

/** Values of some tokens, before anything is learned. */
async function valuesOf(config: RunConfig, begin: StageBeginning = null): Promise<number[]> {
  const [stage] = await readStages(config, model, {
    rewards: [],
    environment: null,
    workflows: [],
    algorithmById,
  })
  const device = { kind: 'cpu', threads: 1, deviceId: 0 } as const
  await using training = await openTraining({
    name: 'run',
    stage: stage!,
    model,
    device,
    cacheDirectory,
    begin,
  })
  const heads = await training.dependencies.model.policy.score(rows, { role: 'critic', temperature: 1 })
  return heads.flatMap(({ values }) => [...values!])
}

const started = (initial: string, adapter: object = {}) =>
  parseRunConfig({ ...ppo, adapter: { initial, ...adapter } })

function ofCheckpoint(): Promise<number[]> {
  const saved = loadCheckpoint(checkpoint)
  const start = { checkpoint: saved, isFork: false }
  return valuesOf(parseRunConfig(ppo), { state: saved.trainer, start, adapter: null })
}

test('its values before the first step are those of the checkpoint, unless a fresh critic is wanted', async () => {
  const expected = await ofCheckpoint()
  expect(expected.some((value) => value !== 0)).toBe(true)
  expect(await valuesOf(started(checkpoint))).toEqual(expected)
  const fresh = await valuesOf(started(checkpoint, { initialCritic: false }))
  expect(fresh).not.toEqual(expected)
  // The actor alone has none, so that its critic is fresh too.
  expect(await valuesOf(started(path.join(checkpoint, 'actor')))).toEqual(fresh)
})

test('an adapter that grows takes the critic along, and its values stay', async () => {
  const expected = await ofCheckpoint()
  const grown = await valuesOf(started(checkpoint, { rank: 6, alpha: 12, mergeConfigs: true }))
  expect(grown).toHaveLength(expected.length)
  grown.forEach((value, i) => expect(value).toBeCloseTo(expected[i]!, 5))
})

test('a run without a critic does not look at it; one of another shape is refused in a sentence', async () => {
  const other = path.join(home.directory, 'other')
  cpSync(checkpoint, other, { recursive: true })
  const file = path.join(other, 'critic', 'adapter_config.json')
  const peft = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
  writeFileSync(file, JSON.stringify({ ...peft, lora_alpha: 16 }))
  await expect(valuesOf(started(other))).rejects.toThrow(
    /adapter\.initialCritic: the critic of `?adapter\.initial`? does not fit: it has rank 2 .* alpha 16.*alpha 4/,
  )
  const withoutCritic = parseRunConfig({ ...starterConfig, adapter: { initial: other } })
  await expect(valuesOf(withoutCritic)).rejects.toThrow('made without a critic')
  expect(await valuesOf(started(other, { initialCritic: false }))).toHaveLength(7)

  const narrow = path.join(home.directory, 'narrow')
  cpSync(checkpoint, narrow, { recursive: true })
  const tensors = [
    { name: 'v_head.summary.weight', shape: [1, 3], data: Float32Array.of(1, 2, 3) },
    { name: 'v_head.summary.bias', shape: [1], data: Float32Array.of(0) },
  ]
  await writeSafetensors(path.join(narrow, 'critic', 'value_head.safetensors'), tensors.map(f32ToWrite))
  await expect(valuesOf(started(narrow))).rejects.toThrow(
    `its value head reads 3 numbers; the model's hidden size is ${model.config.hiddenSize}.`,
  )
})
