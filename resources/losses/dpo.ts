// DPO: from pairs of a chosen and a rejected answer, without rewards; the chosen answers' likelihood keeps them from falling.
import { chosen, defineLoss, logSigmoid, mean, rejected, sum } from 'turnwise'

export default defineLoss({
  title: 'DPO as code',
  source: 'Rafailov et al. 2023, arXiv:2305.18290, eq. 7; Pang et al. 2024, arXiv:2404.19733',
  experience: 'preferences',
  settings: {
    beta: { default: 0.1, minimum: 0, description: 'The larger, the closer the policy stays to the reference.' },
    nllAlpha: { default: 1, minimum: 0, description: 'Weight of the chosen answers’ log-likelihood per token.' },
  },

  loss({ logp, refLogp, mask, settings }) {
    const logRatio = sum(logp - refLogp, mask, 'sequence')
    const margin = settings.beta * (chosen(logRatio) - rejected(logRatio))
    const tokens = sum(chosen(sum(mask, 'sequence')))
    const likelihood = sum(chosen(sum(logp, mask, 'sequence')))
    return {
      // Pairs and tokens are counted apart, so each term has its own weight.
      terms: [
        { loss: -mean(logSigmoid(margin)), weight: 'sequences' },
        { loss: (-settings.nllAlpha * likelihood) / tokens, weight: tokens },
      ],
      metrics: { 'rewards/margins': mean(margin), 'rewards/accuracies': mean(margin > 0) },
    }
  },
})
