import { product } from '../graph/shape.ts'
import type { Value } from '../graph/value.ts'
import { input } from '../graph/value.ts'
import { softcap, softmax } from '../ops/activation.ts'
import { add, mul } from '../ops/arithmetic.ts'
import { cast } from '../ops/cast.ts'
import { atMost, cumulativeSum, rowOf } from '../ops/choice.ts'
import { gather } from '../ops/gather.ts'
import { addMask } from '../ops/addMask.ts'
import { concat, lengthOf, reshape, splitAt, splitRows, transpose } from '../ops/layout.ts'
import { matmul } from '../ops/matmul.ts'
import { reduceMax, reduceSum } from '../ops/reduce.ts'
import { rotary } from '../ops/rotary.ts'
import type { LayerAttention, LinearName, LoraConfig, ModelConfig } from './config.ts'
import { linearPath } from './config.ts'
import type { LayerScope } from './decoder.ts'
import { decoderLayer } from './decoder.ts'
import type { Program } from './learningGraphs.ts'
import { headInput, rotaryInputs } from './learningGraphs.ts'
import type { LoraFactors } from './lora.ts'
import { loraInputs } from './lora.ts'
import { headWeightName, layerPrefix } from './weightNames.ts'

/** Where the frozen weights of the generation graph come from: exact, or in 8-bit blocks. */
export interface GenerationWeights {
  /** A vector by its full checkpoint name: norms and biases. */
  vector(name: string): Value
  /** x Wᵀ + s·(x Aᵀ) Bᵀ with the matrix of that full checkpoint name; x [N, in] → [N, out]. */
  product(x: Value, name: string, lora?: LoraFactors): Value
}

/** Graph input: what the new positions see through a window of `ModelConfig.windows`. */
export const windowMaskName = (window: number): `mask ${number}` => `mask ${window}`

/** The graph inputs of a layer's adapter carry the layer's number, since all layers are in one graph. */
export const generationInputName = (layer: number, name: string): string => `${String(layer)} ${name}`

/**
 * The whole decoder as one program over T new positions of B rows behind P cached slots; P may be 0, so the same program
 * computes prompts (T > 1), pieces of prompts and single steps. Caches are inputs only, and only the new keys and values
 * come out: nothing as large as a cache is ever copied.
 *
 * Inputs: hidden [N = B·T, D], positions [B, T], `cos i` and `sin i` [L, R/2] of each rotary embedding, `mask i`
 * [B, 1, R, P+T] with R = 1 or g·T of each window, last [B],
 * inverseTemperature [1], `key i` and `value i` [B, K, P, C], adapters.
 * For `choice` also uniforms [B, 1].
 * Outputs: logits [B, V] divided by the temperature, probabilities [B, V] their softmax, choice [B, W + 3], `new key i` and `new value i` [B, K, T, C].
 */
export function generationProgram(
  config: ModelConfig,
  lora: LoraConfig | null,
  weights: GenerationWeights,
): Program {
  const { hiddenSize } = config
  const shared: SharedInputs = {
    positions: input('positions', 'int64', ['B', 'T']),
    tables: config.ropes.map((_, rope) => rotaryInputs(config, rope, 'L')),
    masks: config.windows.map((_, window) => input(windowMaskName(window), 'float32', ['B', 1, 'R', 'M'])),
  }
  const outputs: Record<string, Value> = {}
  let hidden = input('hidden', 'float32', [product(['B', 'T']), hiddenSize])
  for (let layer = 0; layer < config.layers; layer++) {
    const adapter = lora
      ? loraInputs(config, lora, (name) => generationInputName(layer, name))
      : new Map<LinearName, LoraFactors>()
    const scope = cachedScope(config, { weights, adapter, layer }, shared, outputs)
    hidden = decoderLayer(hidden, scope).hidden
  }
  // Only one position of each row is scored: the vocabulary product is the largest of all.
  const last = gather(hidden, input('last', 'int64', ['B'])) // [B, D]
  const inverseTemperature = input('inverseTemperature', 'float32', [1])
  const { hidden: scored, bend } = headInput(config, { hidden: last, inverseTemperature }, (name) =>
    weights.vector(name),
  )
  const plain = weights.product(scored, headWeightName(config))
  const logits = bend ? mul(softcap(plain, bend.cap), bend.factor) : plain
  const probabilities = softmax(logits)
  const width = choiceWidth(config.vocabSize)
  const choice =
    width === null ? {} : { choice: drawnBlock(probabilities, width, input('uniforms', 'float32', ['B', 1])) }
  return { logits, probabilities, ...choice, ...outputs }
}

