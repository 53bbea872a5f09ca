import { product, type Dim } from '../graph/shape.ts'
import type { Value } from '../graph/value.ts'
import { input } from '../graph/value.ts'
import { softcap, softmax } from '../ops/activation.ts'
import { add, mul } from '../ops/arithmetic.ts'
import { gather } from '../ops/gather.ts'
import { rotary } from '../ops/attention.ts'
import { concat, reshape, splitRows, transpose } from '../ops/layout.ts'
import { cachedAttention, type KeyValue, type SharedPrompts } from './cachedAttention.ts'
import type { LayerAttention, LinearName, LoraConfig, ModelConfig } from './config.ts'
import { linearPath } from './config.ts'
import { type LayerScope, decoderLayer, embeddingValue } from './decoder.ts'
import type { Program } from '../graph/onnx.ts'
import { headInput, rotaryInputs } from './learningGraphs.ts'
import type { LoraFactors } from './lora.ts'
import { loraInputs } from './lora.ts'
import { headWeightName, layerPrefix } from './source.ts'
import {
  choiceWidth,
  drawnBlock,
  leftOutInputs,
  type LeftOut,
  likeliest,
  likeliestOfBlocks,
} from './tokenChoice.ts'

/** Source of the frozen weights of the generation graph: exact, or in 8-bit blocks. */
export interface GenerationWeights {
  /** A vector by its full checkpoint name: norms and biases. */
  vector(name: string): Value
  /** x Wᵀ + s·(x Aᵀ) Bᵀ with the matrix of that full checkpoint name; x [N, in] → [N, out]. */
  product(x: Value, name: string, lora?: LoraFactors): Value
}

/** The same where ids are looked up in the graph. */
export interface DeviceWeights extends GenerationWeights {
  /** Rows of the table of that full checkpoint name. ids [N] i64 → [N, D]. */
  rows(name: string, ids: Value): Value
}

/** The symbol of a length that differs between windows. */
export const ofWindow = (symbol: string, window: number): Dim =>
  window === 0 ? symbol : `${symbol}${window}`

/** Graph input: what the new positions see through a window of `ModelConfig.windows`. */
export const windowMaskName = (window: number): `mask ${number}` => `mask ${window}`

/** Graph inputs of prompts that rows share; see `SharedPrompts`. */
export const promptNames = {
  rows: 'prompt rows',
  places: 'prompt places',
  sizes: (window: number): string => `prompt sizes ${window}`,
} as const

/** The graph inputs of a layer's adapter carry the layer's number, since all layers are in one graph. */
export const layerInputName = (layer: number, name: string): string => `${String(layer)} ${name}`

/**
 * The whole decoder as one program over T new positions of B rows behind P cached slots; P may be 0, so the same program
 * computes prompts (T > 1), pieces of prompts and single steps. Layers of different windows may have different P. Caches are
 * inputs only, and only the new keys and values come out: nothing as large as a cache is ever copied.
 *
 * With `sharesPrompts` rows may also see prompts that they share: `prompt key i` and `prompt value i` [G, K, S, C], and what
 * `promptNames` lists; the masks are S slots wider then, those of the prompts first.
 *
 * Inputs: hidden [N = B·T, D], positions [B, T], `cos i` and `sin i` [L, R/2] of each rotary embedding, `mask i`
 * [B, 1, R, P+T] with R = 1 or g·T of each window, scored [Q] (of the N positions, those with scores),
 * inverseTemperature [Q, 1], `key i` and `value i` [B, K, P, C], adapters.
 * For `choice` also uniforms [Q, 1] and what it leaves out.
 * Outputs: logits [Q, V] divided by the temperature, probabilities [Q, V] their softmax, best [Q, 2], choice [Q, W + 3],
 * `new key i` and `new value i` [B, K, T, C].
 */
