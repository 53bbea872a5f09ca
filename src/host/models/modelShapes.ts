/** A decoder's sizes, enough to write one with random weights. */
export interface ModelShape {
  readonly modelType: RandomModelType
  readonly layers: number
  readonly hiddenSize: number
  readonly heads: number
  readonly kvHeads: number
  readonly headDim: number
  readonly intermediateSize: number
  readonly vocabSize: number
  /** Tokenizer of its folder: one token per byte (the default), or the seven tokens of probes. */
  readonly tokenizer?: 'bytes' | 'digits'
  readonly maxPositions: number
  readonly ropeTheta: number
  readonly normEpsilon: number
  readonly tiedHead: boolean
  /** Standard deviation of the weights. Tiny models take a large one, or all their logits would be alike. */
  readonly deviation: number
  /** Fields of config.json that its family has beside the sizes. */
  readonly config?: Readonly<Record<string, unknown>>
}

/** Families that random models are made of, and their classes. */
export const randomModelClasses = {
  llama: 'LlamaForCausalLM',
  mistral: 'MistralForCausalLM',
  qwen2: 'Qwen2ForCausalLM',
  qwen3: 'Qwen3ForCausalLM',
  smollm3: 'SmolLM3ForCausalLM',
  gemma2: 'Gemma2ForCausalLM',
  gemma3_text: 'Gemma3ForCausalLM',
  phi3: 'Phi3ForCausalLM',
  olmo2: 'Olmo2ForCausalLM',
  granite: 'GraniteForCausalLM',
  stablelm: 'StableLmForCausalLM',
  gpt2: 'GPT2LMHeadModel',
} as const
export type RandomModelType = keyof typeof randomModelClasses

const tiny = {
  layers: 2,
  vocabSize: 288,
  maxPositions: 512,
  ropeTheta: 10_000,
  normEpsilon: 1e-6,
  deviation: 0.15,
} as const

const tinyHeads = {
  hiddenSize: 32,
  heads: 4,
  kvHeads: 2,
  headDim: 8,
  intermediateSize: 64,
  deviation: 0.2,
} as const

/** By the names that the command line takes. The tiny ones differ in all that distinguishes the architectures. */
export const modelShapes = {
  'qwen2.5-0.5b': {
    modelType: 'qwen2',
    layers: 24,
    hiddenSize: 896,
    heads: 14,
    kvHeads: 2,
    headDim: 64,
    intermediateSize: 4_864,
    vocabSize: 151_936,
    maxPositions: 32_768,
    ropeTheta: 1_000_000,
    normEpsilon: 1e-6,
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
  // Its weights are spread wide enough for the frozen head to tell seven tokens clearly apart.
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
  'tiny-llama': {
    ...tiny,
    modelType: 'llama',
    hiddenSize: 32,
    heads: 4,
    kvHeads: 2,
    headDim: 8,
    intermediateSize: 64,
    tiedHead: false,
  },
  'tiny-qwen2': {
    ...tiny,
    modelType: 'qwen2',
    hiddenSize: 48,
    heads: 6,
    kvHeads: 2,
    headDim: 8,
    intermediateSize: 80,
    tiedHead: true,
  },
  'tiny-qwen3': {
    ...tiny,
    modelType: 'qwen3',
    hiddenSize: 64,
    heads: 4,
    kvHeads: 4,
    headDim: 24,
    intermediateSize: 96,
    tiedHead: true,
  },
  'tiny-mistral': {
    ...tiny,
    ...tinyHeads,
    modelType: 'mistral',
    tiedHead: false,
    config: { sliding_window: 32 },
  },
  'tiny-smollm3': { ...tiny, ...tinyHeads, layers: 4, modelType: 'smollm3', tiedHead: true },
  'tiny-gemma2': {
    ...tiny,
    ...tinyHeads,
    modelType: 'gemma2',
    headDim: 16,
    tiedHead: true,
    config: { sliding_window: 32, query_pre_attn_scalar: 20 },
  },
  'tiny-gemma3': {
    ...tiny,
    ...tinyHeads,
    modelType: 'gemma3_text',
    layers: 3,
    headDim: 16,
    tiedHead: true,
    config: { sliding_window: 32, sliding_window_pattern: 3, query_pre_attn_scalar: 16 },
  },
  'tiny-phi3': { ...tiny, ...tinyHeads, modelType: 'phi3', tiedHead: false },
  'tiny-olmo2': { ...tiny, ...tinyHeads, modelType: 'olmo2', tiedHead: false },
  'tiny-granite': {
    ...tiny,
    ...tinyHeads,
    modelType: 'granite',
    tiedHead: true,
    config: {
      embedding_multiplier: 4,
      attention_multiplier: 0.5,
      residual_multiplier: 0.7,
      logits_scaling: 2,
    },
  },
  'tiny-stablelm': {
    ...tiny,
    ...tinyHeads,
    modelType: 'stablelm',
    headDim: 8,
    tiedHead: false,
    config: { use_qkv_bias: true },
  },
  'tiny-gpt2': { ...tiny, ...tinyHeads, modelType: 'gpt2', kvHeads: 4, tiedHead: true },
} as const satisfies Readonly<Record<string, ModelShape>>

export type ModelShapeName = keyof typeof modelShapes

export const isModelShapeName = (name: string): name is ModelShapeName => Object.hasOwn(modelShapes, name)
