/** Answers of a teacher as a data set to learn from. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { isWebAddress } from '#shared/config/addresses.ts'
import { parseJudge, type GivenJudgeSettings } from '#shared/config/judge.ts'
import { AppError } from '#shared/errors.ts'
import { plural } from '#shared/plural.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { createHost } from '#host/createHost.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import type { DataRow } from '#host/data/dataFile.ts'
import { findDataSet } from '#host/data/dataSetLibrary.ts'
import { importDataSet, type ImportedDataSet } from '#host/data/importDataSet.ts'
import { readDataSet } from '#host/data/readDataSet.ts'
import type { Host } from '#host/host.ts'
import { digestText } from '#host/judges/judge.ts'
import { findModel } from '#host/models/modelLibrary.ts'
import type { Question, TaughtAnswer } from '#host/processes/question.ts'
import { consentsFile } from '#host/python/consent.ts'
import { requireWorkingCode, withAbsolutePaths } from '#host/runs/runConfigFile.ts'
import {
  real,
  repeated,
  usageError,
  whole,
  type CommandContext,
  type Context,
  type OptionsOf,
} from '../command.ts'
import { watchInterrupts } from '../interrupt.ts'
import { createProgress } from '../progress.ts'
import { detectedForm, functionEntry, promptForm } from './evaluate.ts'

const about =
  'Let a model answer the rows of a data set, and add the answers as a data set to learn from (algorithm sft).\n\nEach answer is a row with the columns of its prompt and a column completion. With --reward, answers are scored (column reward); with --min-reward, only those that earn enough are kept. Truncated answers are left out. Answers are kept as they come: the same command continues where it was interrupted, and asks for nothing twice.\n\nWith an address, the prompts are sent to it.'

export const answer = (context: Context) =>
  new Command('answer')
    .description(about)
    .argument('<DATA>', 'file of rows, or an imported data set by name or beginning of its id')
    .requiredOption(
      '--with <TEACHER>',
      'model folder, GGUF file, a name of model list, or the address of a server that speaks OpenAI’s API',
    )
    .option('--adapter <DIR>', 'PEFT adapter folder, or the folder of a checkpoint, on the model')
    .option('--served-model <NAME>', 'what the server calls the model (default: the first it lists)')
    .option('--key-variable <NAME>', 'environment variable that holds the key for the address')
    .option(
      '--prompt <FORM>',
      'a column, a template with {column}, or JSON as data.prompt in a config (default: detected)',
    )
    .option('--samples <N>', 'answers to each row', whole(1, 1024), 1)
    .option('--temperature <T>', '0 is greedy (default: 0 for one answer, else 1)', real(0, 100))
    .option('--max-new-tokens <N>', 'longest answer', whole(1), 512)
    .option('--seed <S>', 'seed of sampled answers', whole(0), 0)
    .option(
      '--reward <FUNCTION>',
      'built-in id, file of reward code, or JSON as an entry of rewards; may be repeated',
      repeated,
      [],
    )
    .option('--min-reward <R>', 'keep answers that earn at least this', real(-1e9))
    .option('--limit <N>', 'number of rows, from the first', whole(1))
    .option('--name <NAME>', 'name of the new data set (default: that of the rows, with -answers)')
    .action(async (data, options) => {
      await answerData(data, options, context())
    })

type Options = OptionsOf<typeof answer>

async function answerData(data: string, options: Options, here: CommandContext): Promise<void> {
  const { dataDirectory, output } = here
  const source = existsSync(data) ? data : findDataSet(data, dataDirectory).directory
  const rows = (await readDataSet(source)).slice(0, options.limit)
  requireFree(rows, options)
  const teacher = teacherOf(options, dataDirectory)
  const config = await configOf(source, options, dataDirectory)
  const question: Question & { readonly type: 'answer-rows' } = {
    ...{ type: 'answer-rows', teacher, rows, samples: options.samples, seed: options.seed, config },
    folder: path.join(dataFolders(dataDirectory).answers, digestText(JSON.stringify(teacher))),
    cacheDirectory: dataFolders(dataDirectory).cache,
    consents: consentsFile(dataDirectory),
  }
  await using host = createHost({ dataDirectory, servesQueue: false })
  output.line(
    `${options.with} answers ${plural(rows.length, 'row')}, ${plural(options.samples, 'time')} each.`,
  )
  const { answers, problems } = await answered(host, question, here)
  const kept = answers.filter((each) => isKept(each, options))
  const imported = await addAnswers({ kept, rows, options, data }, here)
  const { info, directory } = imported.version
  const truncated = answers.filter(({ isTruncated }) => isTruncated).length
  const counts = {
    asked: rows.length * options.samples,
    answers: answers.length,
    truncated,
    kept: kept.length,
  }
  output.json({ id: info.id, name: info.name, directory, ...counts, problems: problems.length })
  output.line(
    `Kept ${kept.length} of ${plural(answers.length, 'answer')}${truncated === 0 ? '' : `; ${truncated} truncated`}. Added “${info.name}”, ${plural(info.rows, 'row')}, id ${info.id.slice(0, 12)}.`,
  )
  const [first] = problems
  if (first !== undefined)
    output.line(`No answer to ${plural(problems.length, 'prompt')}. Row ${first.row + 1}: ${first.problem}`)
}

const answerColumn = 'completion'

/** Errors: AppError 'usage/invalid', 'data/invalid'. */
function requireFree(
  [first = {}]: readonly DataRow[],
  { reward, minReward, temperature, samples }: Options,
): void {
  if (minReward !== undefined && reward.length === 0)
    throw usageError('Option --min-reward needs --reward.', 'Say what scores the answers.')
  if (samples > 1 && temperature === 0)
    throw usageError(
      'Greedy answers to one prompt are all the same.',
      'Give --samples 1, or a --temperature above 0.',
    )
  if (!(answerColumn in first)) return
  throw new AppError(
    'data/invalid',
    `The rows have a column “${answerColumn}” already, and no answer may replace it.`,
    'Rename that column, then answer the rows.',
  )
}

