/** Command that stores a teacher's answers as a data set to learn from. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { answerSettings, answerTemperature } from '#shared/api/teaching.ts'
import { keyUse } from '#shared/config/keyUses.ts'
import { isWebAddress } from '#shared/config/addresses.ts'
import type { GivenJudgeSettings } from '#shared/config/judge.ts'
import { AppError, usageError } from '#shared/errors.ts'
import { plural } from '#shared/plural.ts'
import { createHost } from '#host/createHost.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { allowKeys } from '#host/consents/keys.ts'
import { findDataSet } from '#host/data/dataSetLibrary.ts'
import { readDataSet } from '#host/data/readDataSet.ts'
import { teach, type Taught, type Teaching } from '#host/jobs/taught.ts'
import type { Host } from '#host/host.ts'
import { findModel } from '#host/models/modelLibrary.ts'
import { repeated, type CommandContext, type Context, type OptionsOf } from '../command.ts'
import { settingsOf, withSettings } from '../fields.ts'
import { watchInterrupts } from '../interrupt.ts'
import { createProgress } from '../progress.ts'
import { detectedForm, functionEntry, promptForm } from './evaluate.ts'

const about =
  'Let a model answer the rows of a data set, and add the answers as a data set to learn from (algorithm sft).\n\nEach answer is a row with the columns of its prompt and a column completion. With --reward, answers are scored (column reward); with --min-reward, only those that earn enough are kept. Truncated answers are left out. Answers are kept as they come: the same command continues where it was interrupted, and asks for nothing twice.\n\nWith an address, the prompts are sent to it.'

export const answer = (context: Context) =>
  withSettings(
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
      .option(
        '--reward <FUNCTION>',
        'built-in id, file of reward code, or JSON as an entry of rewards; may be repeated',
        repeated,
        [],
      )
      .option('--name <NAME>', 'name of the new data set (default: that of the rows, with -answers)'),
    answerSettings,
  ).action(async (data, options) => {
    await answerData(data, options, context())
  })

type Options = OptionsOf<typeof answer>

async function answerData(data: string, options: Options, here: CommandContext): Promise<void> {
  const { dataDirectory, output } = here
  const { reward, prompt } = options
  const {
    samplesPerRow: samples,
    seed,
    minReward,
    rows: limit,
    ...asked
  } = settingsOf(answerSettings, options)
  if (minReward !== null && reward.length === 0)
    throw usageError('Option --min-reward needs --reward.', 'Say what scores the answers.')
  const source = existsSync(data) ? data : findDataSet(data, dataDirectory).directory
  const rows = (await readDataSet(source)).slice(0, limit ?? undefined)
  await using host = createHost({ dataDirectory, servesQueue: false })
  const sampling = { ...asked, temperature: answerTemperature(asked.temperature, samples) }
  const teaching: Teaching = {
    source,
    rows,
    samples,
    seed,
    teacher: teacherOf(options, sampling, dataDirectory),
    prompt: prompt === undefined ? await detectedForm(source) : promptForm(prompt),
    rewards: reward.map(functionEntry),
    minReward,
    base: process.cwd(),
    name: options.name ?? `${path.parse(data).name}-answers`,
    origin: `${data}, answered by ${options.with}`,
  }
  output.line(`${options.with} answers ${plural(rows.length, 'row')}, ${plural(samples, 'time')} each.`)
  const { added, problems, ...counts } = await taught(host, teaching, here)
  const { info, directory } = added.version
  output.json({ id: info.id, name: info.name, directory, ...counts, problems: problems.length })
  const { kept, answers, truncated } = counts
  output.line(
    `Kept ${kept} of ${plural(answers, 'answer')}${truncated === 0 ? '' : `; ${truncated} truncated`}. Added “${info.name}”, ${plural(info.rows, 'row')}, id ${info.id.slice(0, 12)}.`,
  )
  const [first] = problems
  if (first !== undefined)
    output.line(`No answer to ${plural(problems.length, 'prompt')}. Row ${first.row + 1}: ${first.problem}`)
}

/** Errors: AppError 'usage/invalid', 'model/invalid'. */
function teacherOf(
  { with: named, adapter, servedModel, keyVariable }: Options,
  sampling: { readonly temperature: number; readonly maxNewTokens: number },
  dataDirectory: string,
): GivenJudgeSettings {
  // Typing both the variable and the address is consent.
  const use = keyUse(keyVariable, named)
  if (use !== null) allowKeys([use], consentsFile(dataDirectory))
  if (isWebAddress(named)) {
    if (adapter !== undefined)
      throw usageError(
        'Option --adapter is for a model on this machine.',
        'Name the model with --served-model.',
      )
    const settings = Object.entries({ address: named, servedModel, keyVariable, ...sampling })
    return Object.fromEntries(
      settings.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    )
  }
  if ((servedModel ?? keyVariable) !== undefined)
    throw usageError(
      'Options --served-model and --key-variable are for an address.',
      'Give --with an address.',
    )
  const model = findModel(named, dataDirectory)
  return { model, ...(adapter === undefined ? {} : { adapter: path.resolve(adapter) }), ...sampling }
}

/** Errors: AppError 'api/cancelled' after a Ctrl-C; those of teaching. */
async function taught(host: Host, teaching: Teaching, { json, output }: CommandContext): Promise<Taught> {
  const progress = createProgress(output, json)
  const stopping = () => progress.note('Stopping; the answers so far are kept.')
  using interrupt = watchInterrupts(stopping, stopping)
  try {
    for await (const news of teach(host, teaching, interrupt.gently)) {
      if ('result' in news) return news.result
      progress.update({ done: news.done, total: teaching.rows.length, unit: 'row', facts: [] })
    }
  } finally {
    progress.end()
  }
  throw new AppError(
    'api/cancelled',
    'Stopped before all rows were answered; no data set was added.',
    'The same command goes on from here.',
  )
}
