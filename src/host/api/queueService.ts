/** Queued runs. */
import { z } from 'zod'
import type { Handlers } from '#shared/api/contract.ts'
import type { queueApi } from '#shared/api/queue.ts'
import { AppError, refusal } from '#shared/errors.ts'
import { count } from '#shared/api/common.ts'
import type { RunEntry, RunStatus } from '#shared/runs.ts'
import type { Host } from '#host/host.ts'
import { newsOf, stampOf } from '#host/store/feeds.ts'
import { openRunFolder, runPaths, type RunFolder } from '#host/workFolder/runFolder.ts'
import { forgetSeal, queueRun } from '#host/runs/sealedRuns.ts'
import { workHolder } from '#host/workFolder/workFolder.ts'
import { readEvents, type LoggedEvent } from '#host/workFolder/eventLog.ts'

export const queueService = (host: Host): Handlers<typeof queueApi> => {
  const { store, queue, notifier } = host
  const state = () => ({ runs: store.queue.list(), halted: haltedBy(host) })
  const changed = () => {
    queue.advance()
    notifier.notify()
  }
  return {
    get: state,

    async push({ runId, continueOnError }) {
      await requireIdle(host, runId)
      queueRun(store, runId, { continueOnError })
      changed()
    },

    move({ runId, to }) {
      store.queue.move(runId, to)
      changed()
    },

    remove({ runId }) {
      if (leaveQueue(host, runId)) changed()
    },

    setContinueOnError({ runId, continueOnError }) {
      if (store.queue.list().some((queued) => queued.runId === runId)) {
        store.queue.push(runId, { continueOnError })
        notifier.notify()
      }
    },

    proceed() {
      queue.proceed()
      notifier.notify()
    },

    async *watch(_input, { from, signal }) {
      let seen = from
      yield* newsOf({ notifier, signal }, () => {
        const now = state()
        const cursor = stampOf(now)
        if (cursor === seen) return null
        seen = cursor
        return { ...now, cursor }
      })
    },
  }
}

/** Takes a run out of the queue: its status is again what its folder says. Returns true if it was queued. */
export function leaveQueue({ store, dataDirectory }: Host, runId: string): boolean {
  if (!store.queue.remove(runId)) return false
  forgetSeal(store, runId)
  const { status, directory } = store.runs.get(runId)
  if (status === 'queued')
    store.runs.setStatus(runId, summarizeRun(openRunFolder(dataDirectory, directory)).status)
  return true
}

/** Errors: AppError 'run/busy' for a run that is being trained, 'api/refused' for one that is finished. */
export async function requireIdle(host: Host, runId: string): Promise<void> {
  await hasLeft(host, runId)
  const { status, directory } = host.store.runs.get(runId)
  const holder = workHolder(directory)
  if (holder !== null)
    throw new AppError(
      'run/busy',
      `The run ${runId} is being trained by process ${holder}.`,
      'Stop it first.',
    )
  if (status === 'finished') {
    throw refusal(
      'The run is finished; there is nothing to resume.',
      'Fork one of its checkpoints to train on.',
    )
  }
}

/** A run whose log says that it has ended may have a process that is just leaving. */
export async function hasLeft({ store, supervisor }: Host, runId: string): Promise<void> {
  const { phase } = store.runs.get(runId)
  const isLeaving = phase === 'finished' || phase === 'stopped'
  const activity = supervisor.status(runId)?.activity ?? 'starting'
  if (isLeaving && activity !== 'starting') await supervisor.stop(runId)
}

/** Why nothing that waits in a data directory from elsewhere starts by itself. */
export const held = {
  code: 'api/refused',
  message: 'What waits in this data directory has not started: it was made, copied or restored elsewhere.',
  hint: 'Runs, studies and evaluations can read your files and send them to the addresses that they name. Look at those that wait, then let them start.',
} as const

function haltedBy({ queue, store }: Host) {
  const { haltedBy: runId, isHeld } = queue
  if (isHeld) return { runId: null, error: held }
  if (runId === null) return null
  return { runId, error: store.runs.find(runId)?.error ?? null }
}

/* What the event log of a run tells at a glance. */

const loggedStep = z.object({ type: z.literal('step'), step: count, steps: count })
const loggedStatus = z.object({
  type: z.literal('status'),
  phase: z.string(),
  step: count,
  steps: count,
})
type RunSummary = Pick<RunEntry, 'status' | 'step' | 'steps'>

/** Types of events that the summary reads: all but samples, which are most of a log. */
const summarizedTypes = ['resumed', 'status', 'step', 'evaluation', 'error']

export function summarizeRun({ directory }: RunFolder): RunSummary {
  const events = readEvents(runPaths(directory).events, summarizedTypes)
  return { status: statusOf(directory, events), ...progressOf(events) }
}

function progressOf(events: readonly LoggedEvent[]): Pick<RunSummary, 'step' | 'steps'> {
  const step = pick(events, loggedStep).at(-1)
  const status = pick(events, loggedStatus).at(-1)
  return { step: step?.step ?? status?.step ?? 0, steps: step?.steps ?? status?.steps ?? null }
}

/** Returns the events of one kind, without those that do not fit its schema. */
function pick<T>(events: readonly LoggedEvent[], schema: z.ZodType<T>): T[] {
  return events.flatMap((event) => schema.safeParse(event).data ?? [])
}

function statusOf(directory: string, events: readonly LoggedEvent[]): RunStatus {
  const phase = pick(events, loggedStatus).at(-1)?.phase
  if (workHolder(directory) !== null) return phase === 'paused' ? 'paused' : 'running'
  const last = events.at(-1)
  if (last === undefined) return 'new'
  if (last.type === 'error') return 'failed'
  return phase === 'finished' || phase === 'stopped' ? phase : 'interrupted'
}
