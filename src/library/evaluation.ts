/** Evaluations that are stored in the history and can be compared with all others. */
import path from 'node:path'
import type { EvaluatedPrompt, EvaluationEntry, EvaluationSummary } from '#shared/api/evaluations.ts'
import { AppError } from '#shared/errors.ts'
import type { Estimate } from '#shared/statistics.ts'
import { createHost } from '#host/createHost.ts'
import { ownDataDirectory } from '#host/files/ownFiles.ts'
import type { Host } from '#host/host.ts'
import { openRunFolder } from '#host/workFolder/runFolder.ts'
import { checkpointStep } from '#host/runs/runTarget.ts'
import type { JudgingConfig, ModelSubject, RunSubject } from './policy.ts'

/** Options of an evaluation: which rows, and how to sample. */
export interface EvaluateOptions {
  /** Completions per prompt, or episodes per row. Default: 1. */
  readonly samples?: number
  /** Always take the most probable token; absent: only with one sample. */
  readonly greedy?: boolean
  /** Number of rows to draw, with the config's seed; absent: all. */
  readonly limit?: number
  /** The smallest reward that passes; absent: the metric `correct` decides or, without it, a reward of 1. */
  readonly passAt?: number
  /** Relative paths in the config are resolved against this folder; absent: the working directory. */
  readonly baseDirectory?: string
  /** The data directory with the history; absent: as for the command line. */
  readonly dataDirectory?: string
  /** Aborting it keeps the finished prompts and ends with the error `run/stopped`. */
  readonly signal?: AbortSignal
}

/** The result of an evaluation. Means are over prompts; intervals are 95 % confidence intervals. */
export interface Evaluation {
  /** Id for `turnwise evaluations compare A B`. */
  readonly id: string
  /** Mean over prompts of the mean over samples; null if no sample got a reward. */
  readonly reward: Estimate | null
  /** pass@k: the chance that at least one of k samples passes. */
  readonly pass: readonly (Estimate & { readonly k: number })[]
  /** Prompts and samples that got a reward. */
  readonly prompts: number
  readonly samples: number
  /** Samples without a reward, and failed calls of reward functions. */
  readonly unscored: number
  readonly failures: number
  /** Mean of each reward function by name; null if it never applied. */
  readonly parts: Readonly<Record<string, number | null>>
  /** Share of truncated completions, and mean length in tokens. */
  readonly truncated: number | null
  readonly tokens: number | null
  /** Every row with its completions. */
  readonly rows: readonly EvaluatedRow[]
}

/** A row with its completions. */
export interface EvaluatedRow {
  /** Index in the data, from 0. */
  readonly row: number
  readonly columns: Readonly<Record<string, unknown>>
  /** The prompt as the policy read it. */
  readonly prompt: string
  readonly samples: readonly EvaluatedSample[]
}

/** A completion, or an episode. */
export interface EvaluatedSample {
  readonly completion: string
  /** Weighted sum; null if no reward function applies. */
  readonly reward: number | null
  /** Unweighted result of each reward function by name. */
  readonly parts: Readonly<Record<string, number | null>>
  /** Generated tokens. */
  readonly tokens: number
  readonly truncated: boolean
}

/**
 * Evaluates a model, an adapter or a checkpoint on rows or in an environment, in a process of its own. The result is stored in the
 * history like that of `turnwise evaluate`. For a checkpoint of a run, sections missing in the config are taken from the run. Errors:
 * AppError `config/invalid`, `data/invalid`, `model/…`, `run/not-found`, `run/stopped`, and those of rewards and environments.
 *
 * @example
 * ```ts
 * import { evaluate } from 'turnwise'
 *
 * const { reward, rows } = await evaluate(
 *   { model: 'starter' },
 *   {
 *     data: { train: 'sums.jsonl', prompt: { messages: [{ role: 'user', content: '{prompt}' }] } },
 *     rewards: [{ function: 'exact-match' }],
 *   },
 *   { samples: 4 },
 * )
 * console.log(reward?.value, reward?.interval, rows[0]?.samples[0]?.completion)
 * ```
 */
export async function evaluate(
  subject: ModelSubject | RunSubject,
  config: JudgingConfig = {},
  options: EvaluateOptions = {},
): Promise<Evaluation> {
  const dataDirectory = ownDataDirectory(options.dataDirectory)
  await using host = createHost({ dataDirectory, servesQueue: false })
  const base = path.resolve(options.baseDirectory ?? '.')
  const asked = { config: { ...config }, subject: identified(subject, dataDirectory), ...askedOf(options) }
  const { id } = await host.evaluations.start(asked, { base, by: null })
  const entry = await ended(host, id, options.signal ?? new AbortController().signal)
  if (entry.status !== 'finished' || entry.summary === null) throw failureOf(entry)
  return resultOf(id, entry.summary, host.evaluations.answers(id).prompts)
}

const askedOf = ({ samples = 1, greedy, limit, passAt }: EvaluateOptions) => ({
  samples,
  limit: limit ?? null,
  passAt: passAt ?? null,
  ...(greedy === undefined ? {} : { greedy }),
})

function identified(subject: ModelSubject | RunSubject, dataDirectory: string) {
  if ('model' in subject) {
    const { model, adapter } = subject
    return { model, adapter: adapter === undefined ? null : path.resolve(adapter) }
  }
  const { run, checkpoint = 'last' } = subject
  const { id } = openRunFolder(dataDirectory, run)
  return { runId: id, step: checkpointStep(dataDirectory, run, String(checkpoint)) }
}

async function ended(
  { evaluations, notifier }: Host,
  id: string,
  signal: AbortSignal,
): Promise<EvaluationEntry> {
  const stop = () => evaluations.stop(id)
  signal.addEventListener('abort', stop, { once: true })
  try {
    if (signal.aborted) stop()
    for (;;) {
      const { notifications } = notifier
      const entry = evaluations.get(id)
      if (entry.status !== 'waiting' && entry.status !== 'running') return entry
      await notifier.after(notifications, new AbortController().signal)
    }
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

const failureOf = ({ error, id }: EvaluationEntry): AppError =>
  error === null
    ? new AppError('run/stopped', `The evaluation ${id} was stopped; finished prompts are kept.`)
    : new AppError(error.code ?? 'runtime/failed', error.message, error.hint ?? undefined)

function resultOf(id: string, summary: EvaluationSummary, rows: readonly EvaluatedPrompt[]): Evaluation {
  const { reward, pass, prompts, samples, unscored, failures, parts, truncated, tokens } = summary
  return { id, reward, pass, prompts, samples, unscored, failures, parts, truncated, tokens, rows }
}
