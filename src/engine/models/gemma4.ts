import {
  attentionLayout,
  readRopeOf,
  readWindows,
  ropeFields,
  windowSize,
  type LayerKind,
} from './attentionLayout.ts'
import {
  type Architecture,
  type ArchitectureTraits,
  names,
  readDecoderConfig,
  ropeTraits,
  unsupported,
} from './common.ts'
import { type LayerMixer, type ModelConfig, type RopeConfig, separateLinears } from './config.ts'
import { Fields } from './fields.ts'
import { gemmaActivation, gemmaTraits } from './gemma2.ts'

/**
 * Gemma 4, text, dense: five layers with a window for each that sees all, with other heads in these; the last layers may read the
 * keys and values of earlier ones; in the small models each token brings a vector of its own into every layer (Gemma Team 2025, Gemma 3n).
 */
export const gemma4 = family({
  modelType: 'gemma4_text',
  className: 'Gemma4ForCausalLM',
  seeing: { modelType: 'gemma4', className: 'Gemma4ForConditionalGeneration' },
  defaults: { maxPositions: 131_072, window: 512, layerChannels: 256 },
  tiny: {
    hidden_size_per_layer_input: 8,
    num_kv_shared_layers: 2,
    use_double_wide_mlp: true,
    final_logit_softcapping: 30,
  },
})

/** The sizes that see and hear without towers of their own: all keys and values their own, nothing brought into layers. */
export const gemma4Unified = family({
  modelType: 'gemma4_unified_text',
  className: 'Gemma4UnifiedForCausalLM',
  seeing: { modelType: 'gemma4_unified', className: 'Gemma4UnifiedForConditionalGeneration' },
  defaults: { maxPositions: 262_144, window: 1_024, layerChannels: 0 },
  tiny: { attention_k_eq_v: true, num_global_key_value_heads: 1 },
})

interface FamilyOptions<ModelType extends string> extends Required<
  Pick<Architecture, 'className' | 'seeing'>
> {
  readonly modelType: ModelType
  readonly defaults: {
    readonly maxPositions: number
    readonly window: number
    readonly layerChannels: number
  }
  readonly tiny: Readonly<Record<string, unknown>>
}

function family<ModelType extends string>({
  modelType,
  className,
  seeing,
  defaults,
  tiny,
}: FamilyOptions<ModelType>) {
  return {
    modelType,
    className,
    seeing,
    gguf: { name: 'gemma4', isPermuted: false },
    tiny: {
      layers: 4,
      headDim: 16,
      tiedHead: true,
      deviation: 0.15,
      config: ({ layers }) => ({
        ...gemmaActivation,
        ...tiny,
        sliding_window: 32,
        global_head_dim: 24,
        layer_types: Array.from({ length: layers }, (_, layer) =>
          layer % 2 === 0 ? 'sliding_attention' : 'full_attention',
        ),
        vocab_size_per_layer_input: null,
      }),
    },
    read: (fields, contextLength) => read(fields, contextLength, modelType, defaults),
  } as const satisfies Architecture
}

function read(
  fields: Fields,
  contextLength: number | null,
  modelType: string,
  defaults: FamilyOptions<string>['defaults'],
): ModelConfig {
  refuse(fields)
  const traits: ArchitectureTraits = {
    ...gemmaTraits(fields),
    name: modelType,
    defaultMaxPositions: defaults.maxPositions,
    norm: 'rms',
    qkNorm: 'head',
  }
  const config = readDecoderConfig(fields, traits, contextLength)
  const { layers, hiddenSize } = config
  const layerChannels = fields.integer('hidden_size_per_layer_input', {
    min: 0,
    max: 65_536,
    fallback: defaults.layerChannels,
  })
  requireTable(fields, config, layerChannels)
  const shared = fields.integer('num_kv_shared_layers', { min: 0, max: layers - 1, fallback: 0 })
  const wide = fields.boolean('use_double_wide_mlp', false)
  const capped = fields.has('final_logit_softcapping')
  return {
    ...config,
    ...attentionOfLayers(fields, config, { shared, window: defaults.window }),
    attentionScale: 1,
    normsValues: true,
    scalesLayers: true,
    finalSoftcap: capped ? fields.number('final_logit_softcapping', { min: 1e-3, max: 1e6 }) : null,
    embeddingScale: Math.fround(Math.sqrt(hiddenSize)),
    ...(wide && shared > 0 && { innerSizes: innerSizes(config, shared) }),
    layerChannels,
    ...(layerChannels > 0 && {
      linears: [...separateLinears, 'per_layer_input_gate', 'per_layer_projection'] as const,
      names: { ...names, layerInputs },
    }),
  }
}

const layerInputs = {
  table: 'model.embed_tokens_per_layer.weight',
  projection: 'model.per_layer_model_projection.weight',
  norm: 'model.per_layer_projection_norm',
} as const

function refuse(fields: Fields): void {
  if (fields.text('use_bidirectional_attention', 'vision') !== 'vision')
    throw unsupported(fields, 'attention in both directions')
  if (fields.boolean('enable_moe_block', false)) throw unsupported(fields, 'a mixture of experts')
}

