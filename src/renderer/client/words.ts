/** Display names of things and phases. */
import { deviceTitles } from '#shared/device.ts'
import type { PhaseProgress, RunPhase, StepPhase } from '#shared/events.ts'
import type { RunEntry } from '#shared/runs.ts'
import { formatBytes, formatDate, formatShare, plural } from './format.ts'
import type { Load } from './live.ts'

/** Title of a run; without a name, when and how it was made. */
export const runTitle = ({
  name,
  algorithmTitle,
  seed,
  id,
}: Pick<RunEntry, 'name' | 'algorithmTitle' | 'seed' | 'id'>): string =>
  name ?? `${algorithmTitle} · seed ${String(seed)} · ${id.slice(-4)}`

type Steps = Pick<RunEntry, 'step' | 'steps' | 'parentCheckpointStep'>

/** Formats «9/14»; a fork without steps of its own shows the step of its checkpoint. */
export const stepWords = ({ step, steps, parentCheckpointStep }: Steps): string =>
  [Math.max(step, parentCheckpointStep ?? 0), steps].filter((each) => each !== null).join('/')

/** Fraction of its steps that a run has completed, 0 to 1, as `stepWords` tells it; null if unknown. */
export const stepShare = ({ step, steps, parentCheckpointStep }: Steps): number | null =>
  steps === null || steps === 0 ? null : Math.min(1, Math.max(step, parentCheckpointStep ?? 0) / steps)

type Activity = 'starting' | 'running' | 'pausing' | 'paused' | 'stopping'

const activities: Readonly<Record<Exclude<Activity, 'running'>, string>> = {
  starting: 'Starting',
  pausing: 'Pausing after this step',
  paused: 'Paused',
  stopping: 'Stopping after this step',
}

const stepPhases: Readonly<Record<StepPhase, string>> = {
  generating: 'Generating',
  scoring: 'Scoring',
  learning: 'Learning',
  evaluating: 'Evaluating',
  saving: 'Saving',
}

interface AtWork {
  readonly activity: Activity
  readonly stepPhase: StepPhase | null
  readonly phaseProgress: PhaseProgress | null
}

/** Describes the current phase of a run as far as its process reports it. */
export function phaseWords(phase: RunPhase | null, worker?: AtWork): string {
  const name = phaseNames[phase ?? 'loading']
  if (worker?.activity === 'starting') return activities.starting
  if (worker === undefined || phase === 'finished' || phase === 'stopped') return name
  if (worker.activity !== 'running') return activities[worker.activity]
  // It has been told to go on and has reported nothing since.
  if (phase === 'paused') return phaseNames.preparing
  const { stepPhase, phaseProgress } = worker
  if (stepPhase === null || (phase !== 'training' && phase !== 'evaluating')) return name
  return `${phase === 'evaluating' ? name : stepPhases[stepPhase]}${progressWords(phaseProgress)}`
}

const progressWords = (progress: PhaseProgress | null): string =>
  progress === null ? '' : ` ${String(progress.done)} of ${String(progress.total)}`

const phaseNames: Readonly<Record<RunPhase | 'loading', string>> = {
  loading: 'Loading the model',
  preparing: 'Preparing',
  evaluating: 'Evaluating',
  training: 'Training',
  paused: 'Paused',
  finished: 'Saving',
  stopped: 'Saving',
}

/** Describes connections to other machines according to the system’s socket table, if it has one. */
export function networkWords({ connections, outboundRequests }: Network): {
  readonly total: string
  readonly since: string
} {
  const { since, count } = connections
  if (since === null) {
    const total = plural(outboundRequests, 'network request')
    return { total, since: 'Requests to other machines that Turnwise has made since it was installed.' }
  }
  return {
    total: plural(count, 'network connection'),
    since: `Connections to other machines since ${formatDate(since)}, from the system’s socket table.`,
  }
}

interface Network {
  readonly connections: { readonly since: number | null; readonly count: number }
  readonly outboundRequests: number
}

/** Names the device of a run and its load: the GPU if the system reports it, else the process. Empty if unknown. */
export function deviceLoadWords(load: Load | null, runId: string): string {
  const run = load?.runs.find((each) => each.runId === runId)
  if (!run?.device) return ''
  const process = load?.memory.training.find((each) => each.runId === runId)
  const facts = run.card === null ? processFacts(process?.privateBytes, run) : cardFacts(run.card)
  return [...(run.device === 'cpu' ? [] : [deviceTitles[run.device]]), ...facts].join(', ')
}

const cardFacts = ({ usedBytes, totalBytes, share }: NonNullable<Load['runs'][number]['card']>): string[] => [
  `${formatBytes(usedBytes)} of ${formatBytes(totalBytes)}`,
  ...(share === null ? [] : [`${formatShare(share)} busy`]),
]

const processFacts = (bytes: number | undefined, { cpuShare }: Load['runs'][number]): string[] => [
  ...(bytes === undefined ? [] : [formatBytes(bytes)]),
  ...(cpuShare === null ? [] : [`CPU ${formatShare(cpuShare)}`]),
]

const ends: Readonly<Record<string, string>> = {
  'stop-id': 'stopped (EOS)',
  'stop-string': 'ended at a stop string',
  length: 'length limit',
  stopped: 'stopped by you',
  edited: 'edited',
  failed: 'failed',
}

export const endWords = (reason: string): string => ends[reason] ?? reason
