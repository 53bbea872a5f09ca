/**
 * Lists what the layers of a decoder attend to and how they rotate: the config's windows and rotary embeddings, each
 * once.
 */
import { invalidConfig, invalidModel, unsupportedModel } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'
import type { AttentionWindow, LayerAttention, LayerMixer, ModelConfig, RopeConfig } from './config.ts'
import type { Fields } from './fields.ts'

const positionLimits = { min: 1, max: 1 << 24 }

export interface ContextLimits {
  readonly maxPositions: number
  readonly contextLength: number
}

export interface RopeTraits {
  readonly headDim: number
  readonly defaultTheta: number
  /** Share of a head's channels that the family rotates if the config does not say; null: always all. */
  readonly defaultShare: number | null
}

/** `rope_scaling` with `rope_theta` beside it, or all in `rope_parameters` as transformers 5 writes it. */
export function ropeFields(fields: Fields, kind: 'full_attention' | 'sliding_attention'): Fields {
  const scaling = fields.object(fields.has('rope_scaling') ? 'rope_scaling' : 'rope_parameters')
  return scaling.has(kind) ? scaling.object(kind) : scaling
}

/** Rotary frequencies of all layers without frequencies of their own. */
export function readRope(fields: Fields, traits: RopeTraits, limits: ContextLimits): RopeConfig {
  return readRopeOf(fields, ropeFields(fields, 'full_attention'), traits, limits)
}

/** Rotary frequencies from a rope object and the fields beside it. */
export function readRopeOf(
  fields: Fields,
  rope: Fields,
  { headDim, defaultTheta, defaultShare }: RopeTraits,
  limits: ContextLimits,
): RopeConfig {
  const range = { min: 1.001, max: 1e12 }
  const theta = rope.number('rope_theta', {
    ...range,
    fallback: fields.number('rope_theta', { ...range, fallback: defaultTheta }),
  })
  const share = ropeType(rope) === 'proportional' ? 1 : readShare(fields, rope, defaultShare)
  const rotated = Math.trunc(headDim * share)
  if (rotated < 2 || rotated % 2 !== 0) {
    throw invalidModel(
      `${fields.where} rotates ${rotated} of the ${headDim} channels of each head, which must be an even number from 2.`,
    )
  }
  const basis: RopeBasis = { ...limits, rotated, theta, originalMaxPositions: originalLength(fields) }
  return ropeConfig(basis, rope)
}

const originalLength = (fields: Fields): number | null => {
  const length = fields.integer('original_max_position_embeddings', {
    ...positionLimits,
    fallback: 0,
  })
  return length === 0 ? null : length
}

function readShare(fields: Fields, rope: Fields, defaultShare: number | null): number {
  const range = { min: 0, max: 1 }
  const outside = fields.number('partial_rotary_factor', { ...range, fallback: defaultShare ?? 1 })
  const share = rope.number('partial_rotary_factor', { ...range, fallback: outside })
  if (share === 1 || defaultShare !== null) return share
  throw unsupportedModel(
    `${fields.where} describes a model with partly rotated heads, which this model type does not use.`,
  )
}

/**
 * The maximum sequence length: `requested`, or else the longest that the positions cover without further scaling.
 * Errors: AppError 'config/invalid' if the requested context is too long.
 */
export function contextLimits(fields: Fields, maxPositions: number, requested: number | null): ContextLimits {
  const rope = ropeFields(fields, 'full_attention')
  const type = ropeType(rope)
  const longest =
    type === 'dynamic' ? maxPositions * rope.number('factor', { min: 1, max: 1e6 }) : maxPositions
  if (requested !== null && requested > longest) {
    throw invalidConfig(
      `A context of ${requested} tokens exceeds the ${longest} that ${fields.where} allows.`,
      'Choose a shorter context length, or none.',
    )
  }
  const original =
    originalLength(fields) ??
    rope.integer('original_max_position_embeddings', { ...positionLimits, fallback: maxPositions })
  const defaultLength = type === 'longrope' ? Math.min(original, maxPositions) : maxPositions
  return { maxPositions, contextLength: requested ?? defaultLength }
}

/** Window and rotary embedding of one layer. */
export interface LayerKind {
  readonly window: AttentionWindow
  /** null: q and k are not rotated. */
  readonly rope: RopeConfig | null
  /** Rope of q where k has another. */
  readonly queryRope?: RopeConfig
  /** Key heads, where layers differ: those of one window have equally many. */
  readonly kvHeads?: number
}

