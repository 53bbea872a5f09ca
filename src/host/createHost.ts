/**
 * The composition root of everything but training itself: files, history, processes. Skins (command line, window,
 * headless server) make one host and talk to its services. Reading guide of this folder:
 *
 *   createHost.ts   (here) the parts put together; host.ts names them
 *   files/ processes/ store/   ground: files on disk, processes and their jobs (job.ts), SQLite
 *   consents/ python/ sandbox/   what users write, run under limits or with their consent
 *   workFolder/     folders of runs, studies, evaluations: lock, log, checkpoints; longWork.ts begins, stops and resumes
 *                   the latter two, leftovers.ts clears what killed processes left
 *   data/ models/ adapters/ gguf/ devices/ hub/   what is read, looked up and fetched
 *   code/ judges/ engines/ exchange/ remote/   rewards, environments, losses and workflows of a config; judges; other trainers,
 *                   their configs; completions on servers
 *   runs/ training/ export/   a run from start to end, and what is taken home
 *   jobs/           what is asked of a process of its own; jobs/process/ and checks/ are what happens in it
 *   studies/ evaluations/ chat/ serving/   what is made of runs and models
 *   api/            the procedures of the API (`…Service.ts`); transports/ carry them
 */
import { accessSync, constants, existsSync } from 'node:fs'
import path from 'node:path'
import { attempt } from '#shared/attempt.ts'
import { namesAgent } from '#host/agents/openAgents.ts'
import { makeFolder } from '#host/files/atomic.ts'
import { listAdapters } from '#host/models/adapters.ts'
import { keepFormerHome } from '#host/files/movedPaths.ts'
import { requireOwnFolders } from '#host/files/ownFiles.ts'
import { closeToOthers } from '#host/files/permissions.ts'
import { watchForWebhook } from '#host/webhook.ts'
import { ChangeNotifier } from '#host/store/changeNotifier.ts'
import { cudaEnvironment } from '#host/devices/installedCuda.ts'
import { Evaluations } from '#host/evaluations/evaluations.ts'
import { clearLeftovers } from '#host/workFolder/leftovers.ts'
import { changedSince } from '#host/workFolder/workFolder.ts'
import { LeftRuns } from '#host/runs/leftRuns.ts'
import { RunHistory } from '#host/runs/runHistory.ts'
import { forkRun, resumePoint } from '#host/runs/runLifecycle.ts'
import { packFailure } from '#host/processes/messages.ts'
import { createAsk, jobStarter, type StartJob } from '#host/processes/job.ts'
import { Trials } from '#host/runs/trials.ts'
import { tidyTrash } from '#host/runs/trash.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { isOwnDirectory, knowLog, takeOver } from '#host/runs/ownDirectory.ts'
import { forgetSeal, isSealedRun, sealRun } from '#host/runs/sealedRuns.ts'
import { RunQueue, type QueuedRun, type RunQueueOptions } from '#host/runs/runQueue.ts'
import { Supervisor, type SupervisorOptions } from '#host/runs/supervisor.ts'
import { TextProcesses } from '#host/models/textQuestion.ts'
import { ConnectionWatch } from './outboundConnections.ts'
import { dataFolders } from './dataDirectory.ts'
import { faultToStderr, guarded, type OnFault } from './faults.ts'
import type { Host } from './host.ts'
import { Chats } from './chat/chats.ts'
import { OpenModels, type OpenModelsOptions } from './serving/openModels.ts'
import { programKey, programKeysOf, Serving } from './serving/serving.ts'
import { openStore, openStoreCopy, type Store } from './store/store.ts'
import { Studies } from './studies/studies.ts'

const lookEveryMs = 1000
/** Time for which a host that answers others reads a long history at once; it answers in between. */
const sliceMs = 100
const pauseMs = 10

export interface HostOptions {
  readonly dataDirectory: string
  /** Starts the processes of jobs; absent: child processes of Node. */
  readonly startJob?: StartJob
  /** True if this host starts the runs that wait in the queue; a host that lives for a single command does not. */
  readonly servesQueue: boolean
  /** Called with internal errors in work that nobody waits for; they go to standard error if absent. */
  readonly onFault?: OnFault
}

