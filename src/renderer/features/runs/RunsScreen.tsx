import { ChartNoAxesCombined } from 'lucide-react'
import { useRef, useState } from 'react'
import { Button } from '#renderer/kit/Button.tsx'
import { Page } from '#renderer/kit/Page.tsx'
import { EmptyState, Loading } from '#renderer/kit/states.tsx'
import { Table } from '#renderer/kit/Table.tsx'
import { columnsOf, type Row, type RowState } from './columns.tsx'
import { DeletedRuns } from './DeletedRuns.tsx'
import { DeleteRuns } from './DeleteRuns.tsx'
import { noFilter } from './filter.ts'
import { rowMenu } from './rowMenu.ts'
import { RunsToolbar } from './RunsToolbar.tsx'
import { UnreadableRuns } from './UnreadableRuns.tsx'
import { SelectionBar } from './SelectionBar.tsx'
import { useNow } from '#renderer/client/live.ts'
import { goToNewRun, navigate } from '#renderer/client/route.ts'
import { useRuns, useRunStyles, type RunEntry } from '#renderer/client/runs.ts'
import {
  compareQuery,
  useColumns,
  useExportBundles,
  useRunKeys,
  useSelection,
  useShownRuns,
} from './useRunsTable.ts'

const unsorted = { isDescending: true }

/** Every run of the history. */
export function RunsScreen() {
  const { runs, isLoaded } = useRuns()
  const { filter, setFilter, isTree, setTree, shown, order, marks } = useShownRuns(runs)
  const { pinned, baseline, togglePin, toggleBaseline } = marks
  const { columns, setColumns, sorting, setSorting } = useColumns()
  const [editing, setEditing] = useState<RowState['editing']>(null)
  const [deleting, setDeleting] = useState<readonly RunEntry[]>([])
  const { selected, select, clear, forget } = useSelection(order)
  const exportBundles = useExportBundles()
  const search = useRef<HTMLInputElement>(null)

  const chosen = runs.filter(({ id }) => selected.has(id))
  const compare = () => navigate('/compare', compareQuery(chosen, baseline))
  useRunKeys({
    onFilter: () => search.current?.focus(),
    onSelect: (runId) => select(runId, false),
    onBaseline: toggleBaseline,
    onPin: togglePin,
    onCompare: compare,
    chosen,
  })
  const menuOf = (run: RunEntry) =>
    rowMenu(run, {
      isBaseline: baseline === run.id,
      isPinned: pinned.has(run.id),
      hasNotes: columns.includes('notes'),
      onEdit: setEditing,
      onBaseline: toggleBaseline,
      onPin: togglePin,
      onExport: exportBundles,
      onDelete: setDeleting,
    })
  const state: RowState = {
    styleOf: useRunStyles(),
    ...{ pinned, baseline, selected, editing },
    now: useNow(30_000),
    onEdit: setEditing,
    onSelect: select,
    menuOf,
  }

  return (
    <Page
      title="Runs"
      isFull
      main={<MainActions chosen={chosen.length} onCompare={compare} />}
      toolbar={
        runs.length > 0 && (
          <RunsToolbar
            runs={runs}
            shown={shown.length}
            filter={filter}
            onFilter={setFilter}
            isTree={isTree}
            onTree={setTree}
            columns={columns}
            onColumns={setColumns}
            searchRef={search}
          />
        )
      }
    >
      <UnreadableRuns />
      {chosen.length > 0 && (
        <SelectionBar runs={chosen} onExport={exportBundles} onDelete={setDeleting} onClear={clear} />
      )}
      {runs.length === 0 && (isLoaded ? <NoRuns /> : <Loading label="Reading the history" />)}
      {runs.length > 0 && (
        <Table<Row>
          label="Runs"
          rows={shown}
          columns={columnsOf(columns, state, isTree ? null : (sorting ?? unsorted))}
          rowKey={({ run }) => run.id}
          sorting={isTree ? null : sorting}
          onSort={setSorting}
          onOpen={({ run }) => navigate(`/runs/${run.id}`)}
          isSelected={({ run }) => selected.has(run.id)}
          rowHeight={36}
          className="px-4"
          empty={<NoneFits onClear={() => setFilter(noFilter)} />}
        />
      )}
      {deleting.length > 0 && (
        <DeleteRuns runs={deleting} onClose={() => setDeleting([])} onDeleted={forget} />
      )}
    </Page>
  )
}

function MainActions({ chosen, onCompare }: { chosen: number; onCompare: () => void }) {
  return (
    <>
      <DeletedRuns />
      <Button onClick={goToNewRun}>New run</Button>
      <Button variant="primary" disabled={chosen < 2} onClick={onCompare} title="Select two or more runs (C)">
        {chosen < 2 ? 'Compare' : `Compare ${String(chosen)} runs`}
      </Button>
    </>
  )
}

const NoneFits = ({ onClear }: { onClear: () => void }) => (
  <EmptyState title="No run fits the filter" action={<Button onClick={onClear}>Clear filter</Button>} />
)

const NoRuns = () => (
  <EmptyState
    icon={<ChartNoAxesCombined size={28} aria-hidden />}
    title="Every run you start is kept here"
    action={
      <Button variant="primary" onClick={goToNewRun}>
        New run
      </Button>
    }
  >
    With its curve, its samples and its checkpoints. Select two or more to compare them.
  </EmptyState>
)
