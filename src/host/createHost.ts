/**
 * The composition root of everything but training itself: files, history, processes. Skins (command line, window,
 * headless server) make one host and talk to its services. Reading guide of this folder:
 *
 *   createHost.ts   (here) the parts put together
 *   runHistory.ts   keeps SQLite in line with the runs' folders
 *   training.ts     starting, resuming and forking runs
 *   artifacts/      everything on disk: models, data sets, checkpoints, adapters, run folders
 *   store/          run history and library in SQLite
 *   workers/        training processes
 *   sandbox/        user-written code under limits; rewards/ what it is used for
 *   services/       the API's procedures, one file per area; transports/ carry them
 */
import path from 'node:path'
import { makeFolder } from './artifacts/atomic.ts'
import { Bell } from './bell.ts'
import { dataFolders } from './dataDirectory.ts'
import { RunHistory } from './runHistory.ts'
import type { Host } from './host.ts'
import { openStore, type Store } from './store/store.ts'
import { resumePoint } from './training.ts'
import { createAsk, questionStarter, type StartQuestion } from './workers/question.ts'
import { RunQueue, type QueuedRun } from './workers/runQueue.ts'
import { Supervisor } from './workers/supervisor.ts'
import type { StartWorker } from './workers/workerProcess.ts'

const lookEveryMs = 1000

export interface HostOptions {
  readonly dataDirectory: string
  /** How training processes are started; child processes of Node where it is not said. */
  readonly startWorker?: StartWorker
  /** As `startWorker`, for processes that answer one question. */
  readonly startQuestion?: StartQuestion
  /** Whether this host starts the runs that wait in the queue; one that lives for a single command does not. */
  readonly servesQueue: boolean
}

/** Opens the history and looks what happened meanwhile. Errors: those of opening the store; AppError 'file/unwritable'. */
export function createHost({
  dataDirectory,
  startWorker,
  startQuestion = questionStarter,
  servesQueue,
}: HostOptions): Host {
  makeFolder(dataDirectory)
  const store = openStore(historyFile(dataDirectory))
  const bell = new Bell()
  const isTrainedHere = (runId: string) => supervisor.status(runId) !== null
  const supervisor = new Supervisor({
    cacheDirectory: dataFolders(dataDirectory).cache,
    ...(startWorker === undefined ? {} : { startWorker }),
    onGrown(runId) {
      const status = supervisor.status(runId)
      if (status !== null) history.ingest({ id: runId, directory: status.directory })
      bell.ring()
    },
    onChanged: () => bell.ring(),
    onEnded(ending) {
      history.ended(ending)
      bell.ring()
      // The process leaves the supervisor's list only after this.
      setImmediate(() => queue.advance())
    },
  })
  const history = new RunHistory({ dataDirectory, store, isTrainedHere })
  const queue = new RunQueue({
    supervisor,
    takeNext: () => (servesQueue ? takeNext(store, dataDirectory) : null),
    onNotStarted: (ending) => history.ended(ending),
  })
  const looking = lookRegularly(history, bell)
  queue.advance()
  return {
    dataDirectory,
    store,
    history,
    supervisor,
    queue,
    ask: createAsk(startQuestion),
    bell,
    async [Symbol.asyncDispose]() {
      queue.close()
      looking[Symbol.dispose]()
      await supervisor.close()
      store[Symbol.dispose]()
    },
  }
}

export const historyFile = (dataDirectory: string): string => path.join(dataDirectory, 'history.db')

/** Other processes make, train and leave runs too. Looking works on every file system, unlike notifications. */
function lookRegularly(history: RunHistory, bell: Bell): Disposable {
  const timer = setInterval(() => {
    if (history.lookAround()) bell.ring()
  }, lookEveryMs)
  timer.unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

function takeNext(store: Store, dataDirectory: string): QueuedRun | null {
  const next = store.queue.takeNext()
  if (next === null) return null
  const { id, directory } = store.runs.get(next.runId)
  return {
    id,
    directory,
    continueOnError: next.continueOnError,
    resumeFrom: resumePoint(dataDirectory, id).resumeFrom,
  }
}
