/** The plain policy gradient and maximum likelihood: a weighted mean of −A·log-probability. */
import type { LearningRow, LossRow } from '../types.ts'
import { actionCount, actionTotal, atActions, sumOverActions } from '../common/actions.ts'
import type { LossTerm } from './lossTerm.ts'

/** Whether every trajectory weighs the same, or every token of the minibatch. */
export type MeanOver = 'trajectory-mean' | 'token-mean'

/** `tally` names the metric of the mean over tokens, whatever the loss weighs by. */
export function logprobLoss(
  minibatch: readonly LearningRow[],
  meanOver: MeanOver,
  tally: 'policy_loss' | 'surprisal',
): LossTerm {
  const tokens = Math.max(actionTotal(minibatch), 1)
  const weightOf = (row: LossRow) =>
    1 / (meanOver === 'token-mean' ? tokens : minibatch.length * Math.max(actionCount(row), 1))
  return (row) => {
    const slope = (t: number) => -row.advantages[t]! * (row.correction?.[t] ?? 1)
    const sum = sumOverActions(row, (t) => slope(t) * row.logprobs[t]!)
    const weight = weightOf(row)
    return {
      loss: weight * sum,
      logprobs: atActions(row, (t) => weight * slope(t)),
      tallies: { [tally]: { sum, count: actionCount(row) } },
    }
  }
}
