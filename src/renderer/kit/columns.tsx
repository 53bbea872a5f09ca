/** Columns of tables whose cell follows from one value of the row, by which they sort too. */
import { formatAgo, formatNumber } from '#renderer/client/format.ts'
import type { Column } from './Table.tsx'

type Head = readonly [id: string, title: Column<never>['title'], width: string]

type Quantity = number | null | undefined

type Sorted<Row> = Column<Row>['sortBy']

/** Any cell; sorted where `sortBy` says by what. */
export const plainColumn = <Row,>(
  [id, title, width]: Head,
  cell: Column<Row>['cell'],
  sortBy?: Sorted<Row>,
): Column<Row> => ({ id, title, width, cell, ...(sortBy && { sortBy }) })

/** The same, right-aligned as numbers are. */
export const figureColumn = <Row,>(
  head: Head,
  cell: Column<Row>['cell'],
  sortBy?: Sorted<Row>,
): Column<Row> => ({
  ...plainColumn(head, cell, sortBy),
  isNumber: true,
})

/** Controls of a row; the head shows no title, but has a label for screen readers. */
export const unnamedColumn = <Row,>(
  [id, label, width]: readonly [id: string, label: string, width: string],
  cell: Column<Row>['cell'],
): Column<Row> => ({ ...plainColumn([id, '', width], cell), label })

/** Numbers, right-aligned. */
export const numberColumn = <Row,>(
  head: Head,
  valueOf: (row: Row) => Quantity,
  format: (value: Quantity) => string = formatNumber,
): Column<Row> =>
  figureColumn(
    head,
    (row) => format(valueOf(row)),
    (row) => valueOf(row) ?? null,
  )

/** Words in the colour of what is said beside the point. */
export const mutedColumn = <Row,>(head: Head, wordsOf: (row: Row) => string): Column<Row> =>
  plainColumn(head, (row) => <span className="text-muted">{wordsOf(row)}</span>, wordsOf)

/** Time that has passed until `now`. */
export const agoColumn = <Row,>(head: Head, atOf: (row: Row) => number, now: number): Column<Row> =>
  plainColumn(head, (row) => <span className="text-muted">{formatAgo(atOf(row), now)}</span>, atOf)

/** Text of a row or a completion, verbatim; not sorted. */
export const verbatimColumn = <Row,>(
  head: Head,
  textOf: (row: Row) => string,
  titleOf?: (row: Row) => string,
): Column<Row> =>
  plainColumn(head, (row) => (
    <span dir="auto" className="font-mono text-sm" title={titleOf?.(row)}>
      {textOf(row)}
    </span>
  ))
