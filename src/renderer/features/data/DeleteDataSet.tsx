import { useCommand } from '#renderer/client/api.tsx'
import { useRunsReading } from './useData.ts'
import { navigate } from '#renderer/client/route.ts'
import { toast } from '#renderer/client/toasts.ts'
import { plural } from '#renderer/client/format.ts'
import { runTitle } from '#renderer/client/words.ts'
import { ConfirmDialog } from '#renderer/kit/Dialog.tsx'
import { StatusBadge } from '#renderer/kit/Badge.tsx'
import type { DataSet } from './dataSetItems.ts'

const mostShown = 8

/** Says which runs read the data set before it is gone. */
export function DeleteDataSet({ dataSet, onClose }: { dataSet: DataSet; onClose: () => void }) {
  const { id, name, versions } = dataSet
  const { runs, isLoaded } = useRunsReading(versions.map(({ directory }) => directory))
  const unfinished = runs.filter(({ status }) => status !== 'finished')
  const remove = useCommand('datasets.delete', {
    onDone() {
      toast({ title: `“${name}” was deleted.` })
      navigate('/data')
    },
  })
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={`Delete “${name}”?`}
      action="Delete data set"
      isDisabled={!isLoaded || unfinished.length > 0}
      onConfirm={() => void remove.run({ dataSetId: id })}
    >
      <p>
        {versions.length === 1 ? 'Its rows are' : `Its ${plural(versions.length, 'version')} are`} removed
        from this machine. What they were imported from stays.
      </p>
      {!isLoaded && <p className="mt-2">Looking which runs read it…</p>}
      {isLoaded && runs.length === 0 && <p className="mt-2">No run reads it.</p>}
      {runs.length > 0 && (
        <>
          <p className="mt-2">
            {unfinished.length > 0
              ? 'It cannot be deleted while runs that are not finished read it. Delete those runs first:'
              : 'These finished runs read it. They and their checkpoints stay, but they cannot be forked or trained on:'}
          </p>
          <ul className="mt-1 flex flex-col gap-1">
            {(unfinished.length > 0 ? unfinished : runs).slice(0, mostShown).map((run) => (
              <li key={run.id} className="flex items-center gap-2 text-text">
                <span className="truncate">{runTitle(run)}</span>
                <StatusBadge status={run.status} />
              </li>
            ))}
          </ul>
        </>
      )}
    </ConfirmDialog>
  )
}
