/** Names and phases as the window says them. */
import { deviceTitles } from '#shared/device.ts'
import type { PhaseProgress, RunPhase, StepPhase } from '#shared/events.ts'
import { formatBytes, formatDate, formatShare, plural } from './format.ts'
import type { Load } from './live.ts'

/** What a run is called where it has no name: when and how it was made. */
export function runTitle({
  name,
  algorithm,
  seed,
  id,
}: {
  readonly name: string | null
  readonly algorithm: string
  readonly seed: number
  readonly id: string
}): string {
  return name ?? `${algorithm} · seed ${String(seed)} · ${id.slice(-4)}`
}

interface Steps {
  readonly step: number
  readonly steps: number | null
  /** A fork counts on from here. */
  readonly parentCheckpointStep: number | null
}

/** «9/14»; a fork that has not made a step of its own stands where its checkpoint does. */
export const stepWords = ({ step, steps, parentCheckpointStep }: Steps): string =>
  [Math.max(step, parentCheckpointStep ?? 0), steps].filter((each) => each !== null).join('/')

/** How much of its own steps a run has made, 0 to 1; null: nobody can tell. */
export function stepShare({ step, steps, parentCheckpointStep }: Steps): number | null {
  const from = parentCheckpointStep ?? 0
  return steps === null || steps <= from ? null : Math.max(0, step - from) / (steps - from)
}

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

/** What a run is at, as far as its process tells. */
export function phaseWords(phase: RunPhase | null, worker?: AtWork): string {
  const name = phaseNames[phase ?? 'loading']
  if (worker === undefined || phase === 'finished' || phase === 'stopped') return name
  if (worker.activity !== 'running') return activities[worker.activity]
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

/** What went to other machines: as the system’s table of sockets has it, where the system has one. */
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

/** Where a run computes and how busy that is: the card where the system tells of it, else the process. Empty: not known. */
export function deviceLoadWords(load: Load | null, runId: string): string {
  const run = load?.runs.find((each) => each.runId === runId)
  if (!run?.device) return ''
  const process = load?.memory.training.find((each) => each.runId === runId)
  const facts = run.card === null ? processFacts(process?.privateBytes, run) : cardFacts(run.card)
  return [deviceTitles[run.device], facts.join(', ')].filter((part) => part !== '').join(': ')
}

const cardFacts = ({ usedBytes, totalBytes, share }: NonNullable<Load['runs'][number]['card']>): string[] => [
  `${formatBytes(usedBytes)} of ${formatBytes(totalBytes)}`,
  ...(share === null ? [] : [`${formatShare(share)} busy`]),
]

const processFacts = (bytes: number | undefined, { device, cpuShare }: Load['runs'][number]): string[] => [
  ...(bytes === undefined ? [] : [formatBytes(bytes)]),
  ...(cpuShare === null ? [] : [`${device === 'cpu' ? '' : 'CPU '}${formatShare(cpuShare)}`]),
]

const ends: Readonly<Record<string, string>> = {
  'stop-id': 'stopped (EOS)',
  'stop-string': 'ended at a stop string',
  length: 'length limit',
  stopped: 'stopped by you',
  edited: 'edited',
  failed: 'failed',
}

/** Why a completion ended. */
export const endWords = (reason: string): string => ends[reason] ?? reason