/** Most and fewest columns of the blocks among which the graph chooses. */
const BLOCK_WIDTHS = { most: 256, least: 16 }

/** Columns of each block when the graph chooses among equal ones; null where the vocabulary cannot be cut so. */
export function choiceWidth(vocabSize: number): number | null {
  for (let width = BLOCK_WIDTHS.most; width >= BLOCK_WIDTHS.least; width--) {
    if (vocabSize % width === 0) return width
  }
  return null
}

/**
 * The block of each row in which its cumulative probability passes uniform · total, so that only one block of W columns
 * is read back: [B, W + 3] its probabilities, its number, what lies before it, the total. probabilities [B, V],
 * uniforms [B, 1] in [0, 1 − 2⁻²³].
 */
function drawnBlock(probabilities: Value, width: number, uniforms: Value): Value {
  const count = (probabilities.shape[1] as number) / width
  const blocks = reshape(probabilities, ['B', count, width])
  const cumulative = cumulativeSum(reshape(reduceSum(blocks, [-1]), ['B', count]))
  const total = reduceMax(cumulative, [-1])
  const isBefore = atMost(cumulative, mul(uniforms, total)) // [B, n] 1 or 0
  const before = reduceMax(mul(cumulative, isBefore), [-1])
  const number = reduceSum(isBefore, [-1])
  const row = reshape(rowOf(blocks, cast(number, 'int64')), ['B', width])
  return concat([row, number, before, total], 1)
}

interface SharedInputs {
  readonly positions: Value
  readonly tables: readonly { readonly cos: Value; readonly sin: Value }[]
  readonly masks: readonly Value[]
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
  outputs: Record<string, Value>,
): LayerScope {
  const prefix = layerPrefix(config, layer)
  const { rope, window } = config.attention[layer] as LayerAttention
  const tables = rope === null ? undefined : shared.tables[rope]
  return {
    config,
    vector: (path) => weights.vector(`${prefix}${path}`),
    linear(name, x) {
      const path = `${prefix}${linearPath(name)}`
      const y = weights.product(x, `${path}.weight`, adapter.get(name))
      return config.biases[name] === true ? add(y, weights.vector(`${path}.bias`)) : y
    },
    rotate(x, heads) {
      const rows = splitRows(x, shared.positions)
      return tables ? rotary(rows, heads, { positions: shared.positions, ...tables }) : rows
    },
    attend(q, k, v) {
      const byHead = (x: Value) =>
        transpose(reshape(x, ['B', 'T', config.kvHeads, config.headDim]), [0, 2, 1, 3]) // [B, K, T, C]
      const [newKey, newValue] = [byHead(k), byHead(splitRows(v, shared.positions))]
      outputs[`new key ${String(layer)}`] = newKey
      outputs[`new value ${String(layer)}`] = newValue
      return cachedAttention(config, { q, newKey, newValue, layer }, shared.masks[window] as Value)
    },
  }
}

interface AttentionInputs {
  readonly q: Value
  readonly newKey: Value
  readonly newValue: Value
  readonly layer: number
}

/** Attention over [cached | new] without ever joining the two: scores are joined, keys and values are not. */
function cachedAttention(
  config: ModelConfig,
  { q, newKey, newValue, layer }: AttentionInputs,
  mask: Value,
): Value {
  const { heads, kvHeads, headDim, attentionScale: alpha, attentionSoftcap: cap } = config
  const group = heads / kvHeads
  const cacheShape = ['B', kvHeads, 'P', headDim]
  const pastKey = input(`key ${String(layer)}`, 'float32', cacheShape)
  const pastValue = input(`value ${String(layer)}`, 'float32', cacheShape)

  const split = transpose(reshape(q, ['B', 'T', kvHeads, group, headDim]), [0, 2, 3, 1, 4])
  const queries = reshape(split, ['B', kvHeads, -1, headDim]) // [B, K, g·T, C]
  const scores = concat(
    [matmul(queries, pastKey, { transB: true, alpha }), matmul(queries, newKey, { transB: true, alpha })],
    3,
  )
  const weights = softmax(addMask(cap === null ? scores : softcap(scores, cap), mask))
  const [past, fresh] = splitAt(weights, 3, { at: lengthOf(pastKey, 2), lengths: ['P', 'T'] })
  const mixed = add(matmul(past, pastValue), matmul(fresh, newValue)) // [B, K, g·T, C]
  const joined = transpose(reshape(mixed, ['B', kvHeads, group, 'T', headDim]), [0, 3, 1, 2, 4])
  return reshape(joined, [product(['B', 'T']), heads * headDim])
}
