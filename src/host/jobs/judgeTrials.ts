/** Asks a judge about completions before anything is trained, in a process of its own, which opens it once. */
import { judgeKeys } from '#shared/config/keyUses.ts'
import { parseJudge, judgeFunction, type GivenJudgeSettings } from '#shared/config/judge.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { requireKeys } from '#host/consents/keys.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import type { DataStorage } from '#host/store/storage.ts'
import type { RewardAnswer, RewardInput } from '#rl/rewards.ts'
import type { Asking, Job } from '#host/processes/job.ts'
import { findModel } from '#host/models/modelLibrary.ts'
import { dryRow, type DryRunRow, type DrySample } from '#host/code/dryRun.ts'

export interface JudgingInput {
  /** Paths are absolute. */
  readonly settings: GivenJudgeSettings
  readonly inputs: readonly RewardInput[]
  readonly cacheDirectory: string
  /** File of this machine's consents to Python. */
  readonly consents: string
}

/** Answers to the inputs from `from` on. */
export interface JudgedInputs {
  readonly from: number
  readonly answers: readonly RewardAnswer[]
  readonly seconds: number
}

export const judgingJob: Job<'judging', JudgingInput, JudgedInputs> = { name: 'judging' }

export interface JudgedRows {
  /** Index of the first sample. */
  readonly from: number
  readonly rows: readonly DryRunRow[]
}

/** Judges some samples at a time, in order. Errors: ConfigError; those of asking the judge. */
export async function* judged(
  { host, signal }: { readonly host: DataStorage & Asking; readonly signal: AbortSignal },
  given: GivenJudgeSettings,
  samples: readonly DrySample[],
): AsyncGenerator<JudgedRows> {
  const { model } = parseJudge(given, 'settings')
  if (samples.length === 0) return
  const settings = model === '' ? given : { ...given, model: findModel(model, host.dataDirectory) }
  const inputs = samples.map(({ prompt, completion, row }) => ({ prompt, completion, row, step: 0 }))
  const cacheDirectory = dataFolders(host.dataDirectory).cache
  const consents = consentsFile(host.dataDirectory)
  requireKeys(judgeKeys(given), consents)
  for await (const { from, answers, seconds } of host.ask(
    judgingJob,
    { settings, inputs, cacheDirectory, consents },
    signal,
  )) {
    const durationMs = (1000 * seconds) / answers.length
    yield {
      from,
      rows: answers.map((answer) => {
        const told = 'failure' in answer ? { failure: failureOf(answer.failure.message) } : answer
        const logged = { columns: {}, metrics: {}, lines: [], durationMs }
        return dryRow([{ name: judgeFunction, answer: { ...logged, ...told } }], null)
      }),
    }
  }
}

/** Collects everything that an iteration yields. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

const failureOf = (message: string) => ({ kind: 'exception' as const, message, line: null, column: null })
