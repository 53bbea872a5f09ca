/** API procedures for runs, the one place that combines stored runs with running processes. */
import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import path from 'node:path'
import type { Handlers } from '#shared/api/contract.ts'
import type { runsApi } from '#shared/api/runs.ts'
import type { SettingChange } from '#shared/config/changes.ts'
import type { JsonObject } from '#shared/config/paths.ts'
import { problemsOfError } from '#shared/config/blame.ts'
import { AppError, refusal } from '#shared/errors.ts'
import type { RunEntry, RunRecord, RunFailure } from '#shared/runs.ts'
import { seedFamilies } from '#shared/seedFamilies.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import type { Host } from '#host/host.ts'
import { newsOf, readCursor, stampOf, writeCursor } from '#host/store/feeds.ts'
import { readyEnvironment } from '#host/engines/environment.ts'
import { queueRun } from '#host/runs/sealedRuns.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { requireGates } from '#host/code/rewardVersions.ts'
import { runReport } from './runReport.ts'
import { exchanging } from './exchanging.ts'
import { reading as readingFile } from '#host/files/fileErrors.ts'
import { requireInside } from '#host/files/ownFiles.ts'
import { regularFileSize } from '#host/files/strictJson.ts'
import { runPaths } from '#host/workFolder/runFolder.ts'
import { readDemoConfig } from '#host/runs/demoConfig.ts'
import type { RunHistory } from '#host/runs/runHistory.ts'
import { emptyTrash, restoreRun, trashedRuns, deleteRun, runFiles } from '#host/runs/trash.ts'
import { compareRuns } from '#host/runs/compareRuns.ts'
import { createFork, createRun, resumePoint } from '#host/runs/runLifecycle.ts'
import { resolveWithAlgorithms } from '#host/runs/runConfigFile.ts'
import { checkRunConfig, settingWarnings } from '#host/runs/runVerdict.ts'
import type { WorkerStatus } from '#host/runs/supervisor.ts'
import { calibrateRun } from '#host/jobs/calibration.ts'
import { checkpointDirectory } from '#host/runs/runTarget.ts'
import { planChanges, type PlannedChanges } from '#host/runs/settingChanges.ts'
import { hasLeft, leaveQueue, requireIdle } from './queueService.ts'
import { runRemaining } from '#host/runs/runRows.ts'
import { exportBundle, importBundle } from '#host/runs/runBundle.ts'
import { diagnoseRun } from '#host/runs/runDiagnosis.ts'

export const runsService = (host: Host): Handlers<typeof runsApi> => ({
  ...reading(host),
  ...beginning(host),
  ...training(host),
  ...describing(host),
  ...exchanging(host),
  ...following(host),
})

const reading = ({ store, supervisor }: Host) =>
  ({
    list: (filter) => store.runs.list(filter),
    get: ({ runId }) => store.runs.get(runId),
    tags: () => store.runs.tags(),
    compare: ({ runIds, metrics }) => compareRuns(store, runIds, metrics),
    report: ({ runIds, metrics }) => ({ html: runReport(store, runIds, metrics) }),
    family: ({ runId }) => store.runs.family(runId),
    seedFamilies: () =>
      seedFamilies(store.runs.list(), ({ id }) => store.runs.settingsButSeed(id)).map(({ runIds }) => runIds),
    events: ({ runId, ...page }) => store.events.list(runId, page),
    diagnosis: ({ runId }) => diagnoseRun(store, runId),
    log: ({ runId, maxBytes }) => readTextTail(runPaths(store.runs.get(runId).directory).workerLog, maxBytes),
    files: ({ runId }) => runFiles(store.runs.get(runId).directory),
    workers: () => supervisor.list().map(workerOf),
  }) satisfies Partial<Handlers<typeof runsApi>>

