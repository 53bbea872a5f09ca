// REINFORCE++ with baseline: rewards centred in their group, then standardised over all tokens of the batch.
import { clip, defineLoss, exp, mean, min, square } from 'turnwise'

export default defineLoss({
  title: 'REINFORCE++ baseline as code',
  source: 'Hu et al. 2025, arXiv:2501.03262',
  groupSize: 8,
  settings: {
    clip: { default: 0.2, minimum: 0, description: 'How far the importance ratio may move from 1.' },
    klCoefficient: { default: 0.001, minimum: 0, description: 'Weight of the divergence (k2) from the reference policy.' },
  },

  advantages({ rows }) {
    const isFlat = (values, average, deviation) => deviation <= 1e-12 * Math.max(1, Math.abs(average))
    const meanOf = (values) => values.reduce((sum, x) => sum + x, 0) / values.length
    const deviationOf = (values, average) =>
      Math.sqrt(values.reduce((sum, x) => sum + (x - average) ** 2, 0) / Math.max(values.length - 1, 1))
    const centred = rows.map((row) => {
      const rewards = rows.filter(({ group }) => group === row.group).map(({ reward }) => reward)
      const average = meanOf(rewards)
      return isFlat(rewards, average, deviationOf(rewards, average)) ? 0 : row.reward - average
    })
    const all = rows.flatMap(({ tokens }, i) => new Array(tokens).fill(centred[i]))
    const average = meanOf(all)
    const deviation = deviationOf(all, average)
    return centred.map((x) => (isFlat(all, average, deviation) ? 0 : (x - average) / (deviation + 1e-8)))
  },

  loss({ logp, oldLogp, refLogp, advantages, correction, mask, settings }) {
    const ratio = exp(logp - oldLogp)
    const clipped = clip(ratio, 1 - settings.clip, 1 + settings.clip)
    const policyLoss = -mean(correction * min(ratio * advantages, clipped * advantages), mask)
    const metrics = { policy_loss: policyLoss, 'clip_ratio/region_mean': mean(ratio !== clipped, mask) }
    if (settings.klCoefficient === 0) return { loss: policyLoss, metrics }
    const kl = mean(0.5 * square(refLogp - logp), mask)
    return { loss: policyLoss + settings.klCoefficient * kl, metrics: { ...metrics, kl } }
  },
})
