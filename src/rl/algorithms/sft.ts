import { choiceSetting } from '#shared/config/settings.ts'
import { arithmetic } from './terms/differentiable.ts'
import { normalizer } from './terms/policyTerms.ts'
import { tally } from './terms/tally.ts'
import { defineAlgorithm } from './define.ts'

const { negative } = arithmetic

/** Supervised finetuning: maximum likelihood of given answers. The mask marks their tokens, including the end token. */
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
      'Whether every token of the minibatch has the same weight, or every answer.',
    ),
  },
  needs: () => ({}),
  loss(minibatch, { lossNorm }) {
    const average = normalizer(minibatch, lossNorm)
    return (tokens) => {
      const loss = negative(tokens.logp)
      const total = tally(loss)
      return {
        loss: average(tokens, loss),
        metrics: { surprisal: total, perplexity: { ...total, isExponent: true } },
      }
    }
  },
})
