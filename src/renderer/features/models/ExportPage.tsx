import { useEffect, useState } from 'react'
import { useTask, type Answer } from '#renderer/client/api.tsx'
import { link, setQuery } from '#renderer/client/route.ts'
import { useRuns, type RunEntry } from '#renderer/client/runs.ts'
import { runTitle } from '#renderer/client/words.ts'
import { Page } from '#renderer/kit/Page.tsx'
import { Picker, type PickerItem } from '#renderer/kit/Picker.tsx'
import { SplitPane } from '#renderer/kit/SplitPane.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { Busy, EmptyState, ErrorNote, Loading } from '#renderer/kit/states.tsx'
import {
  bestOf,
  firstWithCheckpoint,
  trainedRuns,
  type Checkpoint,
  checkpointOption,
} from '#renderer/client/modelChoice.ts'
import { useStudyTitles } from '#renderer/parts/StudyLink.tsx'
import {
  rowOf,
  trainedItem,
  trainedRows,
  TrialSelect,
  type TrainedRow,
} from '#renderer/parts/trainedRows.tsx'
import { useCheckpointsOf } from '#renderer/parts/useModels.ts'
import { ExportTarget } from './ExportTarget.tsx'
import { ExportReport } from './ExportReport.tsx'
import { PhaseProgress } from './PhaseProgress.tsx'
import { SelectField } from '#renderer/kit/choices.tsx'

interface ExportPageProps {
  /** Name of a promoted adapter, exported instead of a checkpoint. */
  readonly adapter: string | null
  readonly runId: string | null
  readonly step: number | null
}

/**
 * Export of a trained adapter: which one, in which format, where to; and verification of the result. The address always
 * names the checkpoint: if it does not, the newest or best is looked up once and added.
 */
export function ExportPage({ adapter, runId, step }: ExportPageProps) {
  return (
    <Page isFull>
      {adapter === null ? (
        <ExportingCheckpoint runId={runId} step={step} />
      ) : (
        <ExportingAdapter key={adapter} name={adapter} />
      )}
    </Page>
  )
}

/** Number of newest runs whose checkpoints are looked up, to open on one that can be exported. */
const maxLooked = 40

function ExportingCheckpoint({ runId, step }: Omit<ExportPageProps, 'adapter'>) {
  const { runs, isLoaded } = useRuns()
  const trained = trainedRuns(runs)
  const run = runs.find(({ id }) => id === runId)
  const checkpointsOf = useCheckpointsOf(trained.slice(0, maxLooked).map(({ id }) => id))
  const newest = firstWithCheckpoint(trained, checkpointsOf)?.id
  useEffect(() => {
    if (runId === null && newest !== undefined) setQuery({ run: newest, step: null })
  }, [runId, newest])
  return (
    <>
      {(!isLoaded || (trained.length > 0 && runId === null)) && <Loading label="Reading the checkpoints" />}
      {isLoaded && trained.length === 0 && (
        <EmptyState title="Nothing to export yet">
          Once a run has its first checkpoint, export it here as an adapter for other programs.
        </EmptyState>
      )}
      {isLoaded && trained.length > 0 && runId !== null && (
        <Exporting {...{ run, trained, checkpointsOf, step }} />
      )}
    </>
  )
}

function ExportingAdapter({ name }: { name: string }) {
  const task = useTask('checkpoints.export')
  return (
    <SplitPane id="models.export" sizes={[42, 58]} minimums={[380, 360]}>
      <div className="flex min-h-0 grow flex-col">
        <p className="shrink-0 py-4 pr-6 pl-page">
          The promoted adapter{' '}
          <a
            href={link('/models', { adapter: name })}
            className="font-medium text-accent-ink hover:underline"
          >
            {name}
          </a>
        </p>
        <ExportTarget
          source={{ adapter: name }}
          title={name}
          isRunning={task.state === 'running'}
          isDone={task.state === 'done'}
          onCancel={task.cancel}
          onExport={(asked) => task.start({ adapter: name, ...asked })}
          onAgain={task.clear}
        />
      </div>
      <section aria-label="Report" className="flex min-h-0 grow flex-col overflow-auto px-6 py-4">
        <Outcome task={task} title={name} />
      </section>
    </SplitPane>
  )
}

