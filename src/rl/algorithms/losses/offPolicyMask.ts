/** Leaving out what another policy wrote. DeepSeek-AI 2025, arXiv:2512.02556, §3.1, "off-policy sequence masking". */
import type { LossRow } from '../types.ts'
import { actionCount, sumOverActions } from '../common/actions.ts'

/**
 * Whether the mean of log(sampler's probability / the policy's) over the trajectory is above `threshold`, in nats. Tokens of
 * such a trajectory with a negative advantage teach nothing of rewards (TRL's off_policy_mask_threshold).
 */
export function isOffPolicy(row: LossRow, threshold: number | null): boolean {
  if (threshold === null) return false
  const wrote = row.samplerLogprobs ?? row.behaviorLogprobs
  const drift = sumOverActions(row, (t) => wrote[t]! - row.logprobs[t]!)
  return drift / Math.max(actionCount(row), 1) > threshold
}
