/** Runs as a list of rows: with their forks as a tree, or over seeds under a common row. */
import type { RunEntry } from '#shared/runs.ts'
import { seedFamily, sharedBeginning, type SeedFamily, type SeedMember } from '#shared/seedFamilies.ts'

export type Descendant = Pick<RunEntry, 'id' | 'createdAt' | 'parentRunId'>

export interface FamilyRow<Run> {
  readonly run: Run
  /** 0 if its parent is not shown. */
  readonly depth: number
  /** Number of forks shown. */
  readonly forks: number
  /** Set for rows of several runs that differ only in their seed, or are of one study; `run` is the first of them. */
  readonly seeds?: SeedRow<Run>
  /** Common row of the seeds that this one belongs to. */
  readonly under?: FamilyRow<Run>
}

interface SeedRow<Run> extends SeedFamily {
  /** Study whose trials these are; null for runs that differ only in their seed. */
  readonly studyId: string | null
  readonly runs: readonly Run[]
  /** True if rows of its runs follow. */
  readonly isOpen: boolean
}

/** Orders parents before their forks; families stand where their first run is in the given order, forks by age. */
export function familyRows<Run extends Descendant>(runs: readonly Run[]): readonly FamilyRow<Run>[] {
  const known = new Set(runs.map(({ id }) => id))
  const children = Map.groupBy(
    runs.filter(({ parentRunId }) => parentRunId !== null && known.has(parentRunId)),
    ({ parentRunId }) => parentRunId,
  )
  const rowsOf = (run: Run, depth: number): readonly FamilyRow<Run>[] => {
    const forks = (children.get(run.id) ?? []).toSorted((a, b) => a.createdAt - b.createdAt)
    return [{ run, depth, forks: forks.length }, ...forks.flatMap((fork) => rowsOf(fork, depth + 1))]
  }
  return runs
    .filter(({ parentRunId }) => parentRunId === null || !known.has(parentRunId))
    .flatMap((run) => rowsOf(run, 0))
}

export function flatRows<Run extends Descendant>(runs: readonly Run[]): readonly FamilyRow<Run>[] {
  const forks = Map.groupBy(runs, ({ parentRunId }) => parentRunId)
  return runs.map((run) => ({ run, depth: 0, forks: forks.get(run.id)?.length ?? 0 }))
}

/**
 * Combines the trials of a study, and other runs over seeds, into one row at the position of the first. `families`: ids
 * of runs over seeds; `open`: any of the runs of rows that are open.
 */
export function seedRows<Run extends Descendant & SeedMember>(
  rows: readonly FamilyRow<Run>[],
  families: readonly (readonly string[])[],
  open: readonly string[],
): readonly FamilyRow<Run>[] {
  const familyOf = new Map(families.flatMap((ids) => ids.map((id) => [id, ids] as const)))
  const groups = Map.groupBy(rows, ({ run }) => run.studyId ?? familyOf.get(run.id) ?? run.id)
  return [...groups.values()].flatMap((members) => {
    const [first] = members
    const runs = members.map(({ run }) => run)
    const { studyId = null } = first?.run ?? {}
    const family = studyId === null ? seedFamily(runs) : trialsOf(runs)
    if (first === undefined || family === null) return members
    const isOpen = family.runIds.some((id) => open.includes(id))
    const head = { ...first, forks: 0, seeds: { ...family, studyId, runs, isOpen } }
    return isOpen ? [head, ...members.map((row) => ({ ...row, under: head }))] : [head]
  })
}

/** Combines trials, which differ in what their study searches: there is no mean of them. Null: there is one only. */
function trialsOf(trials: readonly SeedMember[]): SeedFamily | null {
  const [first] = trials
  if (first === undefined || trials.length < 2) return null
  return {
    name: sharedBeginning(trials.map(({ name, id }) => name ?? id)) || (first.name ?? first.id),
    runIds: trials.map(({ id }) => id),
    seeds: [...new Set(trials.map(({ seed }) => seed))],
    count: trials.length,
    step: Math.max(...trials.map(({ step }) => step)),
    reward: null,
    rewardAfter: null,
  }
}
