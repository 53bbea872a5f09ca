/** Commands that list custom workflows, check a file, and play an episode. */
import { existsSync } from 'node:fs'
import { Command, Option } from '@commander-js/extra-typings'
import { codeReference } from '#shared/config/codeReference.ts'
import type { TrialNews } from '#shared/api/workflows.ts'
import { isObject } from '#shared/config/paths.ts'
import { deviceOptions } from '#shared/device.ts'
import { AppError, usageError } from '#shared/errors.ts'
import { unpackFloats } from '#shared/packedArray.ts'
import { plural } from '#shared/plural.ts'
import { createHost } from '#host/createHost.ts'
import { findDataSet } from '#host/data/dataSetLibrary.ts'
import { readDataSet } from '#host/data/readDataSet.ts'
import { findModel } from '#host/models/modelLibrary.ts'
import { readRewardCode, requireSandboxed } from '#host/code/rewardCode.ts'
import { readExamples } from '#host/api/rewardsService.ts'
import { type CodeSource, openSandbox } from '#host/sandbox/sandbox.ts'
import { requireWorkflow } from '#host/code/resolveWorkflow.ts'
import { playEpisode } from '#host/api/workflowsService.ts'
import { maxThreads, real, repeated, threads, trustPython, whole } from '../command.ts'
import { trusting } from './python.ts'
import { listCode } from '../codeList.ts'
import type { CommandContext, Context, OptionsOf } from '../command.ts'
import { watchInterrupts } from '../interrupt.ts'
import { formatReward } from '../output.ts'
import { detectedForm, functionEntry, given, parsedJson, promptForm, pythonSection } from './evaluate.ts'

export const workflows = (context: Context) =>
  new Command('workflow')
    .description('Write workflows')
    .addCommand(listCode(context, 'workflows', 'workflow'))
    .addCommand(check(context))
    .addCommand(attempt(context))

const fileHelp = 'code that exports defineWorkflow({ … }) as default, .ts or .js; or an id of the gallery'

const check = (context: Context) =>
  new Command('check')
    .description('Check that a file is a workflow.\n\nLoads the code as a run would, and lists its settings.')
    .argument('<FILE>', fileHelp)
    .action(async (file) => {
      const { output } = context()
      await using sandbox = await openSandbox(codeOf(file))
      requireWorkflow(sandbox)
      const { settings } = sandbox
      output.json({ settings })
      output.line('The file is a workflow.')
      for (const [name, value] of Object.entries(settings))
        output.line(`Setting  ${name} = ${JSON.stringify(value)}`)
    })

/** Errors: AppError 'usage/invalid', 'file/unreadable'. */
function codeOf(given: string): CodeSource {
  const ready = readExamples('workflows', 'workflow').find(({ id }) => id === given)
  const reference = codeReference(ready?.file ?? given)
  if (reference === null)
    throw usageError(
      `${given} is no file of code.`,
      'It ends in .ts or .js; turnwise workflow list shows some.',
    )
  return requireSandboxed(readRewardCode(reference), 'A workflow')
}

const attempt = (context: Context) =>
  new Command('try')
    .description(
      'Play one episode of a workflow and show every request.\n\nShows what the model reads, what it answers with which log-probability, what tools say, and the trajectories with the tokens that are learned from. The same options give the same episode, and with --seed as in a run, the same as its first step.',
    )
    .argument('<FILE>', fileHelp)
    .requiredOption('--model <MODEL>', 'model folder, or a name of model list')
    .option('--adapter <DIR>', 'PEFT adapter folder, or the folder of a checkpoint')
    .option('--data <DATA>', 'file of rows, or an imported data set by name or beginning of its id')
    .option('--row <N>', 'row of the data, from 1; without --data, the row itself as JSON', '1')
    .option(
      '--prompt <FORM>',
      'a column, a template with {column}, or JSON as data.prompt in a config (default: detected from the columns)',
    )
    .option(
      '--reward <FUNCTION>',
      'what tools.rewards asks: built-in id, file of reward code, or JSON as an entry of rewards; may be repeated',
      repeated,
      [],
    )
    .option('--environment <ID>', 'built-in id, file of code, or JSON as environment in a config')
    .option(...trustPython)
    .option('--settings <JSON>', 'settings of the workflow, such as {"branches": 3} (default: its own)')
    .option('--evaluation', 'play it as an evaluation does, greedily')
    .option('--temperature <T>', 'sample: above 1 more varied, below 1 more certain', real(1e-3, 100))
    .option('--max-tokens, --max-new-tokens <N>', 'longest completion', whole(1))
    .option('--seed <S>', 'seed of samples and of the episode', whole(0))
    .addOption(new Option('--device <KIND>', 'device to compute on (default auto)').choices(deviceOptions))
    .option(...threads, whole(1, maxThreads))
    .action(async (file, options) => {
      await playOne(file, options, context())
    })

