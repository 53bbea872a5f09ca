import { Gauge } from 'lucide-react'
import { useAnswer } from '#renderer/client/api.tsx'
import { formatDuration, formatPercent, formatReward, plural } from '#renderer/client/format.ts'
import { navigate, setQuery, useRoute } from '#renderer/client/route.ts'
import { CandidatePickers } from '#renderer/parts/CandidatePickers.tsx'
import { useCandidates } from '#renderer/parts/useCandidates.ts'
import { StatusBadge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { Page } from '#renderer/kit/Page.tsx'
import { SplitPane } from '#renderer/kit/SplitPane.tsx'
import { CutName } from '#renderer/kit/CutName.tsx'
import { EmptyState, ErrorNote, Loading, Progress } from '#renderer/kit/states.tsx'
import { Table, type Column } from '#renderer/kit/Table.tsx'
import { EvaluateDialog } from './EvaluateDialog.tsx'
import { EvaluationPane } from './EvaluationPane.tsx'
import { IntervalBar, intervalWords, scaleOf } from '#renderer/charts/IntervalBar.tsx'
import type { Evaluation } from './useEvaluateForm.ts'
import { numberColumn, plainColumn, figureColumn } from '#renderer/kit/columns.tsx'

/** `/playground/evaluate/:id?against=`: the list and one evaluation in full; `?new=` opens the form of a new one. */
export function EvaluationsScreen() {
  const { rest, query } = useRoute()
  const { data: evaluations, error, refetch } = useAnswer('evaluations.list', {}, { keep: true })
  const { candidates, set } = useCandidates()
  return (
    <Page
      isFull
      toolbar={<CandidatePickers candidates={candidates} onChange={set} />}
      about={evaluations === undefined ? undefined : aboutWords(evaluations)}
      main={
        <Button variant="primary" icon={Gauge} onClick={() => setQuery({ new: 'any' })}>
          Evaluate…
        </Button>
      }
    >
      {error !== null && (
        <ErrorNote error={error} className="m-8" action={<Button onClick={refetch}>Try again</Button>} />
      )}
      {evaluations === undefined && error === null && <Loading shape="table" />}
      {evaluations !== undefined && <Evaluations evaluations={evaluations} id={rest[0] ?? null} />}
      {query.get('new') !== null && (
        <EvaluateDialog
          {...{ candidates }}
          onCandidates={set}
          evaluations={evaluations ?? []}
          onClose={() => setQuery({ new: null })}
          onStarted={(id) => navigate(`/playground/evaluate/${id}`, {}, { replace: true })}
        />
      )}
    </Page>
  )
}

function aboutWords(evaluations: readonly Evaluation[]): string | undefined {
  const open = evaluations.filter(({ status }) => status === 'running' || status === 'waiting').length
  return open === 0 ? undefined : `${String(open)} in progress`
}

/** The list beside the chosen evaluation, by default the newest. */
function Evaluations({ evaluations, id }: { evaluations: readonly Evaluation[]; id: string | null }) {
  const chosen = id === null ? evaluations[0] : evaluations.find((each) => each.id === id)
  if (evaluations.length === 0) {
    return (
      <EmptyState
        icon={Gauge}
        title="Did it get better?"
        action={<Button onClick={() => setQuery({ new: 'any' })}>Evaluate a model…</Button>}
      >
        A checkpoint completes held-out prompts and rewards score them. Evaluate the base model too, to see
        whether the difference is more than chance.
      </EmptyState>
    )
  }
  return (
    <SplitPane id="evaluations" sizes={[46, 54]} minimums={[360, 420]}>
      <EvaluationTable evaluations={evaluations} chosen={chosen?.id ?? null} />
      {chosen === undefined ? (
        <p className="p-8 text-muted">There is no such evaluation. It may have been deleted.</p>
      ) : (
        <EvaluationPane key={chosen.id} evaluation={chosen} evaluations={evaluations} />
      )}
    </SplitPane>
  )
}

interface EvaluationTableProps {
  readonly evaluations: readonly Evaluation[]
  readonly chosen: string | null
}

function EvaluationTable({ evaluations, chosen }: EvaluationTableProps) {
  const scale = scaleOf(evaluations.map(({ summary }) => summary?.reward))
  const columns: readonly Column<Evaluation>[] = [
    plainColumn(
      ['title', 'Evaluated', 'minmax(112px, 1.25fr)'],
      ({ title }) => <CutName name={title} />,
      ({ title }) => title,
    ),
    numberColumn(['reward', 'Reward', '70px'], ({ summary }) => summary?.reward?.value, formatReward),
    plainColumn(['interval', '95 % interval', 'minmax(88px, 1fr)'], (evaluation) => (
      <IntervalCell evaluation={evaluation} scale={scale} />
    )),
    numberColumn(['pass', 'pass@1', '70px'], ({ summary }) => summary?.pass[0]?.value, formatPercent),
    figureColumn(
      ['prompts', 'Prompts', '84px'],
      ({ total, samples, greedy }) => (greedy ? total : `${String(total)} × ${String(samples)}`),
      ({ total }) => total,
    ),
  ]
  return (
    <Table
      label="Evaluations"
      rows={evaluations}
      columns={columns}
      rowKey={({ id }) => id}
      rowHeight={36}
      isSelected={({ id }) => id === chosen}
      onOpen={({ id }) => navigate(`/playground/evaluate/${id}`)}
    />
  )
}

/** Shows progress until there is a result. */
function IntervalCell({ evaluation, scale }: { evaluation: Evaluation; scale: ReturnType<typeof scaleOf> }) {
  const { summary, status, done, total, secondsLeft } = evaluation
  if (status === 'running') {
    const left = secondsLeft === null ? 'starting' : formatDuration(1000 * Math.ceil(secondsLeft))
    return (
      <span className="flex flex-col gap-1" title={`${String(done)} of ${plural(total, 'prompt')}`}>
        <span className="truncate text-xs leading-none text-faint">{left}</span>
        <Progress label={`Evaluating ${evaluation.title}`} value={done / total} className="h-0.5" />
      </span>
    )
  }
  if (status === 'waiting') return <span className="text-faint">Waiting</span>
  const reward = summary?.reward ?? null
  if (reward === null || status === 'failed') return <StatusBadge status={status} />
  return (
    <span title={intervalWords(reward)}>
      <IntervalBar estimate={reward} scale={scale} />
    </span>
  )
}
