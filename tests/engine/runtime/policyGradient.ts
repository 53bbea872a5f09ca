/** Compares the gradient of a whole policy with differences of its own scores. */
import { SequentialRandom, randomStream } from '#shared/random.ts'
import type { NamedTensor } from '#engine/models/source.ts'
import { valueHeadNames } from '#engine/models/learningGraphs.ts'
import type { Heads, LossCoefficients, TokenSequence } from '#engine/policy.ts'
import { directionalDerivative, dot } from '#engine/runtime/gradientCheck.ts'
import type { OrtPolicy } from '#engine/runtime/ortPolicy.ts'

export interface PolicyGradientCheck {
  readonly sequences: readonly TokenSequence[]
  readonly coefficients: readonly LossCoefficients[]
  readonly temperature: number
  readonly seed: number
  /** Whose parameters and heads; the actor's if absent. */
  readonly role?: 'actor' | 'critic'
  /** Which of the parameters move; all if absent. */
  readonly moves?: (name: string) => boolean
  /** Length of a move, shorter for a model that is bent more; 5e-3 if absent. */
  readonly step?: number
}

/** Room for what rounding leaves in a loss summed over a few dozen tokens. */
export const policyGradientLimit = 1e-4

/**
 * How far the gradient g of Σ coefficient · head is from differences of the policy's own scores, |∂loss/∂v − gᵀv| / ‖g‖,
 * along v = g/‖g‖ plus a random direction of the same length. The parameters are put back afterwards; gradients
 * accumulated before are discarded.
 */
export async function policyGradientError(policy: OrtPolicy, check: PolicyGradientCheck): Promise<number> {
  const { sequences, coefficients, temperature, seed, role = 'actor', moves = () => true } = check
  const { step: length = POLICY_STEP } = check
  policy.discardGradients()
  await policy.accumulate(sequences, { temperature, entropyGradient: true }, () => coefficients)
  const accumulated = await policy.gradientTensors(role)
  const gradient = accumulated.map(({ name, data }) => (moves(name) ? data : new Float32Array(data.length)))
  policy.discardGradients()

  const random = new SequentialRandom(randomStream(seed))
  const start = await parametersOf(policy, role)
  const noise = start.map(({ name, data }) =>
    Float64Array.from(data, () => (moves(name) ? random.normal() : 0)),
  )
  const [gradientNorm, noiseNorm] = [normOf(gradient), normOf(noise)]
  const direction = gradient.map((data, tensor) =>
    Float64Array.from(data, (value, at) => value / gradientNorm + noise[tensor]![at]! / noiseNorm),
  )
  const lossAt = async (step: number) => {
    const moved = start.map((tensor, index) => ({
      ...tensor,
      data: tensor.data.map((value, at) => value + step * direction[index]![at]!),
    }))
    restore(policy, role, moved)
    const heads = await policy.score(sequences, { role, temperature })
    return [heads.reduce((loss, head, row) => loss + lossOf(head, coefficients[row]!), 0)]
  }
  const [numeric = NaN] = await directionalDerivative(lossAt, length)
  restore(policy, role, start)
  const byRule = gradient.reduce((sum, data, tensor) => sum + dot(data, direction[tensor]!), 0)
  return Math.abs(numeric - byRule) / gradientNorm
}

/** In the order of their gradients. */
async function parametersOf(policy: OrtPolicy, role: 'actor' | 'critic'): Promise<NamedTensor[]> {
  const adapter = await policy.adapterTensors(role)
  if (role === 'actor') return adapter
  const { weight, bias } = policy.valueHead()
  return [
    ...adapter,
    { name: valueHeadNames.weight, shape: [1, weight.length], data: weight },
    { name: valueHeadNames.bias, shape: [1], data: Float32Array.of(bias) },
  ]
}

function restore(policy: OrtPolicy, role: 'actor' | 'critic', tensors: readonly NamedTensor[]): void {
  policy.restoreAdapter(role, tensors)
  if (role === 'actor') return
  const [weight, bias] = tensors.slice(-2)
  policy.restoreValueHead({ weight: weight!.data, bias: bias!.data[0]! })
}

/** Along a direction of length √2 over all parameters. */
const POLICY_STEP = 5e-3

const normOf = (tensors: readonly ArrayLike<number>[]): number =>
  Math.sqrt(tensors.reduce((sum, data) => sum + dot(data, data), 0))

const lossOf = (
  { logprobs, entropies, values, alternatives }: Heads,
  coefficients: LossCoefficients,
): number =>
  dot(logprobs, coefficients.logprobs) +
  (coefficients.entropies ? dot(entropies, coefficients.entropies) : 0) +
  (coefficients.values && values ? dot(values, coefficients.values) : 0) +
  (coefficients.alternatives && alternatives ? dot(alternatives.logprobs, coefficients.alternatives) : 0)
