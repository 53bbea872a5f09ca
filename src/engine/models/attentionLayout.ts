/** What the layers of a decoder see and how they rotate: the config's windows and rotary embeddings, each kept once. */
import { AppError } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'
import type { AttentionWindow, LayerAttention, ModelConfig, RopeConfig } from './config.ts'
import type { Fields } from './fields.ts'
import { type RopeBasis, ropeConfig, ropeType } from './rope.ts'

const positionLimits = { min: 1, max: 1 << 24 }

export interface ContextLimits {
  readonly maxPositions: number
  readonly contextLength: number
}

export interface RopeTraits {
  readonly headDim: number
  readonly defaultTheta: number
  /** Share of a head's channels that the family rotates where the config is silent; null: always all. */
  readonly defaultShare: number | null
}

/** `rope_scaling` with `rope_theta` beside it, or all in `rope_parameters` as transformers 5 writes it. */
export function ropeFields(fields: Fields, kind: 'full_attention' | 'sliding_attention'): Fields {
  const scaling = fields.object(fields.has('rope_scaling') ? 'rope_scaling' : 'rope_parameters')
  return scaling.has(kind) ? scaling.object(kind) : scaling
}

/** Rotary frequencies of all layers that have no others of their own. */
export function readRope(fields: Fields, traits: RopeTraits, limits: ContextLimits): RopeConfig {
  return readRopeOf(fields, ropeFields(fields, 'full_attention'), traits, limits)
}

/** Rotary frequencies from a rope object, with what stands outside it. */
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
  const share = readShare(fields, rope, defaultShare)
  const rotated = Math.trunc(headDim * share)
  if (rotated < 2 || rotated % 2 !== 0) {
    throw new AppError(
      'model/invalid',
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
  throw new AppError(
    'model/unsupported',
    `${fields.where} describes a model with heads that are rotated only in part, which this type of model is not made for.`,
  )
}

/**
 * How long sequences may get: `wished`, or without a wish as long as the positions reach without being stretched anew.
 * Errors: AppError 'config/invalid' where the wish is too long.
 */
export function contextLimits(fields: Fields, maxPositions: number, wished: number | null): ContextLimits {
  const rope = ropeFields(fields, 'full_attention')
  const type = ropeType(rope)
  const longest =
    type === 'dynamic' ? maxPositions * rope.number('factor', { min: 1, max: 1e6 }) : maxPositions
  if (wished !== null && wished > longest) {
    throw new AppError(
      'config/invalid',
      `A context of ${wished} tokens is more than the ${longest} that ${fields.where} allows.`,
      'Choose a shorter context length, or none.',
    )
  }
  const original =
    originalLength(fields) ??
    rope.integer('original_max_position_embeddings', { ...positionLimits, fallback: maxPositions })
  const usual = type === 'longrope' ? Math.min(original, maxPositions) : maxPositions
  return { maxPositions, contextLength: wished ?? usual }
}

/** What one layer sees and how it rotates. */
export interface LayerKind {
  readonly window: AttentionWindow
  /** null: q and k are not rotated. */
  readonly rope: RopeConfig | null
}

/** The layers' kinds with each window and rope kept once. A window as long as the context hides nothing. */
export function attentionLayout(
  kinds: readonly LayerKind[],
  { contextLength }: ContextLimits,
): Pick<ModelConfig, 'windows' | 'ropes' | 'attention'> {
  const windows: AttentionWindow[] = []
  const ropes: RopeConfig[] = []
  const attention = kinds.map(({ window, rope }): LayerAttention => {
    const seen = window !== null && window >= contextLength ? null : window
    return { window: placeIn(windows, seen), rope: rope === null ? null : placeIn(ropes, rope) }
  })
  return { windows, ropes, attention }
}

function placeIn<T>(list: T[], item: T): number {
  const place = list.indexOf(item)
  return place === -1 ? list.push(item) - 1 : place
}

/**
 * The window of each layer: of those that `layer_types` calls sliding, or without it those of which the family's rule
 * `slides` says so.
 */
export function readWindows(
  fields: Fields,
  layers: number,
  { size, slides }: { readonly size: number | null; readonly slides: (layer: number) => boolean },
): readonly AttentionWindow[] {
  const types = fields.texts('layer_types')
  if (types.length > 0 && types.length !== layers) {
    throw fields.invalid('layer_types', `a list of ${layers} types, one for each layer`)
  }
  const strange = types.find((type) => type !== 'full_attention' && type !== 'sliding_attention')
  if (strange !== undefined) {
    throw new AppError(
      'model/unsupported',
      `${fields.where} describes a model with layers of type “${shorten(strange)}”, which is not supported.`,
    )
  }
  return Array.from({ length: layers }, (_, layer) => {
    const isSliding = types.length > 0 ? types[layer] === 'sliding_attention' : slides(layer)
    if (isSliding && size === null) throw fields.invalid('sliding_window', 'a whole number of tokens from 1')
    return isSliding ? size : null
  })
}

/** `sliding_window`; absent means the class default, null none. */
export function windowSize(fields: Fields, classDefault: number | null): number | null {
  if (!fields.has('sliding_window')) return fields.isNull('sliding_window') ? null : classDefault
  return fields.integer('sliding_window', positionLimits)
}
