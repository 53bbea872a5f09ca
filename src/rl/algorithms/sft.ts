import { choiceSetting } from '#shared/settings.ts'
import { actionCount, atActions, sumOverActions } from './common/actions.ts'
import { logprobLoss } from './losses/logprobLoss.ts'
import { type LossTerm, sumOfTerms } from './losses/lossTerm.ts'
import { noNeeds } from './common/needs.ts'
import { defineAlgorithm } from './define.ts'

/** Supervised finetuning: maximum likelihood of the answers shown. The mask marks the answer's tokens, its end included. */
export const sft = defineAlgorithm({
  id: 'sft',
  title: 'SFT',
  description: 'Imitates the answers of the data, token by token.',
  source: 'Maximum likelihood',
  experience: 'demonstrations',
  groupSize: { default: 1, minimum: 1 },
  settings: {
    lossNorm: choiceSetting(
      ['token-mean', 'trajectory-mean'],
      'token-mean',
      'Whether every token of the minibatch weighs the same, or every answer.',
    ),
  },
  needs: () => noNeeds,
  advantages: (batch) => ({
    tokens: batch.map((row) => atActions(row, () => 1)),
    returns: null,
    kept: batch.map((_, i) => i),
  }),
  minibatchLoss: (minibatch, { lossNorm }) =>
    sumOfTerms([logprobLoss(minibatch, lossNorm, 'surprisal'), perplexity]),
})

const perplexity: LossTerm = (row) => ({
  loss: 0,
  tallies: {
    perplexity: {
      sum: -sumOverActions(row, (t) => row.logprobs[t]!),
      count: actionCount(row),
      isExponent: true,
    },
  },
})
