/** The teacher on this machine that `reference.model` names: who reads it, and how much it reads. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { AppError, ConfigError, type Hint } from '#shared/errors.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { ConfiguredAlgorithm } from '#rl/algorithms/types.ts'
import type { ReadingLimit } from '#rl/training/conflicts.ts'
import { adapterFolder, configName } from '#host/adapters/adapterFiles.ts'
import { openModelFolder } from './modelFolder.ts'

/** Returns the teacher of a stage, if its algorithm reads the reference; otherwise none is opened or obeyed. */
export const teachingOf = (
  { reference: { model, server } }: RunConfig,
  { needs }: Pick<ConfiguredAlgorithm, 'needs'>,
): Pick<RunConfig['reference'], 'model' | 'server'> =>
  needs.reference ? { model, server } : { model: null, server: null }

/**
 * Returns the longest sequence of a stage: that of its model, or of a teacher on this machine that scores it and reads
 * less. Errors: as `openingTeacher`.
 */
export function readingLimit<Facts extends ReadingLimit>(
  config: RunConfig,
  algorithm: Pick<ConfiguredAlgorithm, 'needs'>,
  model: Facts,
): Facts & ReadingLimit {
  const { model: teacher } = teachingOf(config, algorithm)
  if (teacher === null) return model
  const { contextLength } = openingTeacher(teacher, () => openModelFolder(teacher)).config
  return contextLength < model.contextLength
    ? { ...model, contextLength, teacher: path.basename(teacher) }
    : model
}

const remedy = 'Name a model with the same vocabulary, or put the files of this one back.'

/** Does what opens a teacher. Errors: ConfigError that blames `reference.model` and says what to do. */
export function openingTeacher<T>(teacher: string, open: () => T): T {
  try {
    return open()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const { hint, command } = adviceFor(teacher, error)
    const message = `the teacher cannot be opened: ${error.message} ${hint}`
    const problem = { path: 'reference.model', code: 'unusable', message, stage: null } as const
    throw new ConfigError([problem], command === undefined ? undefined : { command })
  }
}

/** Says what to do. An adapter cannot be chosen beside the base of a teacher, as it can beside that of a policy. */
function adviceFor(
  teacher: string,
  { hint, command }: AppError,
): { readonly hint: string; readonly command: Hint['command'] | undefined } {
  if (!existsSync(path.join(adapterFolder(teacher), configName))) return { hint: hint ?? remedy, command }
  return {
    hint: 'It is an adapter: name the folder of a model that it is merged into.',
    command: '`turnwise export RUN --format merged --out DIR` writes one of a run or a checkpoint.',
  }
}