export function generationProgram(
  config: ModelConfig,
  lora: LoraConfig | null,
  weights: GenerationWeights,
  { sharesPrompts = false } = {},
): Program {
  const hidden = input('hidden', 'float32', [product(['B', 'T']), config.hiddenSize])
  const outputs: Record<string, Value> = {}
  const width = choiceWidth(config.vocabSize)
  const scores = decoderScores(config, lora, weights, {
    ...passInputs(config, 'T', 'Q'),
    hidden,
    ...(width === null ? {} : { leftOut: leftOutInputs(width, 'Q') }),
    ...(sharesPrompts && { prompts: (layer: number) => sharedPrompts(config, layer) }),
    see(layer, fresh) {
      outputs[`new key ${String(layer)}`] = fresh.key
      outputs[`new value ${String(layer)}`] = fresh.value
      return [cachedSlots(config, layer), fresh]
    },
  })
  return { ...scores, ...outputs }
}

/** Graph inputs of a decode step on a device: which of the latest slots stay as they are, and the one that is new (1 or 0). */
export const latestNames = { kept: 'latest kept', fresh: 'latest fresh' } as const

export type DeviceGenerationPrograms = Readonly<
  Record<'prompt' | 'longPrompt' | 'behind' | 'decode', Program>
>

/**
 * Generation where keys and values stay on a device. Nothing can be written in place there, so what is new goes into few
 * latest slots [B, K, W, C], which alone are copied in a step; `cacheProgram` puts them behind the others now and then.
 *
 * Inputs are those of `generationProgram`, but ids [N] (and learned positions) instead of hidden states. Outputs beside the
 * scores: `key i` and `value i`: of `prompt` and `behind` (a cache) [B, K, T, C], of `longPrompt` [B, K, P+T, C] (P ≥ 1), of
 * `decode` the latest slots. Inputs are `past key i` and `past value i` [B, K, P, C], `latest key i` and `latest value i`.
 */
export function deviceGenerationPrograms(
  config: ModelConfig,
  lora: LoraConfig | null,
  weights: DeviceWeights,
): DeviceGenerationPrograms {
  const program = (length: Dim, see: (layer: number, fresh: KeyValue) => Seen): Program => {
    const outputs: Record<string, Value> = {}
    const inputs = passInputs(config, length, 'B')
    const scores = decoderScores(config, lora, weights, {
      ...inputs,
      hidden: embeddedIds(config, weights, {
        ids: input('ids', 'int64', [product(['B', length])]),
        positions: inputs.positions,
      }),
      see(layer, fresh) {
        const { parts, kept } = see(layer, fresh)
        outputs[`key ${String(layer)}`] = kept.key
        outputs[`value ${String(layer)}`] = kept.value
        return parts
      },
    })
    return { ...scores, ...outputs }
  }
  return {
    prompt: program('T', (_, fresh) => ({ parts: [fresh], kept: fresh })),
    longPrompt: program('T', (layer, fresh) => {
      const joined = both(pastSlots(config, layer), fresh, (past, added) => concat([past, added], 2))
      return { parts: [joined], kept: joined }
    }),
    behind: program('T', (layer, fresh) => ({ parts: [pastSlots(config, layer), fresh], kept: fresh })),
    decode: program(1, (layer, fresh) => {
      const latest = withLatest(latestSlots(config, layer), fresh, latestFlags())
      return { parts: [pastSlots(config, layer), latest], kept: latest }
    }),
  }
}

interface Seen {
  readonly parts: readonly KeyValue[]
  /** Keys and values that come out. */
  readonly kept: KeyValue
}

/** Flags for which of the latest slots stay as they are and which one is new: 1 or 0, [1, 1, W, 1]. */
interface LatestFlags {
  readonly kept: Value
  readonly fresh: Value
}

function latestFlags(): LatestFlags {
  const flags = (name: string) => input(name, 'float32', [1, 1, 'W', 1])
  return { kept: flags(latestNames.kept), fresh: flags(latestNames.fresh) }
}

/** The latest slots [B, K, W, C] with the new position [B, K, 1, C] in its place. */
export const withLatest = (latest: KeyValue, added: KeyValue, { kept, fresh }: LatestFlags): KeyValue =>
  both(latest, added, (old, one) => add(mul(old, kept), mul(one, fresh)))

const both = (a: KeyValue, b: KeyValue, join: (a: Value, b: Value) => Value): KeyValue => ({
  key: join(a.key, b.key),
  value: join(a.value, b.value),
})

