import { attentionBiases, type Architecture, readDecoderConfig } from './common.ts'
import type { Fields } from './fields.ts'
import { withUpperWindows } from './qwen2.ts'

/** Qwen 3 with a mixture of experts in the place of the MLP of some or all layers. Yang et al. 2025, arXiv:2505.09388, §2. */
export const qwen3Moe = {
  modelType: 'qwen3_moe',
  className: 'Qwen3MoeForCausalLM',
  gguf: { name: 'qwen3moe', isPermuted: false },
  mixes: true,
  tiny: {
    layers: 3,
    tiedHead: false,
    config: () => ({
      num_experts: 3,
      num_experts_per_tok: 2,
      moe_intermediate_size: 24,
      norm_topk_prob: true,
      mlp_only_layers: [1],
    }),
  },
  read(fields, contextLength) {
    const traits = {
      name: 'qwen3_moe',
      defaultKvHeads: 4,
      defaultHeadDim: null,
      defaultMaxPositions: 32_768,
      defaultBosId: null,
      defaultEosIds: [],
      qkNorm: 'head',
      biases: attentionBiases(fields),
      experts: {
        defaultCount: 128,
        defaultChosen: 8,
        widthKey: 'moe_intermediate_size',
        defaultWidth: 768,
        form: 'apart',
        has: layersWithExperts(fields),
      },
    } as const
    return withUpperWindows(fields, readDecoderConfig(fields, traits, contextLength))
  },
} as const satisfies Architecture

/** Every `decoder_sparse_step`th layer, but none of `mlp_only_layers`. */
function layersWithExperts(fields: Fields): (layer: number) => boolean {
  const step = fields.integer('decoder_sparse_step', { min: 1, max: 1_024, fallback: 1 })
  const without = new Set(fields.numbers('mlp_only_layers', { min: 0, max: 1_024 }))
  return (layer) => !without.has(layer) && (layer + 1) % step === 0
}
