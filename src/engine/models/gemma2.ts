import { attentionLayout, readWindows, windowSize } from './attentionLayout.ts'
import {
  attentionBiases,
  type Architecture,
  type ArchitectureTraits,
  readDecoderConfig,
  unsupported,
} from './common.ts'
import type { BlockNorms, ModelConfig } from './config.ts'
import type { Fields } from './fields.ts'

/** Gemma 2: norms around both branches, capped scores and logits, every other layer slides. Gemma Team 2024, arXiv:2408.00118. */
export const gemma2 = {
  modelType: 'gemma2',
  className: 'Gemma2ForCausalLM',
  gguf: { name: 'gemma2', isPermuted: false },
  tiny: {
    headDim: 16,
    tiedHead: true,
    config: () => ({ ...gemmaActivation, sliding_window: 32, query_pre_attn_scalar: 20 }),
  },
  read(fields, contextLength) {
    const traits = { ...gemmaTraits(fields), name: 'gemma2', defaultMaxPositions: 8_192 }
    const config = readDecoderConfig(fields, traits, contextLength)
    const windows = readWindows(fields, config.layers, {
      size: windowSize(fields, 4_096),
      slides: (layer) => layer % 2 === 0,
    })
    const rope = config.ropes[0] ?? null
    return {
      ...config,
      ...gemmaFactors(fields, config, { attention: 50, final: 30 }),
      ...attentionLayout(
        windows.map((window) => ({ window, rope })),
        config,
      ),
    }
  },
} as const satisfies Architecture

/** Activation functions under both of their config names. */
export const gemmaActivation = {
  hidden_act: 'gelu_pytorch_tanh',
  hidden_activation: 'gelu_pytorch_tanh',
} as const

const blockNorms: BlockNorms = {
  beforeAttention: 'input_layernorm',
  afterAttention: 'post_attention_layernorm',
  beforeMlp: 'pre_feedforward_layernorm',
  afterMlp: 'post_feedforward_layernorm',
}

/** Traits that Gemma 2 and 3 share. */
export const gemmaTraits = (fields: Fields): Omit<ArchitectureTraits, 'name' | 'defaultMaxPositions'> => ({
  defaultKvHeads: 4,
  defaultHeadDim: 256,
  defaultBosId: 2,
  defaultEosIds: [1],
  defaultTied: true,
  norm: 'rms-offset',
  blockNorms,
  activationKey: 'hidden_activation',
  activationName: 'gelu_pytorch_tanh',
  biases: attentionBiases(fields),
})

/** Returns scales and soft caps; a cap that is absent has the class's default, null means no cap. */
export function gemmaFactors(
  fields: Fields,
  { hiddenSize }: ModelConfig,
  defaults: { readonly attention: number | null; readonly final: number | null },
): Pick<ModelConfig, 'attentionScale' | 'attentionSoftcap' | 'finalSoftcap' | 'embeddingScale'> {
  if (fields.boolean('use_bidirectional_attention', false)) {
    throw unsupported(fields, 'attention in both directions')
  }
  const capOf = (key: string, fallback: number | null): number | null => {
    if (fields.has(key)) return fields.number(key, { min: 1e-3, max: 1e6 })
    return fields.isNull(key) ? null : fallback
  }
  const scalar = fields.number('query_pre_attn_scalar', { min: 1e-3, max: 1e6, fallback: 256 })
  return {
    attentionScale: scalar ** -0.5,
    attentionSoftcap: capOf('attn_logit_softcapping', defaults.attention),
    finalSoftcap: capOf('final_logit_softcapping', defaults.final),
    embeddingScale: Math.fround(Math.sqrt(hiddenSize)),
  }
}
