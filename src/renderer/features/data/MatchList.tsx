import { useMemo } from 'react'
import type { Answer } from '#renderer/client/api.tsx'
import { formatCount } from '#renderer/client/format.ts'
import { Table, type Column } from '#renderer/kit/Table.tsx'

type Pair = Answer<'datasets.leaks'>['leaks']['pairs'][number]

interface MatchListProps {
  readonly label: string
  readonly pairs: readonly Pair[]
  /** What the two numbers count. */
  readonly places: readonly [string, string]
}

/** Pairs of rows that say the same. */
export function MatchList({ label, pairs, places: [first, second] }: MatchListProps) {
  const columns = useMemo(
    (): readonly Column<Pair>[] => [
      {
        id: 'first',
        title: first,
        width: '112px',
        isNumber: true,
        cell: (pair) => formatCount(pair.first + 1),
        sortBy: (pair) => pair.first,
      },
      {
        id: 'second',
        title: second,
        width: '112px',
        isNumber: true,
        cell: (pair) => formatCount(pair.second + 1),
        sortBy: (pair) => pair.second,
      },
      {
        id: 'text',
        title: 'Both say',
        width: 'minmax(240px, 1fr)',
        cell: ({ text }) => (
          <span dir="auto" className="font-mono text-sm">
            {text}
          </span>
        ),
      },
    ],
    [first, second],
  )
  return (
    <Table
      label={label}
      rows={pairs}
      columns={columns}
      rowKey={(pair) => `${String(pair.first)} ${String(pair.second)}`}
      rowHeight={28}
    />
  )
}
