/** From trajectories to what algorithms learn from: forward passes where log-probabilities or values are needed. */
import type { Heads, Policy, PolicyRole } from '#engine/policy.ts'
import type { Advantages, ConfiguredAlgorithm, Experience, LearningRow, Needs } from '../algorithms/types.ts'
import type { Trajectory } from '../rollout/trajectory.ts'
import { packMicroBatches } from './packing.ts'

export interface ScoringOptions {
  readonly policy: Pick<Policy, 'score'>
  readonly temperature: number
  readonly tokenBudget: number
}

/** A trajectory and its experience, as the update needs both. */
export interface TrainingRow {
  readonly trajectory: Trajectory
  readonly learning: LearningRow
}

/**
 * Rows to learn from, filtered ones left out. Each forward pass is run only where its numbers are needed: over all
 * trajectories when they enter the advantages, else over those that are kept, and the behaviour policy's not at all
 * when the first and only update will compute it anyway.
 */
export async function prepareRows(
  trajectories: readonly Trajectory[],
  algorithm: ConfiguredAlgorithm,
  updates: number,
  options: ScoringOptions,
): Promise<TrainingRow[]> {
  const { needs } = algorithm
  const wanted: Needs = { ...needs, behavior: needs.behavior || updates > 1 }
  const enterAdvantages = needs.behavior || needs.values
  const bare = trajectories.map(experienceOf)
  const batch = enterAdvantages ? await scored(trajectories, bare, wanted, options) : bare
  const advantages = algorithm.advantages(batch)
  const kept = advantages.kept.map((i) => trajectories[i]!)
  const rows = advantages.kept.map((i) => batch[i]!)
  const ready = enterAdvantages ? rows : await scored(kept, rows, wanted, options)
  return ready.map((row, k) => ({
    trajectory: kept[k]!,
    learning: learningRow(row, advantages, advantages.kept[k]!),
  }))
}

const learningRow = (row: Experience, { tokens, returns }: Advantages, i: number): LearningRow => ({
  ...row,
  advantages: tokens[i]!,
  returns: returns?.[i] ?? null,
})

const experienceOf = ({ group, actionMask, turnIds, turnRewards }: Trajectory): Experience => ({
  group,
  actionMask,
  turnIds,
  turnRewards,
  behaviorLogprobs: null,
  referenceLogprobs: null,
  behaviorValues: null,
})

async function scored(
  trajectories: readonly Trajectory[],
  rows: readonly Experience[],
  needs: Needs,
  options: ScoringOptions,
): Promise<Experience[]> {
  const behavior = needs.behavior ? await score(trajectories, 'actor', options) : null
  const reference = needs.reference ? await score(trajectories, 'reference', options) : null
  const critic = needs.values ? await score(trajectories, 'critic', options) : null
  return rows.map((row, i) => ({
    ...row,
    behaviorLogprobs: behavior?.[i]?.logprobs ?? null,
    referenceLogprobs: reference?.[i]?.logprobs ?? null,
    behaviorValues: critic?.[i]?.values ?? null,
  }))
}

/** Heads of every trajectory, in order. */
async function score(
  trajectories: readonly Trajectory[],
  role: PolicyRole,
  { policy, temperature, tokenBudget }: ScoringOptions,
): Promise<Heads[]> {
  const heads = new Array<Heads>(trajectories.length)
  const lengths = trajectories.map(({ ids }) => ids.length)
  for (const rows of packMicroBatches(lengths, tokenBudget, 1)) {
    const answers = await policy.score(
      rows.map((i) => trajectories[i]!),
      { role, temperature },
    )
    rows.forEach((i, position) => (heads[i] = answers[position]!))
  }
  return heads
}
