// ReMax: a completion is compared with the greedy one for the same prompt.
import { defineLoss, mean } from 'turnwise'

export default defineLoss({
  title: 'ReMax as code',
  source: 'Li et al. 2023, arXiv:2310.10505, §4',
  groupSize: 1,
  needs: ['baseline'],

  advantages({ rows }) {
    return rows.map(({ reward, baseline }) => reward - baseline)
  },

  loss({ logp, advantages, correction, mask }) {
    const loss = -mean(correction * advantages * logp, mask)
    return { loss, metrics: { policy_loss: loss } }
  },
})
