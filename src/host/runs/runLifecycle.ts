/** Creates, starts, resumes and follows runs. */
import path from 'node:path'
import type { RunEvent } from '#shared/events.ts'
import { type JsonObject, withChanges } from '#shared/config/paths.ts'
import { stagesOf, type RunConfig, parseRunConfig } from '#shared/runConfig.ts'
import type { RunEntry } from '#shared/runs.ts'
import { entryOf } from '#host/files/ownFiles.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import type { ObservedStorage, DataStorage } from '#host/store/storage.ts'
import type { RunKeeper } from './runHistory.ts'
import { unpackError } from '#host/processes/messages.ts'
import { openLogTail, type LoggedEvent } from '#host/workFolder/eventLog.ts'
import {
  readScriptReference,
  type ScriptReference,
  createRunFolder,
  runPaths,
  isRunFolder,
  openRunFolder,
  type RunFolder,
  type TrialRun,
} from '#host/workFolder/runFolder.ts'
import { fallBackSentence, resolveResume } from './runTarget.ts'
import type { StartOptions, Supervisor, WorkerStatus } from './supervisor.ts'
import { existsSync, realpathSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { conflict } from '#shared/config/problems.ts'
import { AppError, ConfigError, refusal, usageError } from '#shared/errors.ts'
import { commandWord } from '#shared/shownText.ts'
import { reviewConfig } from '#host/code/rewardCode.ts'
import { loadCheckpoint } from '#host/models/checkpoints.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { actorName } from '#host/adapters/adapterFiles.ts'
import { adapterForModel, readAdapter } from '#host/adapters/peft.ts'
import type { PythonReview } from '#host/python/consent.ts'
import { isOpenStudy } from '#host/workFolder/studyFolder.ts'
import { requireKnownParts, withAbsolutePaths } from './runConfigFile.ts'
import { settingsOfRun } from './settingChanges.ts'

export interface ResumePoint {
  /** Folder of the checkpoint; null = from the start. */
  readonly resumeFrom: string | null
  /** Step of that checkpoint, 0 from the start. */
  readonly step: number
  /** Sentence saying that a newer checkpoint cannot be used; null where the newest one can. */
  readonly fallBack: string | null
}

/**
 * Returns the point from which a run resumes. `target`: a run, or the folder of one of its checkpoints. Errors:
 * AppError 'run/not-found'; 'usage/invalid' for one of another data directory; 'api/refused' for a trial of a study
 * that is not over.
 */
export function resumePoint(dataDirectory: string, target: string): ResumePoint & { readonly runId: string } {
  const found = resolveResume(dataDirectory, target)
  requireOwn(dataDirectory, found.run)
  requireNoStudy(dataDirectory, found.run)
  return {
    runId: found.run.id,
    resumeFrom: found.checkpoint?.directory ?? null,
    step: found.checkpoint?.step ?? 0,
    fallBack: fallBackSentence(found),
  }
}

/** A copy of the data directory has a run of the same name. Errors: AppError 'usage/invalid'. */
function requireOwn(dataDirectory: string, { id, directory }: RunFolder): void {
  const own = entryOf(dataFolders(dataDirectory).runs, id)
  if (existsSync(own) && realpathSync(own) === realpathSync(directory)) return
  throw usageError(
    `The run in ${directory} does not belong to the data directory ${dataDirectory}.`,
    'Nothing was started. Name its own data directory with --data-dir.',
  )
}

/** A study that is not over decides how far its trials train. Errors: AppError 'api/refused'. */
function requireNoStudy(dataDirectory: string, { study }: RunFolder): void {
  if (study === null || !isOpenStudy(dataDirectory, study.studyId)) return
  throw refusal('This run is a trial of a study, which decides how far it trains.', {
    text: 'Resume the study, or delete it: its runs stay and can then be resumed one by one.',
    command: `turnwise studies resume ${commandWord(study.studyId)}`,
  })
}

/** The folder of a new run and its place in the history; nothing is started. Errors: AppError 'file/unwritable'. */
export function createRun(
  { dataDirectory, history, notifier }: RunKeeper,
  config: RunConfig,
  script: ScriptReference | null = null,
): RunEntry {
  const run = history.add(createRunFolder(dataDirectory, config, { script }))
  notifier.notify()
  return run
}

export interface ForkRequest {
  /** Folder of a checkpoint in the folder of its run. */
  readonly checkpoint: string
  /** Changed settings by dotted key. */
  readonly changes: JsonObject
  /** Folder that relative paths among the changes start from. */
  readonly baseDirectory: string
}

/** A run that goes on from a checkpoint of another with some settings changed; nothing is started. Errors as `forkRun`. */
export function createFork(host: RunKeeper, request: ForkRequest): RunEntry {
  const { dataDirectory, history, notifier } = host
  const changes =
    'name' in request.changes ? request.changes : { ...request.changes, name: nameOfFork(host, request) }
  const run = history.add(forkRun({ dataDirectory, ...request, changes }))
  notifier.notify()
  return run
}

/** Names a fork after its parent and its changes, unlike every other run. */
function nameOfFork({ store }: DataStorage, { checkpoint, changes }: ForkRequest): string {
  const [step, , runId = ''] = path.resolve(checkpoint).split(path.sep).toReversed()
  const parent = store.runs.find(runId)
  const base = parent === null ? runId : (parent.name ?? `${parent.algorithmTitle} · seed ${parent.seed}`)
  const taken = new Set(store.runs.list().map(({ name }) => name))
  return forkName({ base, step: Number(/\d+$/.exec(step ?? '')?.[0] ?? 0), changes, taken })
}

export interface StopSignals {
  /** Stop after the current step and keep a checkpoint. */
  readonly gently: AbortSignal
  /** Kills the process; what was not yet in a checkpoint is done again on resume. */
  readonly now: AbortSignal
  /** Called with what the process is doing, a few times a second at most. */
  readonly onWorker?: (worker: WorkerStatus) => void
}

/** An event with the time it was written down. */
export type TimedEvent = RunEvent & { readonly at: number }

/**
 * Trains a run and yields its events as they are appended to the log. Errors: what the trainer threw; AppError
 * 'run/busy'; 'runtime/failed' when the process died, 'run/stopped' when it was told to stop at once.
 */
export async function* trainAndFollow(
  { supervisor, notifier }: Pick<ObservedStorage, 'notifier'> & { readonly supervisor: Supervisor },
  run: Pick<RunEntry, 'id' | 'directory'>,
  start: StartOptions,
  signals: StopSignals,
): AsyncGenerator<TimedEvent> {
  const tail = openLogTail(runPaths(run.directory).events, 'end')
  const isLiving = () => supervisor.status(run.id) !== null
  const askToStop = () => void (isLiving() && supervisor.stop(run.id))
  const kill = () => void (isLiving() && supervisor.kill(run.id))
  const ended = supervisor.start(run, start)
  void ended.then(() => notifier.notify())
  signals.gently.addEventListener('abort', askToStop)
  signals.now.addEventListener('abort', kill)
  if (signals.gently.aborted) askToStop()
  const never = new AbortController().signal
  try {
    for (let isOver = false; !isOver;) {
      const { notifications } = notifier
      const worker = supervisor.status(run.id)
      isOver = worker === null
      if (worker !== null) signals.onWorker?.(worker)
      yield* runEvents(tail.read())
      if (!isOver) await notifier.after(notifications, never)
    }
    const { error } = await ended
    if (error !== null) throw unpackError(error)
  } finally {
    signals.gently.removeEventListener('abort', askToStop)
    signals.now.removeEventListener('abort', kill)
    // Left early (a consumer that broke off or failed): nobody else would end the process.
    kill()
    await ended
  }
}

const runEvents = (events: readonly LoggedEvent[]): TimedEvent[] =>
  events.flatMap((event: { readonly type: string }) => (isRunEvent(event) ? [event] : []))

/** Returns true for all events but those that only histories need. */
const isRunEvent = (event: { readonly type: string }): event is TimedEvent =>
  event.type !== 'resumed' && event.type !== 'damaged-line'

/* What a fork is called: «arith-grpo · learning rate 0.001». */

interface Naming {
  /** Name of its parent. */
  readonly base: string
  /** Step of the checkpoint. */
  readonly step: number
  readonly changes: JsonObject
  /** Names of other runs. */
  readonly taken: ReadonlySet<string | null>
}

const separator = ' · '
const maxListed = 2

export function forkName({ base, step, changes, taken }: Naming): string {
  // A longer run alone tells nothing: where it began does.
  const told = Object.entries(changes).filter(([key]) => key !== 'steps')
  const words = told.slice(0, maxListed).map(([key, value]) => `${settingWords(key)} ${valueWords(value)}`)
  const more = told.length > maxListed ? [`${told.length - maxListed} more`] : []
  const own = told.length === 0 ? [`from step ${step}`] : [...words, ...more]
  const name = [
    stem(
      base,
      told.map(([key]) => settingWords(key)),
    ),
    ...own,
  ].join(separator)
  for (let count = 2; ; count++) {
    const next = count === 2 && !taken.has(name) ? name : `${name} (${count})`
    if (!taken.has(next)) return next
  }
}

/** A fork of a fork does not tell the same setting twice. */
const stem = (base: string, settings: readonly string[]): string => {
  const [first = '', ...rest] = base.split(separator)
  const isOld = (part: string) =>
    /^from step \d+/.test(part) || settings.some((words) => part.startsWith(`${words} `))
  return [first, ...rest.filter((part) => !isOld(part))].join(separator)
}

/** `optimization.learningRate` → learning rate. */
const settingWords = (key: string): string =>
  (key.split('.').at(-1) ?? key).replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

const longest = 24

function valueWords(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text
}

// Forks: a new run that goes on from a checkpoint of another, with some settings changed.

/** Settles what a fork trains with, and where it goes on. */
function planFork({
  dataDirectory,
  checkpoint,
  changes,
  baseDirectory,
}: ForkRequest & { readonly dataDirectory: string }) {
  const directory = path.resolve(checkpoint)
  const parent = parentOf(dataDirectory, directory)
  const { step } = loadCheckpoint(directory).trainer
  // Starts as the parent goes on from there: with the changes up to then.
  const before = settingsOfRun(parent.directory, step)
  const changed = parseRunConfig(withChanges(before, changes))
  requireKnownParts(changed)
  const config = withAbsolutePaths(changed, baseDirectory, dataDirectory)
  const former = parseRunConfig(before)
  // null: it reads the files as they are now.
  const rewards = isDeepStrictEqual(codeOf(former), codeOf(config)) ? rewardsOf(parent) : null
  return { directory, parent, step, config, former, rewards }
}

/** Reviews the Python code and MCP servers that a fork would run. Errors: as `forkRun` and `reviewConfig`. */
export function reviewFork(request: ForkRequest & { readonly dataDirectory: string }): PythonReview[] {
  const { config, parent, rewards } = planFork(request)
  return reviewConfig(config, rewards === null ? null : parent.directory, request.dataDirectory)
}

/**
 * Makes the folder of a run that has the parent's config with `changes` and counts its steps on from the checkpoint, of
 * which it keeps a copy: with no changes it would do what its parent does from there on. Adapter, reference, data cursor
 * and schedule are the checkpoint's, the optimizer's moments too unless `checkpoints.load.optimizer` is false.
 * Errors: AppError 'run/not-found', 'checkpoint/invalid', 'config/invalid', 'adapter/invalid', 'file/…'.
 */
export function forkRun({
  trial,
  ...request
}: ForkRequest & { readonly dataDirectory: string; readonly trial?: TrialRun }): RunFolder {
  const { directory, parent, step, config, former, rewards } = planFork(request)
  requireSameAdapter(former, config, directory)
  requireFurther(config, step)
  requireOwnEngine(config)
  return createRunFolder(request.dataDirectory, config, {
    origin: {
      parent: { runId: parent.id, step },
      checkpoint: directory,
      rewards,
    },
    script: readScriptReference(parent.directory),
    ...(trial === undefined ? {} : { trial }),
  })
}

/** Settings that may name code of the user. */
const codeOf = (config: RunConfig) => {
  const losses = stagesOf(config).map(({ algorithm }) => algorithm.id)
  return { rewards: config.rewards, environment: config.environment, losses }
}

/** The parent's own copy: the files may have changed since it began. */
function rewardsOf({ directory }: RunFolder): string | null {
  const { rewards } = runPaths(directory)
  return existsSync(rewards) ? rewards : null
}

function parentOf(dataDirectory: string, checkpoint: string): RunFolder {
  const directory = path.dirname(path.dirname(checkpoint))
  if (isRunFolder(directory)) return openRunFolder(dataDirectory, directory)
  throw new AppError(
    'run/not-found',
    `The folder ${checkpoint} is not a checkpoint in the folder of its run.`,
    'To start a new run from a copied checkpoint, set adapter.initial to it in a config.',
  )
}

/** The adapter is the checkpoint's, so that its form cannot change; another model must have places for it. */
function requireSameAdapter(before: RunConfig, after: RunConfig, checkpoint: string): void {
  if (!isDeepStrictEqual(before.adapter, after.adapter)) {
    throw new ConfigError(
      [conflict('adapter', 'a fork continues the adapter of its checkpoint, so none of these can change.')],
      `Start a new run with adapter.initial ${checkpoint} and adapter.mergeConfigs true.`,
    )
  }
  if (before.model === after.model) return
  const { config } = openModelFolder(after.model, after)
  adapterForModel(readAdapter(path.join(checkpoint, actorName)), config, checkpoint)
}

/**
 * Refuses to fork into another trainer, which begins with an adapter alone: without the optimizer and the place in the
 * data that a fork takes over.
 */
function requireOwnEngine({ engine }: RunConfig): void {
  if (engine.kind === 'local') return
  throw new ConfigError(
    [conflict('engine.kind', `${engine.kind}, but a fork is trained by Turnwise itself.`)],
    'Set `engine.kind` to local, or start a new run with `adapter.initial` set to the checkpoint.',
  )
}

function requireFurther({ steps: own, stages }: RunConfig, step: number): void {
  const steps = stages.length === 0 ? own : null
  if (steps === null || steps > step) return
  throw new ConfigError([
    conflict('steps', `${steps}, but the checkpoint is of step ${step}; set a larger number.`),
  ])
}
