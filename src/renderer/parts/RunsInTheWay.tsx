import type { RunEntry } from '#renderer/client/runs.ts'
import { runTitle } from '#renderer/client/words.ts'
import { StatusBadge } from '#renderer/kit/Badge.tsx'

/** True for runs that could not go on without what is deleted. */
export const isInTheWay = ({ status }: Pick<RunEntry, 'status'>): boolean => status !== 'finished'

interface InTheWayProps {
  readonly runs: readonly Pick<RunEntry, 'id' | 'name' | 'algorithmTitle' | 'seed' | 'status'>[]
  /** Verb and object of their use: “use it”. */
  readonly need: string
  /** Consequence of a deletion for runs that are finished. */
  readonly after: string
  readonly most?: number
}

/** Names the runs that are in the way of a deletion; without such a run, the others that it concerns. */
export function RunsInTheWay({ runs, need, after, most = 8 }: InTheWayProps) {
  const unfinished = runs.filter(isInTheWay)
  return (
    <>
      <p className="mt-2">
        {unfinished.length > 0
          ? `It cannot be deleted while unfinished runs ${need}. Delete those runs first:`
          : after}
      </p>
      <ul className="mt-1 flex flex-col gap-1">
        {(unfinished.length > 0 ? unfinished : runs).slice(0, most).map((run) => (
          <li key={run.id} className="flex items-center gap-2 text-text">
            <span className="truncate">{runTitle(run)}</span>
            <StatusBadge status={run.status} />
          </li>
        ))}
      </ul>
    </>
  )
}
