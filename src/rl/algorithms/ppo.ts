import { choiceSetting, flagSetting, numberSetting, optionalNumberSetting } from '#shared/config/settings.ts'
import { arithmetic, clip, pool, type Value } from './terms/differentiable.ts'
import { clipBounds, clipConflicts, clipSettings, klEstimatorSettings } from './terms/groupSettings.ts'
import { type Tokens, unitsAt } from './terms/loss.ts'
import { entropyBonus } from './terms/policyTerms.ts'
import {
  type RewardPlacement,
  rewardPlacementSetting,
  rewardTokens,
  turnRewardTokens,
} from './terms/rewards.ts'
import { whitened } from './terms/groups.ts'
import { tally } from './terms/tally.ts'
import {
  poolByTurns,
  resolveAdvantageGranularity,
  type ReturnGranularity,
  spreadOverTurns,
  turnCount,
  turnOfTokens,
} from './terms/turns.ts'
import {
  klPenalty,
  poolingAt,
  symmetricClip,
  turnRatioPoolingSetting,
  unitMean,
  unitRatios,
} from './terms/unitTerms.ts'
import { surprisal, surrogateMetrics } from './terms/metrics.ts'
import { defineAlgorithm } from './define.ts'
import type { Advantages, Experience, LearningRow } from './types.ts'

const { add, maximum, minimum, multiply, negative, square, subtract } = arithmetic

/**
 * Proximal Policy Optimization: a critic predicts the returns. Schulman et al. 2017, arXiv:1707.06347, with advantages
 * of Schulman et al. 2016, arXiv:1506.02438. Turns or tokens are the steps of the episode.
 */
export const ppo = defineAlgorithm({
  id: 'ppo',
  title: 'PPO',
  description: 'A critic predicts returns; tokens that do better than predicted become more likely.',
  source: 'Schulman et al. 2017, arXiv:1707.06347',
  experience: 'rollout',
  groupSize: { default: 1, minimum: 1 },
  settings: {
    klCoefficient: numberSetting({
      default: 0.01,
      minimum: 0,
      description:
        'Weight β of the divergence from the reference policy in the loss; 0 needs no reference pass.',
    }),
    ...klEstimatorSettings,
    clipCoefficient: symmetricClip,
    ratioLimit: clipSettings.ratioLimit,
    discount: numberSetting({
      default: 1,
      minimum: 0,
      maximum: 1,
      description: 'Discount γ per turn or token.',
    }),
    gaeLambda: numberSetting({
      default: 1,
      minimum: 0,
      maximum: 1,
      description: 'GAE λ: 1 relies on the observed rewards, 0 on the critic.',
    }),
    valueCoefficient: numberSetting({
      default: 0.5,
      minimum: 0,
      description: 'Weight of the critic’s loss.',
    }),
    valueClipCoefficient: optionalNumberSetting({
      default: null,
      minimum: 0,
      description: 'Limits how far a value may move in an update.',
      empty: 'as clipCoefficient',
    }),
    advantageGranularity: choiceSetting(
      ['auto', 'turn', 'token'],
      'auto',
      'Whether turns or tokens are steps; auto: tokens if every trajectory has one turn, otherwise turns.',
    ),
    importanceSamplingLevel: choiceSetting(
      ['auto', 'token', 'turn', 'trajectory'],
      'auto',
      'Which tokens share one importance ratio; auto follows the advantages, see turnLevelClip.',
    ),
    turnLevelClip: flagSetting(
      true,
      'With importanceSamplingLevel auto: turns share a ratio if they are the steps; false: every token has its own.',
    ),
    turnRatioPooling: turnRatioPoolingSetting,
    turnValueReduction: choiceSetting(
      ['final-value', 'mean'],
      'final-value',
      'The value of a turn: that of its last token, or the mean.',
    ),
    whitenAdvantages: flagSetting(true, 'Standardises advantages over the batch.'),
    rewardPlacement: rewardPlacementSetting,
    entropyCoefficient: numberSetting({
      default: 0,
      minimum: 0,
      description: 'Weight of a bonus on the policy’s entropy, against giving up exploring; 0 is off.',
    }),
  },
  conflicts: clipConflicts,
  needs: ({ klCoefficient, entropyCoefficient }) => ({
    ratio: true,
    reference: klCoefficient !== 0,
    values: true,
    entropyGradient: entropyCoefficient !== 0,
  }),
  // A_j = δ_j + γλ·A_{j+1} with δ_j = r_j + γ·V_{j+1} − V_j
  advantages: (batch, settings) =>
    generalizedAdvantages(batch, { ...settings, granularity: settings.advantageGranularity }),
  loss(minibatch, settings) {
    const granularity = granularityOf(minibatch, settings.advantageGranularity)
    const automatic = settings.turnLevelClip ? granularity : 'token'
    const level = settings.importanceSamplingLevel === 'auto' ? automatic : settings.importanceSamplingLevel
    const pooling = poolingAt(level, settings.turnRatioPooling)
    const bounds = clipBounds(settings.clipCoefficient)
    const limit = settings.ratioLimit ?? Infinity
    const average = unitMean(minibatch, level)
    const averageValue = unitMean(minibatch, granularity)
    const klTerm = klPenalty(minibatch, settings.klCoefficient, settings)
    const bonus = entropyBonus(minibatch, settings.entropyCoefficient)
    return (tokens) => {
      const { ratio, advantages: A, correction } = unitRatios(tokens, level, pooling)
      const gain = minimum(multiply(minimum(ratio, limit), A), multiply(clip(ratio, bounds), A))
      const policyLoss = negative(multiply(correction, gain))
      const critic = multiply(valueError(tokens, granularity, settings), settings.valueCoefficient / 2)
      const kl = klTerm(tokens)
      return {
        loss: add(add(average(policyLoss), averageValue(critic)), add(kl.loss, bonus(tokens))),
        metrics: {
          ...surrogateMetrics(policyLoss, ratio, bounds),
          value_loss: tally(critic),
          ...kl.metrics,
          ...surprisal(tokens),
        },
      }
    }
  },
})