/** The kind of each layer, with each window and rope listed once. A window as long as the context hides nothing. */
export function attentionLayout(
  kinds: readonly LayerKind[],
  { contextLength }: ContextLimits,
): Pick<ModelConfig, 'windows' | 'ropes' | 'mixers'> {
  const windows: AttentionWindow[] = []
  const ropes: RopeConfig[] = []
  const kindsOfWindows: string[] = []
  const mixers = kinds.map(({ window, rope, queryRope, kvHeads }): LayerAttention => {
    const seen = window !== null && window >= contextLength ? null : window
    const place = placeIn(kindsOfWindows, `${seen ?? 'all'} by ${kvHeads ?? 'all'}`)
    windows[place] = seen
    return {
      kind: 'attention',
      window: place,
      rope: rope === null ? null : placeIn(ropes, rope),
      ...(queryRope && { queryRope: placeIn(ropes, queryRope) }),
    }
  })
  return { windows, ropes, mixers }
}

function placeIn<T>(list: T[], item: T): number {
  const place = list.indexOf(item)
  return place === -1 ? list.push(item) - 1 : place
}

/**
 * Returns the window of each layer: that of the layers which `layer_types` calls sliding or, without that field, of the
 * layers selected by the family's rule `slides`.
 */
export function readWindows(
  fields: Fields,
  layers: number,
  { size, slides }: { readonly size: number | null; readonly slides: (layer: number) => boolean },
): readonly AttentionWindow[] {
  return layersOfType(fields, layers, { type: 'sliding_attention', otherwise: slides }).map((isSliding) => {
    if (isSliding && size === null) throw fields.invalid('sliding_window', 'a whole number of tokens from 1')
    return isSliding ? size : null
  })
}

/** Types of layers as configs spelled them before transformers 5. */
const olderTypes: Readonly<Record<string, string>> = {
  attention: 'full_attention',
  mamba: 'linear_attention',
}

/**
 * Returns which layers are of `type` by `layer_types`, or by the family's rule where the config has no such list. The others
 * attend in full. Errors: AppError 'model/invalid' for a list of another length, 'model/unsupported' for a third type.
 */
function layersOfType(
  fields: Fields,
  layers: number,
  { type, otherwise }: { readonly type: string; readonly otherwise: (layer: number) => boolean },
): readonly boolean[] {
  const given = fields.texts('layer_types')
  const types = given.map((each) => olderTypes[each] ?? each)
  if (types.length > 0 && types.length !== layers) {
    throw fields.invalid('layer_types', `a list of ${layers} types, one for each layer`)
  }
  const strange = given[types.findIndex((each) => each !== 'full_attention' && each !== type)]
  if (strange !== undefined) {
    throw unsupportedModel(
      `${fields.where} describes a model with layers of type “${shorten(strange)}”, which is not supported.`,
    )
  }
  return Array.from({ length: layers }, (_, layer) =>
    types.length > 0 ? types[layer] === type : otherwise(layer),
  )
}

/** Puts another mixer in the place of attention in layers of `type`. Errors: as of a list of types; 'model/unsupported' if no layer attends. */
export function replacedMixers(
  fields: Fields,
  { mixers }: Pick<ModelConfig, 'mixers'>,
  { mixer, ...rule }: Parameters<typeof layersOfType>[2] & { readonly mixer: LayerMixer },
): LayerMixer[] {
  const isReplaced = layersOfType(fields, mixers.length, rule)
  if (isReplaced.every(Boolean)) {
    throw unsupportedModel(`${fields.where} describes a model without attention, which is not supported.`)
  }
  return mixers.map((attention, layer) => (isReplaced[layer] === true ? mixer : attention))
}

/** `sliding_window`; absent means the class default, null none. */
export function windowSize(fields: Fields, classDefault: number | null): number | null {
  if (!fields.has('sliding_window')) return fields.isNull('sliding_window') ? null : classDefault
  return fields.integer('sliding_window', positionLimits)
}

/** The inputs of every kind of rotary embedding. */
interface RopeBasis {
  /** Channels of a head that are rotated, even. */
  readonly rotated: number
  readonly theta: number
  readonly maxPositions: number
  /** Longest sequence that will be computed. */
  readonly contextLength: number
  /** The original context length of the pretrained model, if the config states it outside the rope fields. */
  readonly originalMaxPositions: number | null
}

const f32 = Math.fround

