import { numberColumn, figureColumn, plainColumn } from '#renderer/kit/columns.tsx'
import { FlaskConical, Plus } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { formatDuration, formatNumber, plural } from '#renderer/client/format.ts'
import { keyTable } from '#shared/keyTable.ts'
import { keyWords } from '#renderer/client/keys.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { besideClasses } from '#renderer/kit/classes.ts'
import { KeyValue, SidePane } from '#renderer/kit/Page.tsx'
import { EmptyState, ErrorNote, Kbd, TaskProgress } from '#renderer/kit/states.tsx'
import { Table, type Column } from '#renderer/kit/Table.tsx'
import { cellText } from './bench.ts'
import { failureWords, loggedNames, partNames, summaryOf, type ResultRow } from './results.ts'
import type { DryRun } from './useTrials.ts'

interface ResultsTabProps {
  readonly dryRun: DryRun
  /** Null if tests cannot be saved for the open code. */
  readonly onAddTest: ((row: ResultRow) => void) | null
  /** Null if the code is read-only. */
  readonly onGoTo: ((line: number) => void) | null
}

/** Rewards of all rows, as they arrive. */
export function ResultsTab({ dryRun, onAddTest, onGoTo }: ResultsTabProps) {
  const { rows, task, missing } = dryRun
  const [chosen, setChosen] = useState<number | null>(null)
  const open = rows.find(({ index }) => index === chosen) ?? null
  if (missing !== null) return <EmptyState icon={FlaskConical} iconSize={24} title={missing} />
  if (rows.length === 0 && task.state === 'idle') return <NothingYet />
  if (rows.length === 0 && task.error !== null) return <ErrorNote error={task.error} className="m-3" />
  return (
    <div className="flex h-full min-h-0 flex-col">
      <ResultBar {...dryRun} />
      {task.error !== null && <ErrorNote error={task.error} className="m-3 shrink-0" />}
      <div className={besideClasses}>
        <Table
          label="Results"
          rows={rows}
          columns={columnsFor(rows)}
          rowKey={({ index }) => String(index)}
          rowHeight={28}
          onOpen={({ index }) => setChosen(index === chosen ? null : index)}
          isSelected={({ index }) => index === chosen}
        />
        {open !== null && (
          <ResultDetail
            key={open.index}
            row={open}
            onClose={() => setChosen(null)}
            onAddTest={onAddTest}
            onGoTo={onGoTo}
          />
        )}
      </div>
    </div>
  )
}

const NothingYet = () => (
  <EmptyState icon={FlaskConical} iconSize={24} title="See what the rows earn before you train on them.">
    <p>
      Press <Kbd>{keyWords(keyTable.act.keys[0] ?? '')}</Kbd> to score the rows on the right with the current
      code.
    </p>
  </EmptyState>
)

function ResultBar({ rows, task, isStale, isGenerated }: DryRun) {
  const { mean, minimum, maximum, failed, notScored, meanMs } = summaryOf(rows)
  if (task.state === 'running') {
    return (
      <div className="shrink-0 border-b border-line px-4 py-1">
        <TaskProgress
          progress={
            task.last?.progress ?? {
              phase: isGenerated ? 'The model is writing' : 'Loading the code',
              done: 0,
              total: null,
              unit: 'samples',
            }
          }
          onCancel={task.cancel}
        />
      </div>
    )
  }
  if (rows.length === 0) return null
  return (
    <p className="flex h-8 shrink-0 items-center gap-4 overflow-hidden border-b border-line px-4 text-sm whitespace-nowrap text-muted">
      <span>{plural(rows.length, 'row')}</span>
      <span>
        mean <Figure>{formatNumber(mean)}</Figure>
      </span>
      <span>
        from <Figure>{formatNumber(minimum)}</Figure> to <Figure>{formatNumber(maximum)}</Figure>
      </span>
      {notScored > 0 && <span>{plural(notScored, 'row')} not scored</span>}
      {failed > 0 && <span className="text-bad">{plural(failed, 'row')} failed</span>}
      {isGenerated && minimum !== null && minimum === maximum && rows.length > 1 && (
        <span className="text-caution">All the same: nothing to learn from</span>
      )}
      <span>{formatDuration(meanMs)} per row</span>
      {task.state === 'cancelled' && <span className="text-caution">Cancelled</span>}
      {isStale && <span className="ml-auto text-caution">The code has changed since</span>}
    </p>
  )
}

const Figure = ({ children }: { children: ReactNode }) => (
  <span className="font-mono font-medium text-text tabular-nums">{children}</span>
)

const partColumn = (part: string): Column<ResultRow> => ({
  id: `part.${part}`,
  title: part,
  width: '84px',
  isNumber: true,
  cell: ({ score, failures }) => (
    <Reward value={score?.parts[part] ?? null} isFailed={failures.some((each) => each.part === part)} />
  ),
  sortBy: ({ score }) => score?.parts[part] ?? null,
})

const loggedColumn = (name: string): Column<ResultRow> => ({
  id: `log.${name}`,
  title: name,
  width: 'minmax(80px, 1fr)',
  cell: ({ score }) => (
    <span dir="auto" className="font-mono text-sm text-muted">
      {oneLine(cellText(score?.columns[name]))}
    </span>
  ),
  sortBy: ({ score }) => cellText(score?.columns[name]),
})

