/** `evaluate`: rewards of a checkpoint, an adapter or a model on rows, in an environment or in episodes of a workflow. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { Command, Option } from '@commander-js/extra-typings'
import { evaluationSettings, type EvaluationRequest } from '#shared/api/evaluations.ts'
import { deviceOptions } from '#shared/device.ts'
import { invalidData, usageError } from '#shared/errors.ts'
import { plural } from '#shared/plural.ts'
import { commandWord } from '#shared/shownText.ts'
import { createHost } from '#host/createHost.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { findDataSet } from '#host/data/dataSetLibrary.ts'
import { readDataSet } from '#host/data/readDataSet.ts'
import { detectShape } from '#host/data/shapes.ts'
import type { Host } from '#host/host.ts'
import { openRunFolder } from '#host/workFolder/runFolder.ts'
import { checkpointStep } from '#host/runs/runTarget.ts'
import {
  maxThreads,
  real,
  repeated,
  threads,
  trustPython,
  whole,
  type CommandContext,
  type Context,
  type OptionsOf,
} from '../command.ts'
import { settingsOf, withSettings } from '../fields.ts'
import { trusting } from './python.ts'
import { followAndReport } from '../evaluations.ts'

const about =
  'Evaluate a model, an adapter or a checkpoint on a data set, in an environment or by a workflow.\n\nWith --run, whatever is not given comes from the run: its validation rows, prompts, rewards, workflow and limits. Results are kept; turnwise evaluations compare A B tests whether one is better than another. Ctrl-C keeps finished prompts.'

export const evaluate = (context: Context) =>
  withSettings(
    new Command('evaluate')
      .description(about)
      .option('--model <MODEL>', 'model folder, or a name of model list')
      .option('--adapter <DIR>', 'with --model: PEFT adapter folder, or the folder of a checkpoint')
      .option('--run <RUN>', 'run id, an unambiguous part of it, or the folder of the run')
      .option(
        '--step <N>',
        'checkpoint of the run: a step, best, last, or base for the model without adapter',
        'last',
      )
      .option('--data <DATA>', 'file of rows, or an imported data set by name or beginning of its id')
      .option(
        '--prompt <FORM>',
        'a column, a template with {column}, or JSON as data.prompt in a config (default: detected from the columns)',
      )
      .option(
        '--reward <FUNCTION>',
        'built-in id, file of reward code, or JSON as an entry of rewards; may be repeated',
        repeated,
        [],
      )
      .option('--environment <ID>', 'built-in id, file of code, or JSON as environment in a config')
      .option(
        '--workflow <WORKFLOW>',
        'file of code, id of the gallery, JSON as rollout.workflow in a config, or none; needs no reward if its trajectories have their own',
      )
      .option(...trustPython)
      .option('--greedy', 'always take the most probable token (default with one sample)')
      .option('--temperature <T>', 'sample: above 1 more varied, below 1 more certain', real(1e-3, 100))
      .option('--max-tokens, --max-new-tokens <N>', 'longest completion', whole(1))
      .option('--by <COLUMN>', 'also show means by the values of a column')
      .option('--seed <S>', 'seed of samples, episodes and the choice of rows', whole(0))
      .addOption(new Option('--device <KIND>', 'device to compute on (default auto)').choices(deviceOptions))
      .option(...threads, whole(1, maxThreads)),
    evaluationSettings,
  ).action(async (options) => {
    await startEvaluation(options, context())
  })

type Options = OptionsOf<typeof evaluate>

async function startEvaluation(options: Options, here: CommandContext): Promise<void> {
  await using host = createHost({ dataDirectory: here.dataDirectory, servesQueue: false })
  const request = await requestOf(options, host)
  const by = options.by ?? null
  const { id, title, total, config } = await host.evaluations.start(request, {
    base: process.cwd(),
    by,
    ...(options.trustPython === undefined ? {} : { trust: trusting(here) }),
  })
  const { workflow } = config.rollout
  const how = workflow === null ? '' : ` by the workflow ${path.basename(workflow.function)}`
  here.output.line(`Evaluating ${title} on ${plural(total, 'prompt')}${how}. Evaluation ${id}`)
  await followAndReport(host, id, by, here)
}

/** Errors: AppError 'usage/invalid', 'run/not-found', 'data/invalid'. */
async function requestOf(options: Options, host: Host): Promise<EvaluationRequest> {
  const { greedy, temperature } = options
  const settings = settingsOf(evaluationSettings, options)
  if (greedy === true && temperature !== undefined)
    throw usageError('Options --greedy and --temperature exclude each other.', 'Give one of them.')
  const isGreedy = greedy ?? (temperature === undefined && settings.samples === 1)
  const subject = subjectOf(options, host)
  const sections = 'runId' in subject ? host.evaluations.sectionsOf(subject.runId) : null
  const config = await sectionsOf(options, settings.limit, host, sections)
  const isEpisodes = options.data === undefined && options.environment !== undefined
  return { ...settings, subject, config, greedy: isGreedy, limit: isEpisodes ? null : settings.limit }
}