/**
 * theta^(2i/R), rounded to f32 after every operation, as in the framework that trained the checkpoints: at position
 * 30,000 the difference from exact arithmetic would already be visible. Su et al. 2021, arXiv:2104.09864.
 */
function plainPeriods({ rotated, theta }: RopeBasis): number[] {
  return Array.from({ length: rotated / 2 }, (_, pair) => f32(theta ** f32((2 * pair) / rotated)))
}

const plainFrequencies = (basis: RopeBasis): number[] => plainPeriods(basis).map((period) => f32(1 / period))

type RopeRule = (basis: RopeBasis, fields: Fields) => RopeConfig

/** The first pairs of a head rotate, by the frequencies that they have among all; the others do not. Gemma 4. */
const proportional: RopeRule = (basis, fields) => {
  const share = fields.number('partial_rotary_factor', { min: 0, max: 1, fallback: 1 })
  const factor = fields.number('factor', { min: 1, max: 1e6, fallback: 1 })
  const turning = Math.floor(share * basis.rotated * 0.5)
  const inverseFrequencies = plainFrequencies(basis).map((frequency, pair) =>
    pair < turning ? f32(frequency / factor) : 0,
  )
  return { theta: basis.theta, inverseFrequencies, attentionFactor: 1 }
}

const plain: RopeRule = (basis) => ({
  theta: basis.theta,
  inverseFrequencies: plainFrequencies(basis),
  attentionFactor: 1,
})

const factorOf = (fields: Fields): number => fields.number('factor', { min: 1, max: 1e6 })

/** Chen et al. 2023, arXiv:2306.15595: positions divided by `factor`. */
const linear: RopeRule = (basis, fields) => {
  const factor = factorOf(fields)
  return {
    theta: basis.theta,
    inverseFrequencies: plainFrequencies(basis).map((frequency) => f32(frequency / factor)),
    attentionFactor: 1,
  }
}

/**
 * NTK-aware scaling: beyond `max_position_embeddings` theta grows with the length, so that the slowest pair turns as far as
 * before (bloc97 2023). Every sequence gets the frequencies of the whole context, since keys are cached rotated. Hunyuan's
 * configs fix the stretch as `alpha`, whatever the length.
 */
const dynamic: RopeRule = (basis, fields) => {
  const factor = factorOf(fields)
  const { rotated, theta, maxPositions, contextLength } = basis
  const alpha = fields.number('alpha', { min: 0, max: 1e9, fallback: 0 })
  const stretch =
    alpha > 0 ? alpha : (factor * Math.max(contextLength, maxPositions)) / maxPositions - (factor - 1)
  if (stretch === 1) return plain(basis, fields)
  if (rotated === 2) throw fields.invalid('rope_type', 'another type if only two channels are rotated')
  return plain({ ...basis, theta: theta * stretch ** (rotated / (rotated - 2)) }, fields)
}

/**
 * LongRoPE (Ding et al. 2024, arXiv:2402.13753): a divisor of its own for each pair, from one list within the original
 * length, from another beyond it.
 */
const longrope: RopeRule = (basis, fields) => {
  const context = originalMaxPositions(basis, fields)
  const isLong = basis.contextLength > context
  const divisors = fields.numbers(isLong ? 'long_factor' : 'short_factor', { min: 1e-6, max: 1e9 })
  const periods = plainPeriods(basis)
  if (divisors.length !== periods.length) {
    throw fields.invalid(isLong ? 'long_factor' : 'short_factor', `a list of ${periods.length} numbers`)
  }
  const limits = { min: 0, max: 1e6, fallback: -1 }
  const factor = fields.number('factor', { ...limits, fallback: basis.maxPositions / context })
  const computed = factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(context))
  const given = fields.number('attention_factor', limits)
  return {
    theta: basis.theta,
    inverseFrequencies: periods.map((period, pair) => f32(1 / f32(f32(divisors[pair] ?? NaN) * period))),
    attentionFactor: given >= 0 ? given : computed,
  }
}

function originalMaxPositions(basis: RopeBasis, fields: Fields): number {
  return (
    basis.originalMaxPositions ??
    fields.integer('original_max_position_embeddings', { min: 1, max: 1 << 24, fallback: basis.maxPositions })
  )
}

