/**
 * The losses of the GRPO family: −min(ρA, clip(ρ)A) (Shao et al. 2024, arXiv:2402.03300, eq. 3) and CISPO's
 * −clip(ρ)·A·logprob with a constant clip(ρ) (MiniMax 2025, arXiv:2506.13585, eq. 4), plus β·k3, less a bonus on entropy.
 * ρ is the importance ratio of a unit: a token, a turn, or the trajectory (GSPO: Zheng et al. 2025, arXiv:2507.18071),
 * the exponential of the mean log-ratio of its tokens.
 */
import type { LearningRow, LossRow, MinibatchLoss } from '../types.ts'
import { actionCount, actionTotal, atActions, sumOverActions } from '../common/actions.ts'
import { clip, type ClipBounds, clippedSurrogate } from './clipping.ts'
import { entropyThreshold } from './entropyMask.ts'
import { klK3 } from './kl.ts'
import { sumOfTerms, type TermShare } from './lossTerm.ts'
import type { Tallies } from '../common/tally.ts'
import { type RatioLevel, unitsOf } from '../common/units.ts'

export interface GroupLossSettings {
  readonly surrogate: 'clipped' | 'cispo'
  readonly level: RatioLevel
  readonly bounds: ClipBounds
  /** β. */
  readonly klCoefficient: number
  /** The KL term moves the advantages, A + β·(mean KL of the trajectory − KL), instead of being added to the loss. */
  readonly klAdvantageShaping: boolean
  readonly lossNorm: LossNorm
  /** Only tokens with an entropy in this top share of the minibatch learn from rewards; 1 = all. */
  readonly topEntropyShare: number
  /** Weight of the mean entropy, which is subtracted from the loss. */
  readonly entropyCoefficient: number
}

/**
 * What the sum over tokens is divided by. `trajectory-mean`: a trajectory's tokens by their number, trajectories by
 * theirs. `token-mean`: the number of tokens of the minibatch (DAPO: Yu et al. 2025, arXiv:2503.14476, eq. 8).
 * `constant-length`: trajectories × the most tokens one could have (Dr. GRPO: Liu et al. 2025, arXiv:2503.20783, §3.2).
 */
export type LossNorm = 'trajectory-mean' | 'token-mean' | 'constant-length'

/** Fixes the token weights from the whole minibatch; parts then add. */
export function groupLoss(minibatch: readonly LearningRow[], settings: GroupLossSettings): MinibatchLoss {
  const weightOf = tokenWeights(minibatch, settings.lossNorm)
  const threshold = entropyThreshold(minibatch, settings.topEntropyShare)
  return sumOfTerms([
    (row) => surrogateShare(row, { weight: weightOf(row), threshold }, settings),
    (row) => entropyShare(row, -settings.entropyCoefficient * weightOf(row)),
  ])
}

function tokenWeights(minibatch: readonly LearningRow[], lossNorm: LossNorm): (row: LossRow) => number {
  const tokens = Math.max(actionTotal(minibatch), 1)
  if (lossNorm === 'token-mean') return () => 1 / tokens
  const lengthOf = lossNorm === 'trajectory-mean' ? actionCount : limitOf
  return (row) => 1 / (minibatch.length * Math.max(lengthOf(row), 1))
}

function limitOf({ tokenLimit }: LossRow): number {
  if (typeof tokenLimit === 'number') return tokenLimit
  throw new Error('Expected every row to say how many tokens it could have had.')
}

function entropyShare(row: LossRow, weight: number): TermShare {
  if (weight === 0) return { loss: 0, tallies: {} }
  const loss = weight * sumOverActions(row, (t) => row.entropies[t]!)
  return { loss, entropies: atActions(row, () => weight), tallies: {} }
}

/** One token's surrogate and its slopes. */
interface Surrogate {
  readonly value: number
  /** ∂value/∂ρ */
  readonly ratioSlope: number
  /** ∂value/∂A */
  readonly advantageSlope: number
  /** ∂value/∂logprob with ρ and A held */
  readonly logprobSlope: number
}

function surrogateOf(
  ratio: number,
  advantage: number,
  logprob: number,
  settings: GroupLossSettings,
): Surrogate {
  if (settings.surrogate === 'clipped') {
    return { ...clippedSurrogate(ratio, advantage, settings.bounds), logprobSlope: 0 }
  }
  const weight = clip(ratio, settings.bounds)
  return {
    value: -weight * advantage * logprob,
    ratioSlope: 0,
    advantageSlope: -weight * logprob,
    logprobSlope: -weight * advantage,
  }
}

