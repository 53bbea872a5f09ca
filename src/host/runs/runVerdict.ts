/** Checks a run config before training, with the same result in the window and on the command line. */
import { blaming } from '#shared/config/blame.ts'
import { conflict, unwise } from '#shared/config/problems.ts'
import { ConfigError, type Problem } from '#shared/errors.ts'
import { stagesOf, type RunConfig } from '#shared/runConfig.ts'
import { algorithmById, type AlgorithmById } from '#rl/algorithms/registry.ts'
import type { ConfiguredAlgorithm } from '#rl/algorithms/types.ts'
import { promptContent } from '#rl/rollout/prompts.ts'
import { configWarnings, teacherWarnings } from '#rl/training/configWarnings.ts'
import {
  configConflicts,
  type ModelFacts,
  orOther,
  readerOf,
  type ReadingLimit,
  requireFitting,
} from '#rl/training/conflicts.ts'
import { readRunData } from '#host/data/readDataSet.ts'
import { columnWarnings } from '#host/data/runColumns.ts'
import type { SplitResult } from '#host/data/split.ts'
import { openModelFolder, type ModelFolder } from '#host/models/modelFolder.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { plannedDevice, type DeviceChoice } from '#host/devices/deviceChoice.ts'
import { readingLimit } from '#host/models/teacher.ts'
import type { AskText } from '#host/models/textQuestion.ts'
import type { DataRow } from '#host/data/dataFile.ts'
import { answerWarnings } from './answerWarnings.ts'
import { precisionWarnings } from './precisionSpeed.ts'
import { resolveWithAlgorithms } from './runConfigFile.ts'

export interface RunVerdict {
  /** Rows whose prompt turns out to be too long make it shorter. */
  readonly steps: number
  /** Rows to train on. */
  readonly rows: number
  readonly device: DeviceChoice
  /** Settings that work but are probably not meant. */
  readonly warnings: readonly Problem[]
}

/** Checks a config given as data. Errors: as `resolveRunConfig` and `verdictOf`. */
export async function checkRunConfig(
  given: unknown,
  dataDirectory: string,
  askText: AskText,
): Promise<RunVerdict & { readonly config: RunConfig }> {
  const { config, algorithmById } = await resolveWithAlgorithms(given, dataDirectory)
  return { config, ...(await verdictOf(config, algorithmById, dataDirectory, askText)) }
}

/**
 * Judges a checked config after looking at its model and data. Errors: AppError 'config/…', 'model/…', 'data/…',
 * 'file/…'.
 */
export async function verdictOf(
  config: RunConfig,
  byId: AlgorithmById,
  dataDirectory: string,
  askText: AskText,
): Promise<RunVerdict> {
  const model = openModelFolder(config.model, config)
  const cacheDirectory = dataFolders(dataDirectory).cache
  const device = plannedDevice(config, model.config, cacheDirectory)
  const warnings = [
    ...model.notes.map((note) => unwise('model', note)),
    ...settingWarnings(config, byId, model.config, device.kind),
    ...precisionWarnings({ config, model: model.config, kind: device.kind, cacheDirectory }),
  ]
  const stages = await Promise.all(
    stagesOf(config).map((stage) => verdictOfStage(stage, configured(stage, byId), model, askText)),
  )
  const total = (count: 'rows' | 'steps') => stages.reduce((sum, stage) => sum + stage[count], 0)
  return {
    steps: total('steps'),
    rows: total('rows'),
    device,
    warnings: [...warnings, ...stages.flatMap((stage) => stage.warnings)],
  }
}

async function verdictOfStage(
  stage: RunConfig,
  algorithm: ConfiguredAlgorithm,
  model: ModelFolder,
  askText: AskText,
): Promise<Omit<RunVerdict, 'device'>> {
  const { data, steps, passes, rollout, environment } = stage
  const { experience } = algorithm
  const rows = await readRunData(data)
  // An environment makes prompts of its own.
  if (environment === null) requirePrompts(rows, data)
  const left = environment === null ? columnWarnings(stage, experience, rows) : []
  const room = hasPrompts(stage, experience)
    ? await promptRoomWarnings(stage, rows.train, promptModel(stage, algorithm, model, askText))
    : []
  return {
    warnings: [...left, ...room, ...(await answerWarnings(stage, rows.train))],
    rows: rows.train.length,
    steps: steps ?? Math.ceil((passes * rows.train.length) / rollout.promptsPerStep),
  }
}

/**
 * Checks that every row has the columns of its prompt. Errors: AppError 'data/invalid' naming the first that has not.
 */
