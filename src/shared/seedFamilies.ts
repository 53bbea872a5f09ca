/** Runs that differ only in their seed, combined: every number is a mean with its 95 % interval over the seeds. */
import { leaves } from './config/paths.ts'
import type { RunEntry, RunRecord } from './runs.ts'
import { meanEstimate, type Estimate } from './statistics.ts'

/** Key that is equal for runs that differ only in their seed. */
export const settingsButSeed = (settings: Iterable<readonly [key: string, value: unknown]>): string =>
  JSON.stringify([...settings].filter(([key]) => key !== 'seed' && key !== 'name').sort())

/** Same key from the text of a config and its later changes. */
export const configButSeed = ({
  config,
  settingChanges,
}: Pick<RunRecord, 'config' | 'settingChanges'>): string =>
  settingsButSeed([
    ...leaves(JSON.parse(config)),
    ...settingChanges.map(({ step, key, to }) => [`${key} after step ${String(step)}`, to] as const),
  ])

export type SeedMember = Pick<
  RunEntry,
  | 'id'
  | 'name'
  | 'seed'
  | 'step'
  | 'reward'
  | 'rewardAfter'
  | 'parentRunId'
  | 'parentCheckpointStep'
  | 'studyId'
>

export interface SeedFamily {
  /** Common start of the runs' names. */
  readonly name: string
  readonly runIds: readonly string[]
  readonly seeds: readonly number[]
  /** Number of runs at the last step that any of them reached, over which means are taken, and that step. */
  readonly count: number
  readonly step: number
  readonly reward: Estimate | null
  readonly rewardAfter: Estimate | null
}

/**
 * Returns families of at least two seeds; forks belong together if they start at the same checkpoint, trials only within
 * their study. keyOf: its settings but the seed.
 */
export function seedFamilies<Run extends SeedMember>(
  runs: readonly Run[],
  keyOf: (run: Run) => string,
): SeedFamily[] {
  const groups = Map.groupBy(runs, (run) =>
    [keyOf(run), run.parentRunId, run.parentCheckpointStep, run.studyId]
      .map((part) => String(part))
      .join(' '),
  )
  return [...groups.values()].flatMap((members) => seedFamily(members) ?? [])
}

/** Combines runs that differ in nothing else; null if they share one seed. */
export function seedFamily(members: readonly SeedMember[]): SeedFamily | null {
  const seeds = [...new Set(members.map(({ seed }) => seed))]
  if (seeds.length < 2) return null
  const step = Math.max(...members.map((run) => run.step))
  const furthest = members.filter((run) => run.step === step)
  const meanOf = (key: 'reward' | 'rewardAfter') => meanEstimate(furthest.flatMap((run) => run[key] ?? []))
  const names = members.map(({ name, id }) => name ?? id)
  return {
    name: sharedBeginning(names) || (names[0] ?? ''),
    runIds: members.map(({ id }) => id),
    seeds,
    step,
    count: furthest.length,
    reward: meanOf('reward'),
    rewardAfter: meanOf('rewardAfter'),
  }
}

/** Returns the common start of names, without the numbers and characters that set them apart. */
export function sharedBeginning(names: readonly string[]): string {
  const [first = '', ...others] = names
  let length = 0
  while (length < first.length && others.every((name) => name[length] === first[length])) length++
  return first.slice(0, length).replace(/[\s\d·_.-]+(?:seed|trial|member|s)?[\s\d·_.-]*$/i, '')
}