/** Of one token, and the entropy from which on a token learns from rewards. */
interface Weighing {
  readonly weight: number
  readonly threshold: number
}

/** Loss and ∂loss/∂logprob of one trajectory. */
function surrogateShare(
  row: LossRow,
  { weight, threshold }: Weighing,
  settings: GroupLossSettings,
): TermShare {
  const kl = klTerms(row)
  const shaping = settings.klAdvantageShaping ? settings.klCoefficient : 0
  const penalty = settings.klCoefficient - shaping
  const slopes = new Float64Array(row.logprobs.length)
  const advantageSlopes = new Float64Array(row.logprobs.length)
  const ratios = new Float64Array(row.logprobs.length)
  const meanKl = meanUnderMask(kl.values, row)
  let loss = 0
  for (const unit of unitsOf(row, settings.level)) {
    const ratio = Math.exp(
      unit.reduce((sum, t) => sum + row.logprobs[t]! - row.behaviorLogprobs[t]!, 0) / unit.length,
    )
    let ratioSlope = 0
    for (const t of unit) {
      const advantage = row.advantages[t]! + shaping * (meanKl - kl.values[t]!)
      const token = surrogateOf(ratio, advantage, row.logprobs[t]!, settings)
      const isHeard = threshold === -Infinity || row.behaviorEntropies![t]! >= threshold
      const share = isHeard ? weight * (row.correction?.[t] ?? 1) : 0
      loss += share * token.value + weight * penalty * kl.values[t]!
      ratioSlope += share * token.ratioSlope
      slopes[t] = share * token.logprobSlope + weight * penalty * kl.slopes[t]!
      advantageSlopes[t] = share * token.advantageSlope
      ratios[t] = ratio
    }
    for (const t of unit) slopes[t]! += (ratioSlope * ratio) / unit.length // ∂ρ/∂logprob = ρ / unit length
  }
  if (shaping !== 0) addShapingSlopes(slopes, { advantageSlopes, klSlopes: kl.slopes, shaping, row })
  return { loss, logprobs: slopes, tallies: rowTallies(row, ratios, kl.values, settings) }
}

/** k3 of each action token and its slope; 0 without a reference. */
function klTerms({ logprobs, referenceLogprobs, actionMask }: LossRow): {
  values: Float64Array
  slopes: Float64Array
} {
  const values = new Float64Array(logprobs.length)
  const slopes = new Float64Array(logprobs.length)
  actionMask.forEach((isAction, t) => {
    if (isAction !== 1 || referenceLogprobs === null) return
    const term = klK3(logprobs[t]!, referenceLogprobs[t]!)
    values[t] = term.value
    slopes[t] = term.slope
  })
  return { values, slopes }
}

/** A_t holds β·(mean KL − KL_t), so a token's KL moves its own advantage and, through the mean, all the others'. */
function addShapingSlopes(
  slopes: Float64Array,
  term: { advantageSlopes: Float64Array; klSlopes: Float64Array; shaping: number; row: LossRow },
): void {
  const { advantageSlopes, klSlopes, shaping, row } = term
  const meanSlope = meanUnderMask(advantageSlopes, row)
  row.actionMask.forEach((isAction, t) => {
    if (isAction === 1) slopes[t]! += shaping * klSlopes[t]! * (meanSlope - advantageSlopes[t]!)
  })
}

function meanUnderMask(values: Float64Array, row: LossRow): number {
  return sumOverActions(row, (t) => values[t]!) / Math.max(actionCount(row), 1)
}

function rowTallies(
  row: LossRow,
  ratios: Float64Array,
  klValues: Float64Array,
  { bounds, surrogate }: GroupLossSettings,
): Tallies {
  let [count, klSum, low, high] = [0, 0, 0, 0]
  row.actionMask.forEach((isAction, t) => {
    if (isAction !== 1) return
    const advantage = row.advantages[t]!
    count += 1
    klSum += klValues[t]!
    if (ratios[t]! < bounds.lower && (surrogate === 'cispo' || advantage < 0)) low += 1
    if (ratios[t]! > bounds.upper && (surrogate === 'cispo' || advantage > 0)) high += 1
  })
  return {
    'clip_ratio/low_mean': { sum: low, count },
    'clip_ratio/high_mean': { sum: high, count },
    'clip_ratio/region_mean': { sum: low + high, count },
    ...(row.referenceLogprobs === null ? {} : { kl: { sum: klSum, count } }),
  }
}
