/** Every rule. A rule is a file in rules/ that finds what its name says, or nothing. */
import type { Rule } from './rule.ts'
import { capHits, samplerGap, samplingWidth } from './rules/sampling.ts'
import { clipShare, divergence, skippedUpdates, gradientSpikes, lossZeroAtStart } from './rules/updates.ts'
import { constantReward, rewardFailures, rewardSize, rewardsCancel } from './rules/rewards.ts'
import { entropyCollapse, entropyExplosion } from './rules/entropy.ts'
import { formatMismatch } from './rules/formatMismatch.ts'
import { groupCollapse } from './rules/groupCollapse.ts'
import { heldOutGap, heldOutTask } from './rules/heldOut.ts'
import { klRunaway, klTooHeavy } from './rules/kl.ts'
import { policyDestroyed } from './rules/policyDestroyed.ts'
import { rewardHacking } from './rules/rewardHacking.ts'
import type { Finding, FindingId } from '#shared/diagnosis.ts'

/** Causes before what they bring about (`causes` says which is which): of findings equally grave the first comes first. */
export const rules: readonly Rule[] = [
  rewardFailures,
  rewardSize,
  divergence,
  skippedUpdates,
  samplingWidth,
  policyDestroyed,
  samplerGap,
  rewardsCancel,
  capHits,
  formatMismatch,
  constantReward,
  klTooHeavy,
  entropyExplosion,
  groupCollapse,
  klRunaway,
  gradientSpikes,
  entropyCollapse,
  clipShare,
  heldOutTask,
  rewardHacking,
  heldOutGap,
  lossZeroAtStart,
]

/** Which findings are only what another one brings about: they are left out where that one is found. */

const ofGroups: readonly FindingId[] = [
  'groups-all-wrong',
  'groups-alike',
  'clip-share-low',
  'loss-zero-at-start',
]

/** What a policy that is no longer what it was shows as well. */
const ofDestruction: readonly FindingId[] = [
  ...ofGroups,
  ...(['entropy-explosion', 'gradient-spikes', 'kl-runaway', 'kl-too-heavy', 'entropy-collapse'] as const),
  ...(['cap-hits', 'format-mismatch', 'constant-reward', 'clip-share-high', 'sampler-gap'] as const),
  ...(['one-reward-dominates', 'longer-not-better', 'held-out-gap', 'groups-all-right'] as const),
]

/** Completions that were never drawn as they should be. */
const ofSampling: readonly FindingId[] = [
  ...ofGroups,
  ...(['constant-reward', 'entropy-collapse', 'format-mismatch', 'cap-hits', 'held-out-gap'] as const),
  ...([
    'policy-destroyed',
    'reward-collapse',
    'entropy-explosion',
    'kl-runaway',
    'groups-all-right',
  ] as const),
]

const consequences: Readonly<Partial<Record<FindingId, readonly FindingId[]>>> = {
  diverged: [...ofDestruction, 'policy-destroyed', 'reward-collapse'],
  'reward-size': [...ofDestruction, 'policy-destroyed', 'reward-collapse', 'diverged', 'updates-skipped'],
  'policy-destroyed': ofDestruction,
  'reward-collapse': ofDestruction,
  'sampling-too-wide': ofSampling,
  'sampling-too-narrow': ofSampling,
  'reward-failures': [...ofGroups, 'no-reward', 'constant-reward', 'format-mismatch'],
  'no-reward': [...ofGroups, 'constant-reward', 'format-mismatch'],
  'rewards-cancel': [...ofGroups, 'one-reward-dominates', 'groups-all-right'],
  'entropy-explosion': ['cap-hits', 'format-mismatch', 'kl-runaway', ...ofGroups],
  // What is cut off before its end cannot have the form, nor be right.
  'cap-hits': [...ofGroups, 'format-mismatch', 'constant-reward', 'longer-not-better'],
  'format-mismatch': [...ofGroups, 'constant-reward'],
  'constant-reward': ofGroups,
  'kl-too-heavy': ['clip-share-low', 'clip-share-high', 'kl-runaway'],
  'held-out-other-task': ['held-out-gap'],
}

/** Causes alone. A note explains nothing away. */
export function withoutConsequences(findings: readonly Finding[]): Finding[] {
  const causes = findings.filter(({ severity }) => severity !== 'note')
  const explained = new Set<FindingId>()
  for (const { id } of causes) {
    if (!explained.has(id)) for (const other of consequences[id] ?? []) explained.add(other)
  }
  return findings.filter(({ id }) => !explained.has(id))
}
