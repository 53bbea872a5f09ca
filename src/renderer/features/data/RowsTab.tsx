import { useMemo } from 'react'
import { useAnswer } from '#renderer/client/api.tsx'
import { setQuery, useRoute } from '#renderer/client/route.ts'
import { SplitPane } from '#renderer/kit/SplitPane.tsx'
import { Table } from '#renderer/kit/Table.tsx'
import { RowDetail } from './RowDetail.tsx'
import { Cell, rowColumns } from './RowsTable.tsx'
import type { Opened } from './opened.ts'

const pageRows = 100

interface Place {
  readonly versionId: string
  readonly index: number
}

/** A row of a version; rows near each other are asked for together. */
function useRow({ versionId, index }: Place) {
  const page = Math.floor(index / pageRows)
  const { data } = useAnswer('datasets.rows', { versionId, from: page * pageRows, count: pageRows })
  return data?.rows[index % pageRows]
}

/** All rows; only the visible ones are read. */
export function RowsTab({ version: { id, rows, columns } }: Pick<Opened, 'version'>) {
  const { query } = useRoute()
  const asked = Number(query.get('row') ?? 1) - 1
  const at = Number.isInteger(asked) && asked >= 0 && asked < rows ? asked : 0
  const choose = (index: number) => setQuery({ row: String(index + 1) })
  const numbers = useMemo(() => Array.from({ length: rows }, (_, index) => index), [rows])
  const shown = useMemo(
    () => rowColumns(columns, rows, (index, name) => <PagedCell versionId={id} index={index} name={name} />),
    [id, columns, rows],
  )
  return (
    <SplitPane id="data.rows" sizes={[68, 32]} minimums={[320, 240]}>
      <Table
        label="Rows"
        rows={numbers}
        columns={shown}
        rowKey={String}
        rowHeight={28}
        isSelected={(index) => index === at}
        onOpen={choose}
        startAt={at}
      />
      <ChosenRow versionId={id} index={at} />
    </SplitPane>
  )
}

function PagedCell({ name, ...place }: Place & { readonly name: string }) {
  const row = useRow(place)
  return row === undefined ? null : <Cell value={row[name]} />
}

function ChosenRow(place: Place) {
  const row = useRow(place)
  return row === undefined ? null : <RowDetail row={row} number={place.index + 1} />
}