interface OpenDirectory extends Pick<Host, 'cleared' | 'store'> {
  /** True if nothing can be written there, so that the history is read from a copy. */
  readonly isReadOnly: boolean
  /** True if it was made on this machine, or somebody let it work here. */
  readonly isOwn: boolean
}

/** Opens a directory. A host that starts no runs itself can show one in which it may not write. */
function openDirectory(dataDirectory: string, servesQueue: boolean, onFault: OnFault): OpenDirectory {
  makeFolder(dataDirectory)
  requireOwnFolders(dataDirectory)
  if (!servesQueue && !isWritable(dataDirectory)) {
    const store = openStoreCopy(historyFile(dataDirectory))
    return { cleared: { count: 0, bytes: 0 }, store, isReadOnly: true, isOwn: false }
  }
  closeToOthers(dataDirectory)
  const [cleared, store] = [clearLeftovers(dataDirectory), openStore(historyFile(dataDirectory))]
  const isOwn = isOwnDirectory(store, historyFile(dataDirectory))
  // On a full disk it stays unknown: should this process be killed, the next start asks before anything goes on.
  if (isOwn) guarded('the history', onFault, () => knowLog(store))()
  keepFormerHome(dataDirectory, () => store.runs.lastHome() ?? dataDirectory)
  return { cleared, store, isReadOnly: false, isOwn }
}

function isWritable(dataDirectory: string): boolean {
  const places = [dataDirectory, historyFile(dataDirectory)].filter((place) => existsSync(place))
  return attempt(() => {
    for (const place of places) accessSync(place, constants.W_OK)
    return true
  }, false)
}

/**
 * Opens the history and takes in what happened meanwhile. Errors: those of opening the store; AppError
 * 'file/unwritable'.
 */
export function createHost({
  dataDirectory,
  startJob = jobStarter(),
  servesQueue,
  onFault = faultToStderr,
}: HostOptions): Host {
  const opened = openDirectory(dataDirectory, servesQueue, onFault)
  const { cleared, store, isReadOnly } = opened
  const [notifier, left, trials] = [new ChangeNotifier(), new LeftRuns(store), new Trials()]
  const [texts, connections] = [new TextProcesses(startJob), new ConnectionWatch()]
  const processes = { startJob, environment: () => cudaEnvironment(dataDirectory), onFault }
  const parts = () => ({ supervisor, history, queue, left, notifier })
  const supervisor = new Supervisor({
    cacheDirectory: dataFolders(dataDirectory).cache,
    consents: consentsFile(dataDirectory),
    agentKey: (id) => (namesAgent(store.runs.get(id).config) ? programKey(store, 'agents') : undefined),
    expectedOf: (runId) => trials.of(store.runs.get(runId).config),
    ...reactions(parts, onFault),
    ...processes,
  })
  const history = new RunHistory({
    dataDirectory,
    store,
    onFault,
    sliceMs: servesQueue ? sliceMs : Infinity,
    isTrainedHere: (runId) => supervisor.status(runId) !== null,
  })
  const ask = createAsk(startJob, processes.environment)
  const evaluations = new Evaluations({ dataDirectory, store, ask, notifier, onFault })
  const work = { dataDirectory, store, history, supervisor, notifier, askText: texts.ask, onFault }
  const studies = new Studies({ ...work, ask, trials, fork: forkRun })
  const waiting = { dataDirectory, store, history, evaluations, studies, left }
  const isHeld = isHeldBack(opened, waiting)
  const queue = queueOf(waiting, { supervisor, isHeld: servesQueue && isHeld, servesQueue, onFault })
  const { models, ...answering } = answeringWith({ ...work, ...processes })
  if (servesQueue && !isHeld) finishWhatWasLeft(waiting)
  if (servesQueue) history.attempt(() => tidyTrash(waiting))
  queue.advance()
  const webhook = watchForWebhook({ dataDirectory, store, supervisor, notifier }, onFault)
  const looking = isReadOnly ? keepUnchanged(store) : lookRegularly(parts, { servesQueue, onFault })
  return {
    ...work,
    ...waiting,
    ...answering,
    queue,
    connections,
    cleared,
    trials,
    models,
    ask,
    async [Symbol.asyncDispose]() {
      queue.close()
      await webhook[Symbol.asyncDispose]()
      for (const part of [looking, connections, texts]) part[Symbol.dispose]()
      await endWork([studies, evaluations, ...Object.values(answering)], supervisor)
      for (const part of [models, store]) part[Symbol.dispose]()
    },
  }
}

