import { useMemo, type ReactNode } from 'react'
import { figureColumn, plainColumn } from '#renderer/kit/columns.tsx'
import { formatCount } from '#renderer/client/format.ts'
import { Table, type Column } from '#renderer/kit/Table.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { CopyButton } from '#renderer/kit/states.tsx'
import { kindOf } from '#shared/columnKind.ts'
import { cellText, type DataRow, messagesOf } from '#renderer/parts/columnFacts.ts'

export interface RowsTableProps {
  readonly label: string
  readonly columns: readonly NamedColumn[]
  readonly rows: readonly DataRow[]
  readonly selected?: number | null
  readonly onSelect?: (index: number) => void
  readonly empty?: ReactNode
}

/** Table of rows already in memory; a click shows one in full. */
export function RowsTable({ label, columns, rows, selected = null, onSelect, empty }: RowsTableProps) {
  const numbers = useMemo(() => rows.map((_, index) => index), [rows])
  const shown = useMemo(
    () => rowColumns(columns, rows.length, (index, name) => <Cell value={rows[index]?.[name]} />),
    [columns, rows],
  )
  return (
    <Table
      label={label}
      rows={numbers}
      columns={shown}
      rowKey={String}
      rowHeight={28}
      isSelected={(index) => index === selected}
      {...(onSelect === undefined ? {} : { onOpen: onSelect })}
      empty={empty}
    />
  )
}

/** Column in the form of a file's or version's statistics. */
export interface NamedColumn {
  readonly name: string
  /** Length of its texts in characters. */
  readonly length: { readonly mean: number } | null
}

/** Returns a column's share of the width: more for long texts, within limits. */
const shareOf = (length: NamedColumn['length']): number =>
  Math.round(Math.min(3.5, Math.max(1, Math.sqrt(length?.mean ?? 4) / 2)) * 10) / 10

export const rowColumns = (
  names: readonly NamedColumn[],
  rows: number,
  cell: (index: number, name: string) => ReactNode,
): readonly Column<number>[] => [
  figureColumn(['#', 'Row', `${String(Math.max(64, formatCount(rows).length * 8 + 32))}px`], (index) => (
    <span className="text-faint">{formatCount(index + 1)}</span>
  )),
  ...names.map(({ name, length }): Column<number> =>
    plainColumn(
      [
        `column ${name}`,
        name,
        `minmax(${name.length > 12 ? '140px' : '96px'}, ${String(shareOf(length))}fr)`,
      ],
      (index) => cell(index, name),
    ),
  ),
]

export function Cell({ value }: { value: unknown }) {
  const kind = kindOf(value)
  if (kind === 'empty') return <span className="text-faint">{Array.isArray(value) ? '[]' : 'empty'}</span>
  const isPlain = kind === 'text' || kind === 'chat' || kind === 'other-chat'
  return (
    <span dir="auto" className={isPlain ? undefined : 'font-mono text-sm'}>
      {cellText(value)}
    </span>
  )
}

interface RowDetailProps {
  readonly row: DataRow
  readonly number: number
  /** Puts names left of their values instead of above. */
  readonly isWide?: boolean
}

export function RowDetail({ row, number, isWide = false }: RowDetailProps) {
  return (
    <section aria-label={`Row ${String(number)}`} className="flex min-h-0 grow flex-col">
      <header className="flex h-8 shrink-0 items-center gap-2 border-b border-line bg-panel pr-2 pl-4 text-sm font-medium text-muted">
        Row {number}
        <span className="ml-auto">
          <CopyButton label="Copy as JSON" text={JSON.stringify(row, null, 2)} />
        </span>
      </header>
      <dl
        tabIndex={0}
        className={classes(
          'grid min-h-0 grow content-start overflow-auto px-4 py-3 -outline-offset-2',
          isWide
            ? 'grid-cols-[minmax(64px,max-content)_minmax(0,1fr)] gap-x-4 gap-y-2'
            : 'grid-cols-[minmax(0,1fr)]',
        )}
      >
        {Object.entries(row).map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="max-w-48 truncate text-muted" title={name}>
              {name}
            </dt>
            <dd className={isWide ? undefined : 'mb-4'}>
              <Value value={value} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

function Value({ value }: { value: unknown }) {
  const kind = kindOf(value)
  if (kind === 'empty' || value === '') return <span className="text-faint">empty</span>
  if (typeof value === 'string')
    return (
      <p dir="auto" className="break-words whitespace-pre-wrap">
        {value}
      </p>
    )
  const messages = messagesOf(value)
  if (messages.length > 0) {
    return (
      <ol className="flex flex-col gap-2">
        {messages.map(({ role, content }, at) => (
          <li key={at} className="border-l-2 border-line pl-3">
            <p className="text-xs text-faint">{role}</p>
            <p dir="auto" className="break-words whitespace-pre-wrap">
              {content}
            </p>
          </li>
        ))}
      </ol>
    )
  }
  return (
    <pre dir="auto" className="font-mono text-sm break-words whitespace-pre-wrap">
      {JSON.stringify(value, null, 2)}
    </pre>
  )
}
