/**
 * What scripts and programs import from `turnwise`: the run as a script sees it, and runs without a command line. Losses, rewards
 * and workflows import names of the same module inside the sandbox (host/sandbox).
 */
import path from 'node:path'
import type { RunEvent } from '#shared/events.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import type { TrainingScript } from '#rl/training/script.ts'
import { dataFolders, resolveDataDirectory } from '#host/dataDirectory.ts'
import { createRunFolder } from '#host/runs/runFolder.ts'
import { requireKnownParts, requireWorkingCode, withAbsolutePaths } from '#host/runs/runConfigFile.ts'
import { createControl, runTraining } from '#host/training/entry.ts'

export { withReward } from '#rl/training/script.ts'
export type { ScriptRollout, ScriptRun, TrainingScript } from '#rl/training/script.ts'
export type { RunEvent } from '#shared/events.ts'
export type { Metrics } from '#shared/metrics.ts'
export type { Prompt } from '#rl/rollout/prompts.ts'
export type { Trajectory } from '#rl/rollout/trajectory.ts'

export interface TrainOptions {
  /** The data directory with the history; absent: as for the command line. */
  readonly dataDirectory?: string
  /** Relative paths in the config are resolved against this folder; absent: the working directory. */
  readonly baseDirectory?: string
  /** Runs the steps; absent: the run's own loop does, as from the command line. */
  readonly script?: TrainingScript
  /** Aborted: the run ends after the current step, with a checkpoint. */
  readonly signal?: AbortSignal
}

/**
 * Trains in this process, and yields what happens as it happens; the run is in the history like any other. `config`: as in a
 * file. Errors: AppError 'config/invalid', 'data/…', 'model/…' and what a run can end with.
 */
export async function* train(config: unknown, options: TrainOptions = {}): AsyncGenerator<RunEvent> {
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