type Options = OptionsOf<typeof attempt>

async function playOne(file: string, options: Options, here: CommandContext): Promise<void> {
  const { output, dataDirectory } = here
  await using host = createHost({ dataDirectory, servesQueue: false })
  const { row, form } = await rowOf(options, dataDirectory)
  const { temperature, maxNewTokens, seed, environment, reward, device: kind, threads: count } = options
  const trial = {
    code: codeOf(file),
    settings: settingsOf(options.settings),
    candidate: { directory: findModel(options.model, dataDirectory), adapter: options.adapter ?? null },
    row,
    isEvaluation: options.evaluation === true,
    base: process.cwd(),
    ...(options.trustPython === undefined ? {} : { trust: trusting(here) }),
    sections: {
      rewards: reward.map(functionEntry),
      ...(environment === undefined ? {} : { environment: functionEntry(environment) }),
      ...pythonSection(options),
      ...(form === undefined ? {} : { data: { prompt: form } }),
      rollout: given({ temperature, maxNewTokens }),
      ...given({ seed }),
      device: given({ kind, threads: count }),
    },
  }
  using interrupt = watchInterrupts(
    () => output.note('Stopping.'),
    () => undefined,
  )
  for await (const news of playEpisode(host, trial, interrupt.gently)) {
    output.json(news)
    for (const line of linesOf(news)) output.line(line)
    if (news.type === 'end' && news.failure !== null)
      throw new AppError('workflow/failed', `The workflow failed: ${news.failure}`)
  }
  if (interrupt.gently.aborted) throw new AppError('run/stopped', 'The episode was stopped.')
}

function settingsOf(text: string | undefined): Readonly<Record<string, string | number | boolean>> {
  const json = text === undefined ? {} : parsedJson(text)
  if (isObject(json)) return json as Readonly<Record<string, string | number | boolean>>
  throw usageError(`--settings is no JSON object: ${text ?? ''}`, 'Such as --settings \'{"branches": 3}\'.')
}

async function rowOf({ data, row, prompt, environment }: Options, dataDirectory: string) {
  const asked = prompt === undefined ? undefined : promptForm(prompt)
  if (data === undefined) return { row: { row: 0, columns: givenRow(row) }, form: asked }
  const source = existsSync(data) ? data : findDataSet(data, dataDirectory).directory
  const rows = await readDataSet(source)
  const number = Number(row) - 1
  const columns = rows[number]
  if (columns === undefined)
    throw usageError(`The data has no row “${row}”.`, `Rows are numbered from 1 to ${rows.length}.`)
  const isWritten = environment !== undefined
  const form = asked ?? (isWritten ? undefined : await detectedForm(source))
  return { row: { row: number, columns }, form }
}

function givenRow(text: string): Readonly<Record<string, unknown>> {
  const json = text === '1' ? {} : parsedJson(text)
  if (isObject(json)) return json
  throw usageError(
    'Without --data, --row is the row itself.',
    'Such as --row \'{"prompt": "What is 2 plus 3?"}\'.',
  )
}

/* The episode in words. */

const textOf = ({ texts }: { readonly texts: readonly string[] }): string => JSON.stringify(texts.join(''))

