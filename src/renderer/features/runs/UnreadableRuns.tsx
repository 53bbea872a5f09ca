import { ErrorNote } from '#renderer/kit/states.tsx'
import { formatCount } from '#renderer/client/format.ts'
import { useRuns } from '#renderer/client/runs.ts'

const shown = 3

/** Runs that are missing from the list, and why. */
export function UnreadableRuns() {
  const { unreadable, pending } = useRuns()
  if (unreadable.length + pending === 0) return null
  const more = unreadable.length - shown
  return (
    <div className="flex flex-col gap-2 px-4 pt-3">
      {pending > 0 && (
        <p role="status" className="text-muted">
          {pending === 1 ? 'Another run is' : `${formatCount(pending)} more runs are`} being read from the
          disk.
        </p>
      )}
      {unreadable.slice(0, shown).map(({ directory, error }) => (
        <ErrorNote key={directory} error={error} />
      ))}
      {more > 0 && (
        <p className="text-muted">
          {more === 1 ? 'Another run cannot be read' : `${String(more)} more runs cannot be read`} either;
          turnwise runs list names them all.
        </p>
      )}
    </div>
  )
}
