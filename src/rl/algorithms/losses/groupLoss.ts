/**
 * The losses of the GRPO family: −min(ρA, clip(ρ)A) (Shao et al. 2024, arXiv:2402.03300, eq. 3), CISPO's
 * −clip(ρ)·A·logprob with a constant clip(ρ) (MiniMax 2025, arXiv:2506.13585, eq. 4) and SAPO's −gate(ρ)·A (Gao et al.
 * 2025, arXiv:2511.20347, eq. 6), plus β times an estimate of the divergence, less a bonus on entropy. ρ is the importance ratio of a unit: a token, a turn, or the trajectory (GSPO: Zheng et al. 2025, arXiv:2507.18071),
 * the exponential of the mean log-ratio of its tokens.
 */
import type { LearningRow, LossRow, MinibatchLoss } from '../types.ts'
import { actionCount, actionTotal, atActions, sumOverActions } from '../common/actions.ts'
import { entropyThreshold, isAbove } from './entropyMask.ts'
import { addShapingSlopes, type GroupKlSettings, klOfRow, type RowKl } from './groupKl.ts'
import { clipTallies, type GroupSurrogate, surrogateOf } from './groupSurrogate.ts'
import { sumOfTerms, type TermShare } from './lossTerm.ts'
import { isOffPolicy } from './offPolicyMask.ts'
import { klTallies } from './penalties.ts'
import type { Tallies } from '../common/tally.ts'
import { type RatioLevel, unitsOf } from '../common/units.ts'

export interface GroupLossSettings extends GroupKlSettings {
  readonly surrogate: GroupSurrogate
  readonly level: RatioLevel
  readonly lossNorm: LossNorm
  /** Only tokens with an entropy in this top share of the minibatch learn from rewards; 1 = all. */
  readonly topEntropyShare: number
  /** Weight of the mean entropy of the tokens that learn from rewards, which is subtracted from the loss. */
  readonly entropyCoefficient: number
  /** Mean log-ratio, in nats, from which on a trajectory is too far from the sampler's policy; null = none is. */
  readonly offPolicyThreshold: number | null
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
  const heard = minibatch.reduce(
    (sum, row) => sum + sumOverActions(row, (t) => Number(isAbove(threshold, row, t))),
    0,
  )
  const entropyWeight = -settings.entropyCoefficient / Math.max(heard, 1)
  return sumOfTerms([
    (row) => surrogateShare(row, { weight: weightOf(row), threshold }, settings),
    (row) => entropyShare(row, entropyWeight, threshold),
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

/** A mean over the tokens that learn from rewards, whatever the other terms are divided by, as TRL has it. */
function entropyShare(row: LossRow, weight: number, threshold: number): TermShare {
  if (weight === 0) return { loss: 0, tallies: {} }
  const weightAt = (t: number) => (isAbove(threshold, row, t) ? weight : 0)
  return {
    loss: sumOverActions(row, (t) => weightAt(t) * row.entropies[t]!),
    entropies: atActions(row, weightAt),
    tallies: {},
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
  const kl = klOfRow(row, settings)
  const isFar = isOffPolicy(row, settings.offPolicyThreshold)
  const slopes = new Float64Array(row.logprobs.length)
  const advantageSlopes = new Float64Array(row.logprobs.length)
  const units = unitsOf(row, settings.level)
  let loss = 0
  for (const unit of units) {
    const ratio = ratioOf(row, unit)
    const klWeight = weight * kl.weightAt(ratio)
    let ratioSlope = 0
    for (const t of unit) {
      const advantage = row.advantages[t]! + kl.shaping(t)
      const token = surrogateOf(ratio, advantage, row.logprobs[t]!, settings.surrogate)
      const isHeard = isAbove(threshold, row, t) && !(isFar && row.advantages[t]! < 0)
      const share = isHeard ? weight * (row.correction?.[t] ?? 1) : 0
      loss += share * token.value + klWeight * kl.values[t]!
      ratioSlope += share * token.ratioSlope + weight * kl.weightSlope * kl.values[t]!
      slopes[t] = share * token.logprobSlope + klWeight * kl.slopes[t]!
      advantageSlopes[t] = share * token.advantageSlope
    }
    for (const t of unit) slopes[t]! += (ratioSlope * ratio) / unit.length // ∂ρ/∂logprob = ρ / unit length
  }
  addShapingSlopes(slopes, advantageSlopes, kl, row)
  return { loss, logprobs: slopes, tallies: rowTallies(row, units, kl, settings) }
}

/** e to the mean log-ratio of the unit's tokens. */
const ratioOf = (row: LossRow, unit: readonly number[]): number =>
  Math.exp(unit.reduce((sum, t) => sum + row.logprobs[t]! - row.behaviorLogprobs[t]!, 0) / unit.length)

function rowTallies(
  row: LossRow,
  units: readonly (readonly number[])[],
  kl: RowKl,
  settings: GroupLossSettings,
): Tallies {
  const ratios = new Float64Array(row.logprobs.length).fill(1)
  if (settings.klImportanceWeighting)
    for (const unit of units) for (const t of unit) ratios[t] = ratioOf(row, unit)
  const weighed = (t: number) => ({ ...kl.at(t), value: kl.at(t).value * ratios[t]! })
  return {
    ...clipTallies(row, units, (unit) => ratioOf(row, unit), settings.surrogate),
    ...(row.referenceLogprobs === null ? {} : klTallies(row, weighed, settings)),
  }
}
