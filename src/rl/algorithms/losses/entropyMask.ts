/** Learning from the tokens where the policy was undecided alone. Wang et al. 2025, arXiv:2506.01939, §5. */
import type { LearningRow } from '../types.ts'
import { quantile } from '../common/statistics.ts'

/**
 * The entropy, in nats, from which on a token is in the top `share` of all action tokens of the minibatch; −∞ when all
 * are. It is the behaviour policy's entropy, so that it does not depend on how the minibatch is cut into parts.
 */
export function entropyThreshold(minibatch: readonly LearningRow[], share: number): number {
  if (share >= 1) return -Infinity
  const entropies = minibatch.flatMap(({ actionMask, behaviorEntropies }) => {
    if (!behaviorEntropies) throw new Error('Expected the behaviour policy’s entropies of every row.')
    return [...behaviorEntropies].filter((_, t) => actionMask[t] === 1)
  })
  return entropies.length === 0 ? -Infinity : quantile(entropies, 1 - share)
}

/** Whether token t learns from rewards. */
export const isAbove = (threshold: number, row: Pick<LearningRow, 'behaviorEntropies'>, t: number): boolean =>
  threshold === -Infinity || row.behaviorEntropies![t]! >= threshold
