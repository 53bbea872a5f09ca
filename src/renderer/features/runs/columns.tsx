import { RunDuration } from '#renderer/parts/RunDuration.tsx'
import { StatusBadge } from '#renderer/kit/Badge.tsx'
import { Checkbox } from '#renderer/kit/choices.tsx'
import { MoreMenu } from '#renderer/kit/Menu.tsx'
import { Progress } from '#renderer/kit/states.tsx'
import type { Column } from '#renderer/kit/Table.tsx'
import type { RunEntry, RunStyle } from '#renderer/client/runs.ts'
import {
  formatAgo,
  formatCount,
  formatDate,
  formatNumber,
  formatTime,
  lastPart,
} from '#renderer/client/format.ts'
import { runTitle } from '#renderer/client/words.ts'
import { BestCell, CurveCell, DataCell, NameCell, NotesCell, RewardCell, TagsCell } from './cells.tsx'
import type { FamilyRow } from './families.ts'
import { seedCell, seedSorting, type SeedRowState } from './seedCells.tsx'
import { numberColumn, plainColumn, figureColumn, unnamedColumn } from '#renderer/kit/columns.tsx'
import { type Action } from '#renderer/kit/actions.tsx'

export type Row = FamilyRow<RunEntry>

export type EditedField = 'name' | 'tags' | 'notes'

export interface RowState extends SeedRowState {
  readonly styleOf: (runId: string) => RunStyle
  readonly pinned: ReadonlySet<string>
  readonly baseline: string | null
  readonly editing: { readonly runId: string; readonly field: EditedField } | null
  readonly onEdit: (editing: RowState['editing']) => void
  readonly menuOf: (run: RunEntry) => readonly (readonly Action[])[]
}

/** Optional columns in their order. */
export const optionalColumns = [
  ['status', 'Status'],
  ['algorithm', 'Method'],
  ['model', 'Model'],
  ['data', 'Data'],
  ['progress', 'Steps'],
  ['reward', 'Eval reward'],
  ['curve', 'Reward'],
  ['best', 'Best'],
  ['duration', 'Duration'],
  ['started', 'Started'],
  ['tags', 'Tags'],
  ['notes', 'Notes'],
  ['seed', 'Seed'],
] as const

export type ColumnId = (typeof optionalColumns)[number][0]

export const defaultColumns: readonly ColumnId[] = [
  'status',
  'algorithm',
  'model',
  'data',
  'progress',
  'reward',
  'curve',
  'duration',
  'started',
  'tags',
]

/** Columns of a table that would scroll sideways with all of the above; what is left out stands on the page of a run. */
export const fewerColumns: readonly ColumnId[] = defaultColumns.filter(
  (id) => id !== 'data' && id !== 'duration' && id !== 'started',
)

/** Returns the columns; `sorting`: order of the rows; null: families stand together, so they cannot be sorted. */
export function columnsOf(
  chosen: readonly ColumnId[],
  state: RowState,
  sorting: { readonly isDescending: boolean } | null,
): readonly Column<Row>[] {
  const wanted = new Set<string>(['select', 'name', ...chosen, 'menu'])
  return allColumns(state)
    .filter(({ id }) => wanted.has(id))
    .map(({ sortBy, cell, ...column }) => ({
      ...column,
      cell: (row: Row, index: number) => seedCell(column.id, row, state) ?? cell(row, index),
      ...(sortBy !== undefined &&
        sorting !== null && {
          sortBy: pinnedFirst(sortBySeeds(column.id, sortBy), state.pinned, sorting.isDescending),
        }),
    }))
}

type SortBy = NonNullable<Column<Row>['sortBy']>

/** Sorts seeds by the row above them, so that they stay below it: rows that compare equal keep their order. */
const sortBySeeds =
  (columnId: string, sortBy: SortBy): SortBy =>
  (row) => {
    const head = row.under ?? row
    return seedSorting(columnId, head) ?? sortBy(head)
  }

/** Keeps pinned runs first in either direction. */
function pinnedFirst(sortBy: SortBy, pinned: ReadonlySet<string>, isDescending: boolean): SortBy {
  return (row) => {
    const value = sortBy(row)
    if (!pinned.has((row.under ?? row).run.id)) return value
    if (typeof value === 'string') return isDescending ? '\uffff' : ''
    return isDescending ? Infinity : -Infinity
  }
}

function allColumns(state: RowState): readonly Column<Row>[] {
  return [...fixedColumns(state), ...factColumns(), ...measureColumns(state), ...ownColumns(state)]
}

