/** The type checker's worker as seen from an editor: loaded with the first editor, gone a while after the last. */
import { wrap, type Remote } from 'comlink'
import type { RowColumn } from './types/ambient.ts'
import type { TypeService } from './types/typeService.ts'

export interface Checker {
  /** Asks about code that runs on rows with the columns of now. */
  readonly types: () => Remote<TypeService>
  /** After that nothing may be asked. */
  readonly release: () => void
}

/** A worker is kept so long for the next editor: starting one costs a second. */
const keptMs = 60_000

function startWorker() {
  const worker = new Worker(new URL('./types/typeWorker.ts', import.meta.url), { type: 'module' })
  const started = { worker, types: wrap<TypeService>(worker), users: 0, columns: null as RowColumns }
  worker.addEventListener('error', () => stopWorker(started))
  return started
}

type RowColumns = readonly RowColumn[] | null
type StartedWorker = ReturnType<typeof startWorker>

let shared: StartedWorker | null = null

function stopWorker(started: StartedWorker): void {
  started.worker.terminate()
  if (shared === started) shared = null
}

/** `columns` is asked for at every question; null: nothing is known of the rows. */
export function openChecker(columns: () => RowColumns): Checker {
  const started = (shared ??= startWorker())
  started.users++
  return {
    types() {
      const now = columns()
      // Messages arrive in order, so whatever is asked next is asked of these columns.
      if (now !== started.columns) void started.types.setColumns((started.columns = now))
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
