import { CircleStop, Play, Trash2, TrendingDown, TrendingUp, TriangleAlert, Equal } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { useAnswer, useCommand } from '#renderer/client/api.tsx'
import {
  formatCount,
  formatDate,
  formatDuration,
  formatNumber,
  formatPercent,
  formatReward,
  formatTime,
  lastPart,
  plural,
} from '#renderer/client/format.ts'
import { link, navigate, setQuery, useRoute } from '#renderer/client/route.ts'
import { choiceName, type RewardChoice } from '#renderer/parts/rewardChoice.ts'
import { dataName } from '#renderer/parts/runFacts.ts'
import { useDataNames } from '#renderer/parts/useRun.ts'
import { StatusBadge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { Select } from '#renderer/kit/choices.tsx'
import { ConfirmDialog } from '#renderer/kit/Dialog.tsx'
import { MoreMenu } from '#renderer/kit/Menu.tsx'
import { KeyValue, Panel } from '#renderer/kit/Page.tsx'
import { ErrorNote, Loading, Progress } from '#renderer/kit/states.tsx'
import { AnswersList } from './AnswersList.tsx'
import { GroupsPanel } from './GroupsPanel.tsx'
import { IntervalBar, intervalWords, scaleOf } from '#renderer/charts/IntervalBar.tsx'
import type { Evaluation } from './useEvaluateForm.ts'
import { evaluationProblems } from '#shared/api/evaluations.ts'

interface PaneProps {
  readonly evaluation: Evaluation
  readonly evaluations: readonly Evaluation[]
}

/** One evaluation: its result, a comparison, means by column, and answers. */
export function EvaluationPane({ evaluation, evaluations }: PaneProps) {
  const { id, error, summary } = evaluation
  return (
    <div className="flex min-h-0 min-w-0 grow flex-col gap-4 overflow-auto px-6 py-4 *:shrink-0 phone:px-4">
      <Header evaluation={evaluation} />
      {error !== null && <ErrorNote error={error} />}
      <UnderWay evaluation={evaluation} />
      {summary !== null && (
        <>
          <Comparing evaluation={evaluation} evaluations={evaluations} />
          <Results evaluation={evaluation} summary={summary} />
          <GroupsPanel key={id} id={id} />
          <AnswersList key={`${id} ${String(evaluation.done)}`} id={id} />
        </>
      )}
    </div>
  )
}

function Header({ evaluation }: { evaluation: Evaluation }) {
  const { id, title, status, runId, createdAt } = evaluation
  const [isDeleting, setDeleting] = useState(false)
  const stop = useCommand('evaluations.stop')
  const resume = useCommand('evaluations.resume')
  const remove = useCommand('evaluations.delete', { onDone: () => navigate('/playground/evaluate') })
  const isOpen = status === 'running' || status === 'waiting'
  const canGoOn = status === 'stopped' || status === 'interrupted' || status === 'failed'
  return (
    <header className="flex min-h-7 flex-wrap items-center gap-2">
      <h2 className="min-w-24 truncate text-xl font-semibold">{title}</h2>
      {status === 'waiting' ? <StatusBadge status="queued" /> : <StatusBadge status={status} />}
      <time className="text-sm text-faint" title={formatTime(createdAt)}>
        {formatDate(createdAt)}
      </time>
      <span className="ml-auto flex items-center gap-2">
        {runId !== null && (
          <a className="text-sm text-accent-ink underline" href={link(`/runs/${runId}/checkpoints`)}>
            Open run
          </a>
        )}
        {isOpen && (
          <Button icon={CircleStop} onClick={() => void stop.run({ id })}>
            Stop
          </Button>
        )}
        {canGoOn && (
          <Button icon={Play} onClick={() => void resume.run({ id })}>
            Resume
          </Button>
        )}
        <MoreMenu
          groups={[
            [
              {
                label: 'Delete',
                icon: Trash2,
                isDangerous: true,
                isDisabled: isOpen,
                run: () => setDeleting(true),
              },
            ],
          ]}
        />
      </span>
      <ConfirmDialog
        isOpen={isDeleting}
        onClose={() => setDeleting(false)}
        title={`Delete the evaluation of ${title}?`}
        action="Delete evaluation"
        onConfirm={() => void remove.run({ id })}
      >
        Its results and completions are removed for good. The model and the data stay.
      </ConfirmDialog>
    </header>
  )
}

function UnderWay({ evaluation: { status, done, total, secondsLeft } }: { evaluation: Evaluation }) {
  if (status === 'finished') return null
  const left = secondsLeft === null ? '' : ` · ${formatDuration(1000 * Math.ceil(secondsLeft))} left`
  const words = {
    waiting: 'Starts when the evaluation before it is done.',
    running: done === 0 ? 'Loading the model' : `${String(done)} of ${plural(total, 'prompt')}${left}`,
    stopped: `Stopped after ${String(done)} of ${plural(total, 'prompt')}. The results below are for those.`,
    interrupted: `Interrupted after ${String(done)} of ${plural(total, 'prompt')}. The results so far are kept.`,
    failed: `Failed after ${String(done)} of ${plural(total, 'prompt')}. The results so far are kept.`,
  }[status]
  return (
    <div role="status" className="flex flex-col gap-2 text-muted">
      {words}
      {status === 'running' && <Progress label="Prompts" value={done === 0 ? null : done / total} />}
    </div>
  )
}

interface ResultsProps {
  readonly evaluation: Evaluation
  readonly summary: NonNullable<Evaluation['summary']>
}

function Results({ evaluation, summary }: ResultsProps) {
  const { reward, prompts, pass, passRule, truncated, tokens, turns, parts, metrics = {} } = summary
  const names = useDataNames()
  const scale = scaleOf([reward, ...pass])
  const passWords =
    passRule === 'correct' ? 'the metric correct' : `a reward of at least ${formatNumber(passRule)}`
  return (
    <Panel title={`Result on ${plural(prompts, 'prompt')}`}>
      <div className={estimateGrid}>
        {reward !== null && <EstimateRow name="Mean reward" estimate={reward} scale={scale} isMain />}
        {pass.map(({ k, ...estimate }) => (
          <EstimateRow
            key={k}
            name={`pass@${String(k)}`}
            estimate={estimate}
            scale={scale}
            format={formatPercent}
          />
        ))}
      </div>
      <p className="mt-2 mb-3 text-xs text-faint text-pretty">
        95 % intervals over prompts. A pass is {passWords}.
      </p>
      <KeyValue
        entries={[
          ['Rows', rowsWords(evaluation, names)],
          ['Scored by', judgeWords(evaluation)],
          ...workflowRow(evaluation),
          ['Decoding', decodingWords(evaluation)],
          ['Truncated', formatPercent(truncated)],
          [
            'Mean length',
            `${formatNumber(tokens)} tokens${turns === null ? '' : `, ${formatNumber(turns)} turns`}`,
          ],
          ...meanRows('Reward', parts),
          ...meanRows('Metric', metrics),
        ]}
      />
      <Problems summary={summary} />
    </Panel>
  )
}

type Row = readonly [name: string, value: ReactNode]

const meanRows = (kind: string, means: Readonly<Record<string, number | null>>): readonly Row[] =>
  Object.entries(means).map(([name, mean]) => [`${kind} “${name}”`, formatReward(mean)])

const workflowRow = ({ config: { rollout } }: Evaluation): readonly Row[] =>
  rollout.workflow?.function === undefined ? [] : [['Workflow', lastPart(rollout.workflow.function)]]

function rowsWords({ config: { data }, limit }: Evaluation, names: ReadonlyMap<string, string>): string {
  const part = limit === null ? '' : `${formatCount(limit)} drawn from `
  const { train, heldOut } = data
  if (typeof heldOut === 'string') return `${part}${dataName(heldOut, names)}`
  const isWhole = typeof train !== 'string' || heldOut === null
  return `${part}${isWhole ? '' : 'the validation split of '}${dataName(train, names)}`
}

function judgeWords({ config: { rewards, environment } }: Evaluation): string {
  const names = (rewards as readonly RewardChoice[]).map(choiceName)
  return [...(environment === null ? [] : [environment.function]), ...names].map(lastPart).join(', ')
}

function decodingWords({ greedy, samples, config: { rollout } }: Evaluation): string {
  const limit = `at most ${plural(rollout.maxNewTokens, 'new token')}`
  if (greedy) return `greedy, ${limit}`
  return `${plural(samples, 'sample')} of each prompt at temperature ${formatNumber(rollout.temperature)}, ${limit}`
}

/** Layout without the bars if there is no room for them. */
const estimateGrid =
  'grid grid-cols-[minmax(0,max-content)_max-content_minmax(60px,1fr)_max-content] items-center gap-x-4 gap-y-1.5 phone:grid-cols-[minmax(0,1fr)_max-content_max-content] phone:gap-x-3'

interface EstimateRowProps {
  readonly name: string
  readonly estimate: {
    readonly value: number
    readonly interval: { readonly low: number; readonly high: number } | null
  }
  readonly scale: ReturnType<typeof scaleOf>
  readonly format?: (value: number) => string
  readonly isMain?: boolean
}

function EstimateRow({ name, estimate, scale, format = formatReward, isMain = false }: EstimateRowProps) {
  return (
    <>
      <span className={isMain ? 'min-w-0 truncate font-medium' : 'min-w-0 truncate text-muted'}>{name}</span>
      <span className={isMain ? 'font-mono font-semibold tabular-nums' : 'font-mono tabular-nums'}>
        {format(estimate.value)}
      </span>
      <span className="phone:hidden">
        <IntervalBar estimate={estimate} scale={scale} />
      </span>
      <span className="font-mono text-sm text-muted tabular-nums">{intervalWords(estimate, format)}</span>
    </>
  )
}

function Problems({ summary }: Pick<ResultsProps, 'summary'>) {
  const words = evaluationProblems(summary)
  if (words.length === 0) return null
  return (
    <ul className="mt-3 flex flex-col gap-1 rounded bg-caution-soft px-3 py-2">
      {words.map((sentence) => (
        <li key={sentence}>{sentence}</li>
      ))}
    </ul>
  )
}

/** Compares with another evaluation, by default that of the run's base model, or with the run where this is the base's. */
function Comparing({ evaluation, evaluations }: PaneProps) {
  const { query } = useRoute()
  const others = evaluations.filter(({ id, summary }) => id !== evaluation.id && summary !== null)
  const isBase = evaluation.step === null
  const counterparts = others.filter(
    ({ runId, step, judge }) =>
      runId !== null &&
      runId === evaluation.runId &&
      (step === null) !== isBase &&
      judge === evaluation.judge,
  )
  const only = others.length === 1 ? others[0] : undefined
  const usual = counterparts.find(({ greedy }) => greedy === evaluation.greedy) ?? counterparts[0] ?? only
  const chosen = others.find(({ id }) => id === query.get('against'))
  const against = chosen ?? usual
  const [a, b] = isBase && chosen === undefined ? [evaluation, against] : [against, evaluation]
  if (others.length === 0) return null
  return (
    <Panel
      title="Is it better?"
      actions={
        <Select
          small
          aria-label="Compare with"
          value={against?.id ?? ''}
          options={[
            ...(against === undefined ? [{ value: '', label: 'Compare with…' }] : []),
            ...others.map(({ id, title, summary }) => ({
              value: id,
              label: `vs. ${title} (${formatReward(summary?.reward?.value)})`,
            })),
          ]}
          onChange={(id) => setQuery({ against: id })}
        />
      }
    >
      {a === undefined || b === undefined ? (
        <p className="text-muted">Choose an evaluation to compare with, such as that of the base model.</p>
      ) : (
        <Verdict a={a} b={b} />
      )}
    </Panel>
  )
}

const looks = {
  better: { Icon: TrendingUp, tone: 'text-good' },
  worse: { Icon: TrendingDown, tone: 'text-bad' },
  alike: { Icon: Equal, tone: 'text-muted' },
  refused: { Icon: TriangleAlert, tone: 'text-caution' },
} as const

function Verdict({ a, b }: { a: Evaluation; b: Evaluation }) {
  const { data, error } = useAnswer('evaluations.compare', { a: a.id, b: b.id }, { keep: true })
  if (error !== null) return <ErrorNote error={error} />
  if (data === undefined) return <Loading label="Comparing" />
  const { Icon, tone } = looks[data.verdict]
  const scale = scaleOf([a.summary?.reward, b.summary?.reward])
  return (
    <div className="flex flex-col gap-3">
      <div className={estimateGrid}>
        {(
          [
            ['A', a],
            ['B', b],
          ] as const
        ).map(
          ([letter, { title, summary }]) =>
            summary !== null &&
            summary.reward !== null && (
              <EstimateRow
                key={letter}
                name={`${letter}  ${title}`}
                estimate={summary.reward}
                scale={scale}
                isMain={letter === 'B'}
              />
            ),
        )}
      </div>
      <p className="flex items-start gap-2 text-pretty" role="status">
        <Icon size={16} aria-hidden className={`mt-0.5 shrink-0 ${tone}`} />
        <span className="font-medium">{data.words}</span>
      </p>
      {data.notes.map((note) => (
        <p key={note} className="text-sm text-muted text-pretty">
          {note}
        </p>
      ))}
      {data.method === 'paired' && (
        <p className="text-xs text-faint text-pretty">
          Paired by prompt; two-sided sign-flip permutation test of the mean reward.
        </p>
      )}
    </div>
  )
}