/**
 * [units] the larger of the squared errors with and without clipping the step from the old value to ±c, as in the
 * paper's reference implementation. A unit is a token or a turn.
 */
function valueError(
  tokens: Tokens,
  granularity: ReturnGranularity,
  settings: {
    readonly turnValueReduction: 'mean' | 'final-value'
    readonly valueClipCoefficient: number | null
    readonly clipCoefficient: number
  },
): Value {
  const { values, oldValues, returns } = tokens
  if (values === null || oldValues === null || returns === null) {
    throw new Error('Expected values and returns of every row.')
  }
  const units = unitsAt(tokens, granularity)
  const V = pool(values, units, settings.turnValueReduction)
  const before = pool(oldValues, units, settings.turnValueReduction)
  const target = pool(returns, units, 'mean')
  const c = settings.valueClipCoefficient ?? settings.clipCoefficient
  const limited = add(before, clip(subtract(V, before), { lower: -c, upper: c }))
  return maximum(square(subtract(target, V)), square(subtract(target, limited)))
}

/** A minibatch may hold single turns only, even if its batch does not. */
function granularityOf(
  minibatch: readonly LearningRow[],
  setting: 'auto' | ReturnGranularity,
): ReturnGranularity {
  return minibatch[0]?.granularity ?? resolveAdvantageGranularity(setting, minibatch.map(turnOfTokens))
}

export interface GeneralizedAdvantageSettings {
  /** γ. */
  readonly discount: number
  /** λ. */
  readonly gaeLambda: number
  readonly granularity: 'auto' | ReturnGranularity
  readonly turnValueReduction: 'mean' | 'final-value'
  readonly rewardPlacement: RewardPlacement
  /** Whitens over the turns or tokens of the whole batch; fewer than two are left unchanged. */
  readonly whitenAdvantages: boolean
}

/** Turns or tokens of one row. */
interface Cells {
  readonly advantages: Float64Array
  readonly returns: Float64Array
  readonly isActive: (cell: number) => boolean
}

