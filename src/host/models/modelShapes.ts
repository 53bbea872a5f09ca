import type { ModelSizes } from '#engine/models/common.ts'
import { architectures, type ModelType } from '#engine/models/registry.ts'

/** A decoder's sizes, enough to write one with random weights. */
export interface ModelShape extends ModelSizes {
  readonly modelType: ModelType
  readonly vocabSize: number
  /** Tokenizer of its folder: one token per byte (the default), or the seven tokens of probes. */
  readonly tokenizer?: 'bytes' | 'digits'
  readonly ropeTheta: number
  readonly tiedHead: boolean
  /** Standard deviation of the weights. Tiny models take a large one, or all their logits would be alike. */
  readonly deviation: number
  /** Fields of config.json in addition to those of its family. */
  readonly config?: Readonly<Record<string, unknown>>
}

/** Config of tiny models where their family does not say otherwise. */
const tiny = {
  layers: 2,
  hiddenSize: 32,
  heads: 4,
  kvHeads: 2,
  headDim: 8,
  intermediateSize: 64,
  vocabSize: 288,
  maxPositions: 512,
  ropeTheta: 10_000,
  normEpsilon: 1e-6,
  deviation: 0.2,
} as const

type TinyName<Type extends string> = `tiny-${Type extends `${infer Name}_text` ? Name : Type}`

/** One of each family: `tiny-llama`, … */
const tinyShapes = Object.fromEntries(
  architectures.map(({ modelType, tiny: { config: _, ...own } }) => [
    `tiny-${modelType.replace(/_text$/, '')}`,
    { ...tiny, ...own, modelType },
  ]),
) as Record<TinyName<ModelType>, ModelShape>

/** Layers, width, heads, key heads, width of the MLP, vocabulary, whether the head is the embedding. */
type Sizes = readonly [number, number, number, number, number, number, boolean]

const qwen25 = ([layers, hiddenSize, heads, kvHeads, intermediateSize, vocabSize, tiedHead]: Sizes) => ({
  modelType: 'qwen2' as const,
  layers,
  hiddenSize,
  heads,
  kvHeads,
  headDim: hiddenSize / heads,
  intermediateSize,
  vocabSize,
  tiedHead,
  maxPositions: 32_768,
  ropeTheta: 1_000_000,
  normEpsilon: 1e-6,
  deviation: 0.02,
})

/** Shapes by the names that the command line takes. */
export const modelShapes = {
  'qwen2.5-0.5b': qwen25([24, 896, 14, 2, 4_864, 151_936, true]),
  'qwen2.5-1.5b': qwen25([28, 1_536, 12, 2, 8_960, 151_936, true]),
  'qwen2.5-3b': qwen25([36, 2_048, 16, 2, 11_008, 151_936, true]),
  'smollm2-135m': {
    modelType: 'llama',
    layers: 30,
    hiddenSize: 576,
    heads: 9,
    kvHeads: 3,
    headDim: 64,
    intermediateSize: 1_536,
    vocabSize: 49_152,
    maxPositions: 8_192,
    ropeTheta: 100_000,
    normEpsilon: 1e-5,
    tiedHead: true,
    deviation: 0.02,
  },
  'smol-30m': {
    modelType: 'llama',
    layers: 8,
    hiddenSize: 512,
    heads: 8,
    kvHeads: 2,
    headDim: 64,
    intermediateSize: 1_408,
    vocabSize: 32_000,
    maxPositions: 2_048,
    ropeTheta: 10_000,
    normEpsilon: 1e-5,
    tiedHead: false,
    deviation: 0.02,
  },
  'granite-3.1-1b-a400m': {
    modelType: 'granitemoe',
    layers: 24,
    hiddenSize: 1_024,
    heads: 16,
    kvHeads: 8,
    headDim: 64,
    intermediateSize: 512,
    vocabSize: 49_155,
    maxPositions: 131_072,
    ropeTheta: 5_000_000,
    normEpsilon: 1e-6,
    tiedHead: true,
    deviation: 0.02,
    config: {
      num_local_experts: 32,
      num_experts_per_tok: 8,
      embedding_multiplier: 12,
      attention_multiplier: 0.015625,
      residual_multiplier: 0.22,
      logits_scaling: 6,
    },
  },
  'qwen3.5-0.8b': {
    modelType: 'qwen3_5_text',
    layers: 24,
    hiddenSize: 1_024,
    heads: 8,
    kvHeads: 2,
    headDim: 256,
    intermediateSize: 3_584,
    vocabSize: 248_320,
    maxPositions: 262_144,
    ropeTheta: 10_000_000,
    normEpsilon: 1e-6,
    tiedHead: true,
    deviation: 0.02,
    config: {
      linear_num_key_heads: 16,
      linear_num_value_heads: 16,
      linear_key_head_dim: 128,
      linear_value_head_dim: 128,
    },
  },
  // The weights are spread wide enough for the frozen head to tell seven tokens clearly apart.
  probe: {
    modelType: 'llama',
    layers: 2,
    hiddenSize: 64,
    heads: 2,
    kvHeads: 2,
    headDim: 32,
    intermediateSize: 256,
    vocabSize: 7,
    tokenizer: 'digits',
    maxPositions: 128,
    ropeTheta: 10_000,
    normEpsilon: 1e-6,
    tiedHead: true,
    deviation: 0.1,
  },
  ...tinyShapes,
} as const satisfies Readonly<Record<string, ModelShape>>

export type ModelShapeName = keyof typeof modelShapes

export const isModelShapeName = (name: string): name is ModelShapeName => Object.hasOwn(modelShapes, name)
