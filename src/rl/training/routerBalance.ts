/** Measures how evenly the routers of a mixture of experts use their experts. */
import type { Heads, RouterUse } from '#engine/policy.ts'

/** Sum over sequences; null where the model has no experts. */
export const summedUse = (uses: readonly (RouterUse | null | undefined)[]): RouterUse | null =>
  uses.reduce<RouterUse | null>((sum, use) => (sum && use ? added(sum, use) : (sum ?? use ?? null)), null)

/** The same of heads. */
export const useOf = (heads: readonly Heads[]): RouterUse | null =>
  summedUse(heads.map(({ routers }) => routers))

const added = (a: RouterUse, b: RouterUse): RouterUse => ({
  decisions: a.decisions + b.decisions,
  chosen: a.chosen.map((count, expert) => count + b.chosen[expert]!),
  shares: a.shares.map((share, expert) => share + b.shares[expert]!),
})

/**
 * Load-balancing loss: E · Σₑ fₑ Pₑ, with fₑ the share of decisions that chose expert e and Pₑ its mean share in the softmax.
 * It is k, the experts of a token, where all are used alike, and at most E · k. Fedus et al. 2021, arXiv:2101.03961,
 * equation 4; over the tokens of all layers together, as transformers has it.
 */
export function balanceLoss({ decisions, chosen, shares }: RouterUse): number {
  const sum = chosen.reduce(
    (total, count, expert) => total + (count / decisions) * (shares[expert]! / decisions),
    0,
  )
  return chosen.length * sum
}
