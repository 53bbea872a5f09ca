/** What programs and scripts import from `turnwise`. */
import path from 'node:path'
import type { RunEvent } from '#shared/events.ts'
import { parseRunConfig, type RunConfigInput } from '#shared/runConfig.ts'
import type { TrainingScript } from '#rl/training/script.ts'
import { appVersion, dataFolders, resolveDataDirectory } from '#host/dataDirectory.ts'
import { createRunFolder } from '#host/runs/runFolder.ts'
import { requireKnownParts, requireWorkingCode, withAbsolutePaths } from '#host/runs/runConfigFile.ts'
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

/** Where a run is kept, and who takes its steps. */
export interface TrainOptions {
  /** Where the history is kept; as for the command line if absent. */
  readonly dataDirectory?: string
  /** Relative paths in the config are meant from here; the working directory if absent. */
  readonly baseDirectory?: string
  /** Takes the steps; absent: the run takes them as from the command line. */
  readonly script?: TrainingScript
  /** Aborted: the run ends after the current step, with a checkpoint. */
  readonly signal?: AbortSignal
}

/**
 * Trains in this process, and yields what happens as it happens. The run is in the history like any other: the window shows it,
 * `turnwise resume` goes on with one that was left. Errors: AppError `config/invalid`, `data/…`, `model/…` and what a run can end
 * with, such as `run/diverged`.
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
  const dataDirectory = resolveDataDirectory(options.dataDirectory)
  const base = path.resolve(options.baseDirectory ?? '.')
  const parsed = parseRunConfig(config)
  requireKnownParts(parsed)
  const resolved = withAbsolutePaths(parsed, base, dataDirectory)
  await requireWorkingCode(resolved)
  const { directory } = createRunFolder(dataDirectory, resolved)
  const control = createControl()
  options.signal?.addEventListener('abort', () => control.stop(), { once: true })
  const { cache: cacheDirectory } = dataFolders(dataDirectory)
  const request = { runDirectory: directory, cacheDirectory, resumeFrom: null }
  yield* runTraining(request, control, options.script ?? null)
}

/** Of the package, such as `0.1.0`. */
export const version: string = appVersion()
