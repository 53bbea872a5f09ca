import { choiceSetting, numberSetting } from '#shared/settings.ts'
import { multiply, subtract, sum } from './terms/differentiable.ts'
import type { Tokens } from './terms/loss.ts'
import { actionTotal } from './terms/policyTerms.ts'
import {
  type Answer,
  preferenceConflicts,
  preferenceLoss,
  preferenceLossNames,
} from './terms/preferenceLosses.ts'
import type { Tallies } from './terms/tally.ts'
import { defineAlgorithm } from './define.ts'

/**
 * Direct Preference Optimization: the chosen answer gains on the rejected one, measured against the reference policy.
 * Rafailov et al. 2023, arXiv:2305.18290; its other losses: terms/preferenceLosses.ts; the likelihood term: Pang et al. 2024, arXiv:2404.19733, here per token of the minibatch.
 */
export const dpo = defineAlgorithm({
  id: 'dpo',
  title: 'DPO',
  description: 'Learns from pairs of answers which one is preferred, without rewards.',
  source: 'Rafailov et al. 2023, arXiv:2305.18290',
  experience: 'preferences',
  groupSize: { default: 1, minimum: 1 },
  settings: {
    loss: choiceSetting(
      preferenceLossNames,
      'sigmoid',
      'What a pair costs: sigmoid is DPO itself; robust, conservative and exo take labels to be wrong at times.',
    ),
    beta: numberSetting({
      default: 0.1,
      minimum: 0,
      description: 'β: the larger, the closer the policy stays to the reference.',
    }),
    nllAlpha: numberSetting({
      default: 1,
      minimum: 0,
      description:
        'Weight of the chosen answers’ likelihood, so that they do not grow less likely; 0 is off.',
    }),
    labelSmoothing: numberSetting({
      default: 0,
      minimum: 0,
      maximum: 0.5,
      description:
        'Share of pairs that are taken to be the wrong way round, by the losses robust, conservative and exo.',
    }),
  },
  conflicts: preferenceConflicts,
  needs: () => ({ reference: true, unit: 2 }),
  loss(minibatch, settings) {
    const chosenOnes = minibatch.filter((_, i) => i % 2 === 0)
    const pairs = Math.max(chosenOnes.length, 1)
    const chosenTokens = Math.max(actionTotal(chosenOnes), 1)
    return (chosen, rejected?: Tokens) => {
      if (rejected?.trajectory.group !== chosen.trajectory.group)
        throw new Error('Expected a rejected answer after each chosen one.')
      const [better, worse] = [answerOf(chosen), answerOf(rejected)]
      const preference = preferenceLoss(better, worse, settings)
      const likelihood = sum(chosen.logp)
      return {
        loss: subtract(
          multiply(preference, 1 / pairs),
          multiply(likelihood, settings.nllAlpha / chosenTokens),
        ),
        metrics: pairMetrics([chosen, better], [rejected, worse], settings.beta),
      }
    }
  },
})

/** log π − log π_ref of the whole answer. */
function answerOf({ logp, refLogp, positions }: Tokens): Answer {
  if (refLogp === null) throw new Error('Expected the reference’s log-probabilities of every row.')
  return { logRatio: sum(subtract(logp, refLogp)), tokens: positions.length }
}

/** Rewards are implicit: β · log-ratio. */
function pairMetrics(
  [chosen, better]: readonly [Tokens, Answer],
  [rejected, worse]: readonly [Tokens, Answer],
  beta: number,
): Tallies {
  const reward = ({ logRatio }: Answer) => beta * logRatio.data[0]!
  const margin = reward(better) - reward(worse)
  const perPair = (value: number) => ({ sum: value, count: 1 })
  const total = ({ logp }: Tokens) => sum(logp).data[0]!
  return {
    'rewards/chosen': perPair(reward(better)),
    'rewards/rejected': perPair(reward(worse)),
    'rewards/margins': perPair(margin),
    'rewards/accuracies': perPair(margin > 0 ? 1 : 0),
    'logps/chosen': perPair(total(chosen)),
    'logps/rejected': perPair(total(rejected)),
    surprisal: { sum: -total(chosen), count: chosen.positions.length },
  }
}
