/** The public API: everything that programs and scripts import from `turnwise`. */
import path from 'node:path'
import type { RunEvent } from '#shared/events.ts'
import { parseRunConfig, type RunConfigInput } from '#shared/runConfig.ts'
import type { TrainingScript } from '#rl/training/script.ts'
import { appVersion, dataFolders } from '#host/dataDirectory.ts'
import { ownDataDirectory } from '#host/files/ownFiles.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { createRunFolder } from '#host/workFolder/runFolder.ts'
import { requireKnownParts, requireWorkingCode, withAbsolutePaths } from '#host/runs/runConfigFile.ts'
import { resolveResume } from '#host/runs/runTarget.ts'
import { createControl, runTraining } from '#host/training/entry.ts'

export * from './code.ts'
export { AppError } from '#shared/errors.ts'
export { withReward } from '#rl/training/script.ts'
export { openPolicy, rollout } from './policy.ts'
export { evaluate } from './evaluation.ts'
export type { RunConfig, RunConfigInput } from '#shared/runConfig.ts'
export type { RunEvent } from '#shared/events.ts'
export type { Metrics } from '#shared/metrics.ts'
export type { ScriptRollout, ScriptRun, TrainingScript } from '#rl/training/script.ts'
export type { Stats } from '#rl/training/stats.ts'
export type { DataRow, Prompt } from '#rl/rollout/prompts.ts'
export type { Reward, Trajectory } from '#rl/rollout/trajectory.ts'
export type { AnsweredCompletion, Question } from '#host/models/completing.ts'
export type { Scores } from '#host/models/scoring.ts'
export type {
  GenerateOptions,
  JudgingConfig,
  ModelSubject,
  Policy,
  PolicyOptions,
  RolloutOptions,
  RunSubject,
} from './policy.ts'
export type { EvaluateOptions, EvaluatedRow, EvaluatedSample, Evaluation } from './evaluation.ts'

/** Storage of a run, and the script that runs its steps. */
export interface TrainOptions {
  /** The data directory with the history; absent: as for the command line. */
  readonly dataDirectory?: string
  /** Relative paths in the config are resolved against this folder; absent: the working directory. */
  readonly baseDirectory?: string
  /** Runs the steps; absent: the run's own loop does, as from the command line. */
  readonly script?: TrainingScript
  /** Aborting it ends the run after the current step, with a checkpoint. */
  readonly signal?: AbortSignal
}

/**
 * Trains in this process and yields events as they happen. The run is recorded in the history like any other, so the window shows
 * it. A stopped run continues with `resume` or, if it has no script, with `turnwise resume`. Errors: AppError `config/invalid`,
 * `data/…`, `model/…` and whatever can end a run, such as `run/diverged`.
 *
 * @example
 * ```ts
 * import { train } from 'turnwise'
 *
 * const config = {
 *   model: 'starter',
 *   data: { train: 'sums.jsonl', prompt: { messages: [{ role: 'user', content: '{prompt}' }] } },
 *   rewards: [{ function: 'exact-match' }],
 *   rollout: { promptsPerStep: 4, groupSize: 4, maxNewTokens: 16 },
 *   steps: 3,
 * }
 * for await (const event of train(config)) {
 *   if (event.type === 'step') console.log(event.step, event.metrics.reward, event.metrics.kl)
 *   if (event.type === 'checkpoint-saved') console.log(event.directory)
 * }
 * ```
 */
export async function* train(
  config: RunConfigInput,
  options: TrainOptions = {},
): AsyncGenerator<RunEvent, void, void> {
  const dataDirectory = ownDataDirectory(options.dataDirectory)
  const base = path.resolve(options.baseDirectory ?? '.')
  const parsed = parseRunConfig(config)
  requireKnownParts(parsed)
  const resolved = withAbsolutePaths(parsed, base, dataDirectory)
  await requireWorkingCode(resolved, dataDirectory)
  const script = options.script === undefined ? null : { file: null, sha256: null }
  const { directory } = createRunFolder(dataDirectory, resolved, { script })
  yield* events({ runDirectory: directory, resumeFrom: null }, options)
}

/**
 * Resumes a run that was stopped or killed from its last complete checkpoint, exactly as if it had never stopped; a run without a
 * checkpoint starts over. `run` is its id, an unambiguous beginning or end of the id, its folder, or the folder of one of its
 * checkpoints. A run started with `script` needs the same function again, which receives the state it yielded last. Errors: those of
 * `train`; AppError `run/not-found`, `run/busy` if another process is training it, `script/failed` if the function is missing.
 *
 * @example
 * ```ts
 * import { resume, train } from 'turnwise'
 *
 * const config = {
 *   model: 'starter',
 *   data: { train: 'sums.jsonl', prompt: { messages: [{ role: 'user', content: '{prompt}' }] } },
 *   rewards: [{ function: 'exact-match' }],
 *   rollout: { promptsPerStep: 4, groupSize: 4, maxNewTokens: 16 },
 *   steps: 2,
 * }
 * const stop = new AbortController()
 * let checkpoint = ''
 * for await (const event of train(config, { signal: stop.signal })) {
 *   if (event.type === 'step') stop.abort()
 *   if (event.type === 'checkpoint-saved') checkpoint = event.directory
 * }
 * for await (const event of resume(checkpoint)) if (event.type === 'step') console.log(event.step)
 * ```
 */
export async function* resume(
  run: string,
  options: Omit<TrainOptions, 'baseDirectory'> = {},
): AsyncGenerator<RunEvent, void, void> {
  const target = resolveResume(ownDataDirectory(options.dataDirectory), run)
  const resumeFrom = target.checkpoint?.directory ?? null
  yield* events({ runDirectory: target.run.directory, resumeFrom }, options)
}

async function* events(
  place: { readonly runDirectory: string; readonly resumeFrom: string | null },
  { dataDirectory, script, signal }: TrainOptions,
): AsyncGenerator<RunEvent, void, void> {
  const control = createControl()
  if (signal?.aborted === true) control.stop()
  signal?.addEventListener('abort', () => control.stop(), { once: true })
  const resolved = ownDataDirectory(dataDirectory)
  const { cache: cacheDirectory } = dataFolders(resolved)
  const consents = consentsFile(resolved)
  yield* runTraining({ ...place, cacheDirectory, consents }, control, script ?? null)
}

/** The version of the package, such as `0.1.0`. */
export const version: string = appVersion()
