/** GRPO, GSPO, CISPO; and the plain policy gradient of ReMax. */
import { advantageCells, type Comparison, groupAdvantages } from '#rl/algorithms/terms/groupAdvantages.ts'
import { builtInAlgorithm } from '#rl/algorithms/registry.ts'
import { clipBounds } from '#rl/algorithms/terms/groupSettings.ts'
import { spreadOverTurns } from '#rl/algorithms/terms/turns.ts'
import { remax } from '#rl/algorithms/remax.ts'
import type { Experience } from '#rl/algorithms/types.ts'
import {
  asFloatRows,
  asMaskRows,
  asList,
  asNumber,
  asNumbers,
  asObject,
  asText,
  exact,
  type Json,
  type JsonObject,
  onlyValue,
  underOnlyKey,
} from '../contract.ts'
import { experiencesOf, mismatchMetrics, replayUpdates } from './learning.ts'
import { bareExperience } from '../../rl/bareExperience.ts'

const kebab = (value: Json | undefined): string => asText(value).replace('_', '-')
const lossNorms: Record<string, string> = {
  micro_batch: 'trajectory-mean',
  accumulation_window: 'token-mean',
}

/** CISPO was bound on both sides; one number would mean the upper bound alone. */
const bothBounds = (coefficient: Json | undefined): Json | undefined =>
  typeof coefficient === 'number' ? [1 - coefficient, 1 + coefficient] : coefficient

/** Those of the version that the numbers are from, every one named. */
function settingsOf(config: JsonObject): Record<string, unknown> {
  const settings = {
    klCoefficient: config.beta,
    klEstimator: 'k3-reversed',
    klImportanceWeighting: false,
    klClamp: null,
    klAdvantageShaping: config.use_kl_advantage_shaping,
    clipCoefficient: config.loss_type === 'cispo' ? bothBounds(config.clip_coef) : config.clip_coef,
    advantageNorm: kebab(config.adv_norm),
    rewardAggregation: 'sum-then-normalize' as const,
    advantageGranularity: config.advantage_granularity,
    turnAdvantageFallback: config.turn_advantage_trajectory_fallback,
    whitenAdvantages: config.whiten_advantages,
    advantageClipRange: config.adv_clip_range ?? null,
    filterZeroAdvantages: config.filter_zero_adv,
    advantageFilterEpsilon: config.adv_filter_eps,
    lossNorm: lossNorms[asText(config.loss_norm)],
  }
  if (config.loss_type === 'gspo') return settings
  return { ...settings, importanceSamplingLevel: config.importance_sampling_level_resolved }
}

const noLengthShaping = { maskTruncated: false, overlongBuffer: 0, overlongPenalty: 1 }
const againstGroup: Comparison = ({ rewards, mean, deviation }) =>
  rewards.map((reward) => (reward - mean) / deviation)

/** Advantages in the reference's shape: [B][1] per trajectory, [B][T] per turn. */
function advantagesOf(batch: readonly Experience[], config: JsonObject) {
  const level = config.importance_sampling_level_resolved === 'turn' ? 'turn' : 'trajectory'
  const settings = {
    ...noLengthShaping,
    advantageNorm: config.adv_norm === 'mean_only' ? ('mean-only' as const) : ('mean-std' as const),
    rewardAggregation: 'sum-then-normalize' as const,
    advantageGranularity:
      config.advantage_granularity === 'auto'
        ? ('auto' as const)
        : config.advantage_granularity === 'turn'
          ? ('turn' as const)
          : ('trajectory' as const),
    turnAdvantageFallback: config.turn_advantage_trajectory_fallback === true,
    whitenAdvantages: config.whiten_advantages === true,
    advantageClipRange: typeof config.adv_clip_range === 'number' ? config.adv_clip_range : null,
    filterZeroAdvantages: config.filter_zero_adv === true,
    advantageFilterEpsilon: asNumber(config.adv_filter_eps),
  }
  const { cells, cellIds, granularity, kept } = advantageCells(batch, settings, level, againstGroup)
  const perToken = cells.map((row, i) => spreadOverTurns(row, cellIds[i]!))
  return { advantages: granularity === 'turn' ? perToken : cells, kept_indices: kept }
}

