import { useEffect, useState, useRef } from 'react'
import { CircleCheck, FolderOpen, TriangleAlert } from 'lucide-react'
import { useTask, type Answer } from '#renderer/client/api.tsx'
import { link, setQuery } from '#renderer/client/route.ts'
import { useRuns, type RunEntry } from '#renderer/client/runs.ts'
import { formatReward, formatBytes, formatNumber, plural } from '#renderer/client/format.ts'
import { runTitle } from '#renderer/client/words.ts'
import { Page, Panel } from '#renderer/kit/Page.tsx'
import { Picker, type PickerItem } from '#renderer/kit/Picker.tsx'
import { SplitPane } from '#renderer/kit/SplitPane.tsx'
import { Select } from '#renderer/kit/choices.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { EmptyState, ErrorNote, Loading, TaskProgress, CopyButton } from '#renderer/kit/states.tsx'
import { bestOf, checkpointWords, trainedRuns, type Checkpoint } from '#renderer/client/modelChoice.ts'
import { shell } from '#renderer/client/connection.ts'
import { PassBadge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { useCheckpointsOf } from './useModels.ts'
import { ExportTarget } from './ExportTarget.tsx'
import { formatWords, placeIn } from './exportPlan.ts'
import { etaWords } from '#renderer/client/live.ts'

interface ExportPageProps {
  readonly runId: string | null
  readonly step: number | null
}

/**
 * A trained adapter on its way out: which one, in what form, to where; and the proof that it is the same. The address
 * always says which one: what is newest or best is looked up once, when it says nothing.
 */
export function ExportPage({ runId, step }: ExportPageProps) {
  const { runs, isLoaded } = useRuns()
  const trained = trainedRuns(runs)
  const run = runs.find(({ id }) => id === runId)
  const newest = trained[0]?.id
  useEffect(() => {
    if (runId === null && newest !== undefined) setQuery({ run: newest, step: null })
  }, [runId, newest])
  return (
    <Page
      isFull
      title={
        <>
          <a href={link('/models')} className="font-normal text-muted hover:text-text">
            Models
          </a>
          <span className="px-2 font-normal text-faint">/</span>
          Export
        </>
      }
    >
      {!isLoaded && <Loading />}
      {isLoaded && trained.length === 0 && (
        <EmptyState title="Nothing to export yet">
          Once a run has its first checkpoint, export it here as an adapter for other programs.
        </EmptyState>
      )}
      {isLoaded && trained.length > 0 && runId !== null && (
        <Exporting run={run} trained={trained} step={step} />
      )}
    </Page>
  )
}

interface ExportingProps {
  /** undefined: there is none of that id any more. */
  readonly run: RunEntry | undefined
  readonly trained: readonly RunEntry[]
  readonly step: number | null
}

/** What is or was exported, apart from what the form says meanwhile. */
interface Exported {
  readonly runId: string
  readonly step: number
  readonly title: string
}

function Exporting({ run, trained, step }: ExportingProps) {
  const checkpoints = useCheckpointsOf(run === undefined ? [] : [run.id]).get(run?.id ?? '')
  const checkpoint = checkpoints?.find((candidate) => candidate.step === step)
  useStepInAddress(step, checkpoints)
  const task = useTask('checkpoints.export')
  const [exported, setExported] = useState<Exported | null>(null)
  return (
    <SplitPane id="models.export" sizes={[42, 58]} minimums={[380, 360]}>
      <div className="flex min-h-0 grow flex-col">
        <div className="flex shrink-0 flex-col gap-3 py-4 pr-6 pl-page">
          <WhichCheckpoint run={run} trained={trained} checkpoints={checkpoints} step={step} />
        </div>
        {run !== undefined && checkpoint !== undefined && (
          <ExportTarget
            key={`${run.id} ${String(checkpoint.step)}`}
            runId={run.id}
            title={runTitle(run)}
            step={checkpoint.step}
            isRunning={task.state === 'running'}
            isDone={task.state === 'done' && exported?.runId === run.id && exported.step === checkpoint.step}
            onCancel={task.cancel}
            onExport={(asked) => {
              const which = { runId: run.id, step: checkpoint.step }
              setExported({ ...which, title: `${runTitle(run)}, step ${String(checkpoint.step)}` })
              task.start({ ...which, ...asked })
            }}
            onAgain={task.clear}
          />
        )}
      </div>
      <section aria-label="Report" className="flex min-h-0 grow flex-col overflow-auto px-6 py-4">
        <Outcome task={task} title={exported?.title ?? ''} />
      </section>
    </SplitPane>
  )
}

/** The best at the time when the address names none. */
function useStepInAddress(step: number | null, checkpoints: readonly Checkpoint[] | undefined): void {
  const best = bestOf(checkpoints ?? [])?.step
  useEffect(() => {
    if (step === null && best !== undefined) setQuery({ step: String(best) })
  }, [step, best])
}

function Outcome({ task, title }: { task: ReturnType<typeof useTask<'checkpoints.export'>>; title: string }) {
  const report = task.last !== undefined && 'result' in task.last ? task.last.result : null
  return (
    <>
      {task.state === 'idle' && <Beforehand />}
      {task.state === 'running' && <UnderWay item={task.last} title={title} />}
      {task.error !== null && <ErrorNote error={task.error} />}
      {report !== null && <ExportReport report={report} title={title} />}
      {task.state === 'cancelled' && <p className="text-muted">The export was cancelled.</p>}
    </>
  )
}

interface WhichCheckpointProps {
  readonly run: RunEntry | undefined
  readonly trained: readonly RunEntry[]
  /** undefined: on their way. */
  readonly checkpoints: readonly Checkpoint[] | undefined
  /** As the address has it; null: the best of them is about to stand there. */
  readonly step: number | null
}

function WhichCheckpoint({ run, trained, checkpoints, step }: WhichCheckpointProps) {
  const choose = (runId: string | undefined, next: string | null) => setQuery({ run: runId, step: next })
  const isThere = checkpoints?.some((one) => one.step === step) === true
  return (
    <>
      <div className="grid grid-cols-[minmax(0,1fr)_minmax(0,1fr)] gap-3 phone:grid-cols-[minmax(0,1fr)]">
        <Field label="Run">
          {(ids) => (
            <Picker
              {...ids}
              label="Run"
              className="w-full"
              items={trained.map(runItem)}
              value={run?.id ?? null}
              onChange={(id) => choose(id, null)}
              placeholder="Choose a run"
              empty="No run has made a step yet."
            />
          )}
        </Field>
        <Field label="Checkpoint" help="The best is the one with the highest eval reward.">
          {(ids) => (
            <Select
              {...ids}
              value={isThere ? String(step) : ''}
              disabled={checkpoints === undefined || checkpoints.length === 0}
              options={[
                ...(isThere ? [] : [{ value: '', label: 'Choose a checkpoint', disabled: true }]),
                ...(checkpoints ?? []).map((one) => ({
                  value: String(one.step),
                  label: checkpointWords(one),
                  disabled: one.problem !== null,
                })),
              ]}
              onChange={(next) => choose(run?.id, next)}
            />
          )}
        </Field>
      </div>
      {run === undefined && <p className="text-caution">This run no longer exists. Choose another one.</p>}
      {checkpoints !== undefined && run !== undefined && !isThere && (
        <p className="text-caution">
          {step === null
            ? 'This run has no complete checkpoint.'
            : `The checkpoint of step ${String(step)} no longer exists. Choose another one.`}
        </p>
      )}
    </>
  )
}

interface UnderWayProps {
  readonly item: Answer<'checkpoints.export'> | undefined
  /** Of what is exported. */
  readonly title: string
}

function UnderWay({ item, title }: UnderWayProps) {
  const progress = item !== undefined && 'progress' in item ? item.progress : null
  const eta = usePhaseEta(progress)
  if (progress === null) return <Loading label={`Exporting ${title}`} />
  return (
    <>
      <p className="mb-2 font-medium">{title}</p>
      <TaskProgress progress={progress} />
      {eta !== null && <p className="mt-1 text-sm text-faint">About {eta} left for this part</p>}
    </>
  )
}

/** What will stand here. */
const Beforehand = () => (
  <div className="max-w-100 text-muted text-pretty">
    <p className="font-medium text-text">After writing, everything is read back</p>
    <p>
      The report compares weights, log-probabilities and greedy tokens with those of the trained policy. If
      they differ, the folder is named “…-failed”.
    </p>
  </div>
)

const runItem = (run: RunEntry): PickerItem => ({
  key: run.id,
  title: runTitle(run),
  detail: [
    run.algorithm,
    `step ${String(run.step)}`,
    run.rewardAfter === null ? '' : `eval reward ${formatReward(run.rewardAfter)}`,
  ]
    .filter(Boolean)
    .join(' · '),
})

type Report = Extract<Answer<'checkpoints.export'>, { result: unknown }>['result']

/** What was written, and what came of reading it back. */
function ExportReport({ report, title }: { report: Report; title: string }) {
  const { format, directory, sizeBytes, files, parity } = report
  const isSame = parity.every(({ passed }) => passed)
  return (
    <div className="flex max-w-200 flex-col gap-4" role="status">
      <header className="flex items-start gap-3">
        {isSame ? (
          <CircleCheck size={20} aria-hidden className="mt-0.5 shrink-0 text-good" />
        ) : (
          <TriangleAlert size={20} aria-hidden className="mt-0.5 shrink-0 text-bad" />
        )}
        <div className="min-w-0 grow">
          <h2 className="text-lg font-semibold">
            {isSame ? 'Exported and checked' : 'Exported, but it differs from what was trained'}
          </h2>
          <p className="text-muted">
            {title} · {formatWords[format].title} · {plural(files.length, 'file')}, {formatBytes(sizeBytes)}
          </p>
          <p className="flex items-start gap-1">
            <span className="min-w-0 pt-0.5 font-mono text-sm break-all">{directory}</span>
            <CopyButton text={directory} label="Copy path" />
          </p>
        </div>
        {shell !== null && (
          <Button icon={<FolderOpen size={14} aria-hidden />} onClick={() => void shell?.reveal(directory)}>
            Show in folder
          </Button>
        )}
      </header>
      <Panel title="Read back" isFlush>
        <table className="w-full text-left">
          <thead className="text-sm text-muted">
            <tr className="border-b border-line">
              <th className="px-3 py-1.5 font-medium">What was compared</th>
              <th className="px-3 py-1.5 text-right font-medium">Difference</th>
              <th className="px-3 py-1.5 text-right font-medium">Allowed</th>
              <th className="px-3 py-1.5 font-medium">Result</th>
            </tr>
          </thead>
          <tbody>
            {parity.map(({ sentence, measured, limit, passed }) => (
              <tr key={sentence} className="border-b border-line last:border-b-0">
                <td className="px-3 py-2 text-pretty">{sentence}</td>
                <td className="px-3 py-2 text-right font-mono text-sm">{formatNumber(measured)}</td>
                <td className="px-3 py-2 text-right font-mono text-sm">{formatNumber(limit)}</td>
                <td className="px-3 py-2">
                  <PassBadge passed={passed} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Panel>
      <Panel title="Files" isFlush>
        <table className="w-full text-left">
          <thead className="sr-only">
            <tr>
              <th>File</th>
              <th>Size</th>
            </tr>
          </thead>
          <tbody>
            {files.map(({ path, sizeBytes: size }) => (
              <tr key={path} className="border-b border-line last:border-b-0">
                <td className="px-3 py-1.5 font-mono text-sm break-all">{placeIn(directory, path)}</td>
                <td className="px-3 py-1.5 text-right font-mono text-sm whitespace-nowrap">
                  {formatBytes(size)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Panel>
    </div>
  )
}

interface PhaseProgress {
  readonly phase: string
  readonly done: number
  readonly total: number | null
}

interface Start {
  readonly phase: string
  readonly done: number
  readonly at: number
}

const betweenLooksMs = 500

/** How long a phase of long work still takes, from its own pace so far; null while nobody can tell. */
function usePhaseEta(progress: PhaseProgress | null): string | null {
  const [words, setWords] = useState<string | null>(null)
  const latest = useRef(progress)
  useEffect(() => {
    latest.current = progress
  })
  useEffect(() => {
    let start: Start | null = null
    const timer = setInterval(() => {
      const [now, current] = [performance.now(), latest.current]
      if (current !== null && start?.phase !== current.phase) {
        start = { phase: current.phase, done: current.done, at: now }
      }
      setWords(current === null || start === null ? null : phaseEta(current, start, now))
    }, betweenLooksMs)
    return () => clearInterval(timer)
  }, [])
  return words
}

/** In words, some way to either side of what the pace says. */
export function phaseEta({ phase, done, total }: PhaseProgress, start: Start, now: number): string | null {
  const gone = done - start.done
  if (total === null || phase !== start.phase || gone <= 0) return null
  const left = ((now - start.at) / gone) * (total - done)
  return left < 1000 ? null : etaWords({ lowMs: 0.8 * left, highMs: 1.25 * left })
}