function columnsFor(rows: readonly ResultRow[]): Column<ResultRow>[] {
  const parts = partNames(rows)
  const logged = loggedNames(rows).slice(0, 4)
  return [
    figureColumn(
      ['row', 'Row', '56px'],
      ({ row, index }) => (row === null ? index + 1 : row + 1),
      ({ index }) => index,
    ),
    plainColumn(
      ['completion', 'Completion', 'minmax(180px, 2fr)'],
      ({ input, problem }) =>
        input === null ? (
          <span className="text-bad">{problem}</span>
        ) : (
          <span dir="auto" className="font-mono text-sm" title={input.completion}>
            {input.completion === '' ? <span className="text-faint">empty</span> : oneLine(input.completion)}
          </span>
        ),
      ({ input }) => input?.completion ?? null,
    ),
    figureColumn(
      ['score', 'Score', '76px'],
      ({ score, failures }) => <Reward value={score?.total ?? null} isFailed={failures.length > 0} />,
      ({ score }) => score?.total ?? null,
    ),
    ...parts.map(partColumn),
    numberColumn(
      ['ms', 'ms', '64px'],
      ({ score }) => score?.durationMs,
      (ms) => (ms == null ? '' : formatNumber(ms, 2)),
    ),
    ...logged.map(loggedColumn),
    ...(rows.some(({ score }) => logWords(score) !== '') ? [logColumn] : []),
    ...(rows.some(({ failures }) => failures.length > 0) ? [errorColumn] : []),
  ]
}

const logColumn: Column<ResultRow> = plainColumn(['log', 'Log', 'minmax(80px, 1fr)'], ({ score }) => (
  <span className="font-mono text-sm text-muted">{logWords(score)}</span>
))

const errorColumn: Column<ResultRow> = plainColumn(
  ['error', 'Error', 'minmax(200px, 2fr)'],
  ({ failures }) => {
    const words = failures.map(failureWords).join(' ')
    if (words === '') return null
    return (
      <span className="block w-fit max-w-full truncate rounded-sm bg-bad-soft px-1.5 text-bad" title={words}>
        {words}
      </span>
    )
  },
  ({ failures }) => failures[0]?.message ?? null,
)

const oneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, ' ⏎ ')

const logWords = (score: ResultRow['score']): string =>
  [
    ...Object.entries(score?.metrics ?? {}).map(([name, value]) => `${name} ${formatNumber(value)}`),
    ...(score?.lines ?? []),
  ].join(' · ')

function Reward({ value, isFailed }: { value: number | null; isFailed: boolean }) {
  if (isFailed) return <span className="text-bad">failed</span>
  if (value === null) return <span className="text-faint">null</span>
  return <span className="text-text">{formatNumber(value)}</span>
}

interface ResultDetailProps {
  readonly row: ResultRow
  readonly onClose: () => void
  readonly onAddTest: ResultsTabProps['onAddTest']
  readonly onGoTo: ResultsTabProps['onGoTo']
}

function ResultDetail({ row, onClose, onAddTest, onGoTo }: ResultDetailProps) {
  const { input, score, failures } = row
  const title = row.row === null ? 'Sample' : `Row ${String(row.row + 1)}`
  return (
    <SidePane
      {...{ title, onClose }}
      width="w-96"
      actions={
        onAddTest !== null &&
        input !== null && (
          <Button small icon={Plus} onClick={() => onAddTest(row)}>
            Keep as a test
          </Button>
        )
      }
    >
      {failures.map((failure) => (
        <div key={failure.part} className="flex items-start gap-2 rounded bg-bad-soft px-2 py-1">
          <p className="min-w-0 grow break-words text-bad">{failureWords(failure)}</p>
          <GoToLine line={failure.line} onGoTo={onGoTo} />
        </div>
      ))}
      {score !== null && (
        <KeyValue
          entries={[
            ['Score', <Reward key="score" value={score.total} isFailed={failures.length > 0} />],
            ...Object.entries(score.parts)
              .filter(([name]) => name !== 'default')
              .map(([name, value]) => [name, <Reward key={name} value={value} isFailed={false} />] as const),
            ...Object.entries(score.metrics).map(([name, value]) => [name, formatNumber(value)] as const),
            ...Object.entries(score.columns).map(
              ([name, value]) => [name, <Mono key={name}>{cellText(value)}</Mono>] as const,
            ),
          ]}
        />
      )}
      {score !== null && score.lines.length > 0 && <Text title="Printed">{score.lines.join('\n')}</Text>}
      {input !== null && (
        <>
          <Text title="Prompt">{input.prompt}</Text>
          <Text title="Completion">{input.completion}</Text>
          <Text title="Row">{JSON.stringify(input.row, null, 2)}</Text>
        </>
      )}
    </SidePane>
  )
}

const Mono = ({ children }: { children: ReactNode }) => (
  <span className="font-mono break-words">{children}</span>
)

const Text = ({ title, children }: { title: string; children: string }) => (
  <section>
    <h4 className="text-xs font-medium text-faint">{title}</h4>
    <pre dir="auto" className="font-mono text-sm break-words whitespace-pre-wrap">
      {children === '' ? ' ' : children}
    </pre>
  </section>
)

const GoToLine = ({ line, onGoTo }: { line: number | null; onGoTo: ResultsTabProps['onGoTo'] }) =>
  line === null || onGoTo === null ? null : (
    <Button small onClick={() => onGoTo(line)}>
      Go to line
    </Button>
  )
