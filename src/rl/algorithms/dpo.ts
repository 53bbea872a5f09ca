import { choiceSetting, numberSetting } from '#shared/settings.ts'
import { actionCount, actionTotal, atActions, sumOverActions } from './common/actions.ts'
import { noNeeds } from './common/needs.ts'
import { addTallies, type Tallies } from './common/tally.ts'
import {
  preferenceConflicts,
  preferenceLoss,
  preferenceLossNames,
  type PreferenceSettings,
} from './losses/preferenceLosses.ts'
import { defineAlgorithm } from './define.ts'
import type { LearningRow, LossRow, MinibatchLoss } from './types.ts'

/**
 * Direct Preference Optimization: the chosen answer gains on the rejected one, measured against the reference policy.
 * Rafailov et al. 2023, arXiv:2305.18290; its other losses: losses/preferenceLosses.ts; the likelihood term: Pang et al. 2024, arXiv:2404.19733, here per token of the minibatch.
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
  needs: () => ({ ...noNeeds, reference: true, unit: 2 }),
  advantages: (batch) => ({
    tokens: batch.map((row) => atActions(row, () => 1)),
    returns: null,
    kept: batch.map((_, i) => i),
  }),
  minibatchLoss: dpoLoss,
})

interface DpoSettings extends PreferenceSettings {
  readonly nllAlpha: number
}

/** How much of what a token or a pair costs reaches the loss. */
interface Weights {
  readonly pair: number
  readonly chosenToken: number
}

function dpoLoss(minibatch: readonly LearningRow[], settings: DpoSettings): MinibatchLoss {
  const chosen = minibatch.filter((_, i) => i % 2 === 0)
  const weights = {
    pair: 1 / Math.max(chosen.length, 1),
    chosenToken: settings.nllAlpha / Math.max(actionTotal(chosen), 1),
  }
  return (part) => {
    const pairs = pairsOf(part).map((pair) => pairLoss(pair, weights, settings))
    return {
      loss: pairs.reduce((sum, { loss }) => sum + loss, 0),
      coefficients: pairs.flatMap(({ slopes }) =>
        slopes.map((logprobs) => ({ logprobs, entropies: null, values: null })),
      ),
      tallies: addTallies(pairs.map(({ tallies }) => tallies)),
    }
  }
}

type Pair = readonly [chosen: LossRow, rejected: LossRow]

function pairsOf(part: readonly LossRow[]): Pair[] {
  return part.flatMap((chosen, i): Pair[] => {
    if (i % 2 === 1) return []
    const rejected = part[i + 1]
    if (rejected?.group !== chosen.group) throw new Error('Expected a rejected answer after each chosen one.')
    return [[chosen, rejected]]
  })
}

function pairLoss([chosen, rejected]: Pair, weights: Weights, settings: DpoSettings) {
  const preference = preferenceLoss(gainOf(chosen), gainOf(rejected), settings)
  const likelihood = sumOverActions(chosen, (t) => chosen.logprobs[t]!)
  const [better, worse] = [implicitReward(chosen, settings.beta), implicitReward(rejected, settings.beta)]
  return {
    loss: weights.pair * preference.value - weights.chosenToken * likelihood,
    slopes: [
      atActions(chosen, () => weights.pair * preference.chosenSlope - weights.chosenToken),
      atActions(rejected, () => weights.pair * preference.rejectedSlope),
    ],
    tallies: pairTallies([chosen, rejected], better, worse),
  }
}

const gainOf = (row: LossRow) => ({ logRatio: logRatioOf(row), tokens: actionCount(row) })

/** β · (log-probability of the answer − the reference's). */
export const implicitReward = (row: LossRow, beta: number): number => beta * logRatioOf(row)

function logRatioOf(row: LossRow): number {
  const { logprobs, referenceLogprobs } = row
  if (referenceLogprobs === null) throw new Error('Expected the reference’s log-probabilities of every row.')
  return sumOverActions(row, (t) => logprobs[t]! - referenceLogprobs[t]!)
}

function pairTallies([chosen, rejected]: Pair, better: number, worse: number): Tallies {
  const total = (row: LossRow) => sumOverActions(row, (t) => row.logprobs[t]!)
  const perPair = (sum: number) => ({ sum, count: 1 })
  return {
    'rewards/chosen': perPair(better),
    'rewards/rejected': perPair(worse),
    'rewards/margins': perPair(better - worse),
    'rewards/accuracies': perPair(better > worse ? 1 : 0),
    'logps/chosen': perPair(total(chosen)),
    'logps/rejected': perPair(total(rejected)),
    surprisal: { sum: -total(chosen), count: actionCount(chosen) },
  }
}
