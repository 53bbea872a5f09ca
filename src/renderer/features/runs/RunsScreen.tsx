import { ChartNoAxesCombined, Download, Tag, Trash2, Columns3, ListTree } from 'lucide-react'
import { useRef, useState, type ComponentProps, type Ref } from 'react'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { Page } from '#renderer/kit/Page.tsx'
import { EmptyState, Loading, ErrorNote } from '#renderer/kit/states.tsx'
import { Table } from '#renderer/kit/Table.tsx'
import { useNow } from '#renderer/client/live.ts'
import { navigate } from '#renderer/client/route.ts'
import { useRuns, useRunStyles, type RunEntry } from '#renderer/client/runs.ts'
import { formatCount, plural } from '#renderer/client/format.ts'
import { Popover, Menu } from '#renderer/kit/Menu.tsx'
import { useApi } from '#renderer/client/api.tsx'
import { asError, toastError } from '#renderer/client/toasts.ts'
import { TextInput, SearchInput, Form } from '#renderer/kit/inputs.tsx'
import { useStudyTitles } from '#renderer/parts/StudyLink.tsx'
import { columnsOf, type Row, type RowState, optionalColumns, type ColumnId } from './columns.tsx'
import { DeletedRuns } from './DeletedRuns.tsx'
import { NewRunButton } from '#renderer/parts/NewRunButton.tsx'
import { DeleteRuns } from '#renderer/parts/DeleteRuns.tsx'
import { noFilter, choicesOf, isFiltering, searchHint, type RunFilter } from '#renderer/parts/filter.ts'
import {
  compareQuery,
  useColumns,
  useExportBundles,
  useRunKeys,
  useSelection,
  useShownRuns,
} from './useRunsTable.ts'
import { tagsOf } from './cells.tsx'
import { runStatuses } from '#shared/runs.ts'
import { statusWords } from '#renderer/kit/Badge.tsx'
import { AnySelect } from '#renderer/kit/choices.tsx'
import { type Action } from '#renderer/kit/actions.tsx'

const unsorted = { isDescending: true }

