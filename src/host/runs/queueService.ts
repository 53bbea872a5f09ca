/** Runs that wait for their turn. */
import type { Handlers } from '#shared/api/contract.ts'
import type { queueApi } from '#shared/api/queue.ts'
import { AppError } from '#shared/errors.ts'
import type { Host } from '#host/host.ts'
import { summarizeRun } from './runSummary.ts'
import { openRunFolder, runHolder } from './runFolder.ts'
import { newsOf, stampOf } from '#host/api/feeds.ts'

export const queueService = (host: Host): Handlers<typeof queueApi> => {
  const { store, queue, bell } = host
  const state = () => ({ runs: store.queue.list(), halted: haltedBy(host) })
  const changed = () => {
    queue.advance()
    bell.ring()
  }
  return {
    get: state,

    async push({ runId, continueOnError }) {
      await requireIdle(host, runId)
      store.queue.push(runId, { continueOnError })
      store.runs.setStatus(runId, 'queued')
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
        bell.ring()
      }
    },

    proceed() {
      queue.proceed()
      bell.ring()
    },

    async *watch(_input, { from, signal }) {
      let seen = from
      yield* newsOf({ bell, signal }, () => {
        const now = state()
        const cursor = stampOf(now)
        if (cursor === seen) return null
        seen = cursor
        return { ...now, cursor }
      })
    },
  }
}

/** Takes a run out of the queue: it is again what its folder says. Whether it was in there. */
export function leaveQueue({ store, dataDirectory }: Host, runId: string): boolean {
  if (!store.queue.remove(runId)) return false
  const { status, directory } = store.runs.get(runId)
  if (status === 'queued')
    store.runs.setStatus(runId, summarizeRun(openRunFolder(dataDirectory, directory)).status)
  return true
}

/** Errors: AppError 'run/busy' for a run that is being trained, 'api/refused' for one that is finished. */
export async function requireIdle(host: Host, runId: string): Promise<void> {
  await hasLeft(host, runId)
  const { status, directory } = host.store.runs.get(runId)
  const holder = runHolder(directory)
  if (holder !== null)
    throw new AppError(
      'run/busy',
      `The run ${runId} is being trained by process ${holder}.`,
      'Stop it first.',
    )
  if (status === 'finished') {
    throw new AppError(
      'api/refused',
      'The run is finished; there is nothing to go on with.',
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

function haltedBy({ queue, store }: Host) {
  const { haltedBy: runId } = queue
  if (runId === null) return null
  return { runId, error: store.runs.find(runId)?.error ?? null }
}
