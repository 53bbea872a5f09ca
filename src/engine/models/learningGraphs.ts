/**
 * The graphs of learning. A layer is one forward and one backward program over packed tokens: the rows of all sequences
 * of a micro-batch stand one after the other, so linear layers never see padding; only attention works on a padded block.
 */
import { gradients, type Seed } from '../ops/gradient.ts'
import type { Program } from '../graph/onnx.ts'
import { product } from '../graph/shape.ts'
import { substitute } from '../graph/substitute.ts'
import { type Value, constant, input } from '../graph/value.ts'
import { add, mul, scale } from '../ops/arithmetic.ts'
import { causalAttention, rotary } from '../ops/attention.ts'
import { byExpert } from '../ops/experts.ts'
import { packRows, unpackRows } from '../ops/gather.ts'
import { type FrozenMatrix, type RoundedRows, frozenMatmul, roundRows } from '../ops/frozenMatmul.ts'
import { reshape } from '../ops/layout.ts'
import { expandLike, forEachRow } from '../ops/reduce.ts'
import { slicedHead, type LogitCap, type Vocabulary, vocabularyHead } from '../ops/vocabularyHead.ts'
import { matmul } from '../ops/matmul.ts'
import { headWithAlternatives } from './alternativesPart.ts'
import { type Attend, type BlockName, attentionInBlocks } from './attentionInBlocks.ts'
import {
  type LayerAttention,
  type LinearName,
  type ModelConfig,
  type LayerMixer,
  headShape,
  isReadLater,
  linearPath,
  linearsByInput,
} from './config.ts'
import { expertsOf } from './expertConfig.ts'
import { replayed, routerScores } from './expertPart.ts'
import { partInputs, type PartName } from './partInputs.ts'
import { type ChunkName, recurInLearning } from './chunkInputs.ts'
import { type PrecedingName, precedingRows } from './precedingRows.ts'
import { decoderLayer, modelNorm } from './decoder.ts'
import { tokenPartName, type LayerResult, type LayerScope } from './layerScope.ts'
import { rotaryInputs, rotaryTables, type RotaryNames } from './rotaryInputs.ts'
import { type LoraFactors, addReduced, reduceTogether } from './lora.ts'
import { finalNormNames } from './source.ts'

export interface LayerParameters {
  /** A vector by its path within the layer: `input_layernorm.weight`. */
  weight(path: string): Value
  /** The same for matrices, as they are multiplied. */
  matrix(path: string): FrozenMatrix
  readonly adapter: ReadonlyMap<LinearName, LoraFactors>
  /** True if adapters read their inputs through dropout masks, which are then graph inputs. */
  readonly drops?: boolean
  /** True if the experts of tokens are a graph input, `routesName`. */
  readonly replaysRoutes?: boolean
  /** Names the inputs of a layer, where one graph has several layers. */
  readonly inputName?: (name: string) => string
  /** Graph inputs whose gradients the backward program returns, as `gradient of NAME`. */
  readonly trained: readonly Value[]
}

export interface LayerPrograms {
  /**
   * `output`: the layer's result; `key` and `value` too, [N, K·C], where a later layer reads them, and the `routerScores` of
   * experts.
   */
  readonly forward: Program
  /** `forward`, which also returns the activations that `backwardFromSaved` takes. */
  readonly forwardSaving: Program
  /** Backward pass from the layer's input: computes the layer again. */
  readonly backward: Program
  /** Backward pass from the layer's input and its saved activations. */
  readonly backwardFromSaved: Program
}

export const gradientName = (inputName: string): string => `gradient of ${inputName}`

export type DropoutName = `dropout ${number}`
/** Graph input [N, in] by which the adapters of a group of `linearsByInput` have their input multiplied. */
export const dropoutName = (group: number): DropoutName => `dropout ${group}`

/** Graph inputs of a layer that reads the keys and values of an earlier one, and of the gradients with respect to a layer's own. */
export const keyInputs = {
  key: 'earlier key',
  value: 'earlier value',
  keyCotangent: 'key cotangent',
  valueCotangent: 'value cotangent',
} as const

export type PackedName = PartName | BlockName | PrecedingName | ChunkName | RotaryNames[keyof RotaryNames]

/**
 * Way in which queries meet keys: in four parts of all sequences, with a matrix of scores for each; or, where that
 * would be too large, in blocks of one sequence, one after the other.
 */
export type AttentionForm = 'parts' | 'blocks'