/** All runs of the history. */
export function RunsScreen() {
  const { runs, isLoaded } = useRuns()
  const { filter, setFilter, isTree, setTree, shown, order, toggleSeeds, marks } = useShownRuns(runs)
  const { columns, setColumns, sorting, setSorting } = useColumns()
  const [deleting, setDeleting] = useState<readonly RunEntry[]>([])
  const selection = useSelection(order)
  const { selected, clear, forget } = selection
  const exportBundles = useExportBundles()
  const search = useRef<HTMLInputElement>(null)
  const chosen = runs.filter(({ id }) => selected.has(id))
  const compare = () => navigate('/runs/compare', compareQuery(chosen, marks.baseline))
  const onFilter = () => search.current?.focus()
  const onSelect = (runId: string) => selection.select(runId, false)
  const { toggleBaseline: onBaseline, togglePin: onPin } = marks
  useRunKeys({ onFilter, onCompare: compare, chosen, onBaseline, onPin, onSelect })
  const state = useRowState({ marks, selection, columns, toggleSeeds, exportBundles, onDelete: setDeleting })
  return (
    <Page
      isFull
      main={<MainActions chosen={chosen.length} onCompare={compare} />}
      toolbar={
        runs.length > 0 && (
          <RunsToolbar
            {...{ runs, filter, isTree, columns }}
            shown={order.length}
            onFilter={setFilter}
            onTree={setTree}
            onColumns={setColumns}
            searchRef={search}
          />
        )
      }
    >
      <UnreadableRuns />
      <SelectionBar runs={chosen} onExport={exportBundles} onDelete={setDeleting} onClear={clear} />
      {runs.length === 0 && (isLoaded ? <NoRuns /> : <Loading label="Reading the history" shape="table" />)}
      {runs.length > 0 && (
        <Table<Row>
          label="Runs"
          rows={shown}
          columns={columnsOf(columns, state, isTree ? null : (sorting ?? unsorted))}
          rowKey={({ run, seeds }) => (seeds ? `seeds ${run.id}` : run.id)}
          sorting={isTree ? null : sorting}
          onSort={setSorting}
          onOpen={(row) => openRow(row, marks.baseline)}
          isSelected={({ run, seeds }) => (seeds?.runIds ?? [run.id]).every((id) => selected.has(id))}
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

interface Handling {
  readonly marks: ReturnType<typeof useShownRuns>['marks']
  readonly selection: ReturnType<typeof useSelection>
  readonly columns: readonly ColumnId[]
  readonly toggleSeeds: RowState['onToggleSeeds']
  readonly exportBundles: (runs: readonly RunEntry[]) => void
  readonly onDelete: (runs: readonly RunEntry[]) => void
}

/** State of the table as its rows show it, and the actions on each. */
function useRowState({
  marks,
  selection,
  columns,
  toggleSeeds,
  exportBundles,
  onDelete,
}: Handling): RowState {
  const [editing, setEditing] = useState<RowState['editing']>(null)
  const { pinned, baseline, togglePin, toggleBaseline } = marks
  const menuOf = (run: RunEntry) =>
    rowMenu(run, {
      isBaseline: baseline === run.id,
      isPinned: pinned.has(run.id),
      columns,
      onDelete,
      onEdit: setEditing,
      onBaseline: toggleBaseline,
      onPin: togglePin,
      onExport: exportBundles,
    })
  return {
    styleOf: useRunStyles(),
    pinned,
    baseline,
    selected: selection.selected,
    editing,
    menuOf,
    now: useNow(30_000),
    onEdit: setEditing,
    onSelect: selection.select,
    onToggleSeeds: toggleSeeds,
  }
}

/** Opens the page of a run or a study, or the comparison of several seeds. */
function openRow({ run, seeds }: Row, baseline: string | null): void {
  if (seeds?.studyId) navigate(`/runs/studies/${seeds.studyId}`)
  else if (seeds) navigate('/runs/compare', { ...compareQuery(seeds.runs, baseline), group: 'seed' })
  else navigate(`/runs/${run.id}`)
}

function MainActions({ chosen, onCompare }: { chosen: number; onCompare: () => void }) {
  return (
    <>
      <DeletedRuns />
      <NewRunButton />
      <Button variant="primary" disabled={chosen < 2} onClick={onCompare} title="Select two or more runs (C)">
        {chosen < 2 ? 'Compare' : `Compare ${String(chosen)} runs`}
      </Button>
    </>
  )
}

const NoneFits = ({ onClear }: { onClear: () => void }) => (
  <EmptyState title="No runs match the filter" action={<Button onClick={onClear}>Clear filter</Button>} />
)

const NoRuns = () => (
  <EmptyState
    icon={ChartNoAxesCombined}
    strokeWidth={2}
    title="All your runs appear here"
    action={<NewRunButton variant="primary" />}
  >
    With curves, samples and checkpoints. Select two or more to compare them.
  </EmptyState>
)

const shown = 3

/** Lists runs that could not be read, and why. */
function UnreadableRuns() {
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
          `turnwise runs list` names them all.
        </p>
      )}
    </div>
  )
}

/* What can be done with one run of the table. */

interface RowActions {
  readonly isBaseline: boolean
  readonly isPinned: boolean
  /** Columns shown: tags and notes are edited in theirs. */
  readonly columns: readonly ColumnId[]
  readonly onEdit: RowState['onEdit']
  readonly onBaseline: (runId: string) => void
  readonly onPin: (runId: string) => void
  readonly onExport: (runs: readonly RunEntry[]) => void
  readonly onDelete: (runs: readonly RunEntry[]) => void
}

function rowMenu(run: RunEntry, actions: RowActions): readonly (readonly Action[])[] {
  const { id: runId } = run
  const { isBaseline, isPinned, columns, onEdit, onBaseline, onPin, onExport, onDelete } = actions
  const edit = (field: 'tags' | 'notes') =>
    columns.includes(field) ? [{ label: `Edit ${field}`, run: () => onEdit({ runId, field }) }] : []
  return [
    [
      { label: 'Open', run: () => navigate(`/runs/${runId}`) },
      { label: 'Rename', run: () => onEdit({ runId, field: 'name' }) },
      ...edit('tags'),
      ...edit('notes'),
    ],
    [
      {
        label: isBaseline ? 'No longer the baseline' : 'Set as baseline',
        keys: 'B',
        run: () => onBaseline(runId),
      },
      { label: isPinned ? 'Unpin' : 'Pin', keys: 'P', run: () => onPin(runId) },
      { label: 'Export bundle', run: () => onExport([run]) },
    ],
    [{ label: 'Delete', isDangerous: true, run: () => onDelete([run]) }],
  ]
}

interface SelectionBarProps {
  readonly runs: readonly RunEntry[]
  readonly onExport: (runs: readonly RunEntry[]) => void
  readonly onDelete: (runs: readonly RunEntry[]) => void
  readonly onClear: () => void
}

/** Actions on the selected runs; renders nothing without any. */
function SelectionBar({ runs, onExport, onDelete, onClear }: SelectionBarProps) {
  if (runs.length === 0) return null
  return (
    <div
      role="toolbar"
      aria-label="Selected runs"
      className="flex h-9 shrink-0 items-center gap-1 border-b border-line bg-accent-soft pr-4 pl-page"
    >
      <span className="mr-2 font-medium text-accent-ink">{plural(runs.length, 'run')} selected</span>
      <AddTag runs={runs} />
      <Button variant="quiet" small icon={Download} onClick={() => onExport(runs)}>
        Export bundle
      </Button>
      <Button variant="quiet" small icon={Trash2} onClick={() => onDelete(runs)}>
        Delete
      </Button>
      <Button variant="quiet" small className="ml-auto" onClick={onClear}>
        Clear selection
      </Button>
    </div>
  )
}

function AddTag({ runs }: { runs: readonly RunEntry[] }) {
  const client = useApi()
  const [text, setText] = useState('')
  const add = async () => {
    const added = tagsOf(text)
    setText('')
    try {
      for (const { id, tags } of runs)
        await client.call('runs.setTags', { runId: id, tags: [...new Set([...tags, ...added])] })
    } catch (thrown) {
      toastError(asError(thrown))
    }
  }
  return (
    <Popover
      label="Add tags"
      trigger={
        <Button variant="quiet" small icon={Tag}>
          Add tags
        </Button>
      }
    >
      <Form className="flex gap-2" onSubmit={() => void add()}>
        <TextInput
          aria-label="Tags, separated by commas"
          placeholder="seeds, paper"
          value={text}
          onChange={setText}
        />
        <Button type="submit" disabled={tagsOf(text).length === 0}>
          Add
        </Button>
      </Form>
    </Popover>
  )
}

interface ToolbarProps {
  readonly runs: readonly RunEntry[]
  readonly shown: number
  readonly filter: RunFilter
  readonly onFilter: (filter: RunFilter) => void
  readonly isTree: boolean
  readonly onTree: (isTree: boolean) => void
  readonly columns: readonly ColumnId[]
  readonly onColumns: (columns: readonly ColumnId[]) => void
  readonly searchRef: Ref<HTMLInputElement>
}

function RunsToolbar(props: ToolbarProps) {
  const { runs, shown, filter, onFilter, isTree, onTree, columns, onColumns, searchRef } = props
  return (
    <>
      <SearchInput
        ref={searchRef}
        label="Filter runs"
        placeholder={searchHint}
        value={filter.text}
        onChange={(text) => onFilter({ ...filter, text })}
        className="w-64"
      />
      <RunFilters {...{ runs, filter, onFilter }} />
      {isFiltering(filter) && (
        <>
          <span className="text-sm text-faint">
            {shown} of {plural(runs.length, 'run')}
          </span>
          <Button variant="quiet" onClick={() => onFilter(noFilter)}>
            Clear filter
          </Button>
        </>
      )}
      <span className="ml-auto flex items-center gap-1">
        <IconButton
          label="Show forks under their parents"
          icon={ListTree}
          iconSize={15}
          pressed={isTree}
          onClick={() => onTree(!isTree)}
        />
        <ColumnMenu {...{ columns, onColumns }} />
      </span>
    </>
  )
}

/** Filters the runs shown; by tags and studies only once there are any. */
function RunFilters({ runs, filter, onFilter }: Pick<ToolbarProps, 'runs' | 'filter' | 'onFilter'>) {
  const { algorithms, tags } = choicesOf(runs)
  const statuses = runStatuses.filter((status) => runs.some((run) => run.status === status))
  const studies = [...useStudyTitles()].filter(([id]) => runs.some(({ studyId }) => studyId === id))
  const select = (name: string, key: Exclude<keyof RunFilter, 'text'>, options: Options) => (
    <AnySelect
      aria-label={name}
      any={`Any ${name.toLowerCase()}`}
      value={filter[key]}
      options={options}
      onChange={(value) => onFilter({ ...filter, [key]: value })}
      className={key === 'study' ? 'max-w-48' : undefined}
    />
  )
  const named = statuses.map((value) => ({ value, label: statusWords(value) }))
  const titled = studies.map(([value, label]) => ({ value, label }))
  return (
    <>
      {select('Status', 'status', named)}
      {select('Method', 'algorithm', algorithms)}
      {tags.length > 0 && select('Tag', 'tag', tags)}
      {titled.length > 0 && select('Study', 'study', titled)}
    </>
  )
}

type Options = ComponentProps<typeof AnySelect>['options']

function ColumnMenu({ columns, onColumns }: Pick<ToolbarProps, 'columns' | 'onColumns'>) {
  const toggle = (id: ColumnId) =>
    onColumns(columns.includes(id) ? columns.filter((other) => other !== id) : [...columns, id])
  const group = optionalColumns.map(([id, label]) => ({
    label,
    checked: columns.includes(id),
    run: () => toggle(id),
  }))
  return (
    <Menu groups={[group]}>
      <IconButton label="Choose columns" icon={Columns3} iconSize={15} />
    </Menu>
  )
}
