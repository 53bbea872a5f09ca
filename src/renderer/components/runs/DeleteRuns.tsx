import { useMemo, useState } from 'react'
import { useApi } from '#renderer/hooks/api.tsx'
import { asError } from '#renderer/hooks/failures.ts'
import { useRunFiles, type RunFiles } from '#renderer/hooks/runFiles.ts'
import type { RunEntry } from '#renderer/hooks/runs.ts'
import { toast, toastError } from '#renderer/hooks/toasts.ts'
import { formatBytes, plural } from '#renderer/format.ts'
import { runTitle } from '#renderer/words.ts'
import { ConfirmDialog } from '../base/Dialog.tsx'

interface DeleteProps {
  readonly runs: readonly RunEntry[]
  readonly onClose: () => void
  readonly onDeleted: (runIds: readonly string[]) => void
}

const busy = new Set(['running', 'paused'])
const maxListed = 200

/** Every file and its size before anything is removed. Runs being trained are left alone. */
export function DeleteRuns({ runs, onClose, onDeleted }: DeleteProps) {
  const client = useApi()
  const [isDeleting, setDeleting] = useState(false)
  const [idle, inUse] = useMemo(
    () => [runs.filter(({ status }) => !busy.has(status)), runs.filter(({ status }) => busy.has(status))],
    [runs],
  )
  const found = useRunFiles(idle.map(({ id }) => id))
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
    if (gone.length > 0) toast({ title: `${plural(gone.length, 'run')} deleted` })
    onDeleted(gone)
    onClose()
  }
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={
        idle.length === 1 && idle[0]
          ? `Delete “${runTitle(idle[0])}”?`
          : `Delete ${plural(idle.length, 'run')}?`
      }
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
      {idle.length > 0 && <FileList found={found} runs={idle} />}
    </ConfirmDialog>
  )
}

function FileList({ found, runs }: { found: readonly RunFiles[] | null; runs: readonly RunEntry[] }) {
  if (found === null) return <p role="status">Looking up the files…</p>
  const files = found.flatMap(({ files: own }) => own)
  const bytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
  const shown = found.flatMap(({ runId, files: own }) => {
    const run = runs.find(({ id }) => id === runId)
    return own.map((file) => ({ ...file, path: shortPath(file.path, run?.directory) }))
  })
  return (
    <>
      <p>
        This removes {plural(files.length, 'file')}, {formatBytes(bytes)}, and the numbers and samples in the
        history. It cannot be taken back. Models, data and rewards stay.
      </p>
      <ul
        tabIndex={0}
        aria-label="Files that are removed"
        className="mt-2 max-h-60 overflow-auto rounded border border-line bg-panel px-2 py-1 font-mono text-sm"
      >
        {shown.slice(0, maxListed).map(({ path, sizeBytes }, i) => (
          <li key={`${path} ${String(i)}`} className="flex gap-3">
            <span className="min-w-0 grow truncate" title={path}>
              {path}
            </span>
            <span className="shrink-0 tabular-nums">{formatBytes(sizeBytes)}</span>
          </li>
        ))}
        {shown.length > maxListed && <li>and {shown.length - maxListed} more</li>}
      </ul>
    </>
  )
}

/** Folder of the run and what is below it. */
const shortPath = (path: string, directory: string | undefined): string =>
  directory !== undefined && path.startsWith(directory)
    ? `…${directory.slice(-5)}${path.slice(directory.length)}`
    : path
