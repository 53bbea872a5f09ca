/**
 * Terms of policy losses: importance ratio, clip, divergence from the reference policy, entropy, normaliser. None of
 * them depends on which algorithm uses it.
 */
import type { SettingsOf } from '#shared/config/settings.ts'
import type { LearningRow } from '../types.ts'
import { arithmetic, constant, maskOf, mean, pool, spread, sum, type Value, where } from './differentiable.ts'
import type {
  KlEstimator,
  KlEstimatorSettings,
  klSettings,
  RatioLevel,
  weightingSettings,
} from './groupSettings.ts'
import { type Tokens, unitsAt } from './loss.ts'
import { quantile } from './groups.ts'
import { klTallies } from './metrics.ts'
import type { Tallies } from './tally.ts'
import { actionTotal } from './turns.ts'

const { add, exp, expm1, multiply, negative, square, subtract } = arithmetic

/**
 * [n] ρ = π / π_old; for several tokens the exponential of their mean log-ratio (GSPO: Zheng et al. 2025,
 * arXiv:2507.18071, eq. 7).
 */
export function importanceRatio(tokens: Tokens, level: RatioLevel): Value {
  const logRatio = subtract(tokens.logp, tokens.oldLogp)
  if (level === 'token') return exp(logRatio)
  const units = unitsAt(tokens, level)
  return spread(exp(pool(logRatio, units, 'mean')), units)
}

// ---- divergence from the reference policy ----

/**
 * Estimators by d = reference log-probability − log-probability, and where their derivative grows without bound:
 * Schulman 2020, "Approximating KL Divergence".
 */
const estimates: Readonly<
  Record<KlEstimator, { readonly of: (d: Value) => Value; readonly isSteep: (d: number) => boolean }>
> = {
  k1: { of: (d) => negative(d), isSteep: () => false },
  k2: { of: (d) => multiply(square(d), 0.5), isSteep: () => true },
  // e^d − d − 1 (Shao et al. 2024, arXiv:2402.03300, eq. 4).
  k3: { of: (d) => subtract(expm1(d), d), isSteep: (d) => d > 0 },
  // The same with the sign of d reversed.
  'k3-reversed': { of: (d) => add(expm1(negative(d)), d), isSteep: (d) => d < 0 },
}

/** [n] estimates of KL(π ‖ π_ref) in nats, and which of them are beyond the clamp. */
export function klDivergence(
  { logp, refLogp }: { readonly logp: Value; readonly refLogp: Float64Array },
  { klEstimator, klClamp }: KlEstimatorSettings,
): { readonly kl: Value; readonly clamped: Uint8Array } {
  const { of, isSteep } = estimates[klEstimator]
  const d = subtract(refLogp, logp)
  const kl = of(d)
  const isClamped = (i: number) => klClamp !== null && kl.data[i]! > klClamp && isSteep(d.data[i]!)
  return { kl, clamped: maskOf(kl.data.length, isClamped) }
}

/** Contributions of the divergence to the loss of each token ([n]) and to its advantage ([n]). */
interface KlTerm {
  readonly penalty: Value | number
  readonly shaping: Value | number
  readonly metrics: Tallies
}

/**
 * β·KL in the loss, or β·(mean KL of the trajectory − KL) in the advantage, where a token beyond the clamp counts with
 * the bound.
 */
export function klTerm(tokens: Tokens, ratio: Value, settings: SettingsOf<typeof klSettings>): KlTerm {
  const { klCoefficient: β, klClamp, klAdvantageShaping } = settings
  const { logp, refLogp } = tokens
  if (refLogp === null) return { penalty: 0, shaping: 0, metrics: {} }
  const { kl, clamped } = klDivergence({ logp, refLogp }, settings)
  const weight = settings.klImportanceWeighting ? ratio : 1
  const shaped = where(clamped, klClamp ?? 0, kl)
  return {
    penalty: klAdvantageShaping ? 0 : multiply(multiply(weight, where(clamped, 0, kl)), β),
    shaping: klAdvantageShaping ? multiply(subtract(mean(shaped), shaped), β) : 0,
    metrics: klTallies(multiply(constant(weight), constant(kl)), clamped, klClamp),
  }
}