const slotSymbols = { '': 'P', 'past ': 'P', 'latest ': 'W', 'prompt ': 'S' } as const

const slotInputs = (config: ModelConfig, kind: keyof typeof slotSymbols, layer: number): KeyValue => {
  const { window } = config.attention[layer] as LayerAttention
  const slots = kind === 'latest ' ? 'W' : ofWindow(slotSymbols[kind], window)
  const shape = [kind === 'prompt ' ? 'G' : 'B', config.kvHeads, slots, config.headDim]
  const of = (name: string) => input(`${kind}${name} ${String(layer)}`, 'float32', shape)
  return { key: of('key'), value: of('value') }
}
const cachedSlots = (config: ModelConfig, layer: number) => slotInputs(config, '', layer)
export const pastSlots = (config: ModelConfig, layer: number) => slotInputs(config, 'past ', layer)
const sharedPrompts = (config: ModelConfig, layer: number): SharedPrompts => ({
  ...slotInputs(config, 'prompt ', layer),
  rows: input(promptNames.rows, 'int64', ['G', config.kvHeads, 'n']),
  places: input(promptNames.places, 'int64', ['B', config.kvHeads]),
  sizes: input(promptNames.sizes((config.attention[layer] as LayerAttention).window), 'int64', [3]),
})
const latestSlots = (config: ModelConfig, layer: number) => slotInputs(config, 'latest ', layer)

/**
 * Builds a rearranged cache, [B, K, S, C]: of `parts`, any [Bᵢ, K, Sᵢ, C], the slots that `places` [B, K, S] number
 * through all of them one after the other. So rows leave, enter, change places and get slots, all in one gather.
 */
export function cacheProgram(
  { layers, kvHeads, headDim }: Pick<ModelConfig, 'layers' | 'kvHeads' | 'headDim'>,
  parts: readonly string[],
): Program {
  const places = input('places', 'int64', ['B', kvHeads, 'S'])
  const outputs: Record<string, Value> = {}
  for (let layer = 0; layer < layers; layer++) {
    for (const kind of ['key', 'value']) {
      const name = `${kind} ${String(layer)}`
      const slots = parts.map((part) => {
        const slot = input(`${part} ${name}`, 'float32', [`${part} rows`, kvHeads, `${part} slots`, headDim])
        return reshape(slot, [product(slot.shape.slice(0, -1)), headDim])
      })
      outputs[name] = gather(slots.length === 1 ? (slots[0] as Value) : concat(slots, 0), places)
    }
  }
  return outputs
}

/** Input of the first layer for ids [N = B·T] at positions [B, T]: [N, D]. */
export const embeddedIds = (
  config: ModelConfig,
  weights: DeviceWeights,
  { ids, positions }: { readonly ids: Value; readonly positions: Value },
): Value =>
  embeddingValue(config, (name, ids) => weights.rows(name, ids), {
    ids,
    positions: reshape(positions, [product(positions.shape)]),
  })

/** Inputs that describe the T new positions of each row; `scored` of all of them get scores. */
const passInputs = (config: ModelConfig, length: Dim, scored: Dim) => ({
  positions: input('positions', 'int64', ['B', length]),
  masks: config.windows.map((_, window) =>
    input(windowMaskName(window), 'float32', ['B', 1, 'R', ofWindow('M', window)]),
  ),
  uniforms: input('uniforms', 'float32', [scored, 1]),
})

export interface DecoderInputs {
  /** [N = B·T, D] */
  readonly hidden: Value
  /** [B, T] */
  readonly positions: Value
  /** Mask of each window, [B, 1, R, P+T]; with shared prompts [B, 1, R, S+P+T]. */
  readonly masks: readonly Value[]
  /** [Q, 1] */
  readonly uniforms: Value
  /** Ids that the choice leaves out; none if absent. */
  readonly leftOut?: LeftOut
  /** The keys and values that the new positions of a layer see; `fresh` are their own. */
  readonly see: (layer: number, fresh: KeyValue) => readonly KeyValue[]
  /** Shared prompts that the rows see before the cache; none if absent. */
  readonly prompts?: (layer: number) => SharedPrompts
}

