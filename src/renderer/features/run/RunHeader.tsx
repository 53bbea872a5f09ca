import { lastPart } from '#renderer/client/format.ts'
import {
  Copy,
  FileDown,
  FileText,
  GitFork,
  Pause,
  Play,
  Scale,
  Send,
  Skull,
  SlidersHorizontal,
  Square,
  Tag,
  Trash2,
} from 'lucide-react'
import { useState, type KeyboardEvent } from 'react'
import type { DeviceKind } from '#shared/device.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { useAnswer, useApi, useCommand } from '#renderer/client/api.tsx'
import { fileNameOf, saveText } from '#renderer/client/download.ts'
import { navigate } from '#renderer/client/route.ts'
import { useDataNames } from '#renderer/parts/useRun.ts'
import { useRunStyles, useWorkerOf, type RunEntry, type WorkerView } from '#renderer/client/runs.ts'
import { useExportBundles } from '#renderer/features/runs/useRunsTable.ts'
import { asError, toast, toastError } from '#renderer/client/toasts.ts'
import { runTitle } from '#renderer/client/words.ts'
import { Badge, StatusBadge } from '#renderer/kit/Badge.tsx'
import { ConfirmDialog } from '#renderer/kit/Dialog.tsx'
import { TextInput } from '#renderer/kit/inputs.tsx'
import { MoreMenu } from '#renderer/kit/Menu.tsx'
import { LineMark } from '#renderer/charts/marks.tsx'
import { DeleteRuns } from '#renderer/parts/DeleteRuns.tsx'
import { StudyLink } from '#renderer/parts/StudyLink.tsx'
import { ContinueElsewhere } from './ContinueElsewhere.tsx'
import type { ForkProposal } from './ForkDialog.tsx'
import { dataName, deviceWords, engineWords, rewardWords, serverWords } from '#renderer/parts/runFacts.ts'
import { TagsDialog } from './TagsDialog.tsx'
import { Actions, type Action } from '#renderer/kit/actions.tsx'

export function RunName({ run }: { run: RunEntry }) {
  const [draft, setDraft] = useState<string | null>(null)
  const rename = useCommand('runs.rename')
  const style = useRunStyles()(run.id)
  const finish = (text: string | null) => {
    setDraft(null)
    const name = text?.trim() ?? null
    if (name !== null && name !== (run.name ?? ''))
      void rename.run({ runId: run.id, name: name === '' ? null : name })
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter') finish(draft)
    if (event.key === 'Escape') setDraft(null)
  }
  if (draft !== null) {
    return (
      <TextInput
        autoFocus
        aria-label="Name of the run"
        maxLength={200}
        value={draft}
        onChange={setDraft}
        onBlur={() => finish(draft)}
        onKeyDown={onKeyDown}
        onFocus={(event) => event.target.select()}
        className="w-64 font-semibold"
      />
    )
  }
  return (
    <span className="inline-flex max-w-full items-center gap-2">
      <LineMark color={style.color} dash={style.dash} />
      <button
        type="button"
        title="Rename"
        aria-label={`${runTitle(run)}, rename`}
        onClick={() => setDraft(run.name ?? '')}
        className="-ml-1 min-w-0 truncate rounded px-1 hover:bg-raised"
      >
        {runTitle(run)}
      </button>
    </span>
  )
}

interface RunFactsProps {
  readonly run: RunEntry
  readonly config: RunConfig | null
  /** Null if it has not started, or was trained by an earlier version that did not record it. */
  readonly device: DeviceKind | null
}

export function RunFacts({ run, config, device }: RunFactsProps) {
  const worker = useWorkerOf(run.id)
  const names = useDataNames()
  const data = config === null ? null : dataName(config.data.train, names)
  const rewards = config === null ? null : rewardWords(config)
  const server = config === null ? null : serverWords(config)
  const engine = config === null ? null : engineWords(config)
  const place = device === null ? null : `on ${deviceWords(device)}`
  const facts = [run.algorithmTitle, lastPart(run.model), data, rewards, server, engine, place].filter(
    (fact) => fact !== null,
  )
  return (
    <>
      {worker?.activity === 'starting' ? (
        <Badge>Starting</Badge>
      ) : (
        <StatusBadge
          status={run.status === 'paused' && worker?.activity === 'running' ? 'running' : run.status}
          finding={run.finding}
        />
      )}
      {worker?.activity === 'pausing' && <Badge tone="caution">Pausing after this step</Badge>}
      {worker?.activity === 'stopping' && <Badge tone="caution">Stopping after this step</Badge>}
      <StudyLink run={run} />
      <span className="min-w-0 truncate" title={facts.join(' · ')}>
        {facts.join(' · ')}
      </span>
      {run.tags.map((tag) => (
        <Badge key={tag}>{tag}</Badge>
      ))}
    </>
  )
}

interface ActionsProps {
  readonly run: RunEntry
  readonly onFork: (proposal: ForkProposal) => void
  /** Opens the dialog that changes settings before resuming. */
  readonly onChange: () => void
}

