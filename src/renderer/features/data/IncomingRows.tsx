import { TriangleAlert } from 'lucide-react'
import { useMemo, useState } from 'react'
import type { Answer } from '#renderer/client/api.tsx'
import { formatCount, plural } from '#renderer/client/format.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { SplitPane } from '#renderer/kit/SplitPane.tsx'
import { Tabs } from '#renderer/kit/Tabs.tsx'
import { ProblemRows } from './ProblemRows.tsx'
import { RowDetail } from './RowDetail.tsx'
import { RowsTable } from './RowsTable.tsx'

type Inspection = Answer<'datasets.inspect'>

interface IncomingRowsProps {
  readonly file: Inspection
  /** As they would be after the import; undefined: on their way. */
  readonly mapped: Inspection | undefined
  readonly error: Error | null
  readonly formProblems: readonly string[]
}

type View = 'after' | 'before' | 'problems'

/** The first rows, as they will be and as they are, and those that will be left out. */
export function IncomingRows({ file, mapped, error, formProblems }: IncomingRowsProps) {
  const [view, setView] = useState<View>('after')
  const bad = mapped?.problems ?? file.problems
  const shown = view === 'before' ? file : mapped
  return (
    <Tabs<View>
      label="Rows of the file"
      value={view}
      onChange={setView}
      className="flex flex-col"
      tabs={[
        { id: 'after', label: 'As imported' },
        { id: 'before', label: 'As in the file' },
        {
          id: 'problems',
          label: 'Problems',
          mark: bad.length > 0 && <Badge tone="caution">{formatCount(bad.length)}</Badge>,
        },
      ]}
      aside={
        <span className="text-sm text-faint">
          {file.isWhole
            ? `All ${plural(file.rows.length, 'row')}`
            : `First ${plural(file.rows.length, 'row')}`}
        </span>
      }
    >
      {formProblems.map((sentence) => (
        <p key={sentence} role="alert" className="flex items-center gap-2 bg-caution-soft px-4 py-2">
          <TriangleAlert size={14} aria-hidden className="text-caution" />
          {sentence}
        </p>
      ))}
      {error !== null && <ErrorNote error={error} className="m-4" />}
      {view === 'problems' && <Problems problems={bad} isWhole={file.isWhole} />}
      {view !== 'problems' && shown === undefined && error === null && <Loading />}
      {view !== 'problems' && shown !== undefined && <FirstRows key={view} shown={shown} />}
    </Tabs>
  )
}

function Problems({ problems, isWhole }: { problems: Inspection['problems']; isWhole: boolean }) {
  if (problems.length === 0) {
    return (
      <p className="p-4 text-muted">
        {isWhole
          ? 'Every row can be read.'
          : 'Every one of the first rows can be read. The import lists the others.'}
      </p>
    )
  }
  return (
    <>
      <p className="px-4 py-2 text-muted">These rows will be left out; the others are imported.</p>
      <ProblemRows problems={problems} />
    </>
  )
}

/** The table, and under it the row somebody points at. */
function FirstRows({ shown }: { shown: Inspection }) {
  const [at, setAt] = useState(0)
  const columns = useMemo(() => {
    const known = new Map(shown.columns.map((column) => [column.name, column]))
    const names = [...new Set(shown.rows.flatMap((row) => Object.keys(row)))]
    return names.map((name) => known.get(name) ?? { name, length: null })
  }, [shown])
  const row = shown.rows[at] ?? shown.rows[0]
  if (row === undefined) return <p className="p-4 text-muted">No row is left.</p>
  return (
    <SplitPane id="data.incoming.rows" direction="vertical" sizes={[64, 36]} minimums={[120, 96]}>
      <RowsTable
        label="First rows"
        columns={columns}
        rows={shown.rows}
        selected={Math.min(at, shown.rows.length - 1)}
        onSelect={setAt}
      />
      <RowDetail isWide row={row} number={Math.min(at, shown.rows.length - 1) + 1} />
    </SplitPane>
  )
}