export interface DecoderScores {
  /** [Q, V], over the temperature, and their softmax. */
  readonly logits: Value
  readonly probabilities: Value
  /** [Q, 2]: the likeliest id and its probability. */
  readonly best: Value
  /** [Q, W + 3]; absent where the vocabulary cannot be cut into blocks. */
  readonly choice?: Value
}

/**
 * Computes all layers, and the scores after some of the new positions: the last one of each row (Q = B), or several.
 */
export function decoderScores(
  config: ModelConfig,
  lora: LoraConfig | null,
  weights: GenerationWeights,
  { hidden: start, uniforms, leftOut, ...seen }: DecoderInputs,
): DecoderScores {
  const shared: SharedInputs = {
    ...seen,
    tables: config.ropes.map((_, rope) => rotaryInputs(config, rope, 'L')),
  }
  let hidden = start
  for (let layer = 0; layer < config.layers; layer++) {
    const adapter = lora
      ? loraInputs(config, lora, (name) => layerInputName(layer, name))
      : new Map<LinearName, LoraFactors>()
    hidden = decoderLayer(hidden, cachedScope(config, { weights, adapter, layer }, shared)).hidden
  }
  // Not every position is scored: the vocabulary product is the largest of all.
  const count = uniforms.shape[0] as Dim
  const scored = gather(hidden, input('scored', 'int64', [count])) // [Q, D]
  const inverseTemperature = input('inverseTemperature', 'float32', [count, 1])
  const head = headInput(config, { hidden: scored, inverseTemperature }, (name) => weights.vector(name))
  const { logitCap } = head
  const plain = weights.product(head.hidden, headWeightName(config))
  const logits = logitCap ? mul(softcap(plain, logitCap.cap), logitCap.factor) : plain
  const probabilities = softmax(logits)
  const width = choiceWidth(config.vocabSize)
  if (width === null) return { logits, probabilities, best: likeliest(probabilities) }
  const blocks = reshape(probabilities, [count, config.vocabSize / width, width])
  const choice = drawnBlock(blocks, uniforms, leftOut)
  return { logits, probabilities, best: likeliestOfBlocks(blocks), choice }
}

interface SharedInputs {
  readonly positions: Value
  readonly tables: readonly { readonly cos: Value; readonly sin: Value }[]
  readonly masks: readonly Value[]
  readonly see: DecoderInputs['see']
  readonly prompts?: DecoderInputs['prompts']
}

interface LayerSources {
  readonly weights: GenerationWeights
  readonly adapter: ReadonlyMap<LinearName, LoraFactors>
  readonly layer: number
}

function cachedScope(
  config: ModelConfig,
  { weights, adapter, layer }: LayerSources,
  { positions, tables, masks, see, prompts }: SharedInputs,
): LayerScope {
  const prefix = layerPrefix(config, layer)
  const { rope, window } = config.attention[layer] as LayerAttention
  const table = rope === null ? undefined : tables[rope]
  const length = positions.shape[1] as Dim
  return {
    config,
    vector: (path) => weights.vector(`${prefix}${path}`),
    linear(name, x) {
      const path = `${prefix}${linearPath(name)}`
      const y = weights.product(x, `${path}.weight`, adapter.get(name))
      return config.biases[name] === true ? add(y, weights.vector(`${path}.bias`)) : y
    },
    rotate(x, heads) {
      const rows = splitRows(x, positions)
      return table ? rotary(rows, heads, { positions, ...table }, config.rotatedPairs) : rows
    },
    attend(q, k, v) {
      const byHead = (x: Value) =>
        transpose(reshape(x, ['B', length, config.kvHeads, config.headDim]), [0, 2, 1, 3]) // [B, K, T, C]
      const fresh = { key: byHead(k), value: byHead(splitRows(v, positions)) }
      const seen = { parts: see(layer, fresh), prompts: prompts?.(layer), mask: masks[window] as Value }
      return cachedAttention(config, q, { ...seen, length })
    },
  }
}
