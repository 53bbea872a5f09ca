/** Terms of a loss that do not come from rewards, each a mean over the action tokens of the minibatch. */
import type { LearningRow, LossRow } from '../types.ts'
import { actionCount, actionTotal, atActions, sumOverActions } from '../common/actions.ts'
import { type KlSettings, type KlTerm, klTerm } from './kl.ts'
import type { Tallies } from '../common/tally.ts'
import type { LossTerm } from './lossTerm.ts'

/** β · mean of an estimate of the divergence from the reference policy; tallied as `kl`, tokens beyond the clamp included. */
export function klPenalty(
  minibatch: readonly LearningRow[],
  coefficient: number,
  settings: KlSettings,
): LossTerm {
  const weight = coefficient / Math.max(actionTotal(minibatch), 1)
  return (row) => {
    const { referenceLogprobs, logprobs } = row
    if (referenceLogprobs === null) return { loss: 0, tallies: {} }
    const at = (t: number) => klTerm(logprobs[t]!, referenceLogprobs[t]!, settings)
    const unlessClamped = (t: number, name: 'value' | 'slope') => (at(t).isClamped ? 0 : at(t)[name])
    return {
      loss: weight * sumOverActions(row, (t) => unlessClamped(t, 'value')),
      logprobs: atActions(row, (t) => weight * unlessClamped(t, 'slope')),
      tallies: klTallies(row, at, settings),
    }
  }
}

/** The mean estimate, clamped tokens included, and the share of those. */
export function klTallies(
  row: LossRow,
  at: (t: number) => Pick<KlTerm, 'value' | 'isClamped'>,
  { klClamp }: KlSettings,
): Tallies {
  const count = actionCount(row)
  const clamped = () => ({ sum: sumOverActions(row, (t) => Number(at(t).isClamped)), count })
  return {
    kl: { sum: sumOverActions(row, (t) => at(t).value), count },
    ...(klClamp === null ? {} : { 'kl/clamped': clamped() }),
  }
}

/** −coefficient · mean entropy: rewards a policy for staying uncertain. */
export function entropyBonus(minibatch: readonly LearningRow[], coefficient: number): LossTerm {
  const weight = -coefficient / Math.max(actionTotal(minibatch), 1)
  return (row) => {
    if (coefficient === 0) return { loss: 0, tallies: {} }
    const loss = weight * sumOverActions(row, (t) => row.entropies[t]!)
    return { loss, entropies: atActions(row, () => weight), tallies: {} }
  }
}

/** Adds nothing to the loss; tallies the mean −log-probability of the chosen tokens. */
export const surprisal: LossTerm = (row) => ({
  loss: 0,
  tallies: { surprisal: { sum: -sumOverActions(row, (t) => row.logprobs[t]!), count: actionCount(row) } },
})

/** Adds nothing to the loss; tallies the mean log-ratio to the reference policy (k1), which can be negative. */
export const referenceLogRatio: LossTerm = (row: LossRow) => {
  const { referenceLogprobs, logprobs } = row
  if (referenceLogprobs === null) return { loss: 0, tallies: {} }
  const sum = sumOverActions(row, (t) => logprobs[t]! - referenceLogprobs[t]!)
  return { loss: 0, tallies: { kl: { sum, count: actionCount(row) } } }
}
