/** Settings by what a person wants to know and by how large the model is: a place to begin, to be measured by the check. */
import { fittingNewTokens } from '#shared/usualLength.ts'
import { plural } from '#renderer/client/format.ts'
import type { AlgorithmEntry } from '#renderer/client/runSettings.ts'
import { isEqual, valueAt, withValues, type JsonObject } from '#shared/config/paths.ts'

export interface ModelFacts {
  readonly parameters: number
  /** Tokens it can read at once. */
  readonly contextLength: number
}

export interface Preset {
  readonly id: 'quick' | 'balanced' | 'thorough'
  readonly title: string
  readonly description: string
  /** By key of the config. */
  readonly values: JsonObject
}

type ModelSize = 'tiny' | 'small' | 'medium' | 'large'

export const sizeOf = ({ parameters }: ModelFacts): ModelSize => {
  if (parameters < 20e6) return 'tiny'
  if (parameters < 200e6) return 'small'
  return parameters < 1.2e9 ? 'medium' : 'large'
}

/**
 * Small models take, and need, larger steps. From 200 M parameters on a processor's generation is bound by reading the
 * weights, which int8 halves.
 */
const bySize: Readonly<
  Record<ModelSize, { readonly learningRate: number; readonly precision: 'f32' | 'int8' }>
> = {
  tiny: { learningRate: 2e-3, precision: 'f32' },
  small: { learningRate: 5e-4, precision: 'f32' },
  medium: { learningRate: 1e-4, precision: 'int8' },
  large: { learningRate: 5e-5, precision: 'int8' },
}

interface Wish {
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

const wishes: readonly Wish[] = [
  {
    id: 'quick',
    title: 'Quick look',
    description: 'Does the reward move at all? A few small steps.',
    ...{ steps: 10, promptsPerStep: 4, groupSize: 4, maxNewTokens: 64, rows: 8, rank: 8, every: 5 },
  },
  {
    id: 'balanced',
    title: 'Balanced',
    description: 'Enough steps and completions for a curve to trust.',
    ...{ steps: 60, promptsPerStep: 8, groupSize: 8, maxNewTokens: 128, rows: 16, rank: 16, every: 10 },
  },
  {
    id: 'thorough',
    title: 'Thorough',
    description: 'More comparisons, longer answers, steadier learning.',
    ...{ steps: 300, promptsPerStep: 16, groupSize: 16, maxNewTokens: 256, rows: 32, rank: 32, every: 25 },
  },
]

type Learning = Pick<AlgorithmEntry, 'experience' | 'groupSize'>

/** A model that nothing is known of yet counts as medium. */
export const presetsFor = (model: ModelFacts | null, algorithm: Learning): Preset[] =>
  wishes.map((wish) => ({
    id: wish.id,
    title: wish.title,
    description: wish.description,
    values: valuesOf(wish, model ?? { parameters: 5e8, contextLength: 4096 }, algorithm),
  }))

function valuesOf(wish: Wish, model: ModelFacts, { experience, groupSize }: Learning): JsonObject {
  const { learningRate, precision } = bySize[sizeOf(model)]
  const common = {
    steps: wish.steps,
    'adapter.rank': wish.rank,
    'adapter.alpha': 2 * wish.rank,
    'optimization.learningRate': experience === 'preferences' ? learningRate / 2 : learningRate,
    'evaluation.every': wish.every,
    'checkpoints.every': wish.every,
    'rollout.maxNewTokens': fittingNewTokens(model.contextLength, wish.maxNewTokens),
  }
  if (experience !== 'rollout') return { ...common, 'rollout.promptsPerStep': wish.rows }
  return {
    ...common,
    'rollout.promptsPerStep': wish.promptsPerStep,
    // An algorithm that compares nothing within a group wants more prompts instead.
    'rollout.groupSize': groupSize.default === 1 ? 1 : Math.max(groupSize.minimum, wish.groupSize),
    'rollout.precision': precision,
  }
}

/** Whether the config says just what the preset would. */
export const isActive = (config: JsonObject, { values }: Preset): boolean =>
  Object.entries(values).every(([key, value]) => isEqual(valueAt(config, key), value))

/** How much of a draft is not as it is by default, by key; what a preset set is told apart from what a person did. */
export function changeWords(changed: readonly string[], active: Preset | undefined): string {
  const byPreset = changed.filter((key) => active !== undefined && key in active.values).length
  const byHand = changed.length - byPreset
  if (changed.length === 0) return 'all defaults'
  if (active === undefined || byPreset === 0) return plural(byHand, 'setting changed', 'settings changed')
  const set = `${String(byPreset)} set by “${active.title}”`
  return byHand === 0 ? set : `${set}, ${String(byHand)} changed`
}

const isUntouched = (config: JsonObject, preset: Preset): boolean =>
  Object.keys(preset.values).every((key) => valueAt(config, key) === undefined)

/**
 * When model or algorithm change, a preset that was chosen goes along; where nobody has set anything the balanced one is
 * the place to begin. What a person set by hand stays.
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

/** Keys of the preset before that this one says nothing of go back to their defaults. */
export function applied(config: JsonObject, preset: Preset, before?: Preset): JsonObject {
  const gone = Object.keys(before?.values ?? {}).filter((key) => !(key in preset.values))
  return withValues(config, { ...Object.fromEntries(gone.map((key) => [key, undefined])), ...preset.values })
}
