/** Resolves RUN and CHECKPOINT arguments of the command line. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { AppError, usageError } from '#shared/errors.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { bestCheckpoint, repairCheckpoints, defaultRanking } from './checkpointRetention.ts'
import {
  checkpointProblem,
  loadCheckpoint,
  surveyCheckpoints,
  type CheckpointEntry,
  type DamagedCheckpoint,
} from '#host/models/checkpoints.ts'
import type { RunEntry } from '#shared/runs.ts'
import { isCheckpoint } from '#host/workFolder/checkpointState.ts'
import { requireInside } from '#host/files/ownFiles.ts'
import { isRunFolder, openRunFolder, runPaths, type RunFolder } from '#host/workFolder/runFolder.ts'
import { workHolder } from '#host/workFolder/workFolder.ts'
import { readJsonObject } from '#host/files/strictJson.ts'

export interface ResumeTarget {
  readonly run: RunFolder
  /** null: the run has none, so it begins again. */
  readonly checkpoint: CheckpointEntry | null
  /** Newer ones that are not whole. */
  readonly passedOver: readonly DamagedCheckpoint[]
}

/**
 * A run with its last whole checkpoint, or the one whose folder was given. Errors: AppError 'run/not-found';
 * 'checkpoint/invalid' when none of those it has can be used.
 */
export function resolveResume(dataDirectory: string, target: string): ResumeTarget {
  if (!isCheckpoint(target)) {
    const run = openRunFolder(dataDirectory, target)
    if (workHolder(run.directory) === null) repairCheckpoints(run.directory)
    return { run, ...lastToResume(run) }
  }
  const directory = path.resolve(target)
  const runDirectory = path.dirname(path.dirname(directory))
  if (!isRunFolder(runDirectory)) {
    throw new AppError(
      'run/not-found',
      `The checkpoint ${directory} is not in the folder of a run.`,
      'Copied checkpoints can be exported and scored, but only their own run can resume from them.',
    )
  }
  const { trainer } = loadCheckpoint(directory)
  const { entries } = surveyCheckpoints(runDirectory)
  const checkpoint = entries.find((entry) => entry.step === trainer.step)
  if (checkpoint?.directory !== directory) {
    throw new AppError(
      'run/not-found',
      `The folder ${directory} is not named like a checkpoint of its run.`,
      `It is of step ${trainer.step}; give the folder that was written for that step.`,
    )
  }
  return { run: openRunFolder(dataDirectory, runDirectory), checkpoint, passedOver: [] }
}

function lastToResume(run: RunFolder): Omit<ResumeTarget, 'run'> {
  const found = lastWhole(run.directory)
  const [newest] = found.passedOver.toReversed()
  if (found.checkpoint !== null || newest === undefined) return found
  throw new AppError(
    'checkpoint/invalid',
    `The run ${run.id} cannot be resumed: ${noneWhole(found.passedOver.length)}. ${newest.problem}`,
    'Nothing was changed. Train the same config again; the same seed gives the same run.',
  )
}

const noneWhole = (count: number): string =>
  count === 1 ? 'its only checkpoint cannot be used' : `none of its ${count} checkpoints can be used`

/** Returns the newest intact checkpoint, whose every file is as it was written, and the newer ones that are damaged. */
function lastWhole(runDirectory: string): Omit<ResumeTarget, 'run'> {
  const { entries, damaged } = surveyCheckpoints(runDirectory)
  const passedOver: DamagedCheckpoint[] = []
  for (const entry of entries.toReversed()) {
    const problem = checkpointProblem(entry.directory)
    if (problem === null) {
      const isNewer = ({ step }: DamagedCheckpoint) => step > entry.step
      return { checkpoint: entry, passedOver: inOrder([...passedOver, ...damaged.filter(isNewer)]) }
    }
    passedOver.push({ step: entry.step, directory: entry.directory, problem })
  }
  return { checkpoint: null, passedOver: inOrder([...passedOver, ...damaged]) }
}

const inOrder = (damaged: readonly DamagedCheckpoint[]): DamagedCheckpoint[] =>
  damaged.toSorted((a, b) => a.step - b.step)

/** Says where the run resumes instead, in a sentence or two; null when nothing was passed over. */
export function fallBackSentence({ checkpoint, passedOver }: Omit<ResumeTarget, 'run'>): string | null {
  const [newest] = passedOver.toReversed()
  if (newest === undefined || checkpoint === null) return null
  return `The checkpoint of step ${newest.step} cannot be used, so the run resumes from step ${checkpoint.step}, the last complete one. ${newest.problem}`
}

