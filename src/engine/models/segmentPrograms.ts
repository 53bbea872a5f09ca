/**
 * Learning in whole programs, for devices: a segment of layers forward or backward in one run, the last one with the head.
 * Ids, loss coefficients and the adapter go in, heads and the adapter's gradient come out. Nothing as large as a hidden
 * state crosses the bus, except between segments where the device cannot hold tensors.
 *
 * Going back computes the segment's layers again from its input, as gradient checkpointing does (Chen et al. 2016,
 * arXiv:1604.06174), so nothing has to be kept while the loss is worked out.
 */
import { gradients, type Seed } from '../ops/gradient.ts'
import type { Dim } from '../graph/shape.ts'
import { type Value, input } from '../graph/value.ts'
import { add } from '../ops/arithmetic.ts'
import { unpackRows } from '../ops/gather.ts'
import { concat, reshape } from '../ops/layout.ts'
import { matmul } from '../ops/matmul.ts'
import { vocabularyHead, type VocabularyHeadInputs } from '../ops/vocabularyHead.ts'
import { coefficientNames, headWithAlternatives } from './alternativesPart.ts'
import type { LoraConfig, ModelConfig } from './config.ts'
import { modelNorm, embeddingValue } from './decoder.ts'
import type { FrozenTensors } from './frozenWeights.ts'
import { layerInputName } from './generationGraph.ts'
import type { Program } from '../graph/onnx.ts'
import { gradientName, headInput, packedLayer } from './learningGraphs.ts'
import { loraInputs } from './lora.ts'
import { layerPrefix } from './source.ts'

/** Layers `first` ≤ i < `end`. */
export interface Segment {
  readonly first: number
  readonly end: number
}

/** Names of the programs' own inputs and outputs. */
export const segmentNames = {
  /** [A] packed rows where the head is computed, and [1, N] where each packed row stands among them, A where it does not. */
  headRows: 'head rows',
  headPlaces: 'head places',
  /** The rows that the head reads for several sequences, behind a prefix these have in common: as `SharedRows`. */
  sharedHeadSlots: 'shared head slots',
  sharedHeads: 'shared heads',
  /** [A, 1] ∂loss/∂log-probability, ∂loss/∂entropy, ∂loss/∂value */
  ...coefficientNames,
  values: 'value coefficients',
  /** The gradient of the segment's part of the adapter, in storage order. */
  gradient: 'gradient',
  /** [D + 1] */
  valueHeadGradient: 'gradient of the value head',
} as const

export interface SegmentProgramOptions {
  readonly config: ModelConfig
  readonly lora: LoraConfig
  readonly tensors: FrozenTensors
  /** Adapters read their inputs through masks. */
  readonly drops: boolean
}

/** The programs of a segment that is not the last. */
export interface InnerPrograms {
  /** `output` [N, D] */
  readonly forward: Program
  /** Backward pass from the segment's input and `cotangent` [N, D]. */
  readonly backward: Program
}

/** The programs of the last segment, from its input to the heads. */
export interface ScoringPrograms {
  /** `logprob`, `entropy` [A, 1] */
  readonly score: Program
  /** The same, and log-probabilities of K tokens of each row: of given ones, and of the likeliest. */
  readonly alternatives: Program
  readonly likeliest: Program
  /** Program with the output `value` [A, 1]. */
  readonly value: Program
}

/** The same, and back. */
export interface LastPrograms extends ScoringPrograms {
  /** Learns from coefficients of the log-probabilities; `learnEntropy` also from those of the entropies. */
  readonly learn: Program
  readonly learnEntropy: Program
  /** Learns from coefficients of these and of the log-probabilities of given tokens. */
  readonly learnAlternatives: Program
  /** Learns from coefficients of the values. */
  readonly learnValue: Program
}

/** The segment's layers over `hidden`, or over the ids for the first. */
function layersOf({ first, end }: Segment, options: SegmentProgramOptions) {
  const { config, lora, tensors, drops } = options
  const start =
    first === 0
      ? embeddingValue(config, (name, ids) => tensors.rows(name, ids))
      : input('hidden', 'float32', ['N', config.hiddenSize])
  const trained: Value[] = []
  let hidden = start
  for (let layer = first; layer < end; layer++) {
    const inputName = (name: string) => layerInputName(layer, name)
    const adapter = loraInputs(config, lora, layer, inputName)
    trained.push(...[...adapter.values()].flatMap(({ a, b }) => [a, b]))
    const prefix = layerPrefix(config, layer)
    const parameters = {
      adapter,
      trained: [],
      drops,
      inputName,
      weight: (path: string) => tensors.vector(`${prefix}${path}`),
      matrix: (path: string) => tensors.matrix(`${prefix}${path}`),
    }
    hidden = packedLayer(config, { hidden, layer }, parameters)
  }
  return { start, hidden, trained, isFirst: first === 0 }
}

