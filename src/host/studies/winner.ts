/** A trial that a person chooses from a study, the best one unless they say which: its config, and its checkpoint under a name. */
import type { StudyEntry } from '#shared/api/studies.ts'
import { AppError, refusal, usageError } from '#shared/errors.ts'
import { slugOf } from '#shared/plural.ts'
import { parseRunConfig, type RunConfig } from '#shared/runConfig.ts'
import { parseStudyConfig } from '#shared/studies.ts'
import { newAdapterFolder, summarizeAdapter, type AdapterSummary } from '#host/models/adapters.ts'
import { promoteCheckpoint, type AdapterOrigin } from '#host/models/promoted.ts'
import type { ObservedStorage } from '#host/store/storage.ts'
import { checkpointDirectory } from '#host/runs/runTarget.ts'
import { trialConfig } from './studyConfig.ts'

export interface ChosenTrial {
  /** Number of the trial, from 0. */
  readonly trial: number
  /** Step at which it was compared last. */
  readonly step: number
  readonly fitness: number
}

/**
 * The best of those who got furthest, or the given trial (counted from 0) at its last result. Errors: AppError 'api/refused'
 * where there is no result, 'usage/invalid' where there is no such trial.
 */
export function chosenTrial({ best, trials }: StudyEntry, index: number | null): ChosenTrial {
  if (index === null) {
    if (best?.fitness != null) return { trial: best.trial, step: best.step, fitness: best.fitness }
    throw refusal('No trial of this study has a result yet.', 'Wait for the first comparison.')
  }
  const results = trials[index]?.results
  if (results === undefined)
    throw usageError(`There is no trial ${index + 1}; the study has ${trials.length}.`)
  for (const { step, fitness } of results.toReversed())
    if (fitness !== null) return { trial: index, step, fitness }
  const error = results.at(-1)?.error
  throw refusal(
    error === undefined
      ? `Trial ${index + 1} has no result yet.`
      : `Trial ${index + 1} has no result that counts: ${error}`,
  )
}

/** Returns the config of a trial as that of an ordinary run. */
export function configOfTrial({ file, trials }: StudyEntry, index: number): RunConfig {
  return parseRunConfig(trialConfig(parseStudyConfig(file), trials[index]))
}

interface Promotion {
  /** Number of the trial, from 0; null: the best. */
  readonly trial: number | null
  /** null: after study, trial and step. */
  readonly name: string | null
}

/**
 * Turns the checkpoint of a trial into a named adapter. Errors: those of `chosenTrial`; AppError 'run/not-found' where
 * its run or its checkpoint is gone; 'checkpoint/invalid', 'usage/invalid', 'file/unwritable'.
 */
export async function promoteTrial(
  { store, dataDirectory, notifier }: ObservedStorage,
  entry: StudyEntry,
  { trial: index, name: given }: Promotion,
): Promise<AdapterSummary & { readonly origin: AdapterOrigin }> {
  const { trial, step, fitness } = chosenTrial(entry, index)
  const runId = entry.trials[trial]?.runId ?? ''
  const run = store.runs.find(runId)
  if (run === null)
    throw new AppError(
      'run/not-found',
      `The run of trial ${trial + 1} was deleted, and its checkpoints with it.`,
      'Deleted runs can be restored from the trash for a week.',
    )
  const checkpoint = checkpointDirectory(run, step)
  const name = given ?? `${slugOf(entry.name ?? '') || entry.search.kind}-trial-${trial + 1}-step-${step}`
  const directory = newAdapterFolder(name, dataDirectory)
  const { model, contextLength } = configOfTrial(entry, trial)
  const origin: AdapterOrigin = {
    studyId: entry.id,
    study: entry.name,
    trial,
    runId,
    step,
    fitness,
    model,
    contextLength,
    metric: entry.search.fitness.metric,
    promotedAt: Date.now(),
  }
  await promoteCheckpoint(checkpoint, directory, origin)
  notifier.notify()
  return { ...summarizeAdapter(name, directory), origin }
}