function requireTable(fields: Fields, { vocabSize }: ModelConfig, layerChannels: number): void {
  const rows = fields.integer('vocab_size_per_layer_input', { min: 1, max: 1 << 22, fallback: vocabSize })
  if (layerChannels > 0 && rows !== vocabSize)
    throw unsupported(fields, `a table of ${rows} tokens for its layers and one of ${vocabSize} before them`)
}

/** The layers without keys of their own have MLPs twice as wide. */
const innerSizes = ({ layers, intermediateSize }: ModelConfig, shared: number): number[] =>
  Array.from({ length: layers }, (_, layer) => (layer < layers - shared ? 1 : 2) * intermediateSize)

/** Windows, rotations and heads of all layers; the last `shared` read the keys of the last of their kind before them. */
function attentionOfLayers(
  fields: Fields,
  config: ModelConfig,
  { shared, window }: { readonly shared: number; readonly window: number },
): Pick<ModelConfig, 'windows' | 'ropes' | 'mixers'> {
  const { layers } = config
  const windows = readWindows(fields, layers, {
    size: windowSize(fields, window),
    slides: (layer) => (layer + 1) % 6 !== 0,
  }).map((each, layer) => (layer === layers - 1 ? null : each)) // the last one sees all, whatever its type
  const heads = windows.map((each, layer) => headsOfLayer(fields, config, { layer, isFull: each === null }))
  const ropes = new Map<string, RopeConfig>()
  const kinds = windows.map((each, layer): LayerKind => {
    const { headDim = config.headDim, kvHeads = config.kvHeads } = heads[layer] ?? {}
    const key = `${each === null ? 'full' : 'sliding'} ${headDim}`
    const rope = ropes.get(key) ?? ropeOf(fields, config, { headDim, isFull: each === null })
    ropes.set(key, rope)
    return { window: each, rope, kvHeads }
  })
  const layout = attentionLayout(kinds, config)
  const isKey = fields.boolean('attention_k_eq_v', false)
  const mixers = layout.mixers.map((mixer, layer): LayerMixer => {
    const valuesAreKeys = isKey && windows[layer] === null
    return {
      ...mixer,
      ...heads[layer],
      ...(valuesAreKeys && { valuesAreKeys }),
      ...keysOf(windows, layer, shared, fields),
    }
  })
  return { ...layout, mixers }
}

function keysOf(
  windows: ModelConfig['windows'],
  layer: number,
  shared: number,
  fields: Fields,
): { readonly keysOf?: number } {
  const own = windows.length - shared
  if (layer < own) return {}
  const owner = windows
    .slice(0, own)
    .findLastIndex((window) => (window === null) === (windows[layer] === null))
  if (owner === -1)
    throw fields.invalid('num_kv_shared_layers', 'less: a layer has no earlier one of its type')
  return { keysOf: owner }
}

/** Heads of a layer that differ from the model's: by layer, or of all that see everything. */
function headsOfLayer(
  fields: Fields,
  { headDim, kvHeads, heads }: ModelConfig,
  { layer, isFull }: { readonly layer: number; readonly isFull: boolean },
): { readonly headDim?: number; readonly kvHeads?: number } {
  const own = ownHeads(fields, layer, isFull)
  const dim = own.integer('head_dim', { min: 2, max: 1_024, fallback: headDim })
  const count = own.integer('num_key_value_heads', { min: 1, max: 1_024, fallback: kvHeads })
  if (dim % 2 !== 0) throw own.invalid('head_dim', 'an even number')
  if (heads % count !== 0)
    throw own.invalid('num_key_value_heads', `a divisor of num_attention_heads (${heads})`)
  return { ...(dim !== headDim && { headDim: dim }), ...(count !== kvHeads && { kvHeads: count }) }
}

/** Fields of a layer in place of the model's, under their names. */
function ownHeads(fields: Fields, layer: number, isFull: boolean): Fields {
  if (fields.has('per_layer_config')) return fields.object('per_layer_config').object(String(layer))
  const differing = {
    head_dim: fields.integer('global_head_dim', { min: 2, max: 1_024, fallback: 512 }),
    num_key_value_heads: fields.boolean('attention_k_eq_v', false)
      ? fields.value('num_global_key_value_heads')
      : null,
  }
  return new Fields(isFull ? differing : {}, fields.where)
}

/** The rotation of one kind of layer; the defaults of the class where the config has none. */
function ropeOf(
  fields: Fields,
  limits: ModelConfig,
  { headDim, isFull }: { readonly headDim: number; readonly isFull: boolean },
): RopeConfig {
  const kind = isFull ? 'full_attention' : 'sliding_attention'
  const defaultTheta = isFull ? 1_000_000 : 10_000
  if (!fields.has('rope_parameters')) {
    const rotated = { rope_type: 'proportional', partial_rotary_factor: 0.25 }
    const rope = new Fields(isFull ? rotated : {}, fields.where)
    return readRopeOf(fields, rope, ropeTraits({ defaultTheta }, headDim), limits)
  }
  return readRopeOf(fields, ropeFields(fields, kind), ropeTraits({ defaultTheta }, headDim), limits)
}
