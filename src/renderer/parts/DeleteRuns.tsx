import { useMemo, useState } from 'react'
import { useApi } from '#renderer/client/api.tsx'
import { asError, toast, toastError } from '#renderer/client/toasts.ts'
import { useRestoreRuns, useRunFiles, type RunFiles } from './useRunFiles.ts'
import type { RunEntry } from '#renderer/client/runs.ts'
import { formatBytes, formatDate, plural } from '#renderer/client/format.ts'
import { runTitle } from '#renderer/client/words.ts'
import { ConfirmDialog } from '#renderer/kit/Dialog.tsx'

interface DeleteProps {
  readonly runs: readonly RunEntry[]
  readonly onClose: () => void
  readonly onDeleted: (runIds: readonly string[]) => void
}

const busy = new Set(['running', 'paused'])
const maxListed = 200

/** Asks for confirmation, listing runs with their sizes. Runs being trained are left alone. */
export function DeleteRuns({ runs, onClose, onDeleted }: DeleteProps) {
  const client = useApi()
  const [isDeleting, setDeleting] = useState(false)
  const [idle, inUse] = useMemo(
    () => [runs.filter(({ status }) => !busy.has(status)), runs.filter(({ status }) => busy.has(status))],
    [runs],
  )
  const found = useRunFiles(idle.map(({ id }) => id))
  const restore = useRestoreRuns()
  const deleteAll = async () => {
    setDeleting(true)
    const gone: string[] = []
    for (const { id } of idle) {
      try {
        await client.call('runs.delete', { runId: id })
        gone.push(id)
      } catch (thrown) {
        toastError(asError(thrown))
      }
    }
    const [only] = idle
    if (gone.length > 0)
      toast({
        title: `${only && gone.length === 1 ? `“${runTitle(only)}”` : plural(gone.length, 'run')} deleted`,
        detail: 'Kept for a week.',
        action: { label: 'Undo', run: () => void restore(gone) },
      })
    onDeleted(gone)
    onClose()
  }
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={`Delete ${idle.length === 1 && idle[0] ? `“${runTitle(idle[0])}”` : plural(idle.length, 'run')}?`}
      action={`Delete ${plural(idle.length, 'run')}`}
      isDisabled={found === null || idle.length === 0 || isDeleting}
      onConfirm={() => void deleteAll()}
    >
      {inUse.length > 0 && (
        <p className="mb-2 text-caution">
          Left alone, because {inUse.length === 1 ? 'it is' : 'they are'} being trained:{' '}
          {inUse.map(runTitle).join(', ')}. Stop {inUse.length === 1 ? 'it' : 'them'} first.
        </p>
      )}
      {idle.length > 0 && <Sizes found={found} runs={idle} />}
    </ConfirmDialog>
  )
}

function Sizes({ found, runs }: { found: readonly RunFiles[] | null; runs: readonly RunEntry[] }) {
  if (found === null) return <p role="status">Looking up the files…</p>
  const sizes = new Map(
    found.map(({ runId, files }) => [runId, files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)]),
  )
  const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0)
  return (
    <>
      <p>
        {runs.length === 1 ? 'It stays' : 'They stay'} in the trash for a week and can be restored from there.
        Then, or when the trash is emptied, {formatBytes(bytes)} are freed. Models, data and rewards stay.
      </p>
      <ul
        tabIndex={0}
        aria-label="Runs that are deleted"
        className="mt-2 max-h-60 overflow-auto rounded border border-line bg-panel px-2 py-1"
      >
        {runs.slice(0, maxListed).map((run) => (
          <li key={run.id} className="flex items-baseline gap-3">
            <span className="min-w-0 truncate text-text" title={run.directory}>
              {runTitle(run)}
            </span>
            <span className="min-w-0 grow truncate text-sm">
              {run.algorithmTitle} · step {run.step} · {formatDate(run.createdAt)}
            </span>
            <span className="shrink-0 font-mono text-sm tabular-nums">
              {formatBytes(sizes.get(run.id) ?? 0)}
            </span>
          </li>
        ))}
        {runs.length > maxListed && <li>and {runs.length - maxListed} more</li>}
      </ul>
    </>
  )
}