function queueOf(
  waiting: Waiting,
  {
    servesQueue,
    ...options
  }: Pick<RunQueueOptions, 'supervisor' | 'isHeld' | 'onFault'> & { readonly servesQueue: boolean },
): RunQueue {
  const { store, history, dataDirectory } = waiting
  return new RunQueue({
    ...options,
    onReleased: () => {
      settle(waiting, options.supervisor.list())
      finishWhatWasLeft(waiting)
    },
    takeNext: () => (servesQueue ? (history.attempt(() => takeNext(store, dataDirectory)) ?? null) : null),
    onNotStarted: (ending) => history.ended(ending),
    ...(servesQueue ? lastingHalt(store, history) : {}),
  })
}

/** Open models, and what lets them answer people and other programs. */
function answeringWith(
  work: Pick<Host, 'dataDirectory' | 'store' | 'notifier' | 'askText'> &
    Pick<OpenModelsOptions, 'startJob' | 'environment'> & { readonly onFault: OnFault },
): Pick<Host, 'models' | 'serving' | 'chats'> {
  const { dataDirectory, notifier } = work
  const adapters = () => listAdapters(dataDirectory)
  const models = new OpenModels({ ...work, onChanged: () => notifier.notify() })
  const serving = new Serving({ ...work, models, adapters })
  return { models, serving, chats: new Chats({ ...work, models }) }
}

/** Ends all work; the parts that start processes end first. */
async function endWork(starting: readonly AsyncDisposable[], supervisor: Supervisor): Promise<void> {
  await Promise.all(starting.map((part) => part[Symbol.asyncDispose]()))
  await supervisor.close()
}

interface Waiting extends Pick<Host, 'dataDirectory' | 'store' | 'history' | 'evaluations' | 'studies'> {
  readonly left: LeftRuns
}

/** Finishes the work of hosts that were killed. */
function finishWhatWasLeft({ history, left, evaluations, studies }: Waiting): void {
  history.attempt(() => left.queueEnded())
  history.attempt(() => evaluations.takeUpWaiting())
  history.attempt(() => studies.takeUpWaiting(left.areResumed))
}

/**
 * Makes a directory this machine's; of what was left elsewhere only what waits now stays known, and goes on as it is now. `trained`:
 * runs in training.
 */
function settle(waiting: Waiting, trained: ReturnType<Supervisor['list']> = []): void {
  const { store, dataDirectory, studies, evaluations, left } = waiting
  studies.keepAsTheyAre(left.areResumed)
  evaluations.keepAsTheyAre()
  const queued = store.queue.list().map(({ runId }) => runId)
  // One that cannot be read fails when its turn comes.
  for (const id of [...queued, ...left.waiting]) attempt(() => sealRun(store, id), undefined)
  left.remember(trained) // else runs that nobody here left would go on once this is set
  takeOver(store, historyFile(dataDirectory))
}

/**
 * Tells whether work waits in a directory from elsewhere: it may send files of this person's to a stranger's address. One in which
 * nothing waits becomes this machine's.
 */
function isHeldBack({ isReadOnly, isOwn }: OpenDirectory, waiting: Waiting): boolean {
  if (isReadOnly || isOwn) return false
  const { store, history, left, evaluations, studies } = waiting
  const isQueued = store.queue.list().length > 0 || left.isAnyLeft
  if (isQueued || evaluations.isAnyUnfinished || studies.isAnyUnfinished) return true
  history.attempt(() => settle(waiting))
  return false
}

