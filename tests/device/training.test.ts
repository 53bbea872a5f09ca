/** The demo, shortened, on a WebGPU device and on the CPU: the same run. */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import { dataFolders } from '#host/dataDirectory.ts'
import { rememberProof } from '#host/devices/deviceRecords.ts'
import { openSafetensors, readTensor } from '#host/files/safetensors.ts'
import { temporaryFolder } from '../host/files/temporaryFolder.ts'
import { missingSoftwareGpu, softwareGpu } from './softwareDriver.ts'

const root = path.join(import.meta.dirname, '../..')
const title = missingSoftwareGpu === null ? 'training' : `training (skipped: ${missingSoftwareGpu})`

const BETA1 = 0.9

interface Step {
  readonly reward: number
  readonly grad_norm: number
  readonly 'sampling/sampling_logp_difference/max': number
}

describe.skipIf(missingSoftwareGpu !== null)(title, () => {
  const folder = temporaryFolder()

  test('the demo learns on webgpu what it learns on the CPU, step by step', async () => {
    const expected = await trained(folder, 'cpu')
    const actual = await trained(folder, 'webgpu')
    expect(actual.steps).toHaveLength(2)
    expect(actual.gradients).toHaveLength(2)
    for (const [index, step] of actual.steps.entries()) {
      const { reward, grad_norm: norm } = expected.steps[index]!
      expect(step.reward).toBe(reward) // the completions are the same
      expect(Math.abs(step.grad_norm - norm) / norm).toBeLessThan(1e-3)
      expect(relativeDistance(actual.gradients[index]!, expected.gradients[index]!)).toBeLessThan(1e-3)
      expect(step['sampling/sampling_logp_difference/max']).toBeLessThan(1e-4)
    }
  })
})

interface Trained {
  readonly steps: readonly Step[]
  /** The whole gradient of every step, as it was taken. */
  readonly gradients: readonly Float64Array[]
}

async function trained(folder: string, kind: 'cpu' | 'webgpu'): Promise<Trained> {
  const demo = path.join(root, 'resources/demo')
  const config = JSON.parse(readFileSync(path.join(demo, 'run.json'), 'utf8')) as {
    rollout: object
    data: object
  }
  const file = path.join(folder, `${kind}.json`)
  const shortened = {
    ...config,
    model: path.join(root, 'resources/starter'),
    data: {
      ...config.data,
      train: path.join(demo, 'train.jsonl'),
      heldOut: path.join(demo, 'heldout.jsonl'),
    },
    rollout: { ...config.rollout, promptsPerStep: 2, groupSize: 4, maxNewTokens: 8 },
    evaluation: { every: 0, rows: 1 },
    checkpoints: { every: 1, keepLast: 2 },
    steps: 2,
    device: { kind, threads: 1 },
  }
  writeFileSync(file, JSON.stringify(shortened))
  const data = path.join(folder, kind)
  // The self-test, which would come first, is what webgpu.test.ts is about.
  vi.stubEnv('VK_ICD_FILENAMES', softwareGpu['VK_ICD_FILENAMES'])
  rememberProof({ kind, deviceId: 0 }, dataFolders(data).cache, { findings: [], seconds: 0 })
  vi.unstubAllEnvs()
  await promisify(execFile)(
    process.execPath,
    [path.join(root, 'bin/turnwise.mjs'), 'train', file, '--data-dir', data],
    { env: { ...process.env, ...softwareGpu } },
  )
  const [name] = readdirSync(path.join(data, 'runs'))
  const run = path.join(data, 'runs', name!)
  const lines = readFileSync(path.join(run, 'events.jsonl'), 'utf8').trim().split('\n')
  const steps = lines
    .map((line) => JSON.parse(line) as { type: string; metrics: Step })
    .flatMap((event) => (event.type === 'step' ? [event.metrics] : []))
  return { steps, gradients: gradientsOf(path.join(run, 'checkpoints')) }
}

/** From AdamW's first moments in the checkpoint of every step: m_t = β₁ m_{t−1} + (1 − β₁) g_t. */
function gradientsOf(checkpoints: string): Float64Array[] {
  const moments = readdirSync(checkpoints)
    .toSorted()
    .map((checkpoint) => {
      const { tensors } = openSafetensors(path.join(checkpoints, checkpoint, 'optimizer.safetensors'))
      return readTensor(tensors.get('firstMoments')!)
    })
  return moments.map((moment, step) =>
    Float64Array.from(moment, (m, index) => (m - BETA1 * (moments[step - 1]?.[index] ?? 0)) / (1 - BETA1)),
  )
}

function relativeDistance(actual: Float64Array, expected: Float64Array): number {
  const length = (x: Float64Array) => Math.sqrt(x.reduce((sum, value) => sum + value * value, 0))
  return length(actual.map((value, index) => value - expected[index]!)) / length(expected)
}