function learn(inputs: JsonObject): unknown {
  const config = asObject(inputs.config)
  const batch = experiencesOf(inputs, asNumber(config.group_size))
  const algorithm = builtInAlgorithm(asText(config.loss_type)).configure(settingsOf(config))
  const replay = replayUpdates(algorithm, batch, algorithm.advantages(batch), inputs)
  return {
    ...advantagesOf(batch, config),
    losses: replay.losses,
    // A batch without a trajectory to learn from reports zeros.
    metrics: {
      loss: 0,
      kl: 0,
      ...replay.metrics,
      ...(inputs.sampling_logps === undefined ? {} : mismatchMetrics(inputs)),
    },
    grad_lp: replay.logprobSlopes,
  }
}

function unmaskedTurnAdvantages(inputs: JsonObject): unknown {
  const rewards = asList(inputs.rewards).map(asNumbers)
  const size = asNumber(inputs.group_size)
  const turnIds = (row: readonly number[]) => Int32Array.from(row, (_, turn) => turn)
  const batch = rewards.map((row, i) => ({
    ...bareExperience,
    group: Math.floor(i / size),
    actionMask: new Uint8Array(row.length).fill(1),
    turnIds: turnIds(row),
    turnRewards: row,
    behaviorLogprobs: null,
    referenceLogprobs: null,
    behaviorValues: null,
  }))
  const settings = {
    ...noLengthShaping,
    advantageNorm: inputs.adv_norm === 'mean_only' ? ('mean-only' as const) : ('mean-std' as const),
    rewardAggregation: 'sum-then-normalize' as const,
    advantageGranularity: 'turn' as const,
    turnAdvantageFallback: false,
    whitenAdvantages: false,
    advantageClipRange: null,
    filterZeroAdvantages: false,
    advantageFilterEpsilon: 0,
  }
  return { turn_advantages: groupAdvantages(batch, settings, 'turn', againstGroup).tokens }
}

/** The plain policy gradient, −A·logprob averaged over tokens, with rewards that already are advantages. */
function plainPolicyGradient(inputs: JsonObject): unknown {
  const masks = asMaskRows(inputs.loss_mask)
  const batch = asFloatRows(inputs.lp).map((behaviorLogprobs, group) => ({
    group,
    actionMask: masks[group]!,
    ...bareExperience,
    turnIds: null,
    turnRewards: [],
    behaviorLogprobs,
    referenceLogprobs: null,
    behaviorValues: null,
  }))
  const minibatches = [batch.map((_, i) => i)]
  const whole = { tokens: asFloatRows(inputs.rewards), returns: null, kept: minibatches[0]! }
  const { losses, logprobSlopes } = replayUpdates(remax.configure({}), batch, whole, {
    ...inputs,
    minibatches,
  })
  return { loss: losses[0], grad_lp: logprobSlopes }
}

export const groupContracts = {
  'areal.reinforce_loss': exact(plainPolicyGradient),
  'grpo.learn': exact(learn),
  'grpo.advantages': exact((inputs) => {
    const config = asObject(inputs.config)
    return advantagesOf(experiencesOf(inputs, asNumber(config.group_size)), config)
  }),
  'grpo.turn_advantage_unmasked': exact(unmaskedTurnAdvantages),
  'grpo.clip_bounds': exact((inputs, golden) =>
    underOnlyKey(
      golden,
      asList(onlyValue(inputs)).map((coefficient) => {
        const { lower, upper } = clipBounds(
          typeof coefficient === 'number' ? coefficient : (asNumbers(coefficient) as [number, number]),
        )
        return [lower, upper]
      }),
    ),
  ),
}