type Of<Type extends TrialNews['type']> = Extract<TrialNews, { type: Type }>

const linesOf = (news: TrialNews): string[] =>
  // Each handles its own kind of event, which the table's type expresses and an index cannot.
  (tellers[news.type] as (news: TrialNews) => string[])(news)

const tellers: { readonly [Type in TrialNews['type']]: (news: Of<Type>) => string[] } = {
  request(news) {
    const said = Object.entries(news.said).map(([name, value]) => `${name} ${JSON.stringify(value)}`)
    const read = news.tokens === null ? [] : [`   given    ${textOf(news.tokens)}`]
    return [`${numberOf(news)} ${news.kind}, round ${news.round}  ${said.join(', ')}`.trimEnd(), ...read]
  },
  prompt(news) {
    const { greedy, temperature, maxNewTokens } = news.sampling
    const how = greedy === true ? 'greedy' : `temperature ${String(temperature)}`
    return [
      `${numberOf(news)} reads    ${textOf(news.tokens)}`,
      `   samples  ${how}, at most ${plural(Number(maxNewTokens), 'token')}`,
    ]
  },
  completions: (news) =>
    news.completions.map(({ tokens, logprobs, finishReason }) => {
      const sum = unpackFloats(logprobs).reduce((total, each) => total + each, 0)
      return `${numberOf(news)} answers  ${textOf(tokens)}  ${finishReason}, log-probability ${sum.toFixed(3)}`
    }),
  answer(news) {
    const { answer, tokens } = news
    const ids = tokens === null ? [] : [textOf(tokens)]
    const rest = tokens !== null && isEmpty(answer) ? [] : [JSON.stringify(answer)]
    return [`${numberOf(news)} answer   ${[...ids, ...rest].join('  ')}`]
  },
  printed: ({ lines }) => lines.map((line) => `   prints   ${line}`),
  // Reported by the end.
  failed: () => [],
  end: endLines,
}

const numberOf = ({ number }: { readonly number: number }): string => String(number + 1).padEnd(2)

const isEmpty = (value: unknown): boolean => value === null || JSON.stringify(value) === '{}'

function endLines({ end, requests, rounds, trajectories }: Of<'end'>): string[] {
  const count = `${plural(requests, 'request')} in ${plural(rounds, 'round')}`
  if (end === 'failed') return ['', `Failed after ${count}.`]
  if (end === 'rejected') return ['', `Rejected after ${count}: nothing is learned from it.`]
  return [
    '',
    `${plural(trajectories.length, 'trajectory', 'trajectories')} after ${count}; ⟦…⟧ is learned from.`,
    ...trajectories.flatMap((each, i) => [
      `${String(i + 1).padEnd(2)} ${factsOf(each).join(', ')}`,
      `   ${markedText(each.arrays)}`,
      ...each.failures.map((failure) => `   ${failure}`),
    ]),
  ]
}

type Shown = Of<'end'>['trajectories'][number]

const factsOf = ({ reward, turnRewards, baseline, group, truncated, metrics }: Shown): string[] => [
  `reward ${formatReward(reward)}`,
  ...(turnRewards.length > 1 ? [`by turn ${turnRewards.map(formatReward).join(' ')}`] : []),
  ...(baseline === null ? [] : [`baseline ${formatReward(baseline)}`]),
  ...(group === 0 ? [] : [`group ${group}`]),
  ...(truncated ? ['truncated'] : []),
  ...Object.entries(metrics).map(([name, value]) => `${name} ${value}`),
]

/** Formats tokens on one line, with actions in brackets. */
function markedText({ texts, actionMask }: Shown['arrays']): string {
  const mask = unpackFloats(actionMask)
  const isAction = (i: number) => i > 0 && mask[i - 1] === 1
  const marked = texts.map((text, i) => {
    const [opens, closes] = [isAction(i) && !isAction(i - 1), isAction(i) && !isAction(i + 1)]
    return `${opens ? '⟦' : ''}${text}${closes ? '⟧' : ''}`
  })
  return JSON.stringify(marked.join(''))
}