const beginning = (host: Host) =>
  ({
    sample: () => ({ config: readDemoConfig(host.dataDirectory), tag: 'sample' }),

    async check({ config }) {
      try {
        const checked = await checkRunConfig(config, host.dataDirectory, host.askText)
        await requireGates(host, checked.config)
        return checked
      } catch (error) {
        if (error instanceof AppError) return { problems: problemsOfError(error) }
        throw error
      }
    },

    calibrate: ({ config }, { signal }) => calibrateRun(host, config, signal),

    async start({ config, tags, queue, continueOnError }) {
      const { config: resolved, algorithmById } = await resolveWithAlgorithms(config, host.dataDirectory)
      await requireGates(host, resolved)
      await readyEnvironment(resolved, consentsFile(host.dataDirectory))
      settingWarnings(resolved, algorithmById, openModelFolder(resolved.model, resolved).config)
      // Made first: a crash leaves a visible run.
      const run = createRun(host, resolved)
      if (tags.length > 0) host.store.runs.setTags(run.id, tags)
      if (queue) enqueue(host, run, continueOnError)
      else begin(host, run, null)
      return { runId: run.id }
    },

    fork({ runId, step, changes, start }) {
      const checkpoint = checkpointDirectory(host.store.runs.get(runId), step)
      const run = createFork(host, { checkpoint, changes, baseDirectory: host.dataDirectory })
      if (start) begin(host, run, null)
      return { runId: run.id }
    },
  }) satisfies Partial<Handlers<typeof runsApi>>

const training = (host: Host) =>
  ({
    pause: ({ runId }) => host.supervisor.pause(runId),

    async checkChanges({ runId, step, changes }) {
      try {
        const { changes: _all, ...plan } = await planChanges(host, targetOf(host, runId, step), changes)
        return plan
      } catch (error) {
        if (error instanceof AppError) return { problems: problemsOfError(error) }
        throw error
      }
    },

    async unpause({ runId, changes }) {
      const plan = changes && (await planPaused(host, runId, changes))
      host.supervisor.unpause(runId, plan?.changes)
    },

    async resume({ runId, step, changes }) {
      const run = host.store.runs.get(runId)
      await requireIdle(host, runId)
      const target = targetOf(host, runId, step)
      const plan = changes && (await planChanges(host, target, changes))
      const { resumeFrom, fallBack, step: from } = resumePoint(host.dataDirectory, target)
      leaveQueue(host, runId)
      begin(host, run, resumeFrom, plan?.changes)
      return { step: from, fallBack }
    },

    async stop({ runId }) {
      await host.supervisor.stop(runId)
    },
    async kill({ runId }) {
      await host.supervisor.kill(runId)
    },
  }) satisfies Partial<Handlers<typeof runsApi>>

/** Finds a run, or its checkpoint of a step. */
function targetOf({ store }: Host, runId: string, step: number | undefined): string {
  const run = store.runs.get(runId)
  return step === undefined ? run.directory : checkpointDirectory(run, step)
}

/** Errors: AppError 'api/refused' where it is not paused; those of `planChanges`. */
async function planPaused(host: Host, runId: string, changes: JsonObject): Promise<PlannedChanges> {
  requirePaused(host, runId)
  const plan = await planChanges(host, host.store.runs.get(runId).directory, changes)
  requirePaused(host, runId)
  return plan
}

function requirePaused({ supervisor }: Host, runId: string): void {
  if (supervisor.status(runId)?.activity === 'paused') return
  throw refusal(
    'Settings can change only while the run is paused or stopped.',
    'Nothing was changed. Pause it first: it then waits after its step.',
  )
}

const describing = (host: Host) => {
  const { store, notifier } = host
  const change = (runId: string, action: (run: RunRecord) => void) => {
    action(store.runs.get(runId))
    notifier.notify()
  }
  return {
    async delete({ runId }) {
      await hasLeft(host, runId)
      deleteRun(host, runId)
    },
    trash: () => trashedRuns(host.dataDirectory),
    restore({ runId }) {
      restoreRun(host, runId)
      notifier.notify()
    },
    emptyTrash: ({ runIds }) => ({ freedBytes: emptyTrash(host.dataDirectory, runIds) }),
    rename: ({ runId, name }) => change(runId, () => store.runs.setName(runId, name)),
    setTags: ({ runId, tags }) => change(runId, () => store.runs.setTags(runId, tags)),
    setNotes: ({ runId, notes }) => change(runId, () => store.runs.setNotes(runId, notes)),
    exportBundle: ({ runId, path, overwrite }) => exportBundle(store, runId, path, { overwrite }),
    importBundle: ({ source }) => importBundle(host, source),
  } satisfies Partial<Handlers<typeof runsApi>>
}

