/** From trajectories to what algorithms learn from: forward passes where log-probabilities or values are needed. */
import type { Heads, Policy, PolicyRole } from '#engine/policy.ts'
import type { Advantages, ConfiguredAlgorithm, Experience, LearningRow, Needs } from '../algorithms/types.ts'
import type { Trajectory } from '../rollout/trajectory.ts'
import { forMicroBatches, type LearningLoad, microBatches } from './packing.ts'

export interface ScoringOptions {
  readonly policy: Pick<Policy, 'score'>
  /** Whose log-probabilities are the reference's. */
  readonly referenceRole: 'reference' | 'base'
  readonly temperature: number
  readonly load: LearningLoad
}

/** A trajectory and its experience, as the update needs both. */
export interface TrainingRow {
  readonly trajectory: Trajectory
  readonly learning: LearningRow
}

/**
 * Rows to learn from, filtered ones left out. Each forward pass is run only where its numbers are needed: over all
 * trajectories when they enter the advantages, else over those that are kept, and the behaviour policy's not at all
 * when the first and only update will compute it anyway, or the loss never looks at it.
 */
export async function prepareRows(
  trajectories: readonly Trajectory[],
  algorithm: ConfiguredAlgorithm,
  updates: number,
  options: ScoringOptions,
): Promise<TrainingRow[]> {
  const { needs } = algorithm
  const wanted = { ...needs, behavior: scoresBehavior(needs, updates) }
  const enterAdvantages = needs.behavior || needs.values
  const batch = enterAdvantages ? await scored(trajectories, trajectories, wanted, options) : trajectories
  const advantages = await algorithm.advantages(batch)
  const kept = advantages.kept.map((i) => trajectories[i]!)
  const rows = advantages.kept.map((i) => batch[i]!)
  const ready = enterAdvantages ? rows : await scored(kept, rows, wanted, options)
  return ready.map((row, k) => ({
    trajectory: kept[k]!,
    learning: learningRow(row, advantages, advantages.kept[k]!),
  }))
}

const scoresBehavior = ({ behavior, behaviorEntropies, ratio }: Needs, updates: number): boolean =>
  behavior || behaviorEntropies || (ratio && updates > 1)

const learningRow = (
  row: Experience,
  { tokens, returns, granularity }: Advantages,
  i: number,
): LearningRow => ({
  ...row,
  advantages: tokens[i]!,
  returns: returns?.[i] ?? null,
  ...(granularity === undefined ? {} : { granularity }),
})

async function scored(
  trajectories: readonly Trajectory[],
  rows: readonly Experience[],
  needs: Needs,
  options: ScoringOptions,
): Promise<Experience[]> {
  const pass = (isWanted: boolean, role: PolicyRole) =>
    isWanted ? score(trajectories, role, options) : Promise.resolve(null)
  const behavior = await pass(needs.behavior, 'actor')
  const reference = await pass(needs.reference, options.referenceRole)
  const critic = await pass(needs.values, 'critic')
  const entropies = needs.behaviorEntropies ? behavior : null
  const headOf = (heads: readonly Heads[] | null, i: number, name: keyof Heads) => heads?.[i]?.[name] ?? null
  return rows.map((row, i) => ({
    ...row,
    behaviorLogprobs: headOf(behavior, i, 'logprobs'),
    behaviorEntropies: headOf(entropies, i, 'entropies'),
    referenceLogprobs: headOf(reference, i, 'logprobs'),
    behaviorValues: headOf(critic, i, 'values'),
  }))
}

/** Heads of every trajectory, in order. */
export async function score(
  trajectories: readonly Trajectory[],
  role: PolicyRole,
  { policy, temperature, load }: Omit<ScoringOptions, 'referenceRole'>,
): Promise<Heads[]> {
  const heads = new Array<Heads>(trajectories.length)
  const lengths = trajectories.map(({ ids }) => ids.length)
  await forMicroBatches(microBatches(lengths, load, 1), async (rows) => {
    const answers = await policy.score(
      rows.map((i) => trajectories[i]!),
      { role, temperature },
    )
    rows.forEach((i, position) => (heads[i] = answers[position]!))
  })
  return heads
}
