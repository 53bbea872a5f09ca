/** REINFORCE with return batch normalisation. */
import { rewardTokens } from '#rl/algorithms/terms/rewards.ts'
import { returnAdvantages } from '#rl/algorithms/reinforce.ts'
import { resolveAdvantageGranularity, turnOfTokens } from '#rl/algorithms/terms/turns.ts'
import { reinforce } from '#rl/algorithms/reinforce.ts'
import { asNumber, asObject, exact, type JsonObject } from '../contract.ts'
import { experiencesOf, mismatchMetrics, replayUpdates } from './learning.ts'

type Granularity = 'auto' | 'turn' | 'token'

function learn(inputs: JsonObject): unknown {
  const config = asObject(inputs.config)
  const batch = experiencesOf(inputs, 1)
  const algorithm = reinforce.configure({
    klCoefficient: config.beta,
    clipCoefficient: config.clip_coef,
    discount: config.gamma,
    advantageGranularity: config.advantage_granularity,
    importanceSamplingLevel: config.importance_sampling_level,
    turnRatioPooling: config.turn_ratio_pooling,
  })
  const advantages = algorithm.advantages(batch)
  const { losses, metrics, logprobSlopes } = replayUpdates(algorithm, batch, advantages, inputs)
  return {
    granularity: resolveAdvantageGranularity(
      config.advantage_granularity as Granularity,
      batch.map(turnOfTokens),
    ),
    advantages: advantages.tokens,
    losses,
    metrics: {
      ...metrics,
      pg_loss: metrics.policy_loss,
      entropy: metrics.surprisal,
      ...(inputs.sampling_logps === undefined ? {} : mismatchMetrics(inputs)),
    },
    grad_lp: logprobSlopes,
  }
}

function advantages(inputs: JsonObject): unknown {
  const batch = experiencesOf(inputs, 1)
  const { tokens } = returnAdvantages(batch, {
    discount: asNumber(inputs.gamma),
    granularity: inputs.granularity as Granularity,
    rewardPlacement: 'every-token',
    klCoefficient: 0,
  })
  return { token_rewards: batch.map((row) => rewardTokens(row, 'every-token')), advantages: tokens }
}

export const reinforceContracts = {
  'reinforce.learn': exact(learn),
  'reinforce.rebn_advantages': exact(advantages),
}
