/** Runs and their forks as a tree, or runs over seeds under one row for them all, written as a list. */
import { seedFamily, type SeedFamily, type SeedMember } from '#shared/seeds.ts'

export interface Descendant {
  readonly id: string
  readonly createdAt: number
  readonly parentRunId: string | null
}

export interface FamilyRow<Run> {
  readonly run: Run
  /** 0: no parent among those shown. */
  readonly depth: number
  /** Forks among those shown. */
  readonly forks: number
  /** The row is of several runs, which differ in nothing but their seed; `run` is the first of them. */
  readonly seeds?: SeedRow<Run>
  /** The row for all seeds under which this one stands. */
  readonly under?: FamilyRow<Run>
}

interface SeedRow<Run> extends SeedFamily {
  readonly runs: readonly Run[]
  /** A row for each of its runs follows. */
  readonly isOpen: boolean
}

/** Parents before their forks; families stand where their first run does in the given order, forks by age. */
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

/** As they come, with the number of their forks. */
export function flatRows<Run extends Descendant>(runs: readonly Run[]): readonly FamilyRow<Run>[] {
  const forks = Map.groupBy(runs, ({ parentRunId }) => parentRunId)
  return runs.map((run) => ({ run, depth: 0, forks: forks.get(run.id)?.length ?? 0 }))
}

/** Runs over seeds as one row, which stands where the first of them did. `families`: their ids; `open`: any of them. */
export function seedRows<Run extends Descendant & SeedMember>(
  rows: readonly FamilyRow<Run>[],
  families: readonly (readonly string[])[],
  open: readonly string[],
): readonly FamilyRow<Run>[] {
  const familyOf = new Map(families.flatMap((ids) => ids.map((id) => [id, ids] as const)))
  const groups = Map.groupBy(rows, ({ run }) => familyOf.get(run.id) ?? run.id)
  return [...groups.values()].flatMap((members) => {
    const [first] = members
    const runs = members.map(({ run }) => run)
    const family = seedFamily(runs)
    if (first === undefined || family === null) return members
    const isOpen = family.runIds.some((id) => open.includes(id))
    const head = { ...first, forks: 0, seeds: { ...family, runs, isOpen } }
    return isOpen ? [head, ...members.map((row) => ({ ...row, under: head }))] : [head]
  })
}
