import { useState } from 'react'
import { useAnswer } from '#renderer/client/api.tsx'
import { formatPercent, formatReward } from '#renderer/client/format.ts'
import { Select } from '#renderer/kit/choices.tsx'
import { Panel } from '#renderer/kit/Page.tsx'
import { ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { Table, type Column } from '#renderer/kit/Table.tsx'
import type { EvaluationGroup } from '#shared/api/evaluations.ts'
import { IntervalBar, intervalWords, scaleOf } from '#renderer/charts/IntervalBar.tsx'
import { numberColumn, plainColumn } from '#renderer/kit/columns.tsx'

/** Means by the values of a column, to show strengths and weaknesses. */
export function GroupsPanel({ id }: { id: string }) {
  const [column, setColumn] = useState<string | null>(null)
  const { data, error } = useAnswer('evaluations.groups', { id, column }, { keep: true })
  const columns = data?.columns ?? []
  return (
    <Panel
      isFlush
      title="By column"
      actions={
        <Select
          small
          aria-label="Column"
          value={column ?? ''}
          options={[
            { value: '', label: 'Choose a column' },
            ...columns.map((name) => ({ value: name, label: name })),
          ]}
          onChange={(name) => setColumn(name === '' ? null : name)}
        />
      }
    >
      {error !== null && <ErrorNote error={error} className="m-3" />}
      {error === null && data === undefined && <Loading />}
      {error === null && data !== undefined && column === null && (
        <p className="p-3 text-muted">Means by the values of a column, such as task or level.</p>
      )}
      {error === null && column !== null && data !== undefined && (
        <GroupTable column={column} groups={data.groups} />
      )}
    </Panel>
  )
}

interface GroupTableProps {
  readonly column: string
  readonly groups: readonly EvaluationGroup[]
}

function GroupTable({ column, groups }: GroupTableProps) {
  const scale = scaleOf(groups.map(({ reward }) => reward))
  const columns: readonly Column<EvaluationGroup>[] = [
    plainColumn(
      ['value', column, 'minmax(100px, 1fr)'],
      ({ value }) => <span title={value}>{value}</span>,
      ({ value }) => value,
    ),
    numberColumn(['prompts', 'Prompts', '80px'], (row) => row.prompts, String),
    numberColumn(['reward', 'Reward', '76px'], ({ reward }) => reward?.value, formatReward),
    plainColumn(
      ['interval', '95 % interval', 'minmax(120px, 1.2fr)'],
      ({ reward }) =>
        reward !== null && (
          <span title={intervalWords(reward)}>
            <IntervalBar estimate={reward} scale={scale} />
          </span>
        ),
    ),
    numberColumn(['pass', 'pass@1', '76px'], ({ pass }) => pass, formatPercent),
  ]
  return (
    <Table
      label={`Means by ${column}`}
      rows={groups}
      columns={columns}
      rowKey={({ value }) => value}
      className="max-h-80"
    />
  )
}