/** Graph inputs of a layer in addition to its parameters: N packed tokens. */
function packedInputs(config: ModelConfig, layer: number, form: AttentionForm) {
  const mixer = config.mixers[layer] as LayerMixer
  return {
    mixer,
    experts: expertsOf(config, layer),
    hidden: input('hidden', 'float32', ['N', config.hiddenSize]),
    cotangent: input('cotangent', 'float32', ['N', config.hiddenSize]),
    // One row of the tables per packed token, so the tokens' order is their position in the tables.
    positions: input('order', 'int64', [1, 'N']),
    layerInput: input(tokenPartName, 'float32', ['N', config.layerChannels]),
    earlier: earlierInputs(config, mixer),
    ...(mixer.kind === 'attention'
      ? {
          tables: rotaryTables(mixer, (rope) => rotaryInputs(config, rope, 'N')),
          attend: (form === 'parts' ? attentionInParts : attentionInBlocks)(config, mixer),
        }
      : { tables: null, attend: () => noAttention() }),
  }
}

/** The keys and values of the layer that this one reads; null where it has its own. */
function earlierInputs(config: ModelConfig, mixer: LayerMixer) {
  if (mixer.kind !== 'attention' || mixer.keysOf === undefined) return null
  const { kvHeads, headDim } = headShape(config, mixer)
  const of = (name: string) => input(name, 'float32', ['N', kvHeads * headDim])
  return { key: of(keyInputs.key), value: of(keyInputs.value) }
}

function noAttention(): never {
  throw new Error('Expected a layer that attends.')
}

type PackedInputs = ReturnType<typeof packedInputs>

/** The programs of decoder layer number `layer`. Layer 0’s input needs no gradient: the embedding is frozen. */
export function layerPrograms(
  config: ModelConfig,
  parameters: LayerParameters,
  {
    layer,
    attention = 'parts',
    inputGradient = layer > 0,
  }: { readonly layer: number; readonly attention?: AttentionForm; readonly inputGradient?: boolean },
): LayerPrograms {
  const inputs = packedInputs(config, layer, attention)
  const { hidden, activations } = decoderLayer(inputs.hidden, packedScope(config, parameters, inputs))
  const earlier = Object.values(inputs.earlier ?? {})
  const targets = [...(inputGradient ? [inputs.hidden] : []), ...earlier, ...parameters.trained]
  const read = isReadLater(config, layer) ? keysOf(activations) : null
  const { [routerScores]: scores } = inputs.experts === null ? {} : activations
  const derived = gradients([{ value: hidden, cotangent: inputs.cotangent }, ...keySeeds(read)], targets)
  const backward: Record<string, Value> = {}
  targets.forEach((target, index) => {
    const gradient = derived[index]
    const name = target.node.kind === 'input' ? target.node.name : ''
    if (!gradient) throw new Error(`The layer's output does not depend on ${name}.`)
    backward[gradientName(name)] = gradient
  })

  const saved = new Map(
    Object.entries(activations).map(([name, value]) => [value, input(name, 'float32', value.shape)]),
  )
  const names = Object.keys(backward)
  const fromSaved = substitute(Object.values(backward), saved)
  return {
    forward: { output: hidden, ...read, ...(scores && { [routerScores]: scores }) },
    forwardSaving: { output: hidden, ...activations },
    backward,
    backwardFromSaved: Object.fromEntries(names.map((name, index) => [name, fromSaved[index] as Value])),
  }
}

/** The keys and values among a layer's activations. */
function keysOf({ key, value }: LayerResult['activations']): { readonly key: Value; readonly value: Value } {
  if (!key || !value) throw new Error('Expected a layer with keys and values of its own.')
  return { key, value }
}

/** Sums that later layers add to the gradients of keys and values. */
const keySeeds = (read: ReturnType<typeof keysOf> | null): readonly Seed[] =>
  read === null
    ? []
    : [
        { value: read.key, cotangent: input(keyInputs.keyCotangent, 'float32', read.key.shape) },
        { value: read.value, cotangent: input(keyInputs.valueCotangent, 'float32', read.value.shape) },
      ]

/** One layer over packed tokens [N, D], as a part of a longer program. */
export function packedLayer(
  config: ModelConfig,
  { hidden, layer }: { readonly hidden: Value; readonly layer: number },
  parameters: LayerParameters,
): Value {
  const inputs = packedInputs(config, layer, 'parts')
  return decoderLayer(hidden, packedScope(config, parameters, inputs)).hidden
}

