/** Forks: a new run that goes on from a checkpoint of another, with some settings changed. */
import { existsSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import path from 'node:path'
import { withChanges, type JsonObject } from '#shared/config/paths.ts'
import { conflict } from '#shared/config/problems.ts'
import { AppError, ConfigError } from '#shared/errors.ts'
import { parseRunConfig, type RunConfig } from '#shared/runConfig.ts'
import { loadCheckpoint } from './checkpoints.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { actorName, adapterForModel, readAdapter } from '#host/adapters/peft.ts'
import { createRunFolder, isRunFolder, openRunFolder, runPaths, type RunFolder } from './runFolder.ts'
import { readJsonObject } from '#host/files/strictJson.ts'
import { requireKnownParts, withAbsolutePaths } from './runConfigFile.ts'

export interface ForkRequest {
  readonly dataDirectory: string
  /** Folder of a checkpoint in the folder of its run. */
  readonly checkpoint: string
  /** By dotted key. */
  readonly changes: JsonObject
  /** Relative paths among the changes are meant from here. */
  readonly baseDirectory: string
}

/**
 * Makes the folder of a run that has the parent's config with `changes` and counts its steps on from the checkpoint, of
 * which it keeps a copy: with no changes it would do what its parent does from there on. Adapter, reference, data cursor
 * and schedule are the checkpoint's, the optimizer's moments too unless `checkpoints.load.optimizer` is false.
 * Errors: AppError 'run/not-found', 'checkpoint/invalid', 'config/invalid', 'adapter/invalid', 'file/…'.
 */
export function forkRun({ dataDirectory, checkpoint, changes, baseDirectory }: ForkRequest): RunFolder {
  const directory = path.resolve(checkpoint)
  const parent = parentOf(dataDirectory, directory)
  const { step } = loadCheckpoint(directory).trainer
  const before = readJsonObject(runPaths(parent.directory).config, 'config/invalid')
  const changed = parseRunConfig(withChanges(before, changes))
  requireKnownParts(changed)
  const config = withAbsolutePaths(changed, baseDirectory, dataDirectory)
  const former = parseRunConfig(before)
  requireSameAdapter(former, config, directory)
  requireFurther(config, step)
  return createRunFolder(dataDirectory, config, {
    parent: { runId: parent.id, step },
    checkpoint: directory,
    rewards: isDeepStrictEqual(codeOf(former), codeOf(config)) ? rewardsOf(parent) : null,
  })
}

/** What may be code of the user. */
const codeOf = ({ rewards, environment }: RunConfig) => ({ rewards, environment })

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
    'To begin a new run with a copied checkpoint, name it as adapter.initial in a config.',
  )
}

/** The adapter is the checkpoint's, so that its form cannot change; another model must have places for it. */
function requireSameAdapter(before: RunConfig, after: RunConfig, checkpoint: string): void {
  if (!isDeepStrictEqual(before.adapter, after.adapter)) {
    throw new ConfigError(
      [
        conflict(
          'adapter',
          'a fork goes on with the adapter of its checkpoint, so that none of these can change.',
        ),
      ],
      `Start a new run with adapter.initial ${checkpoint} and adapter.mergeConfigs true.`,
    )
  }
  if (before.model === after.model) return
  const { config } = openModelFolder(after.model, after)
  adapterForModel(readAdapter(path.join(checkpoint, actorName)), config, checkpoint)
}

function requireFurther({ steps: own, stages }: RunConfig, step: number): void {
  const steps = stages.length === 0 ? own : null
  if (steps === null || steps > step) return
  throw new ConfigError([
    conflict('steps', `${steps}, but the checkpoint is of step ${step}; set a larger number.`),
  ])
}
