/** What a person means by RUN or CHECKPOINT on the command line. */
import path from 'node:path'
import { AppError } from '#shared/errors.ts'
import {
  bestCheckpoint,
  isCheckpoint,
  listCheckpoints,
  loadCheckpoint,
  type CheckpointEntry,
} from './checkpoints.ts'
import { isRunFolder, openRunFolder, type RunFolder } from './runFolder.ts'

export interface ResumeTarget {
  readonly run: RunFolder
  /** null: the run has none, so it begins again. */
  readonly checkpoint: CheckpointEntry | null
}

/** A run with its last whole checkpoint, or the one whose folder was given. Errors: AppError 'run/not-found'. */
export function resolveResume(dataDirectory: string, target: string): ResumeTarget {
  if (!isCheckpoint(target)) {
    const run = openRunFolder(dataDirectory, target)
    return { run, checkpoint: lastWhole(listCheckpoints(run.directory)) }
  }
  const directory = path.resolve(target)
  const runDirectory = path.dirname(path.dirname(directory))
  if (!isRunFolder(runDirectory)) {
    throw new AppError(
      'run/not-found',
      `The checkpoint ${directory} does not lie in the folder of a run.`,
      'Copied checkpoints can be exported and scored, but only the run they belong to can go on from them.',
    )
  }
  const { trainer, reward } = loadCheckpoint(directory)
  return {
    run: openRunFolder(dataDirectory, runDirectory),
    checkpoint: { step: trainer.step, reward, directory },
  }
}

/** The newest checkpoint whose every file is as it was written. */
function lastWhole(entries: readonly CheckpointEntry[]): CheckpointEntry | null {
  return entries.findLast(({ directory }) => isWhole(directory)) ?? null
}

function isWhole(directory: string): boolean {
  try {
    loadCheckpoint(directory)
    return true
  } catch (error) {
    if (error instanceof AppError) return false
    throw error
  }
}

export const checkpointChoices = ['last', 'best'] as const
export type CheckpointChoice = (typeof checkpointChoices)[number]

/** Folder of the checkpoint to export: the given one, or the chosen one of the given run. */
export function resolveCheckpoint(dataDirectory: string, target: string, choice: CheckpointChoice): string {
  if (isCheckpoint(target)) return path.resolve(target)
  const run = openRunFolder(dataDirectory, target)
  const entries = listCheckpoints(run.directory)
  const chosen = choice === 'best' ? bestCheckpoint(entries) : lastWhole(entries)
  if (chosen !== null) return chosen.directory
  throw new AppError(
    'run/not-found',
    entries.length === 0
      ? `The run ${run.id} has no checkpoint.`
      : `No checkpoint of the run ${run.id} has a held-out reward.`,
    entries.length === 0 ? undefined : 'Use the last one with --checkpoint last.',
  )
}
