import { optionalNumberSetting } from '#shared/config/settings.ts'
import { arithmetic, clip } from './terms/differentiable.ts'
import { clipBounds } from './terms/groupSettings.ts'
import { klInReward, perTrajectory, trajectoryRewards, trajectorySettings } from './terms/rewards.ts'
import { tally } from './terms/tally.ts'
import { unitMean, unitRatios } from './terms/unitTerms.ts'
import { referenceLogRatio, surprisal, surrogateMetrics } from './terms/metrics.ts'
import { defineAlgorithm } from './define.ts'
import type { Experience } from './types.ts'

const { minimum, multiply, negative } = arithmetic

/** REINFORCE against the reward of the greedy answer to the same prompt. Li et al. 2023, arXiv:2310.10505, §4. */
export const remax = defineAlgorithm({
  id: 'remax',
  title: 'ReMax',
  description: 'Compares each completion with the greedy one; those that beat it become more likely.',
  source: 'Li et al. 2023, arXiv:2310.10505',
  experience: 'rollout',
  groupSize: { default: 1, minimum: 1 },
  settings: {
    klCoefficient: klInReward(0),
    clipCoefficient: optionalNumberSetting({
      default: null,
      minimum: 0,
      description: 'How far the importance ratio may move from 1 if a step has several updates.',
      empty: 'the plain policy gradient',
    }),
    ...trajectorySettings,
  },
  needs: ({ klCoefficient }) => ({
    behavior: klCoefficient !== 0,
    ratio: true,
    reference: klCoefficient !== 0,
    greedyBaseline: true,
  }),
  advantages(batch, settings) {
    const limit = settings.rewardClipRange ?? Infinity
    const rewards = trajectoryRewards(batch, settings)
    // A = r − r of the greedy answer
    const advantages = rewards.map(
      (reward, i) => reward - Math.min(Math.max(baselineOf(batch[i]!), -limit), limit),
    )
    return perTrajectory(advantages, batch, settings)
  },
  loss(minibatch, { clipCoefficient }) {
    const average = unitMean(minibatch, 'token')
    return (tokens) => {
      const { logp } = tokens
      const { ratio, advantages: A, correction } = unitRatios(tokens, 'token', 'mean')
      const bounds = clipBounds(clipCoefficient ?? Infinity)
      const gain =
        clipCoefficient === null
          ? multiply(A, logp)
          : minimum(multiply(ratio, A), multiply(clip(ratio, bounds), A))
      const loss = negative(multiply(correction, gain))
      const metrics =
        clipCoefficient === null ? { policy_loss: tally(loss) } : surrogateMetrics(loss, ratio, bounds)
      return {
        loss: average(loss),
        metrics: { ...metrics, ...surprisal(tokens), ...referenceLogRatio(tokens) },
      }
    }
  },
})

function baselineOf({ baselineReward }: Experience): number {
  if (baselineReward !== null) return baselineReward
  throw new Error('Expected the reward of the greedy answer of every row.')
}
