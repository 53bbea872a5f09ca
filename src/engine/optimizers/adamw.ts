import {
  clipScale,
  gradientNorms,
  stateBuffer,
  type Optimizer,
  type OptimizerTask,
  type ParameterRange,
} from './optimizer.ts'

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

/**
 * One AdamW update after clipping each group's gradient; returns each group's norm before clipping.
 * Bias correction in f64. Loshchilov & Hutter 2019, arXiv:1711.05101, algorithm 2, with PyTorch's defaults and its
 * order (decay first).
 * @throws Error on a gradient that is not finite, before anything is changed: whoever trains looks at the norms first.
 */
export function adamwStep(task: OptimizerTask, settings: AdamWSettings): number[] {
  const { parameters, gradients, state, groups, maxGradNorm } = task
  if (gradients.length !== parameters.length) {
    throw new Error(`Expected ${parameters.length} gradients, got ${gradients.length}.`)
  }
  const first = stateBuffer(state, 'firstMoments', parameters.length)
  const second = stateBuffer(state, 'secondMoments', parameters.length)
  const norms = gradientNorms(gradients, groups)
  if (!norms.every(Number.isFinite)) throw new Error('Expected finite gradients; nothing was updated.')

  state.step += 1
  const arrays = { parameters, gradients, first, second }
  groups.forEach(({ ranges, learningRate, weightDecay = settings.weightDecay }, index) => {
    const scale = clipScale(norms[index]!, maxGradNorm)
    const group = factors({ ...settings, weightDecay }, learningRate, state.step, scale)
    for (const range of ranges) updateRange(arrays, range, group)
  })
  return norms
}

export const adamw: Optimizer<AdamWSettings> = {
  id: 'adamw',
  title: 'AdamW',
  settings: { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01 },
  buffers: ['firstMoments', 'secondMoments'],
  step: adamwStep,
}

interface Arrays {
  readonly parameters: Float32Array
  readonly gradients: Float32Array
  readonly first: Float32Array
  readonly second: Float32Array
}

/** What is the same for every parameter of a group in one update. */
function factors(
  { beta1, beta2, epsilon, weightDecay }: AdamWSettings,
  learningRate: number,
  step: number,
  scale: number,
) {
  return {
    beta1,
    beta2,
    epsilon,
    scale,
    keep: 1 - learningRate * weightDecay,
    stepSize: learningRate / (1 - beta1 ** step),
    secondRoot: Math.sqrt(1 - beta2 ** step),
  }
}

function updateRange(arrays: Arrays, range: ParameterRange, group: ReturnType<typeof factors>): void {
  const { parameters, gradients, first, second } = arrays
  const { beta1, beta2, epsilon, scale, keep, stepSize, secondRoot } = group
  for (let i = range.start; i < range.end; i++) {
    const gradient = gradients[i]! * scale
    const m = beta1 * first[i]! + (1 - beta1) * gradient
    const v = beta2 * second[i]! + (1 - beta2) * gradient * gradient
    first[i] = m
    second[i] = v
    // lr·m̂ / (√v̂ + ε) with m̂ = m/(1−β₁ᵗ), v̂ = v/(1−β₂ᵗ)
    parameters[i] = parameters[i]! * keep - (stepSize * m) / (Math.sqrt(v) / secondRoot + epsilon)
  }
}