/** Errors: AppError 'usage/invalid', 'model/invalid', ConfigError. */
function teacherOf(options: Options, dataDirectory: string): GivenJudgeSettings {
  const { with: named, adapter, servedModel, keyVariable, samples, maxNewTokens } = options
  const temperature = options.temperature ?? (samples === 1 ? 0 : 1)
  const isAddress = isWebAddress(named)
  if (isAddress && adapter !== undefined)
    throw usageError(
      'Option --adapter is for a model on this machine.',
      'Name the model with --served-model.',
    )
  if (!isAddress && (servedModel ?? keyVariable) !== undefined)
    throw usageError(
      'Options --served-model and --key-variable are for an address.',
      'Give --with an address.',
    )
  const teacher = {
    ...(isAddress ? { address: named } : { model: findModel(named, dataDirectory) }),
    ...(adapter === undefined ? {} : { adapter: path.resolve(adapter) }),
    ...(servedModel === undefined ? {} : { servedModel }),
    ...(keyVariable === undefined ? {} : { keyVariable }),
    ...{ temperature, maxNewTokens },
  }
  parseJudge(teacher, '--with')
  return teacher
}

/** Checked with the code of its rewards. Errors: ConfigError; AppError 'sandbox/failed', 'python/not-allowed'. */
async function configOf(source: string, { prompt, reward }: Options, dataDirectory: string) {
  const form = prompt === undefined ? await detectedForm(source) : promptForm(prompt)
  const parsed = parseRunConfig({
    // No model of a run is asked for: any name does.
    ...{ model: source, data: { train: source, prompt: form }, rewards: reward.map(functionEntry) },
    algorithm: { id: 'sft' },
  })
  const config = withAbsolutePaths(parsed, process.cwd(), dataDirectory)
  await requireWorkingCode(config, dataDirectory)
  const { rewards, rewardLimits, python, data } = config
  return { rewards, rewardLimits, python, data: { prompt: data.prompt } }
}

interface Answered {
  readonly answers: readonly TaughtAnswer[]
  readonly problems: readonly { readonly row: number; readonly problem: string }[]
}

/** Errors: AppError 'api/cancelled' after a Ctrl-C; those of answering. */
async function answered(
  host: Host,
  question: Question & { readonly type: 'answer-rows' },
  { json, output }: CommandContext,
): Promise<Answered> {
  const answers: TaughtAnswer[] = []
  const problems: Answered['problems'][number][] = []
  const progress = createProgress(output, json)
  const stopping = () => progress.note('Stopping; the answers so far are kept.')
  using interrupt = watchInterrupts(stopping, stopping)
  try {
    for await (const { done, ...found } of host.ask(question, interrupt.gently)) {
      answers.push(...found.answers)
      problems.push(...found.problems)
      progress.update({ done, total: question.rows.length, unit: 'row', facts: [] })
    }
  } finally {
    progress.end()
  }
  if (!interrupt.gently.aborted) return { answers, problems }
  throw new AppError(
    'api/cancelled',
    'Stopped before all rows were answered; no data set was added.',
    'The same command goes on from here.',
  )
}

const isKept = ({ isTruncated, reward }: TaughtAnswer, { minReward }: Options): boolean =>
  !isTruncated && (minReward === undefined || (reward !== null && reward >= minReward))

interface Kept {
  readonly kept: readonly TaughtAnswer[]
  readonly rows: readonly DataRow[]
  readonly options: Options
  readonly data: string
}

/** Errors: AppError 'data/invalid' where no answer is left; 'file/…'. */
async function addAnswers(
  { kept, rows, options, data }: Kept,
  { dataDirectory }: CommandContext,
): Promise<ImportedDataSet> {
  if (kept.length === 0)
    throw new AppError(
      'data/invalid',
      'No answer is left; no data set was added.',
      'The answers are kept: the same command with a lower --min-reward asks for none again. Truncated ones need a larger --max-new-tokens.',
    )
  const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-answers-'))
  const file = path.join(folder, 'answers.jsonl')
  const isScored = options.reward.length > 0
  const lines = kept.map(({ row, text, reward }) =>
    JSON.stringify({ ...rows[row], [answerColumn]: text, ...(isScored ? { reward } : {}) }),
  )
  try {
    writeFileSync(file, `${lines.join('\n')}\n`)
    return await importDataSet(file, {
      folder: dataFolders(dataDirectory).datasets,
      name: options.name ?? `${path.parse(data).name}-answers`,
      origin: `${data}, answered by ${options.with}`,
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
