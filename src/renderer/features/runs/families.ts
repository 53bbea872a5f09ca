/** Runs and their forks as a tree, written as a list. */

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