function requirePrompts(rows: SplitResult, { prompt }: RunConfig['data']): void {
  for (const part of ['train', 'heldOut'] as const)
    for (const [i, row] of rows[part].entries()) promptContent(row, rows.places[part][i] ?? i, prompt)
}

const promptModel = (
  stage: RunConfig,
  algorithm: ConfiguredAlgorithm,
  { directory, config }: ModelFolder,
  askText: AskText,
): PromptModel => ({
  ...readingLimit(stage, algorithm, config),
  lengthsOf(rows) {
    const { prompt: form, tools, templateVariables } = stage.data
    const template = { templateVariables, ...(tools === null ? {} : { tools }) }
    return askText({ type: 'lengths', directory, rows, from: 0, form, template })
  },
})

/** Tells whether a run completes prompts: given answers are counted with theirs, and episodes write theirs as they go. */
const hasPrompts = ({ environment }: RunConfig, experience: Experience): boolean =>
  environment === null && experience === 'rollout'

/**
 * Warnings for settings that fit together, those of all stages, on the device that `auto` means. Errors: AppError
 * 'config/invalid' for what the model cannot do.
 */
export function settingWarnings(
  config: RunConfig,
  byId: AlgorithmById,
  model: ModelFacts,
  kind: RunConfig['device']['kind'] = config.device.kind,
): Problem[] {
  const stages = stagesOf({ ...config, device: { ...config.device, kind } }).map((own) => ({
    config: own,
    algorithm: configured(own, byId),
  }))
  return stages.flatMap((each, i) => {
    const { config: own, algorithm } = each
    const stage = config.stages.length === 0 ? null : i
    const facts = blaming('reference.model', stage, () => readingLimit(own, algorithm, model))
    requireFitting({ ...own, device: config.device }, algorithm, facts, { stage, kind })
    const warnings = [...configWarnings(own, algorithm, facts), ...teacherWarnings(each, stages)]
    return warnings.map((warning) => ({ ...warning, stage }))
  })
}

/**
 * Checks a config whose model, rows and rewards are still to be chosen: what conflicts, and what is probably not meant.
 */
export function unfinishedWarnings(config: RunConfig): Problem[] {
  const algorithm = configured(config, algorithmById)
  const conflicts = configConflicts(config, algorithm).filter(({ code }) => code !== 'missing')
  const stage = { config, algorithm }
  return [...conflicts, ...configWarnings(config, algorithm, null), ...teacherWarnings(stage, [stage])]
}

const configured = ({ algorithm: { id, settings } }: RunConfig, byId: AlgorithmById): ConfiguredAlgorithm =>
  byId(id).configure(settings)

type Experience = ConfiguredAlgorithm['experience']

/* Whether the prompts of a run leave room for its completions, found out on the longest and the shortest rows alone. */

/**
 * Number of rows looked at, those with the most text: text and tokens do not grow quite alike, but one of these has the
 * most tokens.
 */
const looked = 3

interface PromptModel extends ReadingLimit {
  /** Tokens of the rows' prompts; null for a row that makes none. */
  readonly lengthsOf: (rows: readonly DataRow[]) => Promise<readonly (number | null)[]>
}

/**
 * Warns where rows will be left out that nobody asked to leave out. Errors: ConfigError where hardly a row can stay; as
 * `lengthsOf`.
 */
export async function promptRoomWarnings(
  { data, rollout }: RunConfig,
  rows: readonly DataRow[],
  { contextLength, teacher, lengthsOf }: PromptModel,
): Promise<Problem[]> {
  const room = contextLength - rollout.maxNewTokens
  const bySize = rows
    .map((row) => ({ row, size: JSON.stringify(row).length }))
    .sort((a, b) => b.size - a.size)
    .map(({ row }) => row)
  const known = async (some: readonly DataRow[]) =>
    (await lengthsOf(some)).filter((length) => length !== null)
  const longest = Math.max(...(await known(bySize.slice(0, looked))))
  if (longest <= room || (data.maxPromptTokens !== null && data.maxPromptTokens <= room)) return []
  const shortest = Math.min(...(await known(bySize.slice(-looked))))
  const together = `together they exceed ${readerOf({ teacher })}’s context of ${contextLength} tokens`
  if (shortest > room && shortest < Infinity) {
    throw new ConfigError([
      conflict(
        'rollout.maxNewTokens',
        `${rollout.maxNewTokens}, and even short prompts have ${shortest} tokens: ${together}, and no row could be trained on. Lower it, or shorten the prompts.${orOther({ teacher })}`,
      ),
    ])
  }
  return [
    unwise(
      'rollout.maxNewTokens',
      `${rollout.maxNewTokens}, and the longest prompt has ${longest} tokens: ${together}, so that such rows are left out.`,
    ),
  ]
}