function fixedColumns(state: RowState): readonly Column<Row>[] {
  return [
    unnamedColumn(['select', 'Selected', '48px'], ({ run }) => (
      <span
        className="inline-flex py-1"
        // With shift held, the whole range is selected, which the checkbox itself cannot tell.
        onClickCapture={(event) => {
          event.preventDefault()
          event.stopPropagation()
          state.onSelect(run.id, event.shiftKey)
        }}
      >
        <Checkbox
          aria-label={`Select ${runTitle(run)}`}
          checked={state.selected.has(run.id)}
          onChange={() => undefined}
        />
      </span>
    )),
    plainColumn(
      ['name', 'Name', 'minmax(160px, 1.6fr)'],
      (row) => (
        <NameCell
          row={row}
          style={state.styleOf(row.run.id)}
          isPinned={state.pinned.has(row.run.id)}
          isBaseline={state.baseline === row.run.id}
          isEditing={isEdited(state, row.run.id, 'name')}
          onEdited={() => state.onEdit(null)}
        />
      ),
      ({ run }) => runTitle(run),
    ),
  ]
}

const isEdited = ({ editing }: RowState, runId: string, field: EditedField): boolean =>
  editing?.runId === runId && editing.field === field

const factColumns = (): readonly Column<Row>[] => [
  plainColumn(
    ['status', 'Status', '100px'],
    ({ run }) => <StatusBadge status={run.status} finding={run.finding} />,
    ({ run }) => run.status,
  ),
  plainColumn(
    ['algorithm', 'Method', '74px'],
    ({ run }) => <span title={run.algorithmTitle}>{run.algorithmTitle}</span>,
    ({ run }) => run.algorithmTitle,
  ),
  plainColumn(
    ['model', 'Model', 'minmax(68px, 0.5fr)'],
    ({ run }) => <span title={run.model}>{lastPart(run.model)}</span>,
    ({ run }) => lastPart(run.model),
  ),
  { id: 'data', title: 'Data', width: 'minmax(84px, 0.5fr)', cell: ({ run }) => <DataCell run={run} /> },
  figureColumn(
    ['progress', 'Steps', '92px'],
    ({ run }) => <Steps run={run} />,
    ({ run }) => run.step,
  ),
]

const Steps = ({ run: { step, steps } }: { run: RunEntry }) => (
  <span className="flex flex-col items-end gap-0.5">
    <span>
      {formatCount(step)}
      <span className="text-faint"> / {formatCount(steps)}</span>
    </span>
    {steps !== null && step < steps && (
      <Progress label="Steps done" value={step / steps} className="h-0.5 w-full" />
    )}
  </span>
)

const measureColumns = (state: RowState): readonly Column<Row>[] => [
  figureColumn(
    ['reward', 'Eval reward', '112px'],
    ({ run }) => <RewardCell run={run} />,
    ({ run }) => run.rewardAfter ?? run.reward,
  ),
  plainColumn(['curve', 'Reward', '88px'], ({ run }) => (
    <CurveCell run={run} color={state.styleOf(run.id).color} />
  )),
  { id: 'best', title: 'Best', width: '54px', isNumber: true, cell: ({ run }) => <BestCell run={run} /> },
  figureColumn(['duration', 'Duration', '96px'], ({ run }) => <RunDuration run={run} />),
  plainColumn(
    ['started', 'Started', '90px'],
    ({ run }) => (
      <span className="text-muted" title={`${formatDate(run.createdAt)} ${formatTime(run.createdAt)}`}>
        {formatAgo(run.createdAt, state.now)}
      </span>
    ),
    ({ run }) => run.createdAt,
  ),
]

const ownColumns = (state: RowState): readonly Column<Row>[] => [
  plainColumn(['tags', 'Tags', 'minmax(72px, 0.8fr)'], ({ run }) => (
    <TagsCell
      run={run}
      isEditing={isEdited(state, run.id, 'tags')}
      onEdit={(is) => state.onEdit(is ? { runId: run.id, field: 'tags' } : null)}
    />
  )),
  plainColumn(['notes', 'Notes', 'minmax(120px, 1fr)'], ({ run }) => (
    <NotesCell
      run={run}
      isEditing={isEdited(state, run.id, 'notes')}
      onEdit={(is) => state.onEdit(is ? { runId: run.id, field: 'notes' } : null)}
    />
  )),
  numberColumn(
    ['seed', 'Seed', '64px'],
    ({ run }) => run.seed,
    (seed) => formatNumber(seed, 6),
  ),
  unnamedColumn(['menu', 'Actions', '52px'], ({ run }) => (
    <span onClick={(event) => event.stopPropagation()}>
      <MoreMenu small label={`Actions of ${runTitle(run)}`} groups={state.menuOf(run)} />
    </span>
  )),
]
