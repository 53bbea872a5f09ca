/** The critic's head: one linear layer from the final hidden state to the value of a state. */
import { gradients } from '../graph/gradient.ts'
import type { Value } from '../graph/value.ts'
import { input } from '../graph/value.ts'
import { add } from '../ops/arithmetic.ts'
import { matmul } from '../ops/matmul.ts'
import type { ModelConfig } from './config.ts'
import { modelNorm } from './decoder.ts'
import type { Program } from './learningGraphs.ts'

/** value = weight · norm(hidden) + bias */
export interface ValueHead {
  /** [D] */
  readonly weight: Float32Array
  readonly bias: number
}

/** Names of its tensors in files: TRL's. */
export const valueHeadNames = { weight: 'v_head.summary.weight', bias: 'v_head.summary.bias' } as const

export interface ValueHeadPrograms {
  /** `value` [N, 1] from `hidden` [N, D], `value weight` [1, D] and `value bias` [1]. */
  readonly forward: Program
  /** Their gradients, given ∂loss/∂value of each token as `value coefficients` [N, 1]. */
  readonly backward: Program
}

/** The head over N tokens; `vector` has those of the model's final norm, which stays as it is. */
export function valueHeadPrograms(config: ModelConfig, vector: (name: string) => Value): ValueHeadPrograms {
  const hidden = input('hidden', 'float32', ['N', config.hiddenSize])
  const weight = input('value weight', 'float32', [1, config.hiddenSize])
  const bias = input('value bias', 'float32', [1])
  const cotangent = input('value coefficients', 'float32', ['N', 1])
  const normed = modelNorm(config, hidden, config.names.finalNorm, vector)
  const value = add(matmul(normed, weight, { transB: true }), bias)
  const derived = gradients([{ value, cotangent }], [hidden, weight, bias])
  const [byHidden, byWeight, byBias] = derived as [Value, Value, Value] // the value depends on all three
  return { forward: { value }, backward: { hidden: byHidden, weight: byWeight, bias: byBias } }
}
