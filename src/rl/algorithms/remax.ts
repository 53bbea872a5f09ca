import { optionalNumberSetting } from '#shared/settings.ts'
import { clipBounds } from './losses/clipping.ts'
import { mayLearn } from './common/lengthShaping.ts'
import { logprobLoss } from './losses/logprobLoss.ts'
import { sumOfTerms } from './losses/lossTerm.ts'
import { noNeeds } from './common/needs.ts'
import { referenceLogRatio, surprisal } from './losses/penalties.ts'
import { onActions, trajectoryRewards } from './common/trajectoryAdvantages.ts'
import { klInReward, trajectorySettings } from './common/trajectorySettings.ts'
import { unitSurrogate } from './losses/unitSurrogate.ts'
import { defineAlgorithm } from './define.ts'
import type { Experience } from './types.ts'

/** REINFORCE against the reward of the greedy answer to the same prompt. Li et al. 2023, arXiv:2310.10505, §4. */
export const remax = defineAlgorithm({
  id: 'remax',
  title: 'ReMax',
  description: 'Compares each completion with the greedy one; what beats it becomes likelier.',
  source: 'Li et al. 2023, arXiv:2310.10505',
  experience: 'rollout',
  groupSize: { default: 1, minimum: 1 },
  settings: {
    klCoefficient: klInReward(0),
    clipCoefficient: optionalNumberSetting({
      default: null,
      minimum: 0,
      description:
        'How far the importance ratio may leave 1 where a step has several updates; null is the plain policy gradient.',
    }),
    ...trajectorySettings,
  },
  needs: ({ klCoefficient }) => ({
    ...noNeeds,
    behavior: klCoefficient !== 0,
    ratio: true,
    reference: klCoefficient !== 0,
    greedyBaseline: true,
  }),
  advantages(batch, settings) {
    const limit = settings.rewardClipRange ?? Infinity
    const rewards = trajectoryRewards(batch, settings)
    const advantages = rewards.map(
      (reward, i) => reward - Math.min(Math.max(baselineOf(batch[i]!), -limit), limit),
    )
    return {
      tokens: onActions(advantages, batch),
      returns: null,
      kept: batch.map((_, i) => i).filter((i) => mayLearn(batch[i]!, settings)),
    }
  },
  minibatchLoss(minibatch, { clipCoefficient }) {
    const surrogate =
      clipCoefficient === null
        ? logprobLoss(minibatch, 'token-mean', 'policy_loss')
        : unitSurrogate(minibatch, { level: 'token', pooling: 'mean', bounds: clipBounds(clipCoefficient) })
    return sumOfTerms([surrogate, surprisal, referenceLogRatio])
  },
})

function baselineOf({ baselineReward }: Experience): number {
  if (baselineReward !== null) return baselineReward
  throw new Error('Expected the reward of the greedy answer of every row.')
}
