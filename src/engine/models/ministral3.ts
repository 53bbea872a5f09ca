import { attentionLayout, ropeFields, windowSize } from './attentionLayout.ts'
import { type Architecture, readDecoderConfig } from './common.ts'
import type { RopeConfig } from './config.ts'
import type { Fields } from './fields.ts'

/** Ministral 3, its text part: Mistral with YaRN, and queries that grow with their position. Mistral AI 2026, arXiv:2601.08584. */
export const ministral3 = {
  modelType: 'ministral3',
  className: 'Ministral3ForCausalLM',
  gguf: { name: 'mistral3', isPermuted: true },
  tiny: {
    headDim: 24,
    tiedHead: false,
    config: ({ maxPositions }) => ({
      rope_parameters: {
        rope_type: 'yarn',
        rope_theta: 10_000,
        factor: maxPositions / 16,
        mscale: 1,
        mscale_all_dim: 1,
        original_max_position_embeddings: 16,
        llama_4_scaling_beta: 0.1,
      },
    }),
  },
  read(fields, contextLength) {
    const traits = {
      name: 'ministral3',
      defaultKvHeads: 8,
      defaultHeadDim: 128,
      defaultMaxPositions: 262_144,
      defaultTheta: 1_000_000,
      defaultNormEpsilon: 1e-5,
      defaultBosId: 1,
      defaultEosIds: [2],
    }
    const config = readDecoderConfig(fields, traits, contextLength)
    const rope = config.ropes[0] as RopeConfig
    const kind = { window: windowSize(fields, null), rope, queryRope: growing(fields, rope) }
    return { ...config, ...attentionLayout(Array<typeof kind>(config.layers).fill(kind), config) }
  },
} as const satisfies Architecture

/** The same rotation, longer by a factor that grows with the position, as Llama 4 has it. */
function growing(fields: Fields, rope: RopeConfig): RopeConfig {
  const parameters = ropeFields(fields, 'full_attention')
  const length = parameters.integer('original_max_position_embeddings', { min: 1, max: 1 << 24 })
  return {
    ...rope,
    growth: { rate: parameters.number('llama_4_scaling_beta', { min: 0, max: 100 }), length },
  }
}
