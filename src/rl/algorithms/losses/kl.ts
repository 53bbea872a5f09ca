/** A value and its slope ∂value/∂logprob. */
export interface KlTerm {
  readonly value: number
  readonly slope: number
}

/**
 * The k3 term e^d − d − 1 with d = logprob − reference logprob, in nats (form of Schulman 2020, "Approximating KL
 * divergence"). The sign of d is AgileRL's; TRL and the GRPO paper use the opposite one, whose mean under the policy's
 * own samples is KL(policy‖reference). Near d = 0 both are d²/2.
 */
export function klK3(logprob: number, referenceLogprob: number): KlTerm {
  const difference = logprob - referenceLogprob
  const growth = Math.expm1(difference)
  return { value: growth - difference, slope: growth }
}

/** The k2 term d²/2 with d = logprob − reference logprob, in nats (Schulman 2020); the gradient of its mean is that of the divergence. */
export function klK2(logprob: number, referenceLogprob: number): KlTerm {
  const difference = logprob - referenceLogprob
  return { value: difference ** 2 / 2, slope: difference }
}