// ---- normaliser, and which tokens learn ----

/**
 * The sum over tokens divided by: a trajectory's tokens, then the trajectories (`trajectory-mean`); the tokens of the minibatch
 * (`token-mean`, DAPO: Yu et al. 2025, arXiv:2503.14476, eq. 8); trajectories × the most tokens one could have
 * (`constant-length`, Dr. GRPO: Liu et al. 2025, arXiv:2503.20783, §3.2). x: [n]; returns [1].
 */
export function normalizer(
  minibatch: readonly LearningRow[],
  lossNorm: SettingsOf<typeof weightingSettings>['lossNorm'],
): (tokens: Tokens, x: Value) => Value {
  const total = Math.max(actionTotal(minibatch), 1)
  const divisor = ({ positions, trajectory }: Tokens): number => {
    if (lossNorm === 'token-mean') return total
    const length = lossNorm === 'trajectory-mean' ? positions.length : trajectory.tokenLimit
    if (length === null) throw new Error('Expected every row to say how many tokens it could have had.')
    return minibatch.length * Math.max(length, 1)
  }
  return (tokens, x) => multiply(sum(x), 1 / divisor(tokens))
}

/**
 * The entropy threshold, in nats, above which a token is in the top `share` of all action tokens of the minibatch; −∞
 * if all are. It uses the behaviour policy's entropy, so it does not depend on how the minibatch is split. Wang et al.
 * 2025, arXiv:2506.01939, §5.
 */
export function entropyThreshold(minibatch: readonly LearningRow[], share: number): number {
  if (share >= 1) return -Infinity
  const entropies = minibatch.flatMap(actionEntropies)
  return entropies.length === 0 ? -Infinity : quantile(entropies, 1 - share)
}

function actionEntropies({ actionMask, behaviorEntropies }: LearningRow): number[] {
  if (!behaviorEntropies) throw new Error('Expected the behaviour policy’s entropies of every row.')
  return [...behaviorEntropies].filter((_, t) => actionMask[t] === 1)
}

const isAbove = (threshold: number, { oldEntropy }: Tokens, i: number): boolean =>
  threshold === -Infinity || oldEntropy![i]! >= threshold

/** −coefficient · mean entropy of the tokens above the threshold, [1]: an entropy bonus. */
export function entropyBonus(
  minibatch: readonly LearningRow[],
  coefficient: number,
  threshold = -Infinity,
): (tokens: Tokens) => Value | number {
  if (coefficient === 0) return () => 0
  const count =
    threshold === -Infinity
      ? actionTotal(minibatch)
      : minibatch.flatMap(actionEntropies).filter((entropy) => entropy >= threshold).length
  const weight = -coefficient / Math.max(count, 1)
  return (tokens) => {
    const above = maskOf(tokens.positions.length, (i) => isAbove(threshold, tokens, i))
    return multiply(sum(where(above, tokens.entropy, 0)), weight)
  }
}

/**
 * x where a token learns from rewards, weighted against the gap between sampler and learner; 0 elsewhere: below the
 * entropy threshold, and with a negative advantage in a trajectory that the policy has become too unlikely to write
 * (DeepSeek-AI 2025, arXiv:2512.02556, §3.1; TRL's off_policy_mask_threshold). x: [n]
 */
export function whereLearning(
  tokens: Tokens,
  x: Value,
  { threshold, offPolicyThreshold }: { threshold: number; offPolicyThreshold: number | null },
): Value {
  const drift = () => mean(subtract(tokens.samplerLogp, tokens.logp)).data[0]!
  const isFar = offPolicyThreshold !== null && drift() > offPolicyThreshold
  const learns = (i: number) => isAbove(threshold, tokens, i) && !(isFar && tokens.advantages[i]! < 0)
  const weighted = tokens.correction === null ? x : multiply(x, tokens.correction)
  return where(maskOf(x.data.length, learns), weighted, 0)
}
