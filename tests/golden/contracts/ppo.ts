/** PPO with a critic. */
import { generalizedAdvantages } from '#rl/algorithms/ppo.ts'
import { ppo } from '#rl/algorithms/ppo.ts'
import { asObject, exact, type Json, type JsonObject } from '../contract.ts'
import { experiencesOf, mismatchMetrics, replayUpdates } from './learning.ts'

const kebab = (value: Json | undefined): Json | undefined =>
  typeof value === 'string' ? value.replace('_', '-') : value

/** Every setting is named, so that a default of ours that differs does not decide. */
const settingsOf = (config: JsonObject) => ({
  klCoefficient: config.beta,
  klEstimator: 'k3-reversed',
  klClamp: null,
  clipCoefficient: config.clip_coef,
  discount: config.gamma,
  gaeLambda: config.gae_lambda,
  valueCoefficient: config.vf_coef,
  advantageGranularity: config.advantage_granularity,
  importanceSamplingLevel: config.importance_sampling_level,
  turnLevelClip: config.turn_level_clip,
  turnRatioPooling: config.turn_ratio_pooling,
  turnValueReduction: kebab(config.turn_value_reduction),
  whitenAdvantages: config.whiten_advantages,
})

function learn(inputs: JsonObject): unknown {
  const batch = experiencesOf(inputs, 1)
  const algorithm = ppo.configure(settingsOf(asObject(inputs.config)))
  const advantages = algorithm.advantages(batch)
  const replay = replayUpdates(algorithm, batch, advantages, inputs)
  return {
    granularity: advantages.granularity,
    advantages: advantages.tokens,
    returns: advantages.returns,
    losses: replay.losses,
    metrics: {
      ...replay.metrics,
      pg_loss: replay.metrics.policy_loss,
      vf_loss: replay.metrics.value_loss,
      entropy: replay.metrics.surprisal,
      clipfrac: replay.metrics['clip_ratio/region_mean'],
      ...(inputs.sampling_logps === undefined ? {} : mismatchMetrics(inputs)),
    },
    grad_lp: replay.logprobSlopes,
    grad_values: replay.valueGradients,
  }
}

function gae(inputs: JsonObject): unknown {
  const config = asObject(inputs.config)
  const { tokens, returns } = generalizedAdvantages(experiencesOf(inputs, 1), {
    discount: Number(config.gamma),
    gaeLambda: Number(config.gae_lambda),
    granularity: inputs.granularity as 'auto' | 'token' | 'turn',
    turnValueReduction: config.turn_value_reduction === 'mean' ? 'mean' : 'final-value',
    rewardPlacement: 'every-token',
    whitenAdvantages: config.whiten_advantages === true,
  })
  return { returns, advantages: tokens }
}

export const ppoContracts = { 'ppo.learn': exact(learn), 'ppo.gae': exact(gae) }
