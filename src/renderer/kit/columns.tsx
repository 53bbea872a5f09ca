/** Columns of tables whose cell follows from one value of the row, by which they sort too. */
import { formatAgo, formatNumber } from '#renderer/client/format.ts'
import type { Column } from './Table.tsx'

type Head = readonly [id: string, title: Column<never>['title'], width: string]

type Quantity = number | null | undefined

/** Numbers, right-aligned. */
export const numberColumn = <Row,>(
  [id, title, width]: Head,
  valueOf: (row: Row) => Quantity,
  format: (value: Quantity) => string = formatNumber,
): Column<Row> => ({
  ...{ id, title, width, isNumber: true },
  cell: (row) => format(valueOf(row)),
  sortBy: (row) => valueOf(row) ?? null,
})

/** Words in the colour of what is said beside the point. */
export const mutedColumn = <Row,>([id, title, width]: Head, wordsOf: (row: Row) => string): Column<Row> => ({
  ...{ id, title, width },
  cell: (row) => <span className="text-muted">{wordsOf(row)}</span>,
  sortBy: wordsOf,
})

/** Time that has passed until `now`. */
export const agoColumn = <Row,>(
  [id, title, width]: Head,
  atOf: (row: Row) => number,
  now: number,
): Column<Row> => ({
  ...{ id, title, width },
  cell: (row) => <span className="text-muted">{formatAgo(atOf(row), now)}</span>,
  sortBy: atOf,
})

/** Text of a row or a completion, verbatim; not sorted. */
export const verbatimColumn = <Row,>(
  [id, title, width]: Head,
  textOf: (row: Row) => string,
  titleOf?: (row: Row) => string,
): Column<Row> => ({
  ...{ id, title, width },
  cell: (row) => (
    <span dir="auto" className="font-mono text-sm" title={titleOf?.(row)}>
      {textOf(row)}
    </span>
  ),
})
