/** Presets by purpose and model size: starting points, to be measured by the check. */
import { meanOf } from '#shared/mean.ts'
import { fittingNewTokens } from '#shared/config/settings.ts'
import type { AlgorithmEntry } from '#renderer/client/runSettings.ts'
import { isEqual, valueAt, withValues, type JsonObject } from '#shared/config/paths.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { type Answer, useAnswer } from '#renderer/client/api.tsx'
import { type Calibration, useNewRunStore } from './useDraft.ts'
import { runTitle } from '#renderer/client/words.ts'
import { readConfig } from '#renderer/parts/useRun.ts'
import { useRuns } from '#renderer/client/runs.ts'

export interface ModelFacts {
  readonly parameters: number
  readonly contextLength: number
}

export interface Preset {
  readonly id: 'quick' | 'balanced' | 'thorough'
  readonly title: string
  readonly description: string
  readonly values: JsonObject
}

type ModelSize = 'tiny' | 'small' | 'medium' | 'large'

export const sizeOf = ({ parameters }: ModelFacts): ModelSize => {
  if (parameters < 20e6) return 'tiny'
  if (parameters < 200e6) return 'small'
  return parameters < 1.2e9 ? 'medium' : 'large'
}

/**
 * Defaults by size: small models take, and need, larger steps. From 200 M parameters on, generation on a CPU is bound
 * by reading the weights, which int8 halves.
 */
const bySize: Readonly<
  Record<ModelSize, { readonly learningRate: number; readonly precision: 'f32' | 'int8' }>
> = {
  tiny: { learningRate: 2e-3, precision: 'f32' },
  small: { learningRate: 5e-4, precision: 'f32' },
  medium: { learningRate: 1e-4, precision: 'int8' },
  large: { learningRate: 5e-5, precision: 'int8' },
}

interface Recipe {
  readonly id: Preset['id']
  readonly title: string
  readonly description: string
  readonly steps: number
  readonly promptsPerStep: number
  readonly groupSize: number
  readonly maxNewTokens: number
  /** Rows of given answers per step. */
  readonly rows: number
  readonly rank: number
  readonly every: number
}

const recipes: readonly Recipe[] = [
  {
    id: 'quick',
    title: 'Quick look',
    description: 'Does it learn at all? A few small steps.',
    steps: 10,
    promptsPerStep: 4,
    groupSize: 4,
    maxNewTokens: 64,
    rows: 8,
    rank: 8,
    every: 5,
  },
  {
    id: 'balanced',
    title: 'Balanced',
    description: 'Enough steps and completions for a trustworthy curve.',
    steps: 60,
    promptsPerStep: 8,
    groupSize: 8,
    maxNewTokens: 128,
    rows: 16,
    rank: 16,
    every: 10,
  },
  {
    id: 'thorough',
    title: 'Thorough',
    description: 'More comparisons, longer answers, steadier learning.',
    steps: 300,
    promptsPerStep: 16,
    groupSize: 16,
    maxNewTokens: 256,
    rows: 32,
    rank: 32,
    every: 25,
  },
]

type Learning = Pick<AlgorithmEntry, 'experience' | 'groupSize'>

/** Returns presets; a model still unknown counts as medium. */
export const presetsFor = (model: ModelFacts | null, algorithm: Learning): Preset[] =>
  recipes.map((recipe) => ({
    id: recipe.id,
    title: recipe.title,
    description: recipe.description,
    values: valuesOf(recipe, model ?? { parameters: 5e8, contextLength: 4096 }, algorithm),
  }))

