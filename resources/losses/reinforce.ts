// REINFORCE with return batch normalisation: returns standardised over the batch instead of a baseline.
import { clip, defineLoss, exp, mean, min } from 'turnwise'

export default defineLoss({
  title: 'REINFORCE as code',
  source: 'Williams 1992; Hu et al. 2025, arXiv:2501.03262',
  groupSize: 1,
  settings: {
    clip: { default: 0.2, minimum: 0, description: 'How far the importance ratio may move from 1.' },
    klCoefficient: { default: 0.01, minimum: 0, description: 'Weight of the divergence from the reference policy, subtracted from the rewards.' },
    discount: { default: 1, minimum: 0, maximum: 1, description: 'Discount from token to token.' },
  },
  needs: ['oldLogp', 'refLogp'],

  // The discounted return of each token, standardised over all tokens of the batch. A turn's reward counts on each of its tokens.
  advantages({ rows, settings }) {
    const returns = rows.map(({ tokens, turns, rewards, oldLogp, refLogp }) => {
      const list = new Array(tokens)
      for (let t = tokens - 1; t >= 0; t--) {
        const reward = rewards[turns[t]] - settings.klCoefficient * (oldLogp[t] - refLogp[t])
        const goesOn = t + 1 < tokens && turns[t + 1] === turns[t]
        list[t] = reward + (goesOn ? settings.discount * list[t + 1] : 0)
      }
      return list
    })
    const all = returns.flat()
    const average = all.reduce((sum, x) => sum + x, 0) / all.length
    const deviation = Math.sqrt(all.reduce((sum, x) => sum + (x - average) ** 2, 0) / Math.max(all.length - 1, 1))
    const isFlat = deviation <= 1e-12 * Math.max(1, Math.abs(average))
    return returns.map((list) => list.map((x) => (isFlat ? 0 : (x - average) / (deviation + 1e-8))))
  },

  loss({ logp, oldLogp, advantages, correction, mask, settings }) {
    const ratio = exp(logp - oldLogp)
    const clipped = clip(ratio, 1 - settings.clip, 1 + settings.clip)
    const loss = -mean(correction * min(ratio * advantages, clipped * advantages), mask)
    return { loss, metrics: { policy_loss: loss, 'clip_ratio/region_mean': mean(ratio !== clipped, mask) } }
  },
})
