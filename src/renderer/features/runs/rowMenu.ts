/** What can be done with one run of the table. */
import { navigate } from '#renderer/client/route.ts'
import type { RunEntry } from '#renderer/client/runs.ts'
import type { MenuItem } from '#renderer/kit/Menu.tsx'
import type { RowState } from './columns.tsx'

interface RowActions {
  readonly isBaseline: boolean
  readonly isPinned: boolean
  /** The column of notes is shown, so they can be edited in place. */
  readonly hasNotes: boolean
  readonly onEdit: RowState['onEdit']
  readonly onBaseline: (runId: string) => void
  readonly onPin: (runId: string) => void
  readonly onExport: (runs: readonly RunEntry[]) => void
  readonly onDelete: (runs: readonly RunEntry[]) => void
}

export function rowMenu(run: RunEntry, actions: RowActions): readonly (readonly MenuItem[])[] {
  const { id: runId } = run
  const { isBaseline, isPinned, hasNotes, onEdit, onBaseline, onPin, onExport, onDelete } = actions
  const notes = { label: 'Edit notes', onSelect: () => onEdit({ runId, field: 'notes' }) }
  return [
    [
      { label: 'Open', onSelect: () => navigate(`/runs/${runId}`) },
      { label: 'Rename', onSelect: () => onEdit({ runId, field: 'name' }) },
      { label: 'Edit tags', onSelect: () => onEdit({ runId, field: 'tags' }) },
      ...(hasNotes ? [notes] : []),
    ],
    [
      {
        label: isBaseline ? 'No longer the baseline' : 'Set as baseline',
        keys: 'B',
        onSelect: () => onBaseline(runId),
      },
      { label: isPinned ? 'Unpin' : 'Pin', keys: 'P', onSelect: () => onPin(runId) },
      { label: 'Export bundle', onSelect: () => onExport([run]) },
    ],
    [{ label: 'Delete', isDangerous: true, onSelect: () => onDelete([run]) }],
  ]
}