function valuesOf(recipe: Recipe, model: ModelFacts, { experience, groupSize }: Learning): JsonObject {
  const { learningRate, precision } = bySize[sizeOf(model)]
  const common = {
    steps: recipe.steps,
    'adapter.rank': recipe.rank,
    'adapter.alpha': 2 * recipe.rank,
    'optimization.learningRate':
      experience === 'preferences' || experience === 'marks' ? learningRate / 2 : learningRate,
    'evaluation.every': recipe.every,
    'checkpoints.every': recipe.every,
    'rollout.maxNewTokens': fittingNewTokens(model.contextLength, recipe.maxNewTokens),
  }
  if (experience !== 'rollout') return { ...common, 'rollout.promptsPerStep': recipe.rows }
  return {
    ...common,
    'rollout.promptsPerStep': recipe.promptsPerStep,
    // An algorithm that compares nothing within a group needs more prompts instead.
    'rollout.groupSize': groupSize.default === 1 ? 1 : Math.max(groupSize.minimum, recipe.groupSize),
    'rollout.precision': precision,
  }
}

/** True if the config matches the preset exactly. */
export const isActive = (config: JsonObject, { values }: Preset): boolean =>
  Object.entries(values).every(([key, value]) => isEqual(valueAt(config, key), value))

/** Counts the changed settings of a draft, telling those of a preset from the user's own. */
export function changeWords(changed: readonly string[], active: Preset | undefined): string {
  const byPreset = changed.filter((key) => active !== undefined && key in active.values).length
  const byHand = changed.length - byPreset
  if (changed.length === 0) return 'all defaults'
  if (active === undefined || byPreset === 0) return `${String(byHand)} changed`
  const set = `${String(byPreset)} set by “${active.title}”`
  return byHand === 0 ? set : `${set}, ${String(byHand)} changed`
}

const isUntouched = (config: JsonObject, preset: Preset): boolean =>
  Object.keys(preset.values).every((key) => valueAt(config, key) === undefined)

/**
 * Adapts an active preset to a new model or algorithm; if nothing has been set, the balanced one is applied. Values set
 * by hand stay.
 */
export function followed(
  config: JsonObject,
  before: readonly Preset[],
  after: readonly Preset[],
): JsonObject {
  const chosen = before.find((preset) => isActive(config, preset))
  const isNew = chosen === undefined && before.every((preset) => isUntouched(config, preset))
  const next = after.find(({ id }) => id === (isNew ? 'balanced' : chosen?.id))
  return next === undefined ? config : applied(config, next, chosen)
}

/** Applies a preset; keys of the previous one that it does not set return to their defaults. */
export function applied(config: JsonObject, preset: Preset, before?: Preset): JsonObject {
  const gone = Object.keys(before?.values ?? {}).filter((key) => !(key in preset.values))
  return withValues(config, { ...Object.fromEntries(gone.map((key) => [key, undefined])), ...preset.values })
}

// Duration of a preset on this machine, from earlier steps with the same model.

export interface Measured {
  /** Duration of whole steps per token of prompts and completions. */
  readonly secondsPerToken: number
  readonly promptTokens: number
  /** Mean length. */
  readonly completionTokens: number
  readonly secondsPerEvaluation: number
  /** Source of the measurement: “the run “sums””. */
  readonly source: string
}

interface Seconds {
  readonly low: number
  readonly high: number
}

/**
 * Estimates the duration of a preset. `low`: completions stay as long as they were; `high`: all reach the limit. Null
 * if the preset generates nothing, about which the measurement says nothing.
 */
export function presetSeconds({ values }: Preset, measured: Measured): Seconds | null {
  const value = (key: string) => Number(values[key])
  if (values['rollout.groupSize'] === undefined) return null
  const longest = value('rollout.maxNewTokens')
  const [steps, rows] = [value('steps'), value('rollout.promptsPerStep') * value('rollout.groupSize')]
  const evaluations = 1 + Math.floor(steps / value('evaluation.every'))
  const secondsFor = (length: number) =>
    steps * rows * (measured.promptTokens + length) * measured.secondsPerToken +
    evaluations * measured.secondsPerEvaluation
  return { low: secondsFor(Math.min(longest, measured.completionTokens)), high: secondsFor(longest) }
}