/**
 * Generalised advantage estimation against a critic, over turns or over tokens. Schulman et al. 2016, arXiv:1506.02438,
 * eq. 16: δ_j = r_j + γ·V_{j+1} − V_j, A_j = δ_j + γλ·A_{j+1}. Over turns, what follows the last one of a truncated episode is
 * worth the value of the state it was left in; a terminated one has nothing more to earn. Over tokens nothing follows the last
 * token of a turn. Targets of the critic are A + V before whitening.
 */
export function generalizedAdvantages(
  batch: readonly Experience[],
  settings: GeneralizedAdvantageSettings,
): Advantages & { readonly granularity: ReturnGranularity } {
  const turnIds = batch.map(turnOfTokens)
  const granularity = resolveAdvantageGranularity(settings.granularity, turnIds)
  const rows = batch.map((row, i) =>
    granularity === 'turn' ? turnCells(row, turnIds[i]!, settings) : tokenCells(row, turnIds[i]!, settings),
  )
  const advantages = settings.whitenAdvantages
    ? whitenedCells(rows)
    : rows.map((row) => Float64Array.from(row.advantages))
  const onTokens = (cells: Float64Array, i: number) =>
    granularity === 'turn' ? spreadOverTurns(cells, turnIds[i]!) : cells
  return {
    tokens: advantages.map(onTokens),
    returns: rows.map(({ returns }, i) => onTokens(returns, i)),
    kept: batch.map((_, i) => i),
    granularity,
  }
}

function turnCells(row: Experience, turnIds: Int32Array, settings: GeneralizedAdvantageSettings): Cells {
  const turns = turnCount(turnIds)
  const rewards = poolByTurns(turnRewardTokens(row), turnIds, turns, 'mean')
  const values = poolByTurns(valuesOf(row), turnIds, turns, settings.turnValueReduction)
  const left: Next = { value: row.lastStateValue ?? 0, advantage: 0 }
  const advantages = new Float64Array(turns)
  for (let turn = turns - 1; turn >= 0; turn--) {
    const next = turn + 1 < turns ? { value: values[turn + 1]!, advantage: advantages[turn + 1]! } : left
    advantages[turn] = advantageOf(rewards[turn]!, values[turn]!, next, settings)
  }
  const returns = advantages.map((advantage, turn) => advantage + values[turn]!)
  return { advantages, returns, isActive: (turn) => turnIds.includes(turn) }
}

function tokenCells(row: Experience, turnIds: Int32Array, settings: GeneralizedAdvantageSettings): Cells {
  const rewards = rewardTokens(row, settings.rewardPlacement)
  const values = valuesOf(row)
  const isActive = (t: number) => (turnIds[t] ?? -1) >= 0
  const advantages = new Float64Array(turnIds.length)
  for (let t = turnIds.length - 1; t >= 0; t--) {
    if (!isActive(t)) continue
    const next = isActive(t + 1) ? { value: values[t + 1]!, advantage: advantages[t + 1]! } : nothing
    advantages[t] = advantageOf(rewards[t]!, values[t]!, next, settings)
  }
  const returns = advantages.map((advantage, t) => (isActive(t) ? advantage + values[t]! : 0))
  return { advantages, returns, isActive }
}

function valuesOf({ behaviorValues }: Experience): Float64Array {
  if (behaviorValues === null) throw new Error('Expected the critic’s values of every row.')
  return behaviorValues
}

interface Next {
  readonly value: number
  readonly advantage: number
}

const nothing: Next = { value: 0, advantage: 0 }

const advantageOf = (
  reward: number,
  value: number,
  next: Next,
  { discount, gaeLambda }: GeneralizedAdvantageSettings,
): number => reward + discount * next.value - value + discount * gaeLambda * next.advantage

function whitenedCells(rows: readonly Cells[]): Float64Array[] {
  const flat = whitened(
    rows.flatMap(({ advantages, isActive }) => [...advantages].filter((_, cell) => isActive(cell))),
  )
  let next = 0
  return rows.map(({ advantages, isActive }) =>
    advantages.map((_, cell) => (isActive(cell) ? flat[next++]! : 0)),
  )
}