function packedScope(config: ModelConfig, parameters: LayerParameters, inputs: PackedInputs): LayerScope {
  const reduced = reducer(parameters)
  const round = roundedOnce()
  return {
    config,
    mixer: inputs.mixer,
    experts: inputs.experts,
    vector: (path) => parameters.weight(path),
    linear(name, x) {
      const path = linearPath(name)
      const product = frozenMatmul(x, parameters.matrix(`${path}.weight`), round)
      const biased = config.biases[name] === true ? add(product, parameters.weight(`${path}.bias`)) : product
      const factors = parameters.adapter.get(name)
      return factors ? addReduced(biased, reduced(name, x), factors) : biased
    },
    expert: (nameOf, x, rows, out) =>
      byExpert(x, rows, out, (part, expert) => frozenMatmul(part, parameters.matrix(nameOf(expert)), round)),
    route: parameters.replaysRoutes === true ? replayed : (choice) => choice,
    rotate(x, heads, kind) {
      if (inputs.tables === null) return x
      const tables = { positions: inputs.positions, ...inputs.tables[kind] }
      return reshape(rotary(reshape(x, [1, ...x.shape]), heads, tables, config.rotatedPairs), x.shape)
    },
    attend: inputs.attend,
    earlierKeys: () => inputs.earlier ?? noAttention(),
    layerInput: () => inputs.layerInput,
    before: precedingRows,
    recur: recurInLearning,
  }
}

/** Rounds each x once, since several linears read the same one. */
function roundedOnce(): (x: Value) => RoundedRows {
  const known = new Map<Value, RoundedRows>()
  return (x) => {
    const rows = known.get(x) ?? roundRows(x)
    known.set(x, rows)
    return rows
  }
}

/**
 * s·A x of a linear's adapter, computed together with the other linears that read the same x. Dropout of x draws
 * one mask for all of these; PEFT draws one for each.
 */
function reducer({
  adapter,
  drops = false,
  inputName = (name) => name,
}: LayerParameters): (name: LinearName, x: Value) => Value {
  const known = new Map<LinearName, Value>()
  return (name, x) => {
    if (!known.has(name)) {
      const group = linearsByInput.findIndex((linears) => linears.includes(name))
      const readers = (linearsByInput[group] ?? []).filter((reader) => adapter.has(reader))
      const values = reduceTogether(
        drops ? mul(x, input(inputName(dropoutName(group)), 'float32', x.shape)) : x,
        readers.map((reader) => adapter.get(reader) as LoraFactors),
      )
      readers.forEach((reader, index) => known.set(reader, values[index] as Value))
    }
    return known.get(name) as Value
  }
}

/**
 * Attention of packed tokens: each head's rows into padded blocks, causal attention there, back; one gather each way, no
 * axes change places.
 */
function attentionInParts(config: ModelConfig, mixer: LayerAttention): Attend {
  const { attentionScale, attentionSoftcap } = config
  const shape = headShape(config, mixer)
  const { heads, kvHeads, headDim } = shape
  const { queryMap, keyMap, masks } = partInputs(shape, mixer.window)
  const headRows = (x: Value, count: number) => reshape(x, [product([count, 'N']), headDim])
  return (q, k, v, sinks) => {
    const mixed = causalAttention({
      queries: unpackRows(headRows(q, heads), queryMap),
      keys: unpackRows(headRows(k, kvHeads), keyMap),
      values: unpackRows(headRows(v, kvHeads), keyMap),
      masks,
      scores: { scale: attentionScale, softcap: attentionSoftcap },
      sinks: sinks && unpackRows(reshape(forEachRow(sinks, q), [product([heads, 'N']), 1]), queryMap),
    })
    return reshape(packRows(mixed, queryMap), ['N', heads * headDim])
  }
}

/** Parameters of the output head: the final norm and the matrix of the vocabulary. */
export interface HeadParameters {
  /** A vector by its full name: `model.norm.weight`. */
  vector(name: string): Value
  /** [V, D] */
  readonly table: Value | Vocabulary
  /** The same in slices for `learn`; as `table` if absent. */
  readonly slices?: Vocabulary
}

function headInputs(config: ModelConfig) {
  return {
    hidden: input('hidden', 'float32', ['N', config.hiddenSize]),
    targets: input('targets', 'int64', ['N']),
    inverseTemperature: input('inverseTemperature', 'float32', [1]),
  }
}

function vocabularyInputs(
  config: ModelConfig,
  parameters: HeadParameters,
  inputs: ReturnType<typeof headInputs>,
) {
  const { hidden, logitCap } = headInput(config, inputs, (name) => parameters.vector(name))
  return { hidden, table: parameters.table, targets: inputs.targets, ...(logitCap ? { logitCap } : {}) }
}

/**
 * Returns the matrix multiplied with the vocabulary and what happens to the product; without a soft cap the factors
 * come first.
 */
