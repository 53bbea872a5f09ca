/**
 * What losses on a policy are made of: importance ratio, clip, divergence from the reference policy, entropy, normaliser.
 * None of them knows which algorithm it serves.
 */
import {
  choiceSetting,
  flagSetting,
  numberOrPairSetting,
  numberSetting,
  optionalNumberSetting,
  type SettingsOf,
} from '#shared/settings.ts'
import type { LearningRow } from '../types.ts'
import {
  add,
  constant,
  exp,
  expm1,
  maskOf,
  mean,
  multiply,
  negative,
  pool,
  square,
  spread,
  subtract,
  sum,
  type Units,
  type Value,
  where,
} from './differentiable.ts'
import type { Tokens } from './loss.ts'
import { quantile } from './statistics.ts'
import { type Tallies, tally } from './tally.ts'

// ---- importance ratio ----

export type RatioLevel = 'token' | 'turn' | 'trajectory'

export const ratioLevelSetting = choiceSetting(
  ['token', 'turn', 'trajectory'],
  'token',
  'Which tokens share one importance ratio.',
)

/** The tokens of each token, turn or trajectory; without turn ids all are in turn 0. */
export function unitsAt({ positions, trajectory }: Tokens, level: RatioLevel): Units {
  const count = positions.length
  if (level === 'token') return { of: positions.map((_, i) => i), sizes: new Int32Array(count).fill(1) }
  const turnIds = level === 'turn' ? trajectory.turnIds : null
  const units = new Map<number, number>()
  const sizes: number[] = []
  const of = positions.map((t) => {
    const turn = turnIds?.[t] ?? 0
    const unit = units.get(turn) ?? units.size
    units.set(turn, unit)
    sizes[unit] = (sizes[unit] ?? 0) + 1
    return unit
  })
  return { of, sizes: Int32Array.from(sizes) }
}

/** [n] ρ = π / π_old, of several tokens the exponential of their mean log-ratio (GSPO: Zheng et al. 2025, arXiv:2507.18071, eq. 7). */
export function importanceRatio(tokens: Tokens, level: RatioLevel): Value {
  const logRatio = subtract(tokens.logp, tokens.oldLogp)
  if (level === 'token') return exp(logRatio)
  const units = unitsAt(tokens, level)
  return spread(exp(pool(logRatio, units, 'mean')), units)
}

// ---- clip ----

/** Allowed range of a ratio. */
export interface ClipBounds {
  readonly lower: number
  readonly upper: number
}

/** One number c means [1−c, 1+c], or the lower bound given besides; a pair is taken as the bounds themselves. */
export const clipBounds = (coefficient: number | readonly [number, number], lowest?: number): ClipBounds =>
  typeof coefficient === 'number'
    ? { lower: lowest ?? 1 - coefficient, upper: 1 + coefficient }
    : { lower: coefficient[0], upper: coefficient[1] }

export const clipSettings = {
  clipCoefficient: numberOrPairSetting({
    default: 0.2,
    description: 'How far the importance ratio may leave 1: c for [1−c, 1+c], or the two bounds themselves.',
  }),
  ratioLimit: optionalNumberSetting({
    default: null,
    minimum: 1,
    description:
      'Two-sided clip: bounds the ratio itself, so that a token with a negative advantage costs at most this many times it; null is off.',
  }),
} as const

/** Sentences on bounds that would clip everything, or on a limit that would move them. */
export function clipConflicts({
  clipCoefficient,
  ratioLimit = null,
}: {
  readonly clipCoefficient: number | readonly [number, number]
  readonly ratioLimit?: number | null
}): string[] {
  const { lower, upper } = clipBounds(clipCoefficient)
  const pair = JSON.stringify(clipCoefficient)
  const problems = []
  if (lower > 1 || upper < 1) {
    problems.push(
      `clipCoefficient: a pair means the bounds of the ratio, which begins at 1; ${pair} shuts it out. Write [0.8, 1.28] for 0.2 below and 0.28 above.`,
    )
  }
  if (ratioLimit !== null && ratioLimit <= upper) {
    problems.push(`ratioLimit: must be above the upper clip bound ${upper}, got ${ratioLimit}.`)
  }
  return problems
}

/**
 * Shares of tokens, turns or trajectories, whatever has a ratio of its own, below and above the bounds. With `advantages`
 * only tokens count that the clip silences: those whose advantage would push the ratio further out.
 */
export function clipFractions(
  ratio: Value,
  { lower, upper }: ClipBounds,
  { of, sizes }: Units,
  advantages?: Float64Array,
): Tallies {
  let [low, high] = [0, 0]
  of.forEach((unit, i) => {
    const [ρ, advantage] = [ratio.data[i]!, advantages?.[i]]
    if (ρ < lower && (advantage === undefined || advantage < 0)) low += 1 / sizes[unit]!
    if (ρ > upper && (advantage === undefined || advantage > 0)) high += 1 / sizes[unit]!
  })
  const count = sizes.length
  return {
    'clip_ratio/low_mean': { sum: low, count },
    'clip_ratio/high_mean': { sum: high, count },
    'clip_ratio/region_mean': { sum: low + high, count },
  }
}

// ---- divergence from the reference policy ----

