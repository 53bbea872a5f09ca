/**
 * The losses of the GRPO family: −min(ρA, clip(ρ)A) (Shao et al. 2024, arXiv:2402.03300, eq. 3) and CISPO's
 * −clip(ρ)·A·logprob with a constant clip(ρ) (MiniMax 2025, arXiv:2506.13585, eq. 4), plus β·k3.
 * ρ is the importance ratio of a unit: a token, a turn, or the trajectory (GSPO: Zheng et al. 2025, arXiv:2507.18071),
 * the exponential of the mean log-ratio of its tokens.
 */
import type { HeadCoefficients, LearningRow, LossRow, MinibatchLoss } from '../types.ts'
import { clip, type ClipBounds } from './clipping.ts'
import { klK3 } from './kl.ts'
import { addTallies, type Tallies } from './tally.ts'
import { type RatioLevel, unitsOf } from './units.ts'

export interface GroupLossSettings {
  readonly surrogate: 'clipped' | 'cispo'
  readonly level: RatioLevel
  readonly bounds: ClipBounds
  /** β. */
  readonly klCoefficient: number
  /** The KL term moves the advantages, A + β·(mean KL of the trajectory − KL), instead of being added to the loss. */
  readonly klAdvantageShaping: boolean
  /** Mean over trajectories of their token means, or one mean over all tokens of the minibatch. */
  readonly lossNorm: 'trajectory-mean' | 'token-mean'
}

/** Fixes the token weights from the whole minibatch; parts then add. */
export function groupLoss(minibatch: readonly LearningRow[], settings: GroupLossSettings): MinibatchLoss {
  const tokens = minibatch.reduce((sum, row) => sum + actionCount(row), 0)
  const weightOf = (row: LossRow): number =>
    1 / (settings.lossNorm === 'token-mean' ? tokens : minibatch.length * actionCount(row))
  return (part) => {
    const rows = part.map((row) => rowLoss(row, weightOf(row), settings))
    return {
      loss: rows.reduce((sum, { loss }) => sum + loss, 0),
      coefficients: rows.map(({ logprobs }): HeadCoefficients => ({
        logprobs,
        entropies: null,
        values: null,
      })),
      tallies: addTallies(rows.map(({ tallies }) => tallies)),
    }
  }
}

const actionCount = ({ actionMask }: LearningRow): number =>
  actionMask.reduce((sum, isAction) => sum + isAction, 0)

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
  const clipped = clip(ratio, settings.bounds)
  if (settings.surrogate === 'cispo') {
    const value = -clipped * advantage * logprob
    return { value, ratioSlope: 0, advantageSlope: -clipped * logprob, logprobSlope: -clipped * advantage }
  }
  const isClipped = clipped * advantage < ratio * advantage
  const used = isClipped ? clipped : ratio
  return {
    value: -used * advantage,
    ratioSlope: isClipped ? 0 : -advantage,
    advantageSlope: -used,
    logprobSlope: 0,
  }
}

interface RowLoss {
  readonly loss: number
  readonly logprobs: Float64Array
  readonly tallies: Tallies
}

/** Loss and ∂loss/∂logprob of one trajectory whose tokens weigh `weight` each. */
function rowLoss(row: LossRow, weight: number, settings: GroupLossSettings): RowLoss {
  const kl = klTerms(row)
  const shaping = settings.klAdvantageShaping ? settings.klCoefficient : 0
  const penalty = settings.klCoefficient - shaping
  const slopes = new Float64Array(row.logprobs.length)
  const advantageSlopes = new Float64Array(row.logprobs.length)
  const ratios = new Float64Array(row.logprobs.length)
  const meanKl = meanUnderMask(kl.values, row.actionMask)
  let loss = 0
  for (const unit of unitsOf(row, settings.level)) {
    const ratio = Math.exp(
      unit.reduce((sum, t) => sum + row.logprobs[t]! - row.behaviorLogprobs[t]!, 0) / unit.length,
    )
    let ratioSlope = 0
    for (const t of unit) {
      const advantage = row.advantages[t]! + shaping * (meanKl - kl.values[t]!)
      const token = surrogateOf(ratio, advantage, row.logprobs[t]!, settings)
      const share = weight * (row.correction?.[t] ?? 1)
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
  const meanSlope = meanUnderMask(advantageSlopes, row.actionMask)
  row.actionMask.forEach((isAction, t) => {
    if (isAction === 1) slopes[t]! += shaping * klSlopes[t]! * (meanSlope - advantageSlopes[t]!)
  })
}

function meanUnderMask(values: Float64Array, actionMask: Uint8Array): number {
  const sum = values.reduce((total, value, t) => total + (actionMask[t] === 1 ? value : 0), 0)
  return (
    sum /
    Math.max(
      actionMask.reduce((count, isAction) => count + isAction, 0),
      1,
    )
  )
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
