import { useCommand } from '#renderer/client/api.tsx'
import { navigate } from '#renderer/client/route.ts'
import { useRuns } from '#renderer/client/runs.ts'
import { toast } from '#renderer/client/toasts.ts'
import { formatBytes } from '#renderer/client/format.ts'
import { runTitle } from '#renderer/client/words.ts'
import { StatusBadge } from '#renderer/kit/Badge.tsx'
import { ConfirmDialog } from '#renderer/kit/Dialog.tsx'
import type { ListedModel } from '#renderer/client/modelChoice.ts'

const mostShown = 8

/** Says which runs need the model before it is gone. */
export function DeleteModel({ model, onClose }: { model: ListedModel; onClose: () => void }) {
  const { name, directory } = model
  const { runs, isLoaded } = useRuns()
  const needing = runs.filter((run) => run.model === directory)
  const unfinished = needing.filter(({ status }) => status !== 'finished')
  const shown = unfinished.length > 0 ? unfinished : needing
  const remove = useCommand('models.delete', {
    onDone() {
      toast({ title: `“${name}” was deleted.` })
      navigate('/models')
    },
  })
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={`Delete “${name}”?`}
      action="Delete model"
      isDisabled={!isLoaded || unfinished.length > 0}
      onConfirm={() => void remove.run({ name })}
    >
      <p>
        Its copy in Turnwise’s folder{'sizeBytes' in model && ` (${formatBytes(model.sizeBytes)})`} is
        removed. The folder it was imported from stays.
      </p>
      {shown.length === 0 && <p className="mt-2">No run needs it.</p>}
      {shown.length > 0 && (
        <>
          <p className="mt-2">
            {unfinished.length > 0
              ? 'It cannot be deleted while runs that are not finished need it. Delete those runs first:'
              : 'These finished runs were trained on it. Their adapters stay, but do nothing without it:'}
          </p>
          <ul className="mt-1 flex flex-col gap-1">
            {shown.slice(0, mostShown).map((run) => (
              <li key={run.id} className="flex items-center gap-2 text-text">
                <span className="truncate">{runTitle(run)}</span>
                <StatusBadge status={run.status} />
              </li>
            ))}
          </ul>
          {shown.length > mostShown && <p className="mt-1">and {shown.length - mostShown} more.</p>}
        </>
      )}
    </ConfirmDialog>
  )
}
