/** Client of the type checker's worker, which starts with the first editor and stops a while after the last. */
import { wrap, type Remote } from 'comlink'
import type { CodeContext } from './types/ambient.ts'
import type { TypeService } from './types/typeService.ts'

export interface Checker {
  /** Returns the service, set to the code's current context. */
  readonly types: () => Remote<TypeService>
  /** Ends the use of the checker; no requests may follow. */
  readonly release: () => void
}

/** Time for which an unused worker is kept for the next editor, in ms: starting one takes a second. */
const keptMs = 60_000

function startWorker() {
  const worker = new Worker(new URL('./types/typeWorker.ts', import.meta.url), { type: 'module' })
  const started = { worker, types: wrap<TypeService>(worker), users: 0, context: null as CodeContext }
  worker.addEventListener('error', () => stopWorker(started))
  return started
}

type StartedWorker = ReturnType<typeof startWorker>

let shared: StartedWorker | null = null

function stopWorker(started: StartedWorker): void {
  started.worker.terminate()
  if (shared === started) shared = null
}

/** Opens a checker; `context` is called for every request. */
export function openChecker(context: () => CodeContext): Checker {
  const started = (shared ??= startWorker())
  started.users++
  return {
    types() {
      const now = context()
      // Messages arrive in order, so later requests use this context.
      if (now !== started.context) void started.types.setContext((started.context = now))
      return started.types
    },
    release() {
      started.users--
      setTimeout(() => {
        if (started.users === 0) stopWorker(started)
      }, keptMs)
    },
  }
}
