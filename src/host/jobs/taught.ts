/** A data set answered by a teacher: answers that earn enough become a data set to learn from (algorithm sft). */
import path from 'node:path'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { judgeKeys } from '#shared/config/keyUses.ts'
import { parseJudge, type GivenJudgeSettings } from '#shared/config/judge.ts'
import { invalidConfig, invalidData } from '#shared/errors.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import type { DataStorage } from '#host/store/storage.ts'
import type { Asking, Job } from '#host/processes/job.ts'
import { digestText } from '#host/judges/judge.ts'
import type { RewardsConfig } from '#host/code/resolveRewards.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { requireKeys } from '#host/consents/keys.ts'
import { programAt } from '#host/python/consent.ts'
import { requireWorkingCode, withAbsolutePaths } from '#host/runs/runConfigFile.ts'
import type { DataRow } from '#host/data/dataFile.ts'
import { addRows } from '#host/data/addRows.ts'
import type { ImportedDataSet } from '#host/data/importDataSet.ts'

/** The column of a new data set that has the answers. */
const taughtColumn = 'completion'

export interface TeachingInput {
  /** Model or address, and how it samples; paths are absolute. */
  readonly teacher: GivenJudgeSettings
  readonly rows: readonly DataRow[]
  /** Number of answers to each row. */
  readonly samples: number
  readonly seed: number
  /** Makes prompts of rows and scores the answers; without rewards nothing is scored. */
  readonly config: RewardsConfig
  /** Folder that keeps the answers: none is asked for twice. */
  readonly folder: string
  readonly cacheDirectory: string
  /** File of this machine's consents to Python. */
  readonly consents: string
}

export type TaughtAnswer = Extract<
  OutputOf<Api, 'datasets.answer'>,
  { readonly answers: unknown }
>['answers'][number]

/** Some rows, in order. */
export interface TaughtRows {
  /** Rows so far. */
  readonly done: number
  readonly answers: readonly TaughtAnswer[]
  readonly problems: readonly { readonly row: number; readonly problem: string }[]
}

export const teachingJob: Job<'teaching', TeachingInput, TaughtRows> = { name: 'teaching' }

export interface Teaching {
  /** File or folder that the rows are from. */
  readonly source: string
  readonly rows: readonly DataRow[]
  /** `data.prompt` of a run config. */
  readonly prompt: unknown
  /** Model of the teacher, its place, temperature and longest answer; paths absolute. */
  readonly teacher: GivenJudgeSettings
  /** Number of answers to each row. */
  readonly samples: number
  readonly seed: number
  /** Rewards that score the answers, as in `rewards` of a run config; none: answers are not scored. */
  readonly rewards: readonly unknown[]
  /** Interpreter, as in `python.interpreter` of a run config. */
  readonly interpreter?: string | null
  /** Reward below which answers, and those without one, are left out; null: none is. */
  readonly minReward: number | null
  readonly name: string
  /** Origin of its rows, in words. */
  readonly origin: string
  /** Folder that relative paths start from. */
  readonly base: string
}

export interface Taught {
  readonly added: ImportedDataSet
  readonly asked: number
  readonly answers: number
  readonly truncated: number
  readonly kept: number
  readonly problems: TaughtRows['problems']
}

/**
 * Yields rows as they are answered, and at last what was added; aborting adds nothing. Answers are kept as they come,
 * so none is asked for twice. Errors: ConfigError; AppError 'data/invalid', 'model/…', 'sandbox/failed',
 * 'python/not-allowed', 'file/…'.
 */
export async function* teach(
  host: DataStorage & Asking,
  teaching: Teaching,
  signal: AbortSignal,
): AsyncGenerator<TaughtRows | { readonly result: Taught }> {
  requireAnswerable(teaching)
  requireKeys(judgeKeys(teaching.teacher), consentsFile(host.dataDirectory))
  const input = await inputOf(teaching, host.dataDirectory)
  const answers: TaughtAnswer[] = []
  const problems: TaughtRows['problems'][number][] = []
  for await (const news of host.ask(teachingJob, input, signal)) {
    answers.push(...news.answers)
    problems.push(...news.problems)
    yield news
  }
  if (signal.aborted) return
  const kept = answers.filter((each) => isTaught(each, teaching.minReward))
  const result = {
    added: await addAnswers(kept, teaching, host.dataDirectory),
    asked: teaching.rows.length * teaching.samples,
    answers: answers.length,
    kept: kept.length,
    truncated: answers.filter(({ isTruncated }) => isTruncated).length,
    problems,
  }
  yield { result }
}

/** Errors: AppError 'data/invalid', 'config/invalid'; ConfigError. */
function requireAnswerable({ rows: [first = {}], samples, teacher }: Teaching): void {
  parseJudge(teacher, 'teacher')
  if (samples > 1 && teacher['temperature'] === 0)
    throw invalidConfig(
      'Greedy answers to one prompt are all the same.',
      'Ask for one answer to each row, or set a temperature above 0.',
    )
  if (!(taughtColumn in first)) return
  throw invalidData(
    `The rows have a column “${taughtColumn}” already, and no answer may replace it.`,
    'Rename that column, then answer the rows.',
  )
}

async function inputOf(teaching: Teaching, dataDirectory: string): Promise<TeachingInput> {
  const { teacher, rows, samples, seed } = teaching
  const folders = dataFolders(dataDirectory)
  return {
    teacher,
    rows,
    samples,
    seed,
    config: await scoringOf(teaching, dataDirectory),
    folder: path.join(folders.answers, digestText(JSON.stringify(teacher))),
    cacheDirectory: folders.cache,
    consents: consentsFile(dataDirectory),
  }
}

/** Checked with the code of its rewards. Errors: ConfigError; AppError 'sandbox/failed', 'python/not-allowed'. */
async function scoringOf(
  { source, prompt, rewards: given, interpreter = null, base }: Teaching,
  dataDirectory: string,
): Promise<RewardsConfig> {
  const parsed = parseRunConfig({
    // No model of a run is asked for: any name does.
    model: source,
    data: { train: source, prompt },
    rewards: given,
    algorithm: { id: 'sft' },
    python: { interpreter: interpreter && programAt(interpreter, dataDirectory) },
  })
  const config = withAbsolutePaths(parsed, base, dataDirectory)
  await requireWorkingCode(config, dataDirectory)
  const { rewards, rewardLimits, python, data } = config
  return { rewards, rewardLimits, python, data: { prompt: data.prompt } }
}

/** Returns true if an answer goes into the data set: complete, and scored high enough. */
const isTaught = ({ isTruncated, reward }: TaughtAnswer, minReward: number | null): boolean =>
  !isTruncated && (minReward === null || (reward !== null && reward >= minReward))

/** Errors: AppError 'data/invalid' where no answer is left; 'file/…'. */
async function addAnswers(
  kept: readonly TaughtAnswer[],
  { rows, rewards, name, origin }: Teaching,
  dataDirectory: string,
): Promise<ImportedDataSet> {
  if (kept.length === 0)
    throw invalidData(
      'No answer is left; no data set was added.',
      'The answers are kept: with a lower minimum reward, none is asked for again. Truncated ones need more new tokens.',
    )
  const taught = kept.map(({ row, text, reward }) => ({
    ...rows[row],
    [taughtColumn]: text,
    ...(rewards.length > 0 ? { reward } : {}),
  }))
  return await addRows(taught, { name, origin }, dataDirectory)
}