/** Pause or resume, stop and save, and everything else behind ⋯. */
export function RunActions({ run, onFork, onChange }: ActionsProps) {
  const worker = useWorkerOf(run.id)
  const pause = useCommand('runs.pause')
  const unpause = useCommand('runs.unpause')
  const stop = useCommand('runs.stop')
  const resume = useResume()
  const { id: runId } = run
  const activity = worker?.activity
  const isBusy = pause.isRunning || unpause.isRunning || stop.isRunning || resume.isRunning
  const canResume = activity === undefined && resumable.has(run.status)
  return (
    <div className="flex shrink-0 items-center gap-2 narrow:shrink narrow:flex-wrap">
      <Actions
        actions={[
          (activity === 'running' || activity === 'starting' || activity === 'pausing') && {
            label: 'Pause',
            icon: Pause,
            run: () => void pause.run({ runId }),
            isDisabled: isBusy || activity !== 'running',
          },
          isChangeable(activity, run) && {
            label: 'Change settings',
            icon: SlidersHorizontal,
            isDisabled: isBusy,
            run: onChange,
          },
          activity === 'paused' && {
            label: 'Resume',
            icon: Play,
            isMain: true,
            isDisabled: isBusy,
            run: () => void unpause.run({ runId }),
          },
          activity !== undefined && {
            label: 'Stop and save',
            icon: Square,
            iconSize: 13,
            isDisabled: isBusy || activity === 'stopping',
            run: () => void stop.run({ runId }),
          },
          canResume && {
            label: run.status === 'new' || run.status === 'queued' ? 'Start now' : 'Resume',
            icon: Play,
            isMain: true,
            isDisabled: isBusy,
            run: () => void resume.run({ runId }),
          },
        ]}
      />
      <RunMenu run={run} onFork={onFork} />
    </div>
  )
}

const resumable: ReadonlySet<RunEntry['status']> = new Set([
  'new',
  'queued',
  'stopped',
  'failed',
  'interrupted',
  'paused',
])

/** True for runs that have started and are paused, stopped, failed or interrupted. */
const isChangeable = (activity: WorkerView['activity'] | undefined, { status }: RunEntry): boolean =>
  activity === undefined
    ? ['stopped', 'failed', 'interrupted', 'paused'].includes(status)
    : activity === 'paused'

/** Reports the step from which it resumes, and why that is not the newest checkpoint if so. */
export function useResume() {
  return useCommand('runs.resume', {
    onDone: ({ step, fallBack }) =>
      toast({
        title: step === 0 ? 'Training from the start' : `Training on from step ${String(step)}`,
        ...(fallBack === null ? {} : { detail: fallBack }),
      }),
  })
}

/** Saves the report of a run as a file. */
function useReport() {
  const client = useApi()
  return (run: RunEntry) => {
    client.call('runs.report', { runIds: [run.id] }).then(
      ({ html }) => saveText(html, `${fileNameOf(runTitle(run))}.html`, 'text/html'),
      (thrown: unknown) => toastError(asError(thrown)),
    )
  }
}

function RunMenu({ run, onFork }: Pick<ActionsProps, 'run' | 'onFork'>) {
  const [asked, setAsked] = useState<'kill' | 'delete' | 'tags' | 'elsewhere' | null>(null)
  const kill = useCommand('runs.kill')
  const exportBundles = useExportBundles()
  const report = useReport()
  const isLiving = useWorkerOf(run.id) !== undefined
  const checkpoints = useAnswer('checkpoints.list', { runId: run.id }).data ?? []
  const newest = checkpoints.findLast(({ problem }) => problem === null)
  const close = () => setAsked(null)
  const groups: readonly (readonly Action[])[] = [
    [
      {
        label: newest === undefined ? 'Fork (no checkpoint yet)' : `Fork from step ${String(newest.step)}`,
        icon: GitFork,
        isDisabled: newest === undefined,
        run: () => newest && onFork({ step: newest.step, changes: {} }),
      },
      { label: 'Copy settings to a new run', icon: Copy, run: () => navigate('/new-run', { copy: run.id }) },
      { label: 'Compare', icon: Scale, run: () => navigate('/runs/compare', { runs: comparedWith(run) }) },
      { label: 'Report as HTML', icon: FileText, run: () => report(run) },
      { label: 'Export bundle', icon: FileDown, run: () => exportBundles([run]) },
      { label: 'Continue elsewhere…', icon: Send, run: () => setAsked('elsewhere') },
      { label: 'Tags and notes', icon: Tag, run: () => setAsked('tags') },
    ],
    [
      ...(isLiving
        ? [{ label: 'End at once', icon: Skull, isDangerous: true, run: () => setAsked('kill') }]
        : []),
      {
        label: 'Delete',
        icon: Trash2,
        isDangerous: true,
        isDisabled: isLiving,
        run: () => setAsked('delete'),
      },
    ],
  ]
  return (
    <>
      <MoreMenu groups={groups} />
      <ConfirmDialog
        isOpen={asked === 'kill'}
        onClose={close}
        title="End this run at once?"
        action="End at once"
        onConfirm={() => void kill.run({ runId: run.id })}
      >
        {newest === undefined
          ? 'There is no checkpoint yet: a resumed run begins from the start.'
          : `Checkpoint ${String(newest.step)} stays complete. What came after it is trained again when you resume.`}{' '}
        “Stop and save” loses nothing.
      </ConfirmDialog>
      {asked === 'elsewhere' && <ContinueElsewhere run={run} step={newest?.step ?? null} onClose={close} />}
      {asked === 'tags' && <TagsDialog run={run} onClose={close} />}
      {asked === 'delete' && (
        <DeleteRuns runs={[run]} onClose={close} onDeleted={(ids) => ids.length > 0 && navigate('/runs')} />
      )}
    </>
  )
}

const comparedWith = ({ id, parentRunId }: RunEntry): string =>
  parentRunId === null ? id : `${parentRunId},${id}`