/** Llama 3.1: long wavelengths divided by `factor`, short ones kept, a linear blend between. */
const llama3: RopeRule = (basis, fields) => {
  const factor = factorOf(fields)
  const low = fields.number('low_freq_factor', { min: 1e-6, max: 1e6 })
  const high = fields.number('high_freq_factor', { min: 1e-6, max: 1e6 })
  if (high <= low) throw fields.invalid('high_freq_factor', `greater than low_freq_factor (${low})`)
  const context = originalMaxPositions(basis, fields)
  const blend = (frequency: number): number => {
    const wavelength = f32(f32(1 / frequency) * f32(2 * Math.PI))
    if (wavelength < context / high) return frequency
    if (wavelength > context / low) return f32(frequency / factor)
    const smooth = f32(f32(f32(f32(1 / wavelength) * context) - low) / (high - low))
    return f32(f32(f32(f32(1 - smooth) * frequency) / factor) + f32(smooth * frequency))
  }
  return {
    theta: basis.theta,
    inverseFrequencies: plainFrequencies(basis).map(blend),
    attentionFactor: 1,
  }
}

/** YaRN (Peng et al. 2023, arXiv:2309.00071): §3.2's blend per frequency, and §3.4's scale of the attention logits. */
const yarn: RopeRule = (basis, fields) => {
  const context = originalMaxPositions(basis, fields)
  const factor = fields.number('factor', {
    min: 1,
    max: 1e6,
    fallback: Math.max(1, basis.maxPositions / context),
  })
  const { low, high } = yarnRange(basis, fields, context)
  const width = low === high ? 0.001 : high - low
  const inverseFrequencies = plainPeriods(basis).map((period, pair) => {
    const kept = f32(1 - Math.min(1, Math.max(0, f32(f32(pair - f32(low)) / f32(width)))))
    const interpolated = f32(1 / f32(factor * period))
    return f32(f32(interpolated * f32(1 - kept)) + f32(f32(1 / period) * kept))
  })
  return { theta: basis.theta, inverseFrequencies, attentionFactor: yarnAttentionFactor(fields, factor) }
}

/**
 * Returns the pairs between which the blend runs: those that turn `beta_fast` and `beta_slow` times within the context.
 */
function yarnRange(basis: RopeBasis, fields: Fields, context: number): { low: number; high: number } {
  const { rotated, theta } = basis
  const fast = fields.number('beta_fast', { min: 0, max: 1e6, fallback: 32 }) || 32
  const slow = fields.number('beta_slow', { min: 0, max: 1e6, fallback: 1 }) || 1
  const pairTurning = (turns: number): number =>
    (rotated * Math.log(context / (turns * 2 * Math.PI))) / (2 * Math.log(theta))
  const isTruncated = fields.boolean('truncate', true)
  const low = isTruncated ? Math.floor(pairTurning(fast)) : pairTurning(fast)
  const high = isTruncated ? Math.ceil(pairTurning(slow)) : pairTurning(slow)
  return { low: Math.max(low, 0), high: Math.min(high, rotated - 1) }
}

function yarnAttentionFactor(fields: Fields, factor: number): number {
  const limits = { min: 0, max: 1e6, fallback: 0 }
  const given = fields.number('attention_factor', { min: 0, max: 1e6, fallback: -1 })
  if (given >= 0) return given
  const scaleFor = (strength: number): number => (factor <= 1 ? 1 : 0.1 * strength * Math.log(factor) + 1)
  const strength = fields.number('mscale', limits)
  const strengthAllDims = fields.number('mscale_all_dim', limits)
  return strength > 0 && strengthAllDims > 0 ? scaleFor(strength) / scaleFor(strengthAllDims) : scaleFor(1)
}

const rules: ReadonlyMap<string, RopeRule> = new Map([
  ['default', plain],
  ['linear', linear],
  ['dynamic', dynamic],
  ['llama3', llama3],
  ['yarn', yarn],
  ['longrope', longrope],
  ['proportional', proportional],
])

export const ropeType = (fields: Fields): string => {
  const type = fields.text('rope_type', fields.text('type', 'default'))
  return type === 'su' ? 'longrope' : type // its name in the first Phi-3 checkpoints
}

/** The rotary frequencies of a config's rope fields (`rope_scaling` or `rope_parameters`). */
function ropeConfig(basis: RopeBasis, fields: Fields): RopeConfig {
  const type = ropeType(fields)
  const rule = rules.get(type)
  if (!rule) {
    throw unsupportedModel(
      `${fields.where} asks for rope type “${shorten(type)}”, which is not supported.`,
      `Supported are ${[...rules.keys()].join(', ')}.`,
    )
  }
  return rule(basis, fields)
}