export const historyFile = (dataDirectory: string): string => path.join(dataDirectory, 'history.db')

interface Parts extends Pick<Host, 'supervisor' | 'history' | 'queue' | 'notifier'> {
  readonly left: LeftRuns
}

/** Builds the reactions to messages of a training process. `parts` is called only then, when all parts exist. */
function reactions(
  parts: () => Parts,
  onFault: OnFault,
): Pick<SupervisorOptions, 'onGrown' | 'onChanged' | 'onPhase' | 'onEnded'> {
  const remember = ({ history, left, supervisor }: Parts) =>
    history.attempt(() => left.remember(supervisor.list()))
  return {
    onGrown(runId) {
      const { supervisor, history, left, notifier } = parts()
      const status = supervisor.status(runId)
      if (status !== null) history.ingest({ id: runId, directory: status.directory })
      // A history that cannot be written is reported where it is read.
      attempt(() => left.seal(supervisor.list()), undefined)
      notifier.notify()
    },
    onChanged() {
      remember(parts())
      parts().notifier.notify()
    },
    onPhase: () => parts().notifier.notify(),
    onEnded(ending) {
      const { history, queue, notifier } = parts()
      history.ended(ending)
      remember(parts())
      notifier.notify()
      // The process leaves the supervisor's list only after this.
      setImmediate(guarded('the queue', onFault, () => queue.advance()))
    },
  }
}

/** Makes a read-only history refuse changes: the copy has everything new and keys of its own, and other changes would be lost. */
function keepUnchanged(store: Store): Disposable {
  programKeysOf(store)
  store.refuseChanges()
  return { [Symbol.dispose]: () => undefined }
}

/** Looks for changes by other processes, which make, train and leave runs too; works on every file system, unlike notifications. */
function lookRegularly(
  parts: () => Parts,
  { servesQueue, onFault }: { readonly servesQueue: boolean; readonly onFault: OnFault },
): Disposable {
  const { history, left, queue, notifier } = parts()
  const look = () => {
    const hasNews = history.lookAround()
    const isLeft = servesQueue && !queue.isHeld && history.attempt(() => left.queueEnded()) === true
    if (isLeft) queue.advance()
    if (hasNews || isLeft) notifier.notify()
  }
  let timer: NodeJS.Timeout
  const again = () => {
    const isAtIt = history.pending > 0 && history.problem === null
    timer = setTimeout(turn, isAtIt ? pauseMs : lookEveryMs)
    timer.unref()
  }
  const turn = () => {
    guarded('looking around', onFault, look)()
    again()
  }
  again()
  return { [Symbol.dispose]: () => clearTimeout(timer) }
}

/** Setting kept for the next host: a failure that nobody has looked at is not over because the program was closed. */
const haltKey = 'host.queueHaltedBy'

function lastingHalt(store: Store, history: RunHistory): Pick<RunQueueOptions, 'haltedBy' | 'onHalted'> {
  const kept = store.settings.get(haltKey)
  return {
    haltedBy: typeof kept === 'string' ? kept : null,
    onHalted: (runId) => history.attempt(() => store.settings.set(haltKey, runId ?? undefined)),
  }
}

/** The next run that can go on; one that cannot fails with the reason. */
function takeNext(store: Store, dataDirectory: string): QueuedRun | null {
  for (;;) {
    const next = store.queue.takeNext()
    if (next === null) return null
    const { runId: id, continueOnError } = next
    try {
      const { directory } = store.runs.get(id)
      if (!isSealedRun(store, id)) throw changedSince('This run')
      forgetSeal(store, id)
      return { id, directory, continueOnError, resumeFrom: resumePoint(dataDirectory, id).resumeFrom }
    } catch (error) {
      // One that cannot go on must not stop those behind it.
      if (store.runs.find(id) !== null) store.runs.setStatus(id, 'failed', { error: packFailure(error) })
    }
  }
}