export const checkpointChoices = ['last', 'best'] as const
export type CheckpointChoice = (typeof checkpointChoices)[number]

export interface ChosenCheckpoint {
  readonly directory: string
  /** Sentence saying that a newer one could not be used; null when it is what was asked for. */
  readonly fallBack: string | null
}

/**
 * The checkpoint to export: the given one, a promoted adapter of that name, or the chosen one of the given run. Errors: AppError
 * 'run/not-found'.
 */
export function resolveCheckpoint(
  dataDirectory: string,
  target: string,
  choice: CheckpointChoice,
): ChosenCheckpoint {
  if (isCheckpoint(target)) return { directory: path.resolve(target), fallBack: null }
  const promoted = path.join(dataFolders(dataDirectory).adapters, target)
  if (path.basename(target) === target && isCheckpoint(promoted))
    return { directory: promoted, fallBack: null }
  const run = openRunFolder(dataDirectory, target)
  return choice === 'best' ? chooseBest(run) : chooseLast(run)
}

/**
 * Returns the step of a run's checkpoint by its name: a number, `best`, `last`; null for `base`, the model without it.
 * Errors: AppError 'run/not-found', 'usage/invalid'.
 */
export function checkpointStep(dataDirectory: string, target: string, wanted: string): number | null {
  if (wanted === 'base') return null
  if (/^\d+$/.test(wanted)) return Number(wanted)
  const choice = checkpointChoices.find((each) => each === wanted)
  if (choice === undefined) {
    throw usageError(`“${wanted}” is no checkpoint.`, 'Give a step, best, last or base.')
  }
  return loadCheckpoint(resolveCheckpoint(dataDirectory, target, choice).directory).trainer.step
}

function chooseLast(run: RunFolder): ChosenCheckpoint {
  const found = lastWhole(run.directory)
  const [newest] = found.passedOver.toReversed()
  if (found.checkpoint === null) {
    throw new AppError(
      'run/not-found',
      newest === undefined
        ? `The run ${run.id} has no checkpoint.`
        : `The run ${run.id} has no complete checkpoint. ${newest.problem}`,
    )
  }
  const { directory, step } = found.checkpoint
  const fallBack =
    newest === undefined
      ? null
      : `The checkpoint of step ${newest.step} cannot be used, so this is step ${step}, the last complete one. ${newest.problem}`
  return { directory, fallBack }
}

function chooseBest(run: RunFolder): ChosenCheckpoint {
  const metric = rankingOf(run.directory)
  const { entries, damaged } = surveyCheckpoints(run.directory)
  const best = bestCheckpoint(entries, metric)
  if (best !== null) return { directory: best.directory, fallBack: null }
  if (entries.length + damaged.length === 0)
    throw new AppError('run/not-found', `The run ${run.id} has no checkpoint.`)
  throw new AppError(
    'run/not-found',
    metric === defaultRanking
      ? `No checkpoint of the run ${run.id} has an eval reward.`
      : `No checkpoint of the run ${run.id} has a value of ${metric}, which its config ranks them by.`,
    'Use the last one with --checkpoint last.',
  )
}

const rankingConfig = z.object({ checkpoints: z.object({ bestBy: z.string() }) })

/** The metric the run's own config ranks its checkpoints by. */
export function rankingOf(runDirectory: string): string {
  const { config } = runPaths(runDirectory)
  if (!existsSync(config)) return defaultRanking
  requireInside(config, runDirectory)
  const parsed = rankingConfig.safeParse(readJsonObject(config, 'config/invalid'))
  return parsed.success ? parsed.data.checkpoints.bestBy : defaultRanking
}

/** Folder of the checkpoint of a step. Errors: AppError 'run/not-found'. */
export function checkpointDirectory(run: Pick<RunEntry, 'id' | 'directory'>, step: number): string {
  const { entries } = surveyCheckpoints(run.directory)
  const found = entries.find((checkpoint) => checkpoint.step === step)
  if (found === undefined) throw noCheckpoint(run.id, step)
  return found.directory
}

export const noCheckpoint = (runId: string, step: number): AppError =>
  new AppError(
    'run/not-found',
    `The run ${runId} has no checkpoint of step ${step}.`,
    'It may have been removed to save space; choose one that is listed.',
  )
