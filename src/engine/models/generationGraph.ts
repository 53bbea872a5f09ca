import { product, type Dim } from '../graph/shape.ts'
import type { Value } from '../graph/value.ts'
import { input, integers } from '../graph/value.ts'
import { softcap, softmax } from '../ops/activation.ts'
import { add, cast, mul } from '../ops/arithmetic.ts'
import { byExpert } from '../ops/experts.ts'
import { gather } from '../ops/gather.ts'
import { rotary } from '../ops/attention.ts'
import {
  addIntegers,
  concat,
  isLength,
  lengthOf,
  reshape,
  slice,
  splitRows,
  transpose,
} from '../ops/layout.ts'
import { cachedAttention, type KeyValue, type SharedPrompts } from './cachedAttention.ts'
import type { LayerMixer, LinearName, LoraConfig, ModelConfig } from './config.ts'
import { attentionOf, headShape, keysOfLayer, linearPath } from './config.ts'
import { expertsOf } from './expertConfig.ts'
import { recurInGeneration } from './chunkInputs.ts'
import {
  convolutionState,
  matrixState,
  routeState,
  type Convolving,
  type LatestState,
  type MatrixState,
  type SlotState,
} from './layerStates.ts'
import { decoderLayer, embeddingValue } from './decoder.ts'
import { tokenPartName, type LayerScope } from './layerScope.ts'
import type { Program } from '../graph/onnx.ts'
import { headInput } from './learningGraphs.ts'
import { rotaryInputs, rotaryTables } from './rotaryInputs.ts'
import type { LoraFactors } from './lora.ts'
import { loraInputs } from './lora.ts'
import { headWeightName, layerPrefix } from './source.ts'
import { cachedSlots, latestInput, matrixInput, ofWindow, sharedPrompts } from './stateInputs.ts'
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

/** Graph input: what the new positions see through a window of `ModelConfig.windows`. */
export const windowMaskName = (window: number): `mask ${number}` => `mask ${window}`

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
 * [B, 1, R, P+T] with R = 1 or g·T of each window, `i layer input` [N, P] where tokens bring one, scored [Q] (of the N positions, those with scores),
 * inverseTemperature [Q, 1], `key i` and `value i` [B, K, P, C], adapters.
 * For `choice` also uniforms [Q, 1] and what it leaves out.
 * Outputs: logits [Q, V] divided by the temperature, probabilities [Q, V] their softmax, best [Q, 2], choice [Q, W + 3],
 * `new key i` and `new value i` [B, K, T, C]. Layers that convolve read `convolved i` [B, 1, K − 1, D], the inputs of the
 * latest positions, and return `new convolved i` [B, 1, T, D]. With `recordsRoutes` layers with experts return `new routes i`
 * [B·T, k], the numbers of those that each position went through.
 */