/**
 * Derives speed from a run's steps; null if it has none with completions. `groupSize`: used if its settings leave it to
 * the algorithm.
 */
export function measuredByRun(
  { metrics, rows }: Answer<'metrics.table'>,
  { rollout }: Pick<RunConfig, 'rollout'>,
  { groupSize, source }: { readonly groupSize: number; readonly source: string },
): Measured | null {
  const column = (name: string) => {
    const at = metrics.indexOf(name)
    return rows.flatMap(({ values }) => values[at] ?? [])
  }
  const [times, totals] = [column('step_time'), column('num_tokens')]
  const completionTokens = meanOf(column('completions/mean_length'))
  // The first step also prepares programs.
  const tokens = ((totals.at(-1) ?? 0) - (totals[0] ?? 0)) / (totals.length - 1)
  const seconds = meanOf(times.slice(1))
  if (times.length !== totals.length || !(tokens > 0) || seconds === null || completionTokens === null)
    return null
  const completions = rollout.promptsPerStep * (rollout.groupSize ?? groupSize)
  return {
    secondsPerToken: seconds / tokens,
    completionTokens,
    source,
    promptTokens: Math.max(0, tokens / completions - completionTokens),
    secondsPerEvaluation: meanOf(column('eval_time')) ?? 0,
  }
}

/** Derives speed from a check with `completions` per step; null if it generated nothing. */
function measuredByCheck(check: Calibration, completions: number): Measured | null {
  const completionTokens = meanOf(check.samples.map(({ tokens }) => tokens))
  const { promptTokens } = check.longest
  if (completionTokens === null || !(completions > 0)) return null
  return {
    promptTokens,
    completionTokens,
    source: 'the check',
    secondsPerToken: check.secondsPerStep / (completions * (promptTokens + completionTokens)),
    secondsPerEvaluation: check.secondsPerEvaluation,
  }
}

// Duration of steps with the draft's model on this machine: in the last check, else in the newest run with it.

const measuredSteps = 40

interface Asked {
  readonly config: JsonObject
  readonly models: readonly { readonly name: string; readonly directory: string }[]
  readonly algorithm: AlgorithmEntry | undefined
  /** Returns the value of a setting in a config, or its default. */
  readonly effective: (config: JsonObject, key: string) => unknown
}

export function useMeasured(asked: Asked): Measured | null {
  const checked = useNewRunStore((state) => state.checked)
  const byRun = useMeasuredByRun(asked)
  if (checked === null) return byRun
  const { config, effective } = asked
  const [tried] = JSON.parse(checked.part) as readonly [JsonObject]
  if (tried['model'] !== config['model']) return byRun
  const completions =
    Number(effective(tried, 'rollout.promptsPerStep')) *
    Number(effective(tried, 'rollout.groupSize') ?? defaultSize(asked))
  return measuredByCheck(checked.result, completions) ?? byRun
}

function useMeasuredByRun(asked: Asked): Measured | null {
  const { config, models } = asked
  const { runs } = useRuns()
  // Runs name a model by its folder, drafts by its name as well.
  const own = models.find(({ name, directory }) => [name, directory].includes(String(config['model'])))
  const run = runs
    .filter(({ model, step, reward }) => model === own?.directory && step > 2 && reward !== null)
    .sort((a, b) => b.createdAt - a.createdAt)[0]
  const runId = run?.id ?? ''
  const options = { enabled: run !== undefined }
  const { data: table } = useAnswer('metrics.table', { runId, limit: measuredSteps }, options)
  const { data: record } = useAnswer('runs.get', { runId }, options)
  const settings = readConfig(record?.config)
  if (run === undefined || table === undefined || settings === null) return null
  return measuredByRun(table, settings, {
    groupSize: defaultSize(asked),
    source: `the run “${runTitle(run)}”`,
  })
}

const defaultSize = ({ algorithm }: Asked): number => algorithm?.groupSize.default ?? 1
