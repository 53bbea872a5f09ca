import {
  Check,
  CirclePlus,
  FileOutput,
  Gauge,
  GitFork,
  MessagesSquare,
  Play,
  Send,
  ShieldCheck,
  Swords,
  Trash2,
  TriangleAlert,
} from 'lucide-react'
import { useState } from 'react'
import { metricLabel } from '#shared/metrics.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { figureColumn, plainColumn, unnamedColumn } from '#renderer/kit/columns.tsx'
import { useAnswer, useCommand } from '#renderer/client/api.tsx'
import { navigate } from '#renderer/client/route.ts'
import { useWorkerOf, type RunEntry } from '#renderer/client/runs.ts'
import { useSeries } from '#renderer/charts/useSeries.ts'
import { toast } from '#renderer/client/toasts.ts'
import { formatBytes, formatDate, formatFixed, formatTime, plural } from '#renderer/client/format.ts'
import { writeChoice } from '#renderer/parts/candidates.ts'
import { classes } from '#renderer/kit/classes.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { ConfirmDialog } from '#renderer/kit/Dialog.tsx'
import { MoreMenu } from '#renderer/kit/Menu.tsx'
import { Panel } from '#renderer/kit/Page.tsx'
import { EmptyState, ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { Table, type Column } from '#renderer/kit/Table.tsx'
import { CheckpointTimeline, type CheckpointItem } from './CheckpointTimeline.tsx'
import { ContinueElsewhere } from './ContinueElsewhere.tsx'
import { FamilyTree } from './FamilyTree.tsx'
import type { ForkProposal } from './ForkDialog.tsx'
import { useResume } from './RunHeader.tsx'
import { Actions, type Action } from '#renderer/kit/actions.tsx'

interface Props {
  readonly run: RunEntry
  readonly config: RunConfig | null
  readonly onFork: (proposal: ForkProposal) => void
}

const aboutCheckpoints =
  'A checkpoint holds adapter, optimizer, random state and position in the data: training resumes from it as if it had never stopped.'

const deletionWords = (bytes: number, others: number): string =>
  `This frees ${formatBytes(bytes)} and cannot be undone. ${
    others === 0
      ? 'It is the only one: a resumed run would begin from the start.'
      : `${plural(others, 'other checkpoint')} of this run ${others === 1 ? 'stays' : 'stay'}.`
  } Forks that began from it have a copy of their own.`

/** Lists checkpoints to return to, continue from, or export. */
export function CheckpointsTab({ run, config, onFork }: Props) {
  const { data: checkpoints, error } = useAnswer('checkpoints.list', { runId: run.id }, { keep: true })
  const [deleting, setDeleting] = useState<CheckpointItem | null>(null)
  const [sentStep, setSentStep] = useState<number | null>(null)
  const remove = useCommand('checkpoints.delete')
  if (error !== null) return <ErrorNote error={error} className="m-8" />
  if (checkpoints === undefined) return <Loading label="Reading the checkpoints" shape="table" />
  const bytes = checkpoints.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
  const metric = config?.checkpoints.bestBy ?? 'eval_reward'
  return (
    <div className="flex min-w-0 flex-col gap-4 px-page py-6">
      {checkpoints.length === 0 ? (
        <EmptyState title={firstWords(config)}>{aboutCheckpoints}</EmptyState>
      ) : (
        <>
          <CheckpointTimeline run={run} checkpoints={checkpoints} metric={metric} />
          <Panel
            isFlush
            title={`${plural(checkpoints.length, 'checkpoint')}, ${formatBytes(bytes)}`}
            actions={
              <span className="text-sm text-muted">{config === null ? '' : keptWords(config, bytes)}</span>
            }
          >
            <CheckpointTable
              {...{ run, checkpoints, metric, onFork }}
              onSend={setSentStep}
              onDelete={setDeleting}
            />
          </Panel>
        </>
      )}
      <FamilyTree run={run} />
      {sentStep !== null && <ContinueElsewhere run={run} step={sentStep} onClose={() => setSentStep(null)} />}
      <ConfirmDialog
        isOpen={deleting !== null}
        onClose={() => setDeleting(null)}
        title={`Delete checkpoint ${String(deleting?.step ?? '')}?`}
        action="Delete checkpoint"
        onConfirm={() => {
          if (deleting) void remove.run({ runId: run.id, step: deleting.step })
          setDeleting(null)
        }}
      >
        {deletionWords(deleting?.sizeBytes ?? 0, checkpoints.length - 1)}
      </ConfirmDialog>
    </div>
  )
}

const firstWords = (config: RunConfig | null): string => {
  const every = config?.checkpoints.every ?? 0
  return every > 0
    ? `The first checkpoint comes after step ${String(every)}`
    : 'A checkpoint is kept when the run ends or is stopped'
}

/** Describes which checkpoints the settings keep and which they delete. */
function keptWords(
  { checkpoints: { keepLast, keepBest, keepEvery, diskBudgetMb } }: RunConfig,
  bytes: number,
): string {
  const kept = [
    `the newest ${String(keepLast)}`,
    ...(keepBest > 0 ? [`the best ${String(keepBest)}`] : []),
    ...(keepEvery > 0 ? [`every ${String(keepEvery)} steps`] : []),
  ]
  const budget =
    diskBudgetMb === null
      ? 'no disk budget'
      : `${formatBytes(bytes)} of a budget of ${formatBytes(diskBudgetMb * 1e6)}`
  return `Kept: ${kept.join(', ')} · ${budget}`
}

interface TableProps {
  readonly run: RunEntry
  readonly checkpoints: readonly CheckpointItem[]
  /** Metric that ranks them. */
  readonly metric: string
  readonly onFork: (proposal: ForkProposal) => void
  /** Continues from it in another tool. */
  readonly onSend: (step: number) => void
  readonly onDelete: (checkpoint: CheckpointItem) => void
}

/** Without icons where the window is too small for them; the last button has nothing but its icon. */
const actionsWidth =
  '[--actions:532px] max-[1200px]:[--actions:420px] max-[1200px]:[&_[role=cell]_button:not(:last-child)>svg]:hidden'

function CheckpointTable({ run, checkpoints, metric, onFork, onSend, onDelete }: TableProps) {
  const scoreOf = useScores(run.id, metric)
  const isLiving = useWorkerOf(run.id) !== undefined
  const resume = useResume()
  const verify = useVerify()
  const columns: readonly Column<CheckpointItem>[] = [
    { id: 'step', title: 'Step', width: '64px', isNumber: true, cell: ({ step }) => step },
    figureColumn(['score', metricLabel(metric), '132px'], (item) => (
      <Score score={scoreOf(item)} before={scoredBefore(checkpoints, item.step, scoreOf)} />
    )),
    figureColumn(['size', 'Size', '80px'], ({ sizeBytes }) => formatBytes(sizeBytes)),
    plainColumn(['saved', 'Saved', '84px'], ({ savedAt }) => (
      <time title={formatDate(savedAt)}>{formatTime(savedAt)}</time>
    )),
    { id: 'state', title: 'State', width: 'minmax(96px,1fr)', cell: (item) => <State item={item} /> },
    unnamedColumn(['actions', 'Actions', 'var(--actions)'], (item) => (
      <CheckpointActions
        {...{ run, item, isLiving }}
        isVerifying={verify.isRunning}
        onVerify={() => void verify.run({ runId: run.id, step: item.step })}
        onResume={() => void resume.run({ runId: run.id, step: item.step })}
        onFork={() => onFork({ step: item.step, changes: {} })}
        onSend={() => onSend(item.step)}
        onDelete={() => onDelete(item)}
      />
    )),
  ]
  return (
    <Table
      label="Checkpoints"
      rows={checkpoints.toReversed()}
      columns={columns}
      rowKey={({ step, directory }) => `${String(step)} ${directory}`}
      rowHeight={36}
      className={classes('max-h-96', actionsWidth)}
    />
  )
}

/** Compares the files of a checkpoint with the digests they were saved with, and says what came of it. */
const useVerify = () =>
  useCommand('checkpoints.verify', {
    onDone: ({ step, problem }) =>
      toast(
        problem === null
          ? {
              title: `Checkpoint ${String(step)} is complete`,
              detail: 'Every file has the digest it was saved with.',
              tone: 'good',
            }
          : { title: `Checkpoint ${String(step)} is damaged`, detail: problem.message, tone: 'bad' },
      ),
  })

/** Score of the last checkpoint before a step that has one, with which people compare the next. */
export function scoredBefore<Item extends { readonly step: number }>(
  checkpoints: readonly Item[],
  step: number,
  scoreOf: (item: Item) => number | null,
): { readonly step: number; readonly score: number } | null {
  const scores = checkpoints.flatMap((each) => {
    const score = each.step < step ? scoreOf(each) : null
    return score === null ? [] : [{ step: each.step, score }]
  })
  return scores.toSorted((a, b) => a.step - b.step).at(-1) ?? null
}

function Score({ score, before }: { score: number | null; before: ReturnType<typeof scoredBefore> }) {
  return (
    <>
      {formatFixed(score)}
      {score !== null && before !== null && (
        <span className="ml-2 text-muted" title={`since step ${String(before.step)}`}>
          {score >= before.score && '+'}
          {formatFixed(score - before.score)}
        </span>
      )}
    </>
  )
}

/** Returns the score of a checkpoint: the reward measured with it, or any other metric of its step. */
function useScores(runId: string, metric: string): (item: CheckpointItem) => number | null {
  const isReward = metric === 'eval_reward'
  const { byMetric } = useSeries({ runIds: [runId], metrics: isReward ? [] : [metric] })
  const points = byMetric.get(metric)?.get(runId)?.points ?? []
  return ({ step, reward }) =>
    isReward ? reward : (points.find(({ lastStep }) => lastStep === step)?.last ?? null)
}

function State({ item: { isBest, problem } }: { item: CheckpointItem }) {
  if (problem !== null) {
    return (
      <span title={problem.message}>
        <Badge tone="bad" icon={TriangleAlert}>
          Damaged
        </Badge>
      </span>
    )
  }
  return isBest ? (
    <Badge tone="good" icon={Check}>
      Best
    </Badge>
  ) : (
    <span className="text-muted">Complete</span>
  )
}

interface ActionsProps {
  readonly run: RunEntry
  readonly item: CheckpointItem
  readonly isLiving: boolean
  readonly isVerifying: boolean
  readonly onVerify: () => void
  readonly onResume: () => void
  readonly onFork: () => void
  readonly onSend: () => void
  readonly onDelete: () => void
}

/** Actions on a checkpoint: the usual as buttons, the rest behind ⋯. */
function CheckpointActions(props: ActionsProps) {
  const { run, item, isLiving, onResume, onFork } = props
  const step = String(item.step)
  const isDisabled = item.problem !== null
  const isOver = run.status === 'finished'
  const a = writeChoice({ model: run.model, adapter: { runId: run.id, step: item.step } })
  const to = (path: string, query: Readonly<Record<string, string>>) => () => navigate(path, query)
  return (
    <span className="flex items-center justify-end gap-1">
      <Actions
        small
        variant="quiet"
        actions={[
          { label: 'Fork', name: `Fork from step ${step}`, icon: GitFork, isDisabled, run: onFork },
          {
            label: 'Resume',
            name: `Resume from step ${step}`,
            icon: Play,
            run: onResume,
            isDisabled: isDisabled || isLiving || isOver,
            title: isOver ? 'The run has reached its end: fork it to continue from here.' : undefined,
          },
          {
            label: 'Chat',
            name: `Chat with step ${step}`,
            icon: MessagesSquare,
            isDisabled,
            run: to('/playground/chat', { a }),
          },
          {
            label: 'Blind vote',
            name: `Blind vote on step ${step}`,
            icon: Swords,
            isDisabled,
            run: to('/playground/vote', { a, b: run.model }),
          },
          {
            label: 'Evaluate…',
            name: `Evaluate step ${step}`,
            icon: Gauge,
            isDisabled,
            run: to('/playground/evaluate', { new: 'any', a }),
          },
          {
            label: 'Export',
            name: `Export step ${step}`,
            icon: FileOutput,
            isDisabled,
            run: to('/models/export', { run: run.id, step }),
          },
        ]}
      />
      <MoreMenu small label={`More for step ${step}`} groups={moreItems(props)} />
    </span>
  )
}

const moreItems = (props: ActionsProps): readonly (readonly Action[])[] => {
  const { run, item, isLiving, isVerifying, onVerify, onSend, onDelete } = props
  const isWhole = item.problem === null
  return [
    [
      {
        label: 'Continue its adapter in a new run',
        icon: CirclePlus,
        isDisabled: !isWhole,
        run: () => navigate('/new-run', { model: run.model, adapter: item.directory }),
      },
      { label: 'Continue elsewhere…', icon: Send, isDisabled: !isWhole, run: onSend },
      { label: 'Verify its files', icon: ShieldCheck, isDisabled: isVerifying, run: onVerify },
    ],
    [{ label: 'Delete', icon: Trash2, isDangerous: true, isDisabled: isLiving, run: onDelete }],
  ]
}
