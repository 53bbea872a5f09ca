/** Divergence of the policy's distribution of the next token from a teacher's, over the teacher's likeliest tokens. */
import { arithmetic, constant, type Operand, type Value, variable } from './differentiable.ts'
import type { Tokens } from './loss.ts'

const { add, exp, log, maximum, multiply, subtract } = arithmetic

/** Least probability of all other tokens together: below it, what is left of 1 is rounding. */
const LEAST_REST = 1e-8
/** Least probability whose logarithm is taken; it is multiplied by one at least as small. */
const LEAST_MIXED = 1e-300

/** The teacher's k-th likeliest token in the place of each token, [n] each. */
export interface Alternative {
  /** Log-probability under the current policy. */
  readonly logp: Value
  readonly teacherLogp: Float64Array
}

/** The alternatives of a trajectory's tokens, the likeliest first. */
export function alternativesOf({ trajectory, positions }: Tokens): Alternative[] {
  const { likeliest, likeliestLogprobs, actionMask } = trajectory
  if (likeliest === undefined || likeliestLogprobs === undefined)
    throw new Error('Expected the teacher’s likeliest tokens of every row.')
  const each = likeliest.ids.length / actionMask.length
  const ranked = (values: Float64Array, rank: number) =>
    Float64Array.from(positions, (t) => values[t * each + rank]!)
  return Array.from({ length: each }, (_, rank) => ({
    logp: variable(ranked(likeliestLogprobs, rank)),
    teacherLogp: ranked(likeliest.logprobs, rank),
  }))
}

export interface TokenDivergence {
  /** [n] nats. */
  readonly divergence: Value
  /** [n] probability that the teacher gives to the tokens that were compared. */
  readonly covered: Float64Array
}

/**
 * Generalised Jensen–Shannon divergence β·KL(teacher ‖ m) + (1 − β)·KL(policy ‖ m), m = β·teacher + (1 − β)·policy, of
 * each token: Agarwal et al. 2023, arXiv:2306.13649, eq. 1. As in TRL, β = 0 is KL(teacher ‖ policy), and β = 1 KL(policy ‖ teacher).
 * Tokens that are not among the alternatives count as one, so with fewer than the whole vocabulary it is a lower bound.
 */
export function teacherDivergence(alternatives: readonly Alternative[], beta: number): TokenDivergence {
  const count = alternatives[0]?.teacherLogp.length ?? 0
  const covered = new Float64Array(count)
  let own: Value = constant(new Float64Array(count))
  let total: Value = own
  for (const { logp, teacherLogp } of alternatives) {
    const p = teacherLogp.map(Math.exp)
    const q = exp(logp)
    p.forEach((share, i) => (covered[i]! += share))
    own = add(own, q)
    total = add(total, term({ p, logp: teacherLogp }, { p: q, logp }, beta))
  }
  const p = covered.map((sum) => Math.max(1 - sum, LEAST_REST))
  const q = maximum(subtract(1, own), LEAST_REST)
  const rest = term({ p, logp: p.map(Math.log) }, { p: q, logp: log(q) }, beta)
  return { divergence: add(total, rest), covered }
}

interface Probability {
  readonly p: Operand
  readonly logp: Operand
}

/** The contribution of one token. */
function term(teacher: Probability, policy: Probability, beta: number): Value {
  const part = ({ p, logp }: Probability, other: Operand) => multiply(p, subtract(logp, other))
  if (beta === 0) return part(teacher, policy.logp)
  if (beta === 1) return part(policy, teacher.logp)
  const mixed = log(maximum(add(multiply(teacher.p, beta), multiply(policy.p, 1 - beta)), LEAST_MIXED))
  return add(multiply(part(teacher, mixed), beta), multiply(part(policy, mixed), 1 - beta))
}
