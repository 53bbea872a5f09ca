/** Gemma 4 in GGUF files: heads and MLPs by kind of layer, layers that share keys, and what tokens bring into each layer. */
import { invalidModel } from '#shared/errors.ts'
import { unsupported } from '#engine/models/common.ts'
import { attentionOf, type ModelConfig, type RopeConfig } from '#engine/models/config.ts'
import { gemmaActivation } from '#engine/models/gemma2.ts'
import { type FamilyKey, familyKeys, ropeTensors } from './ggufKeys.ts'
import {
  factors,
  has,
  integer,
  layerTypes,
  number,
  type Reading,
  scalarFields,
  sizes,
  slidingLayers,
  value,
} from './ggufReading.ts'

/** Every sixth layer has full attention, unless the file says otherwise. */
const interval = 6

/** Reads the value of a layer: the only one, or its own in a list. */
function ofLayer(reading: Reading, key: FamilyKey, layer: number): number | null {
  const found = value(reading, key)
  const own: unknown = Array.isArray(found) ? found[layer] : found
  return typeof own === 'number' ? own : null
}

/** Returns the file with the sizes of its first sliding-window layer for all layers, and without the rotary factors of full attention. */
export function ofSlidingLayers(reading: Reading): Reading {
  const { file, prefix } = reading
  const layers = integer(reading, 'layers', sizes)
  const first = Math.max(0, slidingLayers(reading, layers, interval).indexOf(true))
  const own = (
    [
      ['keyWidth', 'keyWidthSliding', first],
      ['valueWidth', 'valueWidthSliding', first],
      ['rotated', 'rotatedSliding', first],
      ['kvHeads', 'kvHeads', first],
      ['mlpWidth', 'mlpWidth', 0],
    ] as const
  ).flatMap(([key, from, layer]) => {
    const found = ofLayer(reading, from, layer)
    return found === null ? [] : [[`${prefix}${familyKeys[key]}`, { type: 'uint32', value: found }] as const]
  })
  const uniform = { ...file, metadata: new Map([...file.metadata, ...own]), numbers: () => null }
  return { file: uniform, fields: scalarFields(uniform), prefix }
}

/** Sizes of the sliding-window layers, under the names that all families share. */
interface SlidingConfig {
  readonly num_hidden_layers: number
  readonly intermediate_size: number
  readonly num_key_value_heads: number
  readonly vocab_size: number | null
  readonly rope_theta: number
  readonly rope_scaling: object | null
  readonly num_local_experts: number
}

/**
 * Returns the config. Errors: AppError 'model/unsupported' for layers of a kind that differ from each other, for scaled
 * rotations and experts; 'model/invalid' without the factors of the rotation.
 */
export function readGemma4(reading: Reading, sliding: SlidingConfig) {
  const { rope_scaling: scaling, num_hidden_layers: layers, ...common } = sliding
  if (scaling !== null) throw unsupported(reading.fields, 'scaled rotations')
  const slides = slidingLayers(reading, layers, interval)
  const shared = integer(reading, 'sharedLayers', { min: 0, max: layers - 1, fallback: 0 })
  return {
    ...common,
    ...gemmaActivation,
    num_hidden_layers: layers,
    attention_bias: false,
    layer_types: layerTypes(slides),
    sliding_window: integer(reading, 'window', sizes),
    global_head_dim: integer(reading, 'keyWidth', sizes),
    ...keysOfFullLayers(reading, slides, { shared, kvHeads: common.num_key_value_heads }),
    hidden_size_per_layer_input: integer(reading, 'layerChannels', { min: 0, max: 65_536, fallback: 0 }),
    vocab_size_per_layer_input: common.vocab_size,
    num_kv_shared_layers: shared,
    use_double_wide_mlp: isDoubled(reading, { layers, shared, width: common.intermediate_size }),
    final_logit_softcapping: has(reading, 'finalCap') ? number(reading, 'finalCap', factors) : null,
    rope_parameters: rotations(reading, common.rope_theta),
    enable_moe_block: common.num_local_experts > 0,
  }
}

interface Keys {
  readonly shared: number
  readonly kvHeads: number
}

/** Full attention may have another number of key/value heads, but only where the keys are the values too: the file then has no v projection. */
function keysOfFullLayers(reading: Reading, slides: readonly boolean[], { shared, kvHeads }: Keys) {
  const heads = slides.map((_, layer) => ofLayer(reading, 'kvHeads', layer))
  const full = slides.indexOf(false)
  const own = heads[full] ?? kvHeads
  const isKey =
    full !== -1 &&
    full < slides.length - shared &&
    !reading.file.tensors.has(`blk.${String(full)}.attn_v.weight`)
  const isUniform = heads.every((count, layer) => count === (slides[layer] === true ? kvHeads : own))
  if (!isUniform || (own !== kvHeads && !isKey))
    throw unsupported(reading.fields, 'other heads in each layer')
  return { attention_k_eq_v: isKey, num_global_key_value_heads: own === kvHeads ? null : own }
}