export const klEstimators = ['k3', 'k1', 'k2', 'k3-reversed'] as const
export type KlEstimator = (typeof klEstimators)[number]

export const klEstimatorSettings = {
  klEstimator: choiceSetting(
    klEstimators,
    'k3',
    'Estimate of the divergence of the policy from the reference. k3-reversed is that of the reference from the policy, whose slope grows without bound where the policy becomes surer than the reference.',
  ),
  klClamp: optionalNumberSetting({
    default: 10,
    minimum: Number.MIN_VALUE,
    description:
      'A token whose estimate is above this, where its slope grows without bound (k3: the policy is far below the reference), leaves the KL term; null is off.',
  }),
} as const
type KlEstimatorSettings = SettingsOf<typeof klEstimatorSettings>

/** With d = reference log-probability − log-probability, and where their derivative grows without bound: Schulman 2020, "Approximating KL Divergence". */
const estimates: Readonly<
  Record<KlEstimator, { readonly of: (d: Value) => Value; readonly isSteep: (d: number) => boolean }>
> = {
  k1: { of: (d) => negative(d), isSteep: () => false },
  k2: { of: (d) => multiply(square(d), 0.5), isSteep: () => true },
  // e^d − d − 1 (Shao et al. 2024, arXiv:2402.03300, eq. 4).
  k3: { of: (d) => subtract(expm1(d), d), isSteep: (d) => d > 0 },
  // The same with the sign of d turned.
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

/** The mean estimate, clamped tokens included, and the share of those. */
export function klTallies(kl: Value, clamped: Uint8Array, klClamp: number | null): Tallies {
  const sum = () => clamped.reduce((total, isClamped) => total + isClamped, 0)
  const share = klClamp === null ? {} : { 'kl/clamped': { sum: sum(), count: clamped.length } }
  return { kl: tally(kl), ...share }
}

/** What the divergence adds to the loss of each token ([n]) and to its advantage ([n]). */
interface KlTerm {
  readonly penalty: Value | number
  readonly shaping: Value | number
  readonly metrics: Tallies
}

export const klSettings = {
  klCoefficient: numberSetting({
    default: 0.001,
    minimum: 0,
    description: 'Weight β of the divergence from the reference policy; 0 needs no reference pass.',
  }),
  klAdvantageShaping: flagSetting(
    false,
    'Lets the divergence move the advantages instead of adding it to the loss.',
  ),
  klEstimator: klEstimatorSettings.klEstimator,
  // DeepSeek-AI 2025, arXiv:2512.02556, §3.1; TRL's and AgileRL's use_bias_correction_kl.
  klImportanceWeighting: flagSetting(
    true,
    'Multiplies the KL term by the importance ratio, so that its gradient is unbiased also after the first update of a step.',
  ),
  klClamp: klEstimatorSettings.klClamp,
} as const

/** β·KL in the loss, or β·(mean KL of the trajectory − KL) in the advantage; a token beyond the clamp shapes at the bound. */
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

export const actionCount = ({ actionMask }: Pick<LearningRow, 'actionMask'>): number =>
  actionMask.reduce((count, isAction) => count + isAction, 0)

/** Number of action tokens of all rows. */
export const actionTotal = (rows: readonly Pick<LearningRow, 'actionMask'>[]): number =>
  rows.reduce((total, row) => total + actionCount(row), 0)

export const weightingSettings = {
  lossNorm: choiceSetting(
    ['trajectory-mean', 'token-mean', 'constant-length'],
    'trajectory-mean',
    'Whether every trajectory weighs the same (GRPO), every token of the minibatch (DAPO, BNPO), or every token of the run (Dr. GRPO).',
  ),
  topEntropyShare: numberSetting({
    default: 1,
    minimum: 0.01,
    maximum: 1,
    description: 'Only this share of tokens, those with the highest entropy, learns from rewards; 1 is all.',
  }),
  entropyCoefficient: numberSetting({
    default: 0,
    minimum: 0,
    description:
      'Weight of a bonus on the policy’s mean entropy per token, against giving up exploring; 0 is off.',
  }),
  offPolicyThreshold: optionalNumberSetting({
    default: null,
    minimum: 0,
    description:
      'A trajectory the policy has become less likely to write, by more than this many nats per token on average, no longer teaches by negative advantages; null is off.',
  }),
} as const

/**
 * The sum over tokens divided by: a trajectory's tokens, then the trajectories (`trajectory-mean`); the tokens of the minibatch
 * (`token-mean`, DAPO: Yu et al. 2025, arXiv:2503.14476, eq. 8); trajectories × the most tokens one could have
 * (`constant-length`, Dr. GRPO: Liu et al. 2025, arXiv:2503.20783, §3.2). x: [n]; returns [1].
 */
export function normalizer(
  minibatch: readonly LearningRow[],
  lossNorm: 'trajectory-mean' | 'token-mean' | 'constant-length',
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
 * The entropy, in nats, from which on a token is in the top `share` of all action tokens of the minibatch; −∞ when all
 * are. It is the behaviour policy's entropy, so that it does not depend on how the minibatch is cut into parts.
 * Wang et al. 2025, arXiv:2506.01939, §5.
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

/** −coefficient · mean entropy of the tokens from the threshold on, [1]: rewards a policy for staying uncertain. */
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
