/** API procedures for checkpoints and exports. */
import { statSync } from 'node:fs'
import type { Handlers, InputOf, OutputOf } from '#shared/api/contract.ts'
import type { Api } from '#shared/api/api.ts'
import type { checkpointsApi } from '#shared/api/checkpoints.ts'
import { exportJob } from '#host/jobs/exportJobs.ts'
import { AppError } from '#shared/errors.ts'
import type { RunEntry, RunFailure } from '#shared/runs.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { promotedFolder } from '#host/models/promoted.ts'
import {
  baseOfCheckpoint,
  exportFormats,
  formatProblem,
  formatSizes,
  openBase,
} from '#host/export/exports.ts'
import { removeUnchecked, requireNewFolder } from '#host/export/exportFolder.ts'
import type { Host } from '#host/host.ts'
import { hubIdFor, knownHubId, rememberHubId } from '#host/models/hubIds.ts'
import { removeFolder } from '#host/files/atomic.ts'
import { bestCheckpoint } from '#host/runs/checkpointRetention.ts'
import { checkpointProblem, loadCheckpoint, surveyCheckpoints } from '#host/models/checkpoints.ts'
import { lockRun } from '#host/workFolder/runFolder.ts'
import { noCheckpoint, rankingOf } from '#host/runs/runTarget.ts'
import { runFiles } from '#host/runs/trash.ts'
type CheckpointItem = OutputOf<Api, 'checkpoints.list'>[number]

export const checkpointsService = ({
  ask,
  dataDirectory,
  store,
  notifier,
}: Host): Handlers<typeof checkpointsApi> => {
  const listOf = (runId: string) => describeCheckpoints(store.runs.get(runId), store.checkpoints.list(runId))
  const one = ({ runId, step }: { readonly runId: string; readonly step: number }) => {
    const found = listOf(runId).find((checkpoint) => checkpoint.step === step)
    if (found === undefined) throw noCheckpoint(runId, step)
    return found
  }
  const exportedFolder = (input: InputOf<Api, 'checkpoints.formats'>) =>
    'adapter' in input ? promotedFolder(input.adapter, dataDirectory) : one(input).directory
  return {
    list: ({ runId }) => listOf(runId),

    verify(input) {
      const checkpoint = one(input)
      const problem = checkpointProblem(checkpoint.directory)
      return { ...checkpoint, problem: problem === null ? null : damage(problem) }
    },

    delete(input) {
      const { directory } = one(input)
      using _lock = lockRun(store.runs.get(input.runId).directory)
      removeFolder(directory)
      store.checkpoints.remove(input.runId, directory)
      notifier.notify()
    },

    formats: (input) => formatsOf(exportedFolder(input)),

    baseId(input) {
      const checkpoint = exportedFolder(input)
      const { model } = baseOfCheckpoint(checkpoint, null)
      return loadCheckpoint(checkpoint).baseModel ?? knownHubId(model, dataDirectory)
    },

    export: (input, { signal }) => exporting({ ask, dataDirectory }, input, exportedFolder(input), signal),
  }
}

async function* exporting(
  { ask, dataDirectory }: Pick<Host, 'ask' | 'dataDirectory'>,
  {
    format,
    out,
    dtype,
    shardBytes,
    adapterInputs,
    hubId: given,
  }: Parameters<Handlers<typeof checkpointsApi>['export']>[0],
  checkpoint: string,
  signal: AbortSignal,
): AsyncGenerator<OutputOf<Api, 'checkpoints.export'>> {
  const base = baseOfCheckpoint(checkpoint, null)
  const options = { format, out, dtype, shardBytes, adapterInputs }
  requireNewFolder(out)
  const cacheDirectory = dataFolders(dataDirectory).cache
  const hubId = hubIdFor(base.model, given, dataDirectory)
  const request = { ...options, ...base, hubId, checkpoint, cacheDirectory }
  try {
    for await (const item of ask(exportJob, request, signal)) {
      // Only now: an export that was refused or failed changes nothing.
      if ('result' in item && item.result.parity.every(({ passed }) => passed))
        rememberHubId(base.model, given, dataDirectory)
      yield item
    }
  } finally {
    // A process that was ended could not tidy up.
    removeUnchecked(out)
  }
}

/**
 * Lists the formats, each with the reason if it cannot be had; exporting the adapter alone needs nothing of its base.
 */
function formatsOf(checkpoint: string): OutputOf<Api, 'checkpoints.formats'> {
  try {
    const base = openBase(baseOfCheckpoint(checkpoint, null))
    return exportFormats.map((format) => ({
      format,
      problem: formatProblem(format, base),
      sizes: formatSizes(format, base),
    }))
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const problem = `The base model is needed for it. ${error.message}`
    return exportFormats.map((format) => ({ format, problem: format === 'peft' ? null : problem, sizes: [] }))
  }
}

const damage = (message: string): RunFailure => ({ code: 'checkpoint/invalid', message, hint: null })

/** The disk says which there are; the history remembers when they were saved. */
function describeCheckpoints(
  run: Pick<RunEntry, 'id' | 'directory'>,
  history: readonly { readonly directory: string; readonly savedAt: number }[],
): CheckpointItem[] {
  const { entries, damaged } = surveyCheckpoints(run.directory)
  const best = bestCheckpoint(entries, rankingOf(run.directory))
  const savedAt = new Map(history.map((saved) => [saved.directory, saved.savedAt]))
  const timeOf = (directory: string) => savedAt.get(directory) ?? Math.trunc(statSync(directory).mtimeMs)
  const whole = entries.map((entry): CheckpointItem => {
    const { step, directory, reward, sizeBytes } = entry
    const facts = { runId: run.id, step, directory, reward, sizeBytes }
    return { ...facts, savedAt: timeOf(directory), isBest: entry === best, problem: null }
  })
  const others = damaged.map(({ step, directory, problem }): CheckpointItem => {
    const sizeBytes = runFiles(directory).reduce((sum, file) => sum + file.sizeBytes, 0)
    const facts = { runId: run.id, step, directory, reward: null, sizeBytes }
    return { ...facts, savedAt: timeOf(directory), isBest: false, problem: damage(problem) }
  })
  return [...whole, ...others].sort((a, b) => a.step - b.step)
}
