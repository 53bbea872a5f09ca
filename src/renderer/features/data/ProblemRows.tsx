import { useMemo } from 'react'
import { formatCount } from '#renderer/client/format.ts'
import { Table, type Column } from '#renderer/kit/Table.tsx'
import type { RowProblem } from './columnFacts.ts'

const columns: readonly Column<RowProblem>[] = [
  {
    id: 'number',
    title: 'Row',
    width: '80px',
    isNumber: true,
    cell: ({ number }) => formatCount(number),
    sortBy: ({ number }) => number,
  },
  {
    id: 'line',
    title: 'Line',
    width: '80px',
    isNumber: true,
    cell: ({ line }) => formatCount(line),
    sortBy: ({ line }) => line,
  },
  {
    id: 'sentence',
    title: 'What is wrong',
    width: 'minmax(320px, 1fr)',
    cell: ({ sentence }) => <span title={sentence}>{capitalized(sentence)}</span>,
    sortBy: ({ sentence }) => sentence,
  },
]

/** Rows of a file that were left out, with their place in it. */
export function ProblemRows({ problems }: { problems: readonly RowProblem[] }) {
  const rows = useMemo(() => problems, [problems])
  return (
    <Table
      label="Rows with problems"
      rows={rows}
      columns={columns}
      rowKey={({ number, sentence }, at) => `${String(number)} ${String(at)} ${sentence}`}
      rowHeight={28}
    />
  )
}

const capitalized = (sentence: string): string => `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`
