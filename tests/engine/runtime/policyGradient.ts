/** Compares the gradient of a whole policy with differences of its own scores. */
import type { Heads, LossCoefficients, TokenSequence } from '#engine/policy.ts'
import { directionalDerivative } from '#engine/runtime/gradientCheck.ts'
import type { OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { SequentialRandom, randomStream } from '#shared/random.ts'

export interface PolicyGradientCheck {
  readonly sequences: readonly TokenSequence[]
  readonly coefficients: readonly LossCoefficients[]
  readonly temperature: number
  readonly seed: number
}

/** Room for what rounding leaves in a loss summed over a few dozen tokens. */
export const policyGradientLimit = 1e-4

/**
 * How far the gradient g of Σ coefficient · head is from differences of the policy's own scores, |∂loss/∂v − gᵀv| / ‖g‖,
 * along v = g/‖g‖ plus a random direction of the same length. The actor's parameters are put back afterwards; gradients
 * accumulated before are discarded.
 */
export async function policyGradientError(policy: OrtPolicy, check: PolicyGradientCheck): Promise<number> {
  const { sequences, coefficients, temperature, seed } = check
  policy.discardGradients()
  await policy.accumulate(sequences, { temperature, entropyGradient: true }, () => coefficients)
  const gradient = policy.gradientTensors().map(({ data }) => data)
  policy.discardGradients()

  const random = new SequentialRandom(randomStream(seed))
  const noise = gradient.map((data) => Float64Array.from(data, () => random.normal()))
  const [gradientNorm, noiseNorm] = [normOf(gradient), normOf(noise)]
  const direction = gradient.map((data, tensor) =>
    Float64Array.from(data, (value, at) => value / gradientNorm + noise[tensor]![at]! / noiseNorm),
  )
  const start = policy.adapterTensors('actor')
  const lossAt = async (step: number) => {
    const moved = start.map((tensor, index) => ({
      ...tensor,
      data: tensor.data.map((value, at) => value + step * direction[index]![at]!),
    }))
    policy.restoreAdapter('actor', moved)
    const heads = await policy.score(sequences, { role: 'actor', temperature })
    return [heads.reduce((loss, head, row) => loss + lossOf(head, coefficients[row]!), 0)]
  }
  const [numeric = NaN] = await directionalDerivative(lossAt, POLICY_STEP)
  policy.restoreAdapter('actor', start)
  const byRule = gradient.reduce((sum, data, tensor) => sum + dot(data, direction[tensor]!), 0)
  return Math.abs(numeric - byRule) / gradientNorm
}

/** Along a direction of length √2 over all parameters. */
const POLICY_STEP = 5e-3

const normOf = (tensors: readonly ArrayLike<number>[]): number =>
  Math.sqrt(tensors.reduce((sum, data) => sum + dot(data, data), 0))

const lossOf = ({ logprobs, entropies }: Heads, coefficients: LossCoefficients): number =>
  dot(logprobs, coefficients.logprobs) + (coefficients.entropies ? dot(entropies, coefficients.entropies) : 0)

function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0
  for (let index = 0; index < a.length; index++) sum += a[index]! * b[index]!
  return sum
}