export function headInput(
  config: ModelConfig,
  { hidden, inverseTemperature }: { readonly hidden: Value; readonly inverseTemperature: Value },
  vector: (name: string) => Value,
): { readonly hidden: Value; readonly logitCap: LogitCap | null } {
  const { logitScale, finalSoftcap, names } = config
  const normed = modelNorm(config, hidden, names.finalNorm, vector)
  const scaled = logitScale === 1 ? normed : scale(normed, logitScale)
  if (finalSoftcap === null) return { hidden: mul(scaled, inverseTemperature), logitCap: null }
  return { hidden: scaled, logitCap: { cap: finalSoftcap, factor: inverseTemperature } }
}

/**
 * The output head over a chunk of N tokens. A token's log-probability and entropy depend on its own hidden state alone,
 * so their gradients with respect to it ([N, D] each) come out of the same pass, before any loss is known. Where the
 * target's probability underflows, the results of `learn` are not finite; those of the others are.
 */
export function headPrograms(config: ModelConfig, parameters: HeadParameters) {
  const inputs = headInputs(config)
  const { table, slices = table } = parameters
  const quick = slicedHead({ ...vocabularyInputs(config, parameters, inputs), table: slices })
  const read = vocabularyInputs(config, parameters, inputs)
  const { logprob, entropy } = vocabularyHead(read)
  const { alternatives, likeliest, seeds } = headWithAlternatives(read, 'N')
  const slope = (value: Value): Value => {
    const one = expandLike(constant([1], [1, 1]), value)
    const [gradient] = gradients([{ value, cotangent: one }], [inputs.hidden])
    if (!gradient) throw new Error('The head does not depend on its hidden states.')
    return gradient
  }
  const score: Program = { logprob, entropy }
  const learn: Program = { ...quick, logprobSlope: slope(quick.logprob) }
  const learnEntropy: Program = {
    ...score,
    logprobSlope: slope(logprob),
    entropySlope: slope(entropy),
  }
  const [byHidden] = gradients(seeds, [inputs.hidden]) as [Value]
  const learnAlternatives: Program = { [gradientName('hidden')]: byHidden }
  return { score, learn, learnEntropy, alternatives, likeliest, learnAlternatives }
}

/** The head when its own parameters learn: cross-entropy with a coefficient per token ([N, 1]) known beforehand. */
export function trainedHeadProgram(
  config: ModelConfig,
  parameters: HeadParameters & { readonly table: Value },
): Program {
  const inputs = headInputs(config)
  const { logprob, entropy } = vocabularyHead(vocabularyInputs(config, parameters, inputs))
  const coefficients = input('coefficients', 'float32', ['N', 1])
  const norms = finalNormNames(config).map((name) => parameters.vector(name))
  const targets = [inputs.hidden, ...norms, parameters.table]
  const derived = gradients([{ value: logprob, cotangent: coefficients }], targets)
  const program: Record<string, Value> = { logprob, entropy }
  targets.forEach(({ node }, index) => {
    const gradient = derived[index]
    if (gradient && node.kind === 'input') program[gradientName(node.name)] = gradient
  })
  return program
}

/* The critic's head: one linear layer from the final hidden state to the value of a state. */

/** value = weight · norm(hidden) + bias */
export interface ValueHead {
  /** [D] */
  readonly weight: Float32Array
  readonly bias: number
}

/** Names of its tensors in files: TRL's. */
export const valueHeadNames = { weight: 'v_head.summary.weight', bias: 'v_head.summary.bias' } as const

export interface ValueHeadPrograms {
  /** `value` [N, 1] from `hidden` [N, D], `value weight` [1, D] and `value bias` [1]. */
  readonly forward: Program
  /** Backward pass: gradients of the parameters, given ∂loss/∂value of each token as `value coefficients` [N, 1]. */
  readonly backward: Program
}

/** The head over N tokens; `vector` has those of the model's final norm, which stays as it is. */
export function valueHeadPrograms(config: ModelConfig, vector: (name: string) => Value): ValueHeadPrograms {
  const hidden = input('hidden', 'float32', ['N', config.hiddenSize])
  const weight = input('value weight', 'float32', [1, config.hiddenSize])
  const bias = input('value bias', 'float32', [1])
  const cotangent = input('value coefficients', 'float32', ['N', 1])
  const normed = modelNorm(config, hidden, config.names.finalNorm, vector)
  const value = add(matmul(normed, weight, { transB: true }), bias)
  const derived = gradients([{ value, cotangent }], [hidden, weight, bias])
  const [byHidden, byWeight, byBias] = derived as [Value, Value, Value] // the value depends on all three
  return { forward: { value }, backward: { hidden: byHidden, weight: byWeight, bias: byBias } }
}