function subjectOf(
  { model, adapter, run, step }: Options,
  { dataDirectory }: Host,
): EvaluationRequest['subject'] {
  if ((model === undefined) === (run === undefined))
    throw usageError('Give either --model MODEL or --run RUN.', 'See turnwise evaluate --help.')
  if (run === undefined) return { model: model ?? '', adapter: adapter ?? null }
  if (adapter !== undefined)
    throw usageError('Option --adapter belongs to --model.', 'Of a run choose a checkpoint with --step.')
  return { runId: openRunFolder(dataDirectory, run).id, step: checkpointStep(dataDirectory, run, step) }
}

type RunSections = ReturnType<Host['evaluations']['sectionsOf']>

/** Returns the config sections given as options; the others come from the run, or take their defaults. */
async function sectionsOf(
  options: Options,
  limit: number | null,
  { dataDirectory }: Host,
  run: RunSections | null,
): Promise<EvaluationRequest['config']> {
  const { temperature, maxNewTokens, seed, device: kind, threads: count } = options
  return {
    ...judgesOf(options),
    ...pythonSection(options),
    rollout: { ...run?.rollout, ...given({ temperature, maxNewTokens }), ...workflowOf(options) },
    data: await dataSection(options, limit, dataDirectory, run),
    ...given({ seed }),
    device: { ...run?.device, ...given({ kind, threads: count }) },
  }
}

export const given = (options: object): object =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))

/** Returns the given rewards, which replace the run's; empty: those of the run. */
function judgesOf({ reward, environment, data }: Options): EvaluationRequest['config'] {
  if (environment !== undefined)
    return { rewards: reward.map(functionEntry), environment: functionEntry(environment) }
  if (reward.length === 0) return {}
  return { rewards: reward.map(functionEntry), ...(data === undefined ? {} : { environment: null }) }
}

/** Returns the given workflow; empty: that of the run. */
function workflowOf({ workflow: asked }: Options): { readonly workflow?: unknown } {
  if (asked === undefined) return {}
  if (asked === 'none') return { workflow: null }
  const ready = path.join(resourcesDirectory, 'workflows', `${asked}.ts`)
  return {
    workflow: /^[\w-]+$/.test(asked) && existsSync(ready) ? { function: ready } : functionEntry(asked),
  }
}

/** Returns the given Python settings; empty: those of the run. */
export const pythonSection = ({
  trustPython: trusted,
}: Pick<Options, 'trustPython'>): EvaluationRequest['config'] =>
  typeof trusted === 'string' ? { python: { interpreter: trusted } } : {}

/** Parses an id, a file, or JSON with settings. */
export function functionEntry(given: string): unknown {
  return given.trimStart().startsWith('{') ? parsedJson(given) : { function: given }
}

export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw usageError(`“${text.slice(0, 60)}” is not valid JSON.`)
  }
}

const defaultEpisodes = 100

async function dataSection(
  options: Options,
  limit: number | null,
  dataDirectory: string,
  run: RunSections | null,
): Promise<unknown> {
  const { data, prompt, environment } = options
  const asked = { ...run?.data, ...(prompt === undefined ? {} : { prompt: promptForm(prompt) }) }
  if (data !== undefined) {
    const train = existsSync(data) ? data : findDataSet(data, dataDirectory).directory
    return { prompt: asked.prompt ?? (await detectedForm(train)), ...asked, train, heldOut: null }
  }
  if (environment !== undefined)
    return { ...asked, train: { episodes: limit ?? defaultEpisodes }, heldOut: null }
  requireOwnRows(run)
  return asked
}

/** Requires rows that the run was not trained on, or episodes, which are generated anew. */
function requireOwnRows(run: RunSections | null): void {
  if (run === null)
    throw usageError('Give --data DATA, or --environment ID.', 'See turnwise evaluate --help.')
  if (run.data.heldOut !== null || typeof run.data.train !== 'string') return
  throw usageError(
    'The run has no validation split to evaluate on.',
    'Give --data DATA with rows that it was not trained on.',
  )
}

export function promptForm(given: string): unknown {
  if (given.trimStart().startsWith('{"')) return parsedJson(given)
  return /\{[^{}]+\}/.test(given) ? { template: given } : { column: given }
}

export async function detectedForm(source: string): Promise<unknown> {
  const rows = await readDataSet(source)
  const { prompt, mapping, template, used } = detectShape(rows)
  const isThere = prompt !== null && (!('column' in prompt) || Object.hasOwn(rows[0] ?? {}, prompt.column))
  if (isThere && mapping.every(({ kind }) => kind === 'column')) return prompt
  const names = Object.keys(rows[0] ?? {})
  const [name = ''] = template === null ? [...used, ...names] : [template.slice(1, -1)]
  throw invalidData(
    `It is not clear which column of ${source} is the prompt: ${names.join(', ')}.`,
    `Name it with --prompt ${commandWord(name)}, or give a template such as --prompt ${commandWord(`Question: {${name}}`)}.`,
  )
}
