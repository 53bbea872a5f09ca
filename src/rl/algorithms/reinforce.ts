import { choiceSetting, numberSetting } from '#shared/config/settings.ts'
import { arithmetic, clip } from './terms/differentiable.ts'
import { clipBounds, ratioLevelSetting } from './terms/groupSettings.ts'
import {
  klInReward,
  type RewardPlacement,
  rewardPlacementSetting,
  rewardTokens,
  turnRewardTokens,
} from './terms/rewards.ts'
import { standardized } from './terms/groups.ts'
import {
  poolByTurns,
  resolveAdvantageGranularity,
  spreadOverTurns,
  turnCount,
  turnOfTokens,
} from './terms/turns.ts'
import { poolingAt, symmetricClip, turnRatioPoolingSetting, unitMean, unitRatios } from './terms/unitTerms.ts'
import { referenceLogRatio, surprisal, surrogateMetrics } from './terms/metrics.ts'
import { defineAlgorithm } from './define.ts'
import type { Advantages, Experience } from './types.ts'

const { minimum, multiply, negative } = arithmetic

/**
 * REINFORCE with return batch normalisation: returns standardised over the batch instead of a baseline, clipped ratio.
 * Williams 1992; normalisation as in Hu et al. 2025, arXiv:2501.03262.
 */
export const reinforce = defineAlgorithm({
  id: 'reinforce',
  title: 'REINFORCE',
  description: 'One completion per prompt; completions above the batch average become more likely.',
  source: 'Williams 1992; Hu et al. 2025, arXiv:2501.03262',
  experience: 'rollout',
  groupSize: { default: 1, minimum: 1 },
  settings: {
    klCoefficient: klInReward(0.01),
    clipCoefficient: symmetricClip,
    discount: numberSetting({
      default: 1,
      minimum: 0,
      maximum: 1,
      description: 'Discount γ per turn or token.',
    }),
    advantageGranularity: choiceSetting(
      ['auto', 'turn', 'token'],
      'auto',
      'Returns per turn or per token; auto: per token if every trajectory has one turn, otherwise per turn.',
    ),
    rewardPlacement: rewardPlacementSetting,
    importanceSamplingLevel: ratioLevelSetting,
    turnRatioPooling: turnRatioPoolingSetting,
  },
  needs: ({ klCoefficient }) => ({
    behavior: klCoefficient !== 0,
    ratio: true,
    reference: klCoefficient !== 0,
  }),
  // A = the discounted return of a turn or token, standardised over the batch.
  advantages: (batch, settings) =>
    returnAdvantages(batch, { ...settings, granularity: settings.advantageGranularity }),
  loss(minibatch, { importanceSamplingLevel: level, turnRatioPooling, clipCoefficient }) {
    const bounds = clipBounds(clipCoefficient)
    const average = unitMean(minibatch, level)
    return (tokens) => {
      const {
        ratio,
        advantages: A,
        correction,
      } = unitRatios(tokens, level, poolingAt(level, turnRatioPooling))
      const gain = minimum(multiply(ratio, A), multiply(clip(ratio, bounds), A))
      const loss = negative(multiply(correction, gain))
      return {
        loss: average(loss),
        metrics: {
          ...surrogateMetrics(loss, ratio, bounds),
          ...surprisal(tokens),
          ...referenceLogRatio(tokens),
        },
      }
    }
  },
})

export interface ReturnAdvantageSettings {
  /** γ: discount from turn to turn, or from token to token. */
  readonly discount: number
  readonly granularity: 'auto' | 'token' | 'turn'
  readonly rewardPlacement: RewardPlacement
  /** β. */
  readonly klCoefficient: number
}

/**
 * Returns standardised over the whole batch (ReBN). The divergence from the reference policy is subtracted from the
 * rewards, β·(behaviour − reference log-probability) per token, and is not a term of the loss.
 */
export function returnAdvantages(
  batch: readonly Experience[],
  settings: ReturnAdvantageSettings,
): Advantages {
  const turnIds = batch.map(turnOfTokens)
  const perTurn = resolveAdvantageGranularity(settings.granularity, turnIds) === 'turn'
  const returns = batch.map((row, i) =>
    perTurn ? turnReturns(row, turnIds[i]!, settings) : tokenReturns(row, turnIds[i]!, settings),
  )
  const isCell = (i: number, cell: number) => perTurn || turnIds[i]![cell]! >= 0
  const flat = standardized(returns.flatMap((row, i) => [...row].filter((_, cell) => isCell(i, cell))))
  let next = 0
  const cells = returns.map((row, i) => row.map((_, cell) => (isCell(i, cell) ? flat[next++]! : 0)))
  return {
    tokens: cells.map((row, i) => (perTurn ? spreadOverTurns(row, turnIds[i]!) : row)),
    returns: null,
    kept: batch.map((_, i) => i),
  }
}

/** [turns]: the mean penalised reward of each turn plus the discounted return of the next. */
function turnReturns(row: Experience, turnIds: Int32Array, settings: ReturnAdvantageSettings): Float64Array {
  const penalized = lessDivergence(turnRewardTokens(row), row, turnIds, settings)
  const returns = poolByTurns(penalized, turnIds, turnCount(turnIds), 'mean')
  for (let turn = returns.length - 2; turn >= 0; turn--)
    returns[turn]! += settings.discount * returns[turn + 1]!
  return returns
}

/** [T]: returns do not cross tokens the policy did not choose, so they end with the turn. */
function tokenReturns(row: Experience, turnIds: Int32Array, settings: ReturnAdvantageSettings): Float64Array {
  const returns = lessDivergence(rewardTokens(row, settings.rewardPlacement), row, turnIds, settings)
  for (let t = returns.length - 2; t >= 0; t--) {
    if (turnIds[t]! >= 0 && turnIds[t + 1]! >= 0) returns[t]! += settings.discount * returns[t + 1]!
  }
  return returns
}

/** rewards: [T]. */
function lessDivergence(
  rewards: Float64Array,
  { behaviorLogprobs, referenceLogprobs }: Experience,
  turnIds: Int32Array,
  { klCoefficient }: Pick<ReturnAdvantageSettings, 'klCoefficient'>,
): Float64Array {
  if (klCoefficient === 0 || behaviorLogprobs === null || referenceLogprobs === null) return rewards
  return rewards.map((reward, t) =>
    turnIds[t]! < 0 ? 0 : reward - klCoefficient * (behaviorLogprobs[t]! - referenceLogprobs[t]!),
  )
}