/** Tells whether the layers that share keys have MLPs twice as wide. */
function isDoubled(
  reading: Reading,
  { layers, shared, width }: { readonly layers: number; readonly shared: number; readonly width: number },
): boolean {
  const times = Array.from(
    { length: layers },
    (_, layer) => (ofLayer(reading, 'mlpWidth', layer) ?? 0) / width,
  )
  const doubled = times.at(-1) === 2
  if (times.every((each, layer) => each === (doubled && layer >= layers - shared ? 2 : 1))) return doubled
  throw unsupported(reading.fields, 'MLPs of other widths')
}

/** Factor of the pairs that do not rotate: divided by it, their frequency is practically 0. */
const still = 1e30

/** Rotary settings of both kinds of layers. In full attention only the first pairs of a head rotate: the factors of the others are huge. */
function rotations(reading: Reading, theta: number) {
  const { file, fields } = reading
  const divisors = file.numbers(ropeTensors.divisors)
  if (divisors === null)
    throw invalidModel(`${file.file} lacks the tensor “${ropeTensors.divisors}” that its metadata asks for.`)
  const turning = divisors.filter((each) => each === 1).length
  if (!divisors.every((each, pair) => (pair < turning ? each === 1 : each > 1e20)))
    throw unsupported(fields, 'scaled rotations')
  const localTheta = number(reading, 'localTheta', { ...factors, max: 1e12, fallback: 10_000 })
  return {
    full_attention: {
      rope_type: 'proportional',
      rope_theta: has(reading, 'theta') ? theta : 1_000_000,
      partial_rotary_factor: shareOf(turning, divisors.length),
    },
    sliding_attention: { rope_type: 'default', rope_theta: localTheta },
  }
}

/** Returns a share of the pairs whose product with their number, rounded down, is `turning` again. */
function shareOf(turning: number, pairs: number): number {
  const share = turning / pairs
  return Math.floor(share * pairs) === turning ? share : (turning + 0.5) / pairs
}

/** Sizes that a file states beside those of all families, one for each layer where layers differ. */
export interface Gemma4Sizes {
  readonly slides: readonly boolean[]
  readonly window: number
  readonly shared: number
  readonly headDim: number
  readonly theta: number
  readonly localTheta: number
  readonly kvHeads: readonly number[]
  readonly mlpWidths: readonly number[]
  /** One for each rotary pair of a head with full attention. */
  readonly divisors: Float32Array
}

/** Reads these sizes from a config, whose last layer always has full attention. */
export function gemma4Sizes(config: ModelConfig): Gemma4Sizes {
  const { layers, headDim, kvHeads, windows, intermediateSize, innerSizes } = config
  const attentions = Array.from({ length: layers }, (_, layer) => attentionOf(config, layer))
  const last = attentionOf(config, layers - 1)
  const slides = attentions.map(({ rope }) => rope !== last.rope)
  const rope = rotationOf(config, layers - 1)
  return {
    slides,
    window: windows.find((each) => each !== null) ?? config.maxPositions,
    shared: attentions.filter(({ keysOf }) => keysOf !== undefined).length,
    headDim: last.headDim ?? headDim,
    theta: rope.theta,
    localTheta: rotationOf(config, Math.max(0, slides.indexOf(true))).theta,
    kvHeads: attentions.map((attention) => attention.kvHeads ?? kvHeads),
    mlpWidths: innerSizes ?? attentions.map(() => intermediateSize),
    divisors: Float32Array.from(rope.inverseFrequencies, (each) => (each === 0 ? still : 1)),
  }
}

function rotationOf(config: ModelConfig, layer: number): RopeConfig {
  const rope = config.ropes[attentionOf(config, layer).rope ?? -1]
  if (rope === undefined) throw new Error(`Expected a rotation in layer ${layer}.`)
  return rope
}

/** Lists the k and v tensors that checkpoints keep for layers that share the keys of earlier ones; nothing reads them. */
export function unreadKeys(config: ModelConfig): ReadonlySet<string> {
  const names = config.mixers.flatMap((mixer, layer) =>
    mixer.kind === 'attention' && mixer.keysOf !== undefined
      ? ['attn_k', 'attn_v', 'attn_k_norm'].map((name) => `blk.${layer}.${name}.weight`)
      : [],
  )
  return new Set(names)
}
