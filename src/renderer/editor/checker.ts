/** The type checker's worker as seen from an editor: loaded with the first editor, gone a while after the last. */
import { wrap, type Remote } from 'comlink'
import type { CodeContext } from './types/ambient.ts'
import type { TypeService } from './types/typeService.ts'

export interface Checker {
  /** Asks about code that runs on what it runs on now. */
  readonly types: () => Remote<TypeService>
  /** After that nothing may be asked. */
  readonly release: () => void
}

/** A worker is kept so long for the next editor: starting one costs a second. */
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

/** `context` is asked for at every question. */
export function openChecker(context: () => CodeContext): Checker {
  const started = (shared ??= startWorker())
  started.users++
  return {
    types() {
      const now = context()
      // Messages arrive in order, so whatever is asked next is asked of this.
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
