/** Runs that descend from each other, as an indented list. */
interface Member {
  readonly id: string
  readonly parentRunId: string | null
  readonly createdAt: number
}

export interface Placed<Run> {
  readonly member: Run
  /** 0: nobody in the list is its parent. */
  readonly depth: number
}

/** Every run under its parent, the oldest first. */
export function treeOf<Run extends Member>(family: readonly Run[]): readonly Placed<Run>[] {
  const ids = new Set(family.map(({ id }) => id))
  const inOrder = family.toSorted((a, b) => a.createdAt - b.createdAt)
  const below = (parent: Run, depth: number): Placed<Run>[] => [
    { member: parent, depth },
    ...inOrder
      .filter(({ parentRunId }) => parentRunId === parent.id)
      .flatMap((child) => below(child, depth + 1)),
  ]
  return inOrder
    .filter(({ parentRunId }) => parentRunId === null || !ids.has(parentRunId))
    .flatMap((root) => below(root, 0))
}
