/** Metrics of a loss besides its value. */
import { arithmetic, type Units, type Value } from './differentiable.ts'
import type { ClipBounds } from './groupSettings.ts'
import type { Tokens } from './loss.ts'
import { type Tallies, tally } from './tally.ts'

const { negative, subtract } = arithmetic

/**
 * Shares of units (tokens, turns or trajectories with one ratio each) below and above the bounds. With `advantages`,
 * only those count whose gradient the clip removes: those whose advantage would push the ratio further out.
 */
export function clipFractions(
  ratio: Value,
  { lower, upper }: ClipBounds,
  { of, sizes }: Units,
  advantages?: Float64Array,
): Tallies {
  let [low, high] = [0, 0]
  of.forEach((unit, i) => {
    const [ρ, advantage] = [ratio.data[i]!, advantages?.[i]]
    if (ρ < lower && (advantage === undefined || advantage < 0)) low += 1 / sizes[unit]!
    if (ρ > upper && (advantage === undefined || advantage > 0)) high += 1 / sizes[unit]!
  })
  const count = sizes.length
  return {
    'clip_ratio/low_mean': { sum: low, count },
    'clip_ratio/high_mean': { sum: high, count },
    'clip_ratio/region_mean': { sum: low + high, count },
  }
}

/** The mean estimate, including clamped tokens, and the share of clamped tokens. */
export function klTallies(kl: Value, clamped: Uint8Array, klClamp: number | null): Tallies {
  const sum = () => clamped.reduce((total, isClamped) => total + isClamped, 0)
  const share = klClamp === null ? {} : { 'kl/clamped': { sum: sum(), count: clamped.length } }
  return { kl: tally(kl), ...share }
}

/** The policy loss, and the share of units whose ratio is outside the bounds. */
export const surrogateMetrics = (loss: Value, ratio: Value, { lower, upper }: ClipBounds): Tallies => ({
  policy_loss: tally(loss),
  'clip_ratio/region_mean': tally({ data: ratio.data.map((ρ) => Number(ρ < lower || ρ > upper)) }),
})

/** The mean −log-probability of the chosen tokens. */
export const surprisal = ({ logp }: Tokens): Tallies => ({ surprisal: tally(negative(logp)) })

/** The mean log-ratio to the reference policy (k1), which can be negative. */
export const referenceLogRatio = ({ logp, refLogp }: Tokens): Tallies =>
  refLogp === null ? {} : { kl: tally(subtract(logp, refLogp)) }
