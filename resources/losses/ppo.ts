// PPO with a critic, over tokens: tokens that do better than the critic expected become more likely.
import { clip, defineLoss, exp, expm1, max, mean, min, square, where } from 'turnwise'

export default defineLoss({
  title: 'PPO as code',
  source: 'Schulman et al. 2017, arXiv:1707.06347; advantages: Schulman et al. 2016, arXiv:1506.02438',
  groupSize: 1,
  settings: {
    clip: { default: 0.2, minimum: 0, maximum: 1, description: 'How far the importance ratio may move from 1, and a value from the old one.' },
    klCoefficient: { default: 0.01, minimum: 0, description: 'Weight of the divergence from the reference policy.' },
    valueCoefficient: { default: 0.5, minimum: 0, description: 'Weight of the critic’s loss.' },
    discount: { default: 1, minimum: 0, maximum: 1, description: 'Discount from token to token.' },
    gaeLambda: { default: 1, minimum: 0, maximum: 1, description: '1 relies on the observed rewards, 0 on the critic.' },
  },
  needs: ['oldValues'],

  // A_t = δ_t + γλ·A_{t+1} with δ_t = r_t + γ·V_{t+1} − V_t; a turn's reward counts on each of its tokens.
  advantages({ rows, settings }) {
    const { discount, gaeLambda } = settings
    const estimated = rows.map(({ tokens, turns, rewards, oldValues }) => {
      const advantages = new Array(tokens)
      for (let t = tokens - 1; t >= 0; t--) {
        const goesOn = t + 1 < tokens && turns[t + 1] === turns[t]
        const next = goesOn ? oldValues[t + 1] : 0
        const error = rewards[turns[t]] + discount * next - oldValues[t]
        advantages[t] = error + (goesOn ? discount * gaeLambda * advantages[t + 1] : 0)
      }
      return { advantages, returns: advantages.map((A, t) => A + oldValues[t]) }
    })
    const all = estimated.flatMap(({ advantages }) => advantages)
    const average = all.reduce((sum, A) => sum + A, 0) / all.length
    const variance = all.reduce((sum, A) => sum + (A - average) ** 2, 0) / Math.max(all.length - 1, 1)
    const isFlat = Math.sqrt(variance) <= 1e-12 * Math.max(1, Math.abs(average))
    const whitened = (A) => (isFlat ? 0 : (A - average) / Math.sqrt(variance + 1e-8))
    return estimated.map(({ advantages, returns }) => ({ advantages: advantages.map(whitened), returns }))
  },

  loss({ logp, oldLogp, refLogp, values, oldValues, advantages, returns, correction, mask, settings }) {
    const ratio = exp(logp - oldLogp)
    const clipped = clip(ratio, 1 - settings.clip, 1 + settings.clip)
    const policyLoss = -mean(correction * min(ratio * advantages, clipped * advantages), mask)
    const limited = oldValues + clip(values - oldValues, -settings.clip, settings.clip)
    const valueLoss = (settings.valueCoefficient / 2) * mean(max(square(returns - values), square(returns - limited)), mask)
    const metrics = { policy_loss: policyLoss, value_loss: valueLoss, 'clip_ratio/region_mean': mean(ratio !== clipped, mask) }
    if (settings.klCoefficient === 0) return { loss: policyLoss + valueLoss, metrics }
    const d = refLogp - logp
    const kl = expm1(d) - d
    const penalty = mean(where(kl > 10 && d > 0, 0, kl), mask)
    return { loss: policyLoss + valueLoss + settings.klCoefficient * penalty, metrics: { ...metrics, kl: mean(kl, mask) } }
  },
})
