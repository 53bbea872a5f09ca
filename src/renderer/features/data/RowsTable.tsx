import { useMemo, type ReactNode } from 'react'
import { formatCount } from '#renderer/client/format.ts'
import { Table, type Column } from '#renderer/kit/Table.tsx'
import { cellText, kindOf, type DataRow } from './columnFacts.ts'

export interface RowsTableProps {
  readonly label: string
  readonly columns: readonly NamedColumn[]
  readonly rows: readonly DataRow[]
  readonly selected?: number | null
  readonly onSelect?: (index: number) => void
  readonly empty?: ReactNode
}

/** Rows that are all here; a click shows one in full. */
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

/** As the statistics of a file or a version have it. */
export interface NamedColumn {
  readonly name: string
  /** Of its texts, in characters. */
  readonly length: { readonly mean: number } | null
}

/** Long texts get more of the width than short ones, within reason. */
const shareOf = (length: NamedColumn['length']): number =>
  Math.round(Math.min(3.5, Math.max(1, Math.sqrt(length?.mean ?? 4) / 2)) * 10) / 10

/** A column of numbers, then one for each name. */
export const rowColumns = (
  names: readonly NamedColumn[],
  rows: number,
  cell: (index: number, name: string) => ReactNode,
): readonly Column<number>[] => [
  {
    id: '#',
    title: 'Row',
    width: `${String(Math.max(64, formatCount(rows).length * 8 + 32))}px`,
    isNumber: true,
    cell: (index) => <span className="text-faint">{formatCount(index + 1)}</span>,
  },
  ...names.map(({ name, length }): Column<number> => ({
    id: `column ${name}`,
    title: name,
    width: `minmax(${name.length > 12 ? '140px' : '96px'}, ${String(shareOf(length))}fr)`,
    cell: (index) => cell(index, name),
  })),
]

export function Cell({ value }: { value: unknown }) {
  const kind = kindOf(value)
  if (kind === 'empty') return <span className="text-faint">{Array.isArray(value) ? '[]' : 'empty'}</span>
  const isPlain = kind === 'text' || kind === 'chat' || kind === 'from-value chat'
  return (
    <span dir="auto" className={isPlain ? undefined : 'font-mono text-sm'}>
      {cellText(value)}
    </span>
  )
}
