/** Estimates of KL(policy ‖ reference) from a sampled token: Schulman 2020, "Approximating KL Divergence". */
import { choiceSetting, optionalNumberSetting } from '#shared/settings.ts'

export const klEstimators = ['k3', 'k1', 'k2', 'k3-reversed'] as const
export type KlEstimator = (typeof klEstimators)[number]

export const klEstimatorSetting = choiceSetting(
  klEstimators,
  'k3',
  'Estimate of the divergence of the policy from the reference. k3-reversed is that of the reference from the policy, whose slope grows without bound where the policy becomes surer than the reference.',
)

export const klClampSetting = optionalNumberSetting({
  default: 10,
  minimum: Number.MIN_VALUE,
  description:
    'A token whose estimate is above this, where its slope grows without bound (k3: the policy is far below the reference), leaves the KL term; null is off.',
})

export interface KlSettings {
  readonly klEstimator: KlEstimator
  readonly klClamp: number | null
}

/** An estimate for one token, in nats, and its slope ∂value/∂logprob. */
export interface KlTerm {
  readonly value: number
  readonly slope: number
  /** Beyond the clamp: such a token leaves the loss. */
  readonly isClamped: boolean
}

interface Estimate {
  readonly value: number
  readonly slope: number
  /** The slope grows without bound on this side. */
  readonly isSteep: boolean
}

/** With d = reference logprob − logprob. */
const estimates: Readonly<Record<KlEstimator, (d: number) => Estimate>> = {
  k1: (d) => ({ value: -d, slope: 1, isSteep: false }),
  k2: (d) => ({ value: d ** 2 / 2, slope: -d, isSteep: true }),
  // e^d − d − 1 (Shao et al. 2024, arXiv:2402.03300, eq. 4).
  k3: (d) => ({ value: Math.expm1(d) - d, slope: -Math.expm1(d), isSteep: d > 0 }),
  // The same with the sign of d turned.
  'k3-reversed': (d) => ({ value: Math.expm1(-d) + d, slope: Math.expm1(-d), isSteep: d < 0 }),
}

export function klTerm(
  logprob: number,
  referenceLogprob: number,
  { klEstimator, klClamp }: KlSettings,
): KlTerm {
  const { value, slope, isSteep } = estimates[klEstimator](referenceLogprob - logprob)
  return { value, slope, isClamped: klClamp !== null && isSteep && value > klClamp }
}
