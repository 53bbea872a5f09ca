import { Trash2 } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useAnswer, useCommand, type Answer } from '#renderer/client/api.tsx'
import { useNow } from '#renderer/client/live.ts'
import { useRestoreRuns } from '#renderer/parts/useRunFiles.ts'
import { useRuns } from '#renderer/client/runs.ts'
import { toast } from '#renderer/client/toasts.ts'
import { formatAgo, formatBytes, formatDate, plural } from '#renderer/client/format.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Dialog } from '#renderer/kit/Dialog.tsx'

/** Link to deleted runs; renders nothing if there are none. */
export function DeletedRuns() {
  const { runs } = useRuns()
  const { data: trashed = [], refetch } = useAnswer('runs.trash', undefined, { staleMs: 0 })
  const [isOpen, setOpen] = useState(false)
  // Includes runs deleted or restored by another window or a command.
  useEffect(refetch, [refetch, runs.length])
  return (
    <>
      {trashed.length > 0 && (
        <Button variant="quiet" icon={Trash2} onClick={() => setOpen(true)}>
          {`Deleted (${String(trashed.length)})`}
        </Button>
      )}
      {isOpen && <TrashDialog trashed={trashed} onChanged={refetch} onClose={() => setOpen(false)} />}
    </>
  )
}

interface TrashDialogProps {
  readonly trashed: readonly Answer<'runs.trash'>[number][]
  readonly onChanged: () => void
  readonly onClose: () => void
}

interface DeletedRunProps {
  readonly run: Answer<'runs.trash'>[number]
  readonly now: number
  readonly onRestore: () => void
}

function DeletedRun({ run: { runId, name, deletedAt, until, sizeBytes }, now, onRestore }: DeletedRunProps) {
  return (
    <li className="flex items-center gap-3 py-1.5 pr-1">
      <div className="min-w-0 grow">
        <p className="truncate font-medium">{name ?? runId}</p>
        <p className="text-sm text-muted">
          deleted {formatAgo(deletedAt, now)} · kept until {formatDate(until)} · {formatBytes(sizeBytes)}
        </p>
      </div>
      <Button small aria-label={`Restore ${name ?? runId}`} onClick={onRestore}>
        Restore
      </Button>
    </li>
  )
}

function TrashDialog({ trashed, onChanged, onClose }: TrashDialogProps) {
  const now = useNow(60_000)
  const restore = useRestoreRuns()
  const empty = useCommand('runs.emptyTrash', {
    onDone: ({ freedBytes }) => {
      toast({ title: `${formatBytes(freedBytes)} freed.`, tone: 'good' })
      onChanged()
      onClose()
    },
  })
  const bytes = trashed.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
  return (
    <Dialog
      width={640}
      title="Deleted runs"
      description="Each is kept for a week and then removed for good."
      onClose={onClose}
      actions={
        <>
          {trashed.length > 0 && (
            <Button
              variant="danger"
              className="mr-auto"
              disabled={empty.isRunning}
              onClick={() => void empty.run({ runIds: trashed.map(({ runId }) => runId) })}
            >
              Remove {plural(trashed.length, 'run')} for good, {formatBytes(bytes)}
            </Button>
          )}
          <Button onClick={onClose}>Close</Button>
        </>
      }
    >
      {trashed.length === 0 && <p className="text-muted">The trash is empty.</p>}
      <ul aria-label="Deleted runs" className="max-h-80 divide-y divide-line overflow-auto" tabIndex={0}>
        {trashed.map((run) => (
          <DeletedRun
            key={run.runId}
            {...{ run, now }}
            onRestore={() => void restore([run.runId]).then(onChanged)}
          />
        ))}
      </ul>
    </Dialog>
  )
}