interface ExportingProps {
  /** Undefined if no run has that id any more. */
  readonly run: RunEntry | undefined
  readonly trained: readonly RunEntry[]
  /** Checkpoints by run, of the newest. */
  readonly checkpointsOf: ReadonlyMap<string, readonly Checkpoint[]>
  readonly step: number | null
}

/** Current or past export, independent of later changes in the form. */
interface Exported {
  readonly runId: string
  readonly step: number
  readonly title: string
}

function Exporting({ run, trained, checkpointsOf, step }: ExportingProps) {
  const checkpoints = useCheckpointsOf(run === undefined ? [] : [run.id]).get(run?.id ?? '')
  const checkpoint = checkpoints?.find((candidate) => candidate.step === step)
  useStepInAddress(step, checkpoints)
  const task = useTask('checkpoints.export')
  const [exported, setExported] = useState<Exported | null>(null)
  return (
    <SplitPane id="models.export" sizes={[42, 58]} minimums={[380, 360]}>
      <div className="flex min-h-0 grow flex-col">
        <div className="flex shrink-0 flex-col gap-3 py-4 pr-6 pl-page">
          <WhichCheckpoint {...{ run, trained, checkpointsOf, checkpoints, step }} />
        </div>
        {run !== undefined && checkpoint !== undefined && (
          <ExportTarget
            key={`${run.id} ${String(checkpoint.step)}`}
            source={{ runId: run.id, step: checkpoint.step }}
            title={runTitle(run)}
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

/** Puts the currently best step into an address without one. */
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

interface WhichCheckpointProps extends Pick<ExportingProps, 'run' | 'trained' | 'checkpointsOf'> {
  readonly checkpoints: readonly Checkpoint[] | undefined
  /** Step of the address; null until the best one is added. */
  readonly step: number | null
}

function WhichCheckpoint({ run, trained, checkpointsOf, checkpoints, step }: WhichCheckpointProps) {
  const choose = (runId: string | undefined, next: string | null) => setQuery({ run: runId, step: next })
  const isThere = checkpoints?.some((one) => one.step === step) === true
  const rows = trainedRows(trained, useStudyTitles())
  const row = rowOf(rows, run?.id ?? null)
  return (
    <>
      <div className="grid grid-cols-[minmax(0,1fr)_minmax(0,1fr)] gap-3 phone:grid-cols-[minmax(0,1fr)]">
        <Field label="Run">
          {(ids) => (
            <span className="flex gap-2">
              <Picker
                {...ids}
                label="Run"
                className="w-full"
                items={rows.map((each) => exportedItem(each, checkpointsOf))}
                value={row?.run.id ?? run?.id ?? null}
                onChange={(id) => choose(id, null)}
                placeholder="Choose a run"
                empty="No run has made a step yet."
              />
              <TrialSelect row={row} runId={run?.id ?? null} onChoose={({ id }) => choose(id, null)} />
            </span>
          )}
        </Field>
        <SelectField
          label="Checkpoint"
          help="The best is the one with the highest eval reward."
          value={isThere ? String(step) : ''}
          disabled={checkpoints === undefined || checkpoints.length === 0}
          options={[
            ...(isThere ? [] : [{ value: '', label: 'Choose a checkpoint', disabled: true }]),
            ...(checkpoints ?? []).map(checkpointOption),
          ]}
          onChange={(next) => choose(run?.id, next)}
        />
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
  readonly title: string
}

function UnderWay({ item, title }: UnderWayProps) {
  const progress = item !== undefined && 'progress' in item ? item.progress : null
  if (progress === null) return <Busy label={`Exporting ${title}`} />
  return (
    <>
      <p className="mb-2 font-medium">{title}</p>
      <PhaseProgress progress={progress} />
    </>
  )
}

const Beforehand = () => (
  <div className="max-w-100 text-muted text-pretty">
    <p className="font-medium text-text">After writing, everything is read back</p>
    <p>
      The report compares weights, log-probabilities and greedy tokens with those of the trained policy. If
      they differ, the folder is named “…-failed”.
    </p>
  </div>
)

/** A run or study as it can be chosen, not without a complete checkpoint. */
function exportedItem(row: TrainedRow, checkpointsOf: ExportingProps['checkpointsOf']): PickerItem {
  const hasNone = row.runs.every(({ id }) => {
    const known = checkpointsOf.get(id)
    return known !== undefined && bestOf(known) === undefined
  })
  return { ...trainedItem(row), ...(hasNone ? { problem: 'No complete checkpoint' } : {}) }
}
