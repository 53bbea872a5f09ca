import { useVirtualizer } from '@tanstack/react-virtual'
import { ArrowDown, ArrowUp } from 'lucide-react'
import { useMemo, useRef, useState, type ComponentProps, type KeyboardEvent, type ReactNode } from 'react'
import { classes } from './classes.ts'
import { focusOnceDrawn, movedBy } from './scroll.ts'

export interface Column<Row> {
  readonly id: string
  readonly title: ReactNode
  /** Name of the header if the title is not text. */
  readonly label?: string
  /** CSS grid track: `120px`, `minmax(160px, 1fr)`. */
  readonly width: string
  readonly cell: (row: Row, index: number) => ReactNode
  readonly isNumber?: boolean
  /** Returns the sort key of a row, null last. Columns without it cannot be sorted. */
  readonly sortBy?: (row: Row) => string | number | null
}

export interface Sorting {
  readonly columnId: string
  readonly isDescending: boolean
}

export interface TableProps<Row> {
  readonly label: string
  readonly rows: readonly Row[]
  readonly columns: readonly Column<Row>[]
  readonly rowKey: (row: Row, index: number) => string
  readonly rowHeight?: number
  readonly initialSorting?: Sorting
  /** Controlled sorting; otherwise the table keeps its own. */
  readonly sorting?: Sorting | null
  readonly onSort?: (sorting: Sorting | null) => void
  /** Receives a click or Enter on a row. */
  readonly onOpen?: (row: Row, index: number) => void
  /** Receives the row under the pointer or with the focus; null once it has left. */
  readonly onPoint?: (row: Row | null) => void
  readonly isSelected?: (row: Row) => boolean
  /** Runs when the last rows come into view, to load more. */
  readonly onEnd?: () => void
  /** Index of the row in view at first. */
  readonly startAt?: number
  readonly empty?: ReactNode
  readonly className?: string
}

/** Virtualized table. Arrow keys move, Enter opens, Home and End jump. */
export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rowHeight = 32, startAt = 0, onOpen, onEnd, empty, className } = props
  const { rows, sorting, sort } = useSorted(props)
  const scroller = useRef<HTMLDivElement>(null)
  const [active, setActive] = useState(startAt)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 8,
    initialOffset: startAt * rowHeight,
    onChange(instance) {
      const last = instance.getVirtualItems().at(-1)
      if (last !== undefined && last.index >= rows.length - 10) onEnd?.()
    },
  })
  const template = columns.map(({ width }) => width).join(' ')
  const track = { gridTemplateColumns: template, height: rowHeight }
  const focusRow = (index: number) => {
    setActive(index)
    virtual.scrollToIndex(index)
    focusOnceDrawn(() => scroller.current?.querySelector(`[data-index="${String(index)}"]`))
  }
  return (
    <div
      ref={scroller}
      role="table"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      className={classes('min-h-0 grow overflow-auto', className)}
    >
      <div className="min-w-max">
        <HeaderRow {...{ columns, template, sorting }} onSort={sort} />
        <div role="rowgroup" className="relative" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const row = rows[index]
            if (row === undefined) return null
            const open = onOpen && (() => onOpen(row, index))
            return (
              <BodyRow
                key={props.rowKey(row, index)}
                {...{ columns, row, index }}
                isSelected={props.isSelected?.(row)}
                tabIndex={index === Math.min(active, rows.length - 1) ? 0 : -1}
                onFocus={() => setActive(index)}
                onPoint={props.onPoint}
                onKeyDown={(event) => onRowKey(event, { index, count: rows.length, onOpen: open, focusRow })}
                onClick={open}
                style={{ ...track, transform: `translateY(${String(start)}px)` }}
              />
            )
          })}
        </div>
      </div>
      {rows.length === 0 && empty}
    </div>
  )
}

/** Sorts the rows; the table holds the sort order unless the caller controls it. */
function useSorted<Row>({ rows: given, columns, ...props }: TableProps<Row>) {
  const [own, setOwn] = useState<Sorting | null>(props.initialSorting ?? null)
  const sorting = props.sorting === undefined ? own : props.sorting
  const rows = useMemo(() => sorted(given, columns, sorting), [given, columns, sorting])
  const sort = (columnId: string) => (props.onSort ?? setOwn)(nextSorting(sorting, columnId))
  return { rows, sorting, sort }
}

interface RowKeys {
  readonly index: number
  readonly count: number
  readonly onOpen: (() => void) | undefined
  readonly focusRow: (index: number) => void
}

