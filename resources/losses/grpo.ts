// GRPO: completions of one prompt are compared; those above the group's average become more likely.
import { clip, defineLoss, exp, expm1, mean, min, where } from 'turnwise'

export default defineLoss({
  title: 'GRPO as code',
  source: 'Shao et al. 2024, arXiv:2402.03300, eq. 3',
  groupSize: 8,
  settings: {
    clip: { default: 0.2, minimum: 0, maximum: 1, description: 'How far the importance ratio may move from 1.' },
    klCoefficient: { default: 0.001, minimum: 0, description: 'Weight of the divergence from the reference policy.' },
  },

  // A = (r − mean r) / std r, over the completions of one prompt.
  advantages({ rows }) {
    return rows.map((row) => {
      const rewards = rows.filter(({ group }) => group === row.group).map(({ reward }) => reward)
      const average = rewards.reduce((sum, r) => sum + r, 0) / rewards.length
      const variance = rewards.reduce((sum, r) => sum + (r - average) ** 2, 0) / Math.max(rewards.length - 1, 1)
      const deviation = Math.sqrt(variance)
      return deviation <= 1e-12 * Math.max(1, Math.abs(average)) ? 0 : (row.reward - average) / (deviation + 1e-8)
    })
  },

  lossWeight: 'sequences',
  loss({ logp, oldLogp, refLogp, advantages, correction, mask, settings }) {
    const ratio = exp(logp - oldLogp)
    const clipped = clip(ratio, 1 - settings.clip, 1 + settings.clip)
    const surrogate = -correction * min(ratio * advantages, clipped * advantages)
    const metrics = { 'clip_ratio/region_mean': mean(ratio !== clipped, mask) }
    if (settings.klCoefficient === 0) return { loss: mean(mean(surrogate, mask, 'sequence')), metrics }
    const d = refLogp - logp
    const kl = expm1(d) - d
    // Dropped beyond 10 nats, where the gradient of one token would dominate all others.
    const penalty = settings.klCoefficient * ratio * where(kl > 10 && d > 0, 0, kl)
    return {
      loss: mean(mean(surrogate + penalty, mask, 'sequence')),
      metrics: { ...metrics, kl: mean(ratio * kl, mask) },
    }
  },
})
