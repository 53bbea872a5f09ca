import { LEAST_F32, clipScale, f32, gradientNorms, type Optimizer, type OptimizerTask } from './optimizer.ts'

export interface AdamWSettings {
  /** Decay of the first moment, β₁. */
  readonly beta1: number
  /** Decay of the second moment, β₂. */
  readonly beta2: number
  /** ε, added to the root of the second moment. */
  readonly epsilon: number
  /** Decoupled: λ shrinks the parameter by lr·λ per update and never enters the moments. */
  readonly weightDecay: number
}

/** Scalars that all parameters of a group share in one update; calculated in f64, then rounded to f32. */
export interface AdamWFactors {
  /** Factor that clips the gradient to its maximum norm. */
  readonly scale: number
  readonly beta1: number
  /** 1 − β₁ */
  readonly rest1: number
  readonly beta2: number
  /** 1 − β₂ */
  readonly rest2: number
  /** lr / (1 − β₁ᵗ) */
  readonly stepSize: number
  /** √(1 − β₂ᵗ) */
  readonly secondRoot: number
  readonly epsilon: number
  /** lr · λ */
  readonly decay: number
}

/**
 * One AdamW update after clipping each group's gradient; returns each group's norm before clipping.
 * Loshchilov & Hutter 2019, arXiv:1711.05101, algorithm 2, with PyTorch's defaults. Decay and step are added before they
 * are subtracted, so that a parameter is rounded once and a decay far below its last digit is not lost.
 * @throws Error on a gradient that is not finite, before anything is changed: whoever trains looks at the norms first.
 */
async function adamwStep(
  { groups, step, maxGradNorm }: OptimizerTask<AdamWFactors>,
  settings: AdamWSettings,
): Promise<number[]> {
  const norms = await gradientNorms(groups)
  if (!norms.every(Number.isFinite)) throw new Error('Expected finite gradients; nothing was updated.')
  for (const [index, { numbers, learningRate, weightDecay = settings.weightDecay }] of groups.entries()) {
    const scale = clipScale(norms[index]!, maxGradNorm)
    const factors = factorsOf({ ...settings, weightDecay }, learningRate, step, scale)
    for (const part of numbers) await part.move(factors)
  }
  return norms
}

export const adamw = {
  id: 'adamw',
  title: 'AdamW',
  settings: { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01 },
  buffers: ['firstMoments', 'secondMoments'],
  step: adamwStep,
} as const satisfies Optimizer<AdamWSettings, AdamWFactors>

function factorsOf(
  { beta1, beta2, epsilon, weightDecay }: AdamWSettings,
  learningRate: number,
  step: number,
  scale: number,
): AdamWFactors {
  return {
    scale: f32(scale),
    beta1: f32(beta1),
    rest1: f32(1 - beta1),
    beta2: f32(beta2),
    rest2: f32(1 - beta2),
    stepSize: f32(learningRate / (1 - beta1 ** step)),
    secondRoot: f32(Math.sqrt(1 - beta2 ** step)),
    epsilon: f32(Math.max(epsilon, LEAST_F32)), // nothing is divided by zero
    decay: f32(learningRate * weightDecay),
  }
}

/** Parameters in an array, with the arrays of their gradients and moments, all as long. */
export interface TrainedArrays {
  readonly values: Float32Array
  readonly gradients: Float32Array
  readonly first: Float32Array
  readonly second: Float32Array
}
