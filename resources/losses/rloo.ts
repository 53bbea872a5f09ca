// RLOO: the baseline of a completion is the mean reward of the others of its prompt; a whole completion is one action.
import { clip, defineLoss, exp, mean, min, sum } from 'turnwise'

export default defineLoss({
  title: 'RLOO as code',
  source: 'Ahmadian et al. 2024, arXiv:2402.14740, eq. 7',
  groupSize: 4,
  settings: {
    clip: { default: 0.2, minimum: 0, description: 'How far the importance ratio may move from 1.' },
    klCoefficient: { default: 0.05, minimum: 0, description: 'Weight of the divergence from the reference policy, subtracted from the rewards.' },
  },
  needs: ['oldLogp', 'refLogp'],

  advantages({ rows, settings }) {
    const rewards = rows.map(({ reward, oldLogp, refLogp }) => {
      const divergence = oldLogp.reduce((total, x, t) => total + x - refLogp[t], 0)
      return reward - settings.klCoefficient * divergence
    })
    return rows.map((row, i) => {
      const members = rewards.filter((_, k) => rows[k].group === row.group)
      const total = members.reduce((all, reward) => all + reward, 0)
      return members.length < 2 ? 0 : rewards[i] - (total - rewards[i]) / (members.length - 1)
    })
  },

  lossWeight: 'sequences',
  loss({ logp, oldLogp, advantages, correction, mask, settings }) {
    const ratio = exp(sum(logp - oldLogp, mask, 'sequence'))
    const clipped = clip(ratio, 1 - settings.clip, 1 + settings.clip)
    const A = mean(advantages, mask, 'sequence')
    const loss = -mean(mean(correction, mask, 'sequence') * min(ratio * A, clipped * A))
    return { loss, metrics: { policy_loss: loss, 'clip_ratio/region_mean': mean(ratio !== clipped) } }
  },
})
