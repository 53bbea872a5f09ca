/**
 * Changes a run's settings while it waits: the settings at each step, and the conditions for new changes. They are in
 * the run's log, written by the process that takes the run up: a `settings-changed` event holds all changes of the run so far,
 * and the last one counts even where a resume gave it up, so a kill at any moment neither loses nor halves a change.
 */
import {
  fixedProblems,
  readChanges,
  settingsAfter,
  withMadeChanges,
  type SettingChange,
} from '#shared/config/changes.ts'
import { bare } from '#shared/config/fields.ts'
import { isEqual, valueAt, type JsonObject } from '#shared/config/paths.ts'
import { conflict, refuse } from '#shared/config/problems.ts'
import { ConfigError, type Problem, refusal } from '#shared/errors.ts'
import { parseRunConfig, stagesOf, type RunConfig } from '#shared/runConfig.ts'
import { commandWord } from '#shared/shownText.ts'
import type { AlgorithmById } from '#rl/algorithms/registry.ts'
import type { AskText } from '#host/models/textQuestion.ts'
import { resolveAlgorithms } from '#host/code/resolveAlgorithms.ts'
import { isCheckpoint, readState } from '#host/workFolder/checkpointState.ts'
import { lastEvent } from '#host/workFolder/eventLog.ts'
import { requireKnownParts } from './runConfigFile.ts'
import { readOwnConfig, runPaths, type RunFolder } from '#host/workFolder/runFolder.ts'
import { resolveResume } from './runTarget.ts'
import { verdictOf } from './runVerdict.ts'

/** Reads the settings changes in the run's folder, in the order of their steps. Errors: AppError 'file/unreadable'. */
export const changesOfRun = (directory: string): readonly SettingChange[] =>
  readChanges(lastEvent(runPaths(directory).events, 'settings-changed'))

/** The settings with which a run goes on after a step. Errors: AppError 'config/invalid', 'file/unreadable'. */
export const settingsOfRun = (directory: string, step: number): JsonObject =>
  settingsAfter(readOwnConfig(directory), changesOfRun(directory), step)

/** The config of a run after a step. Errors: as `settingsOfRun`. */
export const configOfRun = (directory: string, step: number): RunConfig =>
  parseRunConfig(settingsOfRun(directory, step))

/** Changes that can be made. */
export interface PlannedChanges {
  /** Steps completed; they apply from the next one on. */
  readonly step: number
  /** Changes without those that have no effect. */
  readonly made: readonly SettingChange[]
  /** Changes of the run, including the new ones. */
  readonly changes: readonly SettingChange[]
  /** Length of the run with them. */
  readonly steps: number
  /** Settings that work but are probably not meant, and were not so before. */
  readonly warnings: readonly Problem[]
}

/**
 * Checks changes as a new config is checked. `target`: a run, or the folder of one of its checkpoints. Errors: ConfigError for
 * settings that cannot change or values that cannot be; AppError 'api/refused' for a trial of a study or a run of another trainer; those of
 * `resolveResume` and `verdictOf`.
 */
export async function planChanges(
  { dataDirectory, askText }: { readonly dataDirectory: string; readonly askText: AskText },
  target: string,
  wanted: JsonObject,
): Promise<PlannedChanges> {
  const { run, checkpoint } = resolveResume(dataDirectory, target)
  requireOwnSettings(run)
  const own = readOwnConfig(run.directory)
  requireTrainedHere(own)
  requireChangeable(own, wanted)
  const { step, stage } = placeOf(run, checkpoint?.directory ?? null)
  const known = changesOfRun(run.directory)
  // Settings changed here before and changed again were never trained with.
  const others = known.filter((change) => change.step < step || !(change.key in wanted))
  const before = settingsAfter(own, others, step)
  const current = parseRunConfig(before)
  await using algorithms = await resolveAlgorithms(current, run.directory)
  const asked = Object.entries(wanted).map(([key, to]) => {
    const from = settingAt(before, key, algorithms.byId)
    return { step, key, from, to }
  })
  const changes = withMadeChanges(known, step, asked)
  const next = parseRunConfig(settingsAfter(own, changes, step))
  requireEffect(asked, { current, next, stage })
  const verdictFor = async (config: RunConfig) => {
    await using own = await resolveAlgorithms(config, run.directory)
    requireKnownParts(config)
    return await verdictOf(config, own.byId, dataDirectory, askText)
  }
  const { warnings: former } = await verdictFor(current)
  const { steps, warnings } = await verdictFor(next)
  requireFurther(next, steps, step)
  // Changes made for later steps still apply.
  for (const later of changes.filter((change) => change.step > step))
    await verdictFor(parseRunConfig(settingsAfter(own, changes, later.step)))
  return {
    step,
    changes,
    steps,
    made: asked.filter(({ from, to }) => !isEqual(from, to)),
    warnings: warnings.filter((warning) => !former.some((old) => isEqual(old, warning))),
  }
}

