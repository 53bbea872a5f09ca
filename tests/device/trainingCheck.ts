/** The demo, shortened, on a device and on the CPU: the same run, as its folder keeps it. */
import { readdirSync } from 'node:fs'
import path from 'node:path'
import type { Device } from '#shared/device.ts'
import { openSafetensors, readTensor } from '#host/files/safetensors.ts'
import { rememberProof } from '#host/devices/deviceRecords.ts'
import { createControl, runTraining } from '#host/training/entry.ts'
import { createRunFolder } from '#host/workFolder/runFolder.ts'
import { casesOf } from '../sweeps.ts'
import { oneThread } from '../engine/runtime/tinyModel.ts'
import { starterConfig } from '../host/runs/runFixture.ts'

export interface ComparedStep {
  /** Of the CPU and of the device. */
  readonly rewards: readonly [number, number]
  /** Differences from the CPU, relative: of the gradient's norm, and of the gradient in length. */
  readonly norm: number
  readonly gradient: number
  /** Largest difference between sampler and learner on the device. */
  readonly gap: number
}

export interface TrainingAnswer {
  readonly steps: readonly ComparedStep[]
}

/** The second learns from what the first left; a short run compares one. */
const steps = casesOf(1, 2)

const BETA1 = 0.9

interface Step {
  readonly reward: number
  readonly grad_norm: number
  readonly 'sampling/sampling_logp_difference/max': number
}

interface Trained {
  readonly steps: readonly Step[]
  /** The whole gradient of every step, as it was taken. */
  readonly gradients: readonly Float64Array[]
}

export async function trainingCheck(folder: string, device: Device): Promise<TrainingAnswer> {
  const [expected, actual] = [await trained(folder, oneThread), await trained(folder, device)]
  const compared = actual.steps.map((step, index): ComparedStep => {
    const { reward, grad_norm: norm } = expected.steps[index]!
    return {
      rewards: [reward, step.reward],
      norm: Math.abs(step.grad_norm - norm) / norm,
      gradient: relativeDistance(actual.gradients[index]!, expected.gradients[index]!),
      gap: step['sampling/sampling_logp_difference/max'],
    }
  })
  return { steps: compared }
}

async function trained(folder: string, device: Device): Promise<Trained> {
  const cacheDirectory = path.join(folder, 'cache')
  // The self-test, which would come first, is what others check.
  rememberProof(device, cacheDirectory, { findings: [], seconds: 0 })
  const { directory } = createRunFolder(path.join(folder, device.kind), {
    ...starterConfig,
    adapter: { rank: 16, alpha: 32, targets: 'all-linear' },
    algorithm: { id: 'grpo', settings: { klCoefficient: 0 } },
    rollout: { promptsPerStep: 2, groupSize: 4, maxNewTokens: 8 },
    optimization: { learningRate: 0.002, weightDecay: 0, tokenBudget: 4096 },
    evaluation: { every: 0, rows: 1 },
    checkpoints: { every: 1, keepLast: 2 },
    steps,
    seed: 1,
    device,
  })
  const taken: Step[] = []
  const request = { runDirectory: directory, cacheDirectory, resumeFrom: null }
  for await (const event of runTraining(request, createControl()))
    if (event.type === 'step') taken.push(event.metrics as unknown as Step)
  return { steps: taken, gradients: gradientsOf(path.join(directory, 'checkpoints')) }
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
