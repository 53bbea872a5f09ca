/** Evaluations that are kept: in the history, and comparable to all others. */
import path from 'node:path'
import type { EvaluatedPrompt, EvaluationEntry, EvaluationSummary } from '#shared/api/evaluations.ts'
import { AppError } from '#shared/errors.ts'
import type { Estimate } from '#shared/statistics.ts'
import { createHost } from '#host/createHost.ts'
import { resolveDataDirectory } from '#host/dataDirectory.ts'
import type { Host } from '#host/host.ts'
import { openRunFolder } from '#host/runs/runFolder.ts'
import { checkpointStep } from '#host/runs/runTarget.ts'
import type { JudgingConfig, ModelSubject, RunSubject } from './policy.ts'

/** Which rows are evaluated, and how. */
export interface EvaluateOptions {
  /** Completions of each prompt, or episodes of each row; 1 if absent. */
  readonly samples?: number
  /** Takes the likeliest token every time; with one sample if absent. */
  readonly greedy?: boolean
  /** That many rows, drawn with the seed; all if absent. */
  readonly limit?: number
  /** The smallest reward that passes; what the metric `correct` says, else 1, if absent. */
  readonly passAt?: number
  /** Relative paths in the config are meant from here; the working directory if absent. */
  readonly baseDirectory?: string
  /** Where the history is kept; as for the command line if absent. */
  readonly dataDirectory?: string
  /** Aborted: what is answered so far is kept, and the error is `run/stopped`. */
  readonly signal?: AbortSignal
}

/** What an evaluation came to. Means are over prompts, intervals of 95 %. */
export interface Evaluation {
  /** For `turnwise evaluations compare A B`. */
  readonly id: string
  /** Mean over prompts of the mean of their samples; null where nothing got a reward. */
  readonly reward: Estimate | null
  /** Of `samples` completions, k drawn: the chance that one passes. */
  readonly pass: readonly (Estimate & { readonly k: number })[]
  /** With a reward. */
  readonly prompts: number
  readonly samples: number
  /** Samples without a reward, and reward functions that failed. */
  readonly unscored: number
  readonly failures: number
  /** Mean of each reward function, by name; null where it never applied. */
  readonly parts: Readonly<Record<string, number | null>>
  /** Share of the completions that a limit cut off, and their mean length in tokens. */
  readonly truncated: number | null
  readonly tokens: number | null
  /** What was answered, row by row. */
  readonly rows: readonly EvaluatedRow[]
}

/** A row with what was answered. */
export interface EvaluatedRow {
  /** Its number in the data, from 0. */
  readonly row: number
  readonly columns: Readonly<Record<string, unknown>>
  /** What the policy read. */
  readonly prompt: string
  readonly samples: readonly EvaluatedSample[]
}

/** One completion, or an episode. */
export interface EvaluatedSample {
  readonly completion: string
  /** Weighted sum; null where no reward function applies. */
  readonly reward: number | null
  /** Unweighted answer of each reward function, by name. */
  readonly parts: Readonly<Record<string, number | null>>
  /** Generated tokens. */
  readonly tokens: number
  readonly truncated: boolean
}

/**
 * Evaluates a model, an adapter or a checkpoint on rows or in an environment, in a process of its own; the result is kept in the
 * history as that of `turnwise evaluate`. Of a run's checkpoint, sections that the config leaves out are as in the run. Errors:
 * AppError `config/invalid`, `data/invalid`, `model/…`, `run/not-found`, `run/stopped`, and what answering or judging failed with.
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
  const dataDirectory = resolveDataDirectory(options.dataDirectory)
  await using host = createHost({ dataDirectory, servesQueue: false })
  const base = path.resolve(options.baseDirectory ?? '.')
  const asked = { config: { ...config }, subject: identified(subject, dataDirectory), ...askedOf(options) }
  const { id } = await host.evaluations.start(asked, { base, by: null })
  const entry = await ended(host, id, options.signal ?? new AbortController().signal)
  if (entry.status !== 'finished' || entry.summary === null) throw failureOf(entry)
  return resultOf(id, entry.summary, host.evaluations.answers(id).prompts)
}

const askedOf = ({ samples = 1, greedy, limit, passAt }: EvaluateOptions) => ({
  ...{ samples, limit: limit ?? null, passAt: passAt ?? null },
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

async function ended({ evaluations, bell }: Host, id: string, signal: AbortSignal): Promise<EvaluationEntry> {
  const stop = () => evaluations.stop(id)
  signal.addEventListener('abort', stop, { once: true })
  try {
    if (signal.aborted) stop()
    for (;;) {
      const { rings } = bell
      const entry = evaluations.get(id)
      if (entry.status !== 'waiting' && entry.status !== 'running') return entry
      await bell.after(rings, new AbortController().signal)
    }
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

const failureOf = ({ error, id }: EvaluationEntry): AppError =>
  error === null
    ? new AppError('run/stopped', `The evaluation ${id} was stopped; what it answered is kept.`)
    : new AppError(error.code ?? 'runtime/failed', error.message, error.hint ?? undefined)

function resultOf(id: string, summary: EvaluationSummary, rows: readonly EvaluatedPrompt[]): Evaluation {
  const { reward, pass, prompts, samples, unscored, failures, parts, truncated, tokens } = summary
  return { id, reward, pass, prompts, samples, unscored, failures, parts, truncated, tokens, rows }
}