export function generationProgram(
  config: ModelConfig,
  lora: LoraConfig | null,
  weights: GenerationWeights,
  { sharesPrompts = false, recordsRoutes = false } = {},
): Program {
  const hidden = input('hidden', 'float32', [product(['B', 'T']), config.hiddenSize])
  const outputs: Record<string, Value> = {}
  const width = choiceWidth(config.vocabSize)
  const scores = decoderScores(config, lora, weights, {
    ...passInputs(config, 'T', 'Q'),
    hidden,
    ...(width === null ? {} : { leftOut: leftOutInputs(width, 'Q') }),
    ...(sharesPrompts && { prompts: (layer: number) => sharedPrompts(config, layer) }),
    see(layer, fresh, isOwn) {
      if (isOwn) {
        outputs[`new key ${String(layer)}`] = fresh.key
        outputs[`new value ${String(layer)}`] = fresh.value
      }
      return [cachedSlots(config, layer), fresh]
    },
    recall(state, fresh) {
      outputs[`new ${state.name}`] = fresh
      return latestInput(state)
    },
    remember(state, last) {
      outputs[`new ${state.name}`] = last
    },
    ...(recordsRoutes && {
      record({ name }: SlotState, choice: Value) {
        outputs[`new ${name}`] = cast(choice, 'float32')
      },
    }),
  })
  return { ...scores, ...outputs }
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
export const passInputs = (config: ModelConfig, length: Dim, scored: Dim) => ({
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
  /** The keys and values of a layer that new positions see, in it or in a later one that has none of its own; `fresh` are those of the new positions. */
  readonly see: (layer: number, fresh: KeyValue, isOwn: boolean) => readonly KeyValue[]
  /** The latest positions of a state before the new ones, [B, 1, P, C]; `fresh` [B, 1, T, C] are the new ones. */
  readonly recall: (state: LatestState, fresh: Value) => Value
  /** Takes what linear attention remembers behind the new positions, [B, H, K, V]. */
  readonly remember: (state: MatrixState, last: Value) => void
  /** Takes the experts of each position, [B·T, k] i64. */
  readonly record?: (state: SlotState, choice: Value) => void
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
    keys: new Map(),
    isOne: isLength(lengthOf(seen.positions, 1), 1),
  }
  let hidden = start
  for (let layer = 0; layer < config.layers; layer++) {
    const adapter = lora
      ? loraInputs(config, lora, layer, (name) => layerInputName(layer, name))
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

type Tables = ReturnType<typeof rotaryInputs>

interface SharedInputs {
  readonly positions: Value
  /** True where every row has one new position: [1] bool. */
  readonly isOne: Value
  readonly tables: readonly Tables[]
  /** Keys and values of the layers so far, [B·T, K·C]. */
  readonly keys: Map<number, KeyValue>
  readonly masks: readonly Value[]
  readonly see: DecoderInputs['see']
  readonly recall: DecoderInputs['recall']
  readonly remember: DecoderInputs['remember']
  readonly record?: DecoderInputs['record']
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
  shared: SharedInputs,
): LayerScope {
  const { positions, isOne, tables, keys, recall, remember, record } = shared
  const experts = expertsOf(config, layer)
  const prefix = layerPrefix(config, layer)
  const mixer = config.mixers[layer] as LayerMixer
  const turning = mixer.kind === 'attention' ? rotaryTables(mixer, (rope) => tables[rope] as Tables) : null
  const length = positions.shape[1] as Dim
  return {
    config,
    mixer,
    experts,
    vector: (path) => weights.vector(`${prefix}${path}`),
    linear(name, x) {
      const path = `${prefix}${linearPath(name)}`
      const y = weights.product(x, `${path}.weight`, adapter.get(name))
      return config.biases[name] === true ? add(y, weights.vector(`${path}.bias`)) : y
    },
    expert: (nameOf, x, rows, out) =>
      byExpert(x, rows, out, (part, expert) => weights.product(part, `${prefix}${nameOf(expert)}`)),
    route: (choice) => recorded(choice, experts && routeState(layer, experts), record),
    rotate(x, heads, kind) {
      const rows = splitRows(x, positions)
      return turning ? rotary(rows, heads, { positions, ...turning[kind] }, config.rotatedPairs) : rows
    },
    attend: (q, k, v, sinks) => attendCached(config, layer, { q, k, v, sinks }, shared),
    earlierKeys() {
      const found = keys.get(keysOfLayer(config, layer))
      if (!found)
        throw new Error(`Expected layer ${String(layer)} to come behind the one whose keys it reads.`)
      return found
    },
    layerInput: () =>
      input(layerInputName(layer, tokenPartName), 'float32', [product(['B', length]), config.layerChannels]),
    before(x, count) {
      const state = convolutionState(layer, config, mixer as Convolving)
      const fresh = reshape(splitRows(x, positions), ['B', 1, length, state.channels])
      return positionsBack(recall(state, fresh), fresh, count).map((back) => reshape(back, x.shape))
    },
    recur(recurrence, rows, forms) {
      const state = matrixState(layer, recurrence)
      const { mixed, last } = recurInGeneration({ isOne, before: matrixInput(state) }, rows, forms)
      remember(state, last)
      return mixed
    },
  }
}

function recorded(choice: Value, state: SlotState | null, record: DecoderInputs['record']): Value {
  if (state) record?.(state, choice)
  return choice
}

/** Attention of the new positions over what the layer, or the one whose keys it reads, has cached. */
function attendCached(
  config: ModelConfig,
  layer: number,
  { q, k, v, sinks }: { readonly [name in 'q' | 'k' | 'v']: Value } & { readonly sinks: Value | null },
  { positions, keys, masks, see, prompts }: SharedInputs,
): Value {
  keys.set(layer, { key: k, value: v })
  const mixer = attentionOf(config, layer)
  const shape = headShape(config, mixer)
  const length = positions.shape[1] as Dim
  const byHead = (x: Value) =>
    transpose(reshape(x, ['B', length, shape.kvHeads, shape.headDim]), [0, 2, 1, 3]) // [B, K, T, C]
  const fresh = { key: byHead(k), value: byHead(splitRows(v, positions)) }
  const owner = keysOfLayer(config, layer)
  const seen = {
    parts: see(owner, fresh, owner === layer),
    prompts: prompts?.(owner),
    mask: masks[mixer.window] as Value,
    sinks,
  }
  return cachedAttention(config, shape, q, { ...seen, length })
}

/** The new positions, [B, 1, T, C], moved 1 to `count` back into those before them, [B, 1, count, C]. */
function positionsBack(before: Value, fresh: Value, count: number): readonly Value[] {
  const all = concat([before, fresh], 2)
  return Array.from({ length: count }, (_, index) => {
    const start = integers([count - index - 1])
    const end = addIntegers(lengthOf(fresh, 2), start)
    return slice(all, { axis: 2, start, end, length: fresh.shape[2] as Dim })
  })
}