const following = ({ store, supervisor, history, notifier }: Host) =>
  ({
    async *watch(_input, { signal }) {
      // A cursor tells nothing: after a lost connection a reader gets everything anew.
      let known: ReadonlyMap<string, string> | null = null
      let knownOthers = ''
      yield* newsOf({ notifier, signal }, () => {
        const workers = supervisor.list().map(workerOf)
        const now = store.runs.list().map((run) => ({ run, stamp: JSON.stringify(run) }))
        const runs = now.filter(({ run, stamp }) => known?.get(run.id) !== stamp).map(({ run }) => run)
        const ids = new Set(now.map(({ run }) => run.id))
        const removed = [...(known?.keys() ?? [])].filter((id) => !ids.has(id))
        const isWhole = known === null
        const unreadable = unreadableRuns(history)
        const remaining = now.flatMap(({ run }) => runRemaining(store, run) ?? [])
        const { pending } = history
        const others = stampOf([workers, unreadable, pending, remaining])
        if (!isWhole && runs.length + removed.length === 0 && others === knownOthers) return null
        known = new Map(now.map(({ run, stamp }) => [run.id, stamp]))
        knownOthers = others
        return { cursor: '', isWhole, runs, removed, workers, pending, unreadable, remaining }
      })
    },

    async *follow({ runId }, { from, signal }) {
      let [event = -1, sample = -1] = readCursor(from, 2)
      let known = ''
      yield* newsOf({ notifier, signal }, () => {
        const { config: _config, manifest: _manifest, ...run } = store.runs.get(runId)
        const events = store.events.list(runId, { after: event, limit: eventsPerItem })
        const samples = store.samples.stepsAfter(runId, sample)
        const stamp = stampOf(run)
        if (events.length === 0 && samples.steps.length === 0 && stamp === known) return null
        known = stamp
        event = events.at(-1)?.id ?? event
        sample = samples.last
        return { cursor: writeCursor(event, sample), run, events, sampleSteps: samples.steps }
      })
    },
  }) satisfies Partial<Handlers<typeof runsApi>>

function unreadableRuns({ unreadable, problem }: RunHistory) {
  const runs = unreadable.map(({ directory, error }) => ({ directory, error: failureOf(error) }))
  return problem === null ? runs : [{ directory: null, error: failureOf(problem) }, ...runs]
}

const eventsPerItem = 2000

/** Returns the status without what the run's entry has. */
const workerOf = ({ directory: _directory, changes: _changes, ...worker }: WorkerStatus) => worker

function begin(
  { supervisor, notifier }: Host,
  run: Pick<RunEntry, 'id' | 'directory'>,
  resumeFrom: string | null,
  changes?: readonly SettingChange[],
): void {
  // The host writes down how it ends; observers see it there.
  void supervisor.start(run, { resumeFrom, changes })
  notifier.notify()
}

function enqueue({ store, queue, notifier }: Host, run: RunEntry, continueOnError: boolean): void {
  queueRun(store, run.id, { continueOnError })
  queue.advance()
  notifier.notify()
}

/** An error as data: what failed without ending the call it happened in. */
const failureOf = ({ code, message, hint }: AppError): RunFailure => ({
  code,
  message,
  hint: hint ?? null,
})

/**
 * Returns the last bytes of a text file, from the start of a whole character on; empty where there is no file. Errors:
 * AppError 'file/unreadable'.
 */
function readTextTail(file: string, maxBytes: number): string {
  if (!existsSync(file)) return ''
  requireInside(file, path.dirname(file))
  const size = regularFileSize(file)
  const handle = readingFile(file, () => openSync(file, 'r'))
  try {
    const bytes = Buffer.alloc(Math.min(size, maxBytes))
    const length = readSync(handle, bytes, 0, bytes.length, size - bytes.length)
    const isCut = size > bytes.length
    // A cut may fall into a character: bytes 10xxxxxx continue one.
    const start = isCut ? bytes.findIndex((byte) => (byte & 0xc0) !== 0x80) : 0
    return bytes.toString('utf8', Math.max(0, start), length)
  } finally {
    closeSync(handle)
  }
}