/** Keys of a row, not of what is in its cells. */
function onRowKey(event: KeyboardEvent<HTMLElement>, { index, count, onOpen, focusRow }: RowKeys): void {
  if (event.target !== event.currentTarget) return
  const to = movedBy(event.key, index, count)
  if (to === null && (event.key !== 'Enter' || onOpen === undefined)) return
  event.preventDefault()
  if (to === null) onOpen?.()
  else focusRow(to)
}

interface HeaderRowProps<Row> extends Omit<HeaderProps<Row>, 'column'> {
  readonly columns: readonly Column<Row>[]
  /** Tracks of the grid. */
  readonly template: string
}

const HeaderRow = <Row,>({ columns, template, sorting, onSort }: HeaderRowProps<Row>) => (
  <div role="rowgroup" className="sticky top-0 z-10">
    <div
      role="row"
      className="grid h-8 items-center border-b border-line bg-panel"
      style={{ gridTemplateColumns: template }}
    >
      {columns.map((column) => (
        <HeaderCell key={column.id} column={column} sorting={sorting} onSort={onSort} />
      ))}
    </div>
  </div>
)

interface BodyRowProps<Row> extends Omit<ComponentProps<'div'>, 'className'> {
  readonly onPoint: ((row: Row | null) => void) | undefined
  readonly columns: readonly Column<Row>[]
  readonly row: Row
  readonly index: number
  readonly isSelected: boolean | undefined
}

function BodyRow<Row>(props: BodyRowProps<Row>) {
  const { columns, row, index, isSelected, onFocus, onPoint, ...rest } = props
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      data-index={index}
      className="absolute inset-x-0 grid items-center border-b border-line -outline-offset-2 hover:bg-panel aria-selected:bg-accent-soft"
      onFocus={(event) => {
        onFocus?.(event)
        onPoint?.(row)
      }}
      onBlur={() => onPoint?.(null)}
      onPointerEnter={() => onPoint?.(row)}
      onPointerLeave={() => onPoint?.(null)}
      {...rest}
    >
      {columns.map((column) => (
        <div
          key={column.id}
          role="cell"
          className={classes(
            'min-w-0 truncate px-2 first:pl-4 last:pr-4',
            column.isNumber === true && 'text-right font-mono text-sm tabular-nums',
          )}
        >
          {column.cell(row, index)}
        </div>
      ))}
    </div>
  )
}

interface HeaderProps<Row> {
  readonly column: Column<Row>
  readonly sorting: Sorting | null
  readonly onSort: (columnId: string) => void
}

function HeaderCell<Row>({ column, sorting, onSort }: HeaderProps<Row>) {
  const isSorted = sorting?.columnId === column.id
  const direction = isSorted ? (sorting.isDescending ? 'descending' : 'ascending') : undefined
  const look = classes(
    'min-w-0 px-2 first:pl-4 last:pr-4 text-sm font-medium text-muted',
    column.isNumber === true && 'text-right',
  )
  const Arrow = direction === 'descending' ? ArrowDown : ArrowUp
  return (
    <div role="columnheader" aria-sort={direction} aria-label={column.label} className={look}>
      {column.sortBy === undefined ? (
        <span className="block truncate">{column.title}</span>
      ) : (
        <button
          type="button"
          onClick={() => onSort(column.id)}
          className={classes(
            'inline-flex h-6 max-w-full items-center gap-1 hover:text-text',
            isSorted && 'text-text',
          )}
        >
          <span className="truncate">{column.title}</span>
          {isSorted && <Arrow size={12} aria-hidden />}
        </button>
      )}
    </div>
  )
}

/** Cycles through ascending, descending and original order. */
const nextSorting = (now: Sorting | null, columnId: string): Sorting | null => {
  if (now?.columnId !== columnId) return { columnId, isDescending: true }
  return now.isDescending ? { columnId, isDescending: false } : null
}

function sorted<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sorting: Sorting | null,
): readonly Row[] {
  const sortBy = columns.find(({ id }) => id === sorting?.columnId)?.sortBy
  if (sortBy === undefined || sorting === null) return rows
  const sign = sorting.isDescending ? -1 : 1
  return rows.toSorted((a, b) => {
    const [x, y] = [sortBy(a), sortBy(b)]
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1
    if (typeof x === 'number' && typeof y === 'number') return sign * (x - y)
    return sign * String(x).localeCompare(String(y))
  })
}