/** Errors: AppError 'api/refused' for a trial of a study. */
function requireOwnSettings({ id, study }: RunFolder): void {
  if (study === null) return
  throw refusal('This run is a trial of a study, and its settings belong to the study.', {
    text: 'Fork one of its checkpoints to train on with others.',
    command: `turnwise fork ${commandWord(id)}`,
  })
}

/** Refuses changes to a run of another trainer, which goes on with the settings of its project. */
function requireTrainedHere(own: JsonObject): void {
  if ((valueAt(own, 'engine.kind') ?? 'local') === 'local') return
  throw refusal(
    'Another trainer trains this run, with the settings that it began with.',
    'Nothing was changed. Start a new run with other settings, and with `adapter.initial` set to a checkpoint of this one.',
  )
}

function requireChangeable(own: JsonObject, wanted: JsonObject): void {
  const problems = fixedProblems(own, wanted)
  if (problems.length === 0) return
  throw new ConfigError(
    problems,
    'Nothing was changed. A fork of a checkpoint can change most settings, a new run all of them.',
  )
}

/**
 * Returns the place where the run goes on: after the checkpoint, or, for a fork that has none yet, after the one it
 * began with.
 */
function placeOf(
  run: RunFolder,
  resumeFrom: string | null,
): { readonly step: number; readonly stage: number } {
  const { origin } = runPaths(run.directory)
  const place = resumeFrom ?? (isCheckpoint(origin) ? origin : null)
  return place === null ? { step: 0, stage: 0 } : readState(place).trainer
}

/** Returns the value of a setting; for a setting of the algorithm that the config leaves out, its default. */
function settingAt(config: JsonObject, key: string, byId: AlgorithmById): unknown {
  const given = valueAt(config, key)
  const [, name] = /^algorithm\.settings\.(\w+)$/.exec(key) ?? []
  if (given !== undefined || name === undefined) return given ?? null
  const schema = byId(String(valueAt(config, 'algorithm.id'))).settings[name]
  return (schema && bare(schema).default) ?? null
}

interface Places {
  readonly current: RunConfig
  readonly next: RunConfig
  readonly stage: number
}

/** A stage may have a value of its own. */
function requireEffect(asked: readonly SettingChange[], { current, next, stage }: Places): void {
  if (next.stages.length === 0) return
  const at = (config: RunConfig, key: string) => valueAt(stagesOf(config)[stage], key)
  const idle = asked.filter(
    ({ key, from, to }) => !isEqual(from, to) && isEqual(at(current, key), at(next, key)),
  )
  refuse(
    idle.map(({ key }) => conflict(key, 'the stage that the run is in has a value of its own.')),
    stage,
  )
}

function requireFurther({ steps: own, stages }: RunConfig, steps: number, step: number): void {
  if (stages.length > 0 || steps > step) return
  const [key, value] = own === null ? ['passes', `${steps} steps long`] : ['steps', String(own)]
  throw new ConfigError([
    conflict(key, `${value}, but ${step} steps are completed: the run would have nothing left to do.`),
  ])
}