/** The gradients of a segment: one flat array, and the cotangent that the segment before goes on from. */
function backwardOf(
  seeds: readonly Seed[],
  { start, trained, isFirst }: ReturnType<typeof layersOf>,
): Program {
  const targets = isFirst ? trained : [start, ...trained]
  const derived = gradients(seeds, targets).map((gradient, index) => {
    if (gradient === null)
      throw new Error(`Nothing depends on trained tensor ${String(index)} of the segment.`)
    return gradient
  })
  const flat = (isFirst ? derived : derived.slice(1)).map((gradient) => flattened(gradient))
  return {
    [segmentNames.gradient]: concat(flat, 0),
    ...(isFirst ? {} : { [gradientName('hidden')]: derived[0] as Value }),
  }
}

const flattened = (x: Value): Value => {
  const size = x.shape.reduce<number>((total, dim) => total * (dim as number), 1)
  return reshape(x, [size])
}

/** The programs of an inner segment that nobody learns from, for a model without an adapter. */
export const innerForward = (
  segment: Segment,
  options: SegmentProgramOptions,
): Pick<InnerPrograms, 'forward'> => ({ forward: { output: layersOf(segment, options).hidden } })

export function innerPrograms(segment: Segment, options: SegmentProgramOptions): InnerPrograms {
  const layers = layersOf(segment, options)
  const cotangent = input('cotangent', 'float32', ['N', options.config.hiddenSize])
  const backward = backwardOf([{ value: layers.hidden, cotangent }], layers)
  return { forward: { output: layers.hidden }, backward }
}

/** The heads over the last segment's hidden states. */
function headsOf(hidden: Value, options: SegmentProgramOptions) {
  const chosen = chosenRows(hidden)
  const inputs = headInputs(options, chosen)
  const { logprob, entropy } = vocabularyHead(inputs)
  const { seeds, ...further } = headWithAlternatives(inputs, 'A')
  const critic = valueHead(options.config, chosen, (name) => options.tensors.vector(name))
  const scoring = { score: { logprob, entropy }, ...further, value: { value: critic.value } }
  return { seeds, critic, scoring }
}

/** The programs of the last segment that a model without an adapter has too. */
export const scoringPrograms = (segment: Segment, options: SegmentProgramOptions): ScoringPrograms =>
  headsOf(layersOf(segment, options).hidden, options).scoring

export function lastPrograms(segment: Segment, options: SegmentProgramOptions): LastPrograms {
  const layers = layersOf(segment, options)
  const { seeds, critic, scoring } = headsOf(layers.hidden, options)
  const { logprob, entropy } = scoring.score
  const seed = (value: Value, name: string): Seed => ({ value, cotangent: input(name, 'float32', ['A', 1]) })
  const byLogprob = seed(logprob, segmentNames.logprobs)
  const byValue = seed(critic.value, segmentNames.values)
  const ofHead = gradients([byValue], [critic.weight, critic.bias]) as [Value, Value]
  return {
    ...scoring,
    learn: backwardOf([byLogprob], layers),
    learnEntropy: backwardOf([byLogprob, seed(entropy, segmentNames.entropies)], layers),
    learnAlternatives: backwardOf(seeds, layers),
    learnValue: {
      ...backwardOf([byValue], layers),
      [segmentNames.valueHeadGradient]: concat(ofHead.map(flattened), 0),
    },
  }
}

/** The head alone, over the last layer's hidden states. */
export function headProgram(options: SegmentProgramOptions): Program {
  const hidden = chosenRows(input('hidden', 'float32', ['N', options.config.hiddenSize]))
  const { logprob, entropy } = vocabularyHead(headInputs(options, hidden))
  return { logprob, entropy }
}

/** The rows of [N, D] whose next token counts: [A, D]. */
function chosenRows(hidden: Value): Value {
  const map = {
    slots: [input(segmentNames.headRows, 'int64', ['A'])],
    rows: input(segmentNames.headPlaces, 'int64', [1, hidden.shape[0] as Dim]),
    shared: {
      slots: input(segmentNames.sharedHeadSlots, 'int64', ['U', 'W']),
      places: input(segmentNames.sharedHeads, 'int64', [hidden.shape[0] as Dim]),
    },
  }
  return unpackRows(hidden, map)[0] as Value
}

function headInputs({ config, tensors }: SegmentProgramOptions, hidden: Value): VocabularyHeadInputs {
  const vector = (name: string) => tensors.vector(name)
  const inverseTemperature = input('inverseTemperature', 'float32', [1])
  const { hidden: scored, logitCap } = headInput(config, { hidden, inverseTemperature }, vector)
  return {
    hidden: scored,
    table: tensors.head,
    targets: input('targets', 'int64', ['A']),
    ...(logitCap ? { logitCap } : {}),
  }
}

function valueHead(config: ModelConfig, hidden: Value, vector: (name: string) => Value) {
  const weight = input('value weight', 'float32', [1, config.hiddenSize])
  const bias = input('value bias', 'float32', [1])
  const normed = modelNorm(config, hidden, config.names.finalNorm, vector)
  return { value: add(matmul(normed, weight, { transB: true }), bias), weight, bias }
}

/** Splits the layers into segments of nearly equal length, none longer than `most`. */
export function segmentsOf(layers: number, most: number): Segment[] {
  const count = Math.max(1, Math.ceil(layers / Math.max(1, most)))
  const bound = (index: number) => Math.round((index * layers) / count)
  return Array.from({ length: count }, (_, index) => ({ first: bound(index), end: bound(index + 1) }))
}
