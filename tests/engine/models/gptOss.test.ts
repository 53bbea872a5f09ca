import { describe, expect, test } from 'vitest'
import { linearWeights } from '#engine/models/blocks.ts'
import { adaptedLinears, attentionOf, linearNames } from '#engine/models/config.ts'
import { readModelConfig, readModelType } from '#engine/models/registry.ts'
import { expectedTensors, storedTensors } from '#engine/models/source.ts'

const yarn = { rope_type: 'yarn', factor: 32, original_max_position_embeddings: 4096, truncate: false }
const json = {
  model_type: 'gpt_oss',
  architectures: ['GptOssForCausalLM'],
  hidden_size: 64,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 32,
  intermediate_size: 20,
  num_hidden_layers: 3,
  num_local_experts: 5,
  vocab_size: 300,
  max_position_embeddings: 131_072,
  rope_theta: 150_000,
  rope_scaling: yarn,
}
const read = (fields: object = {}) => readModelConfig({ ...json, ...fields }, 'c')

describe('gpt_oss', () => {
  test('what the config says, and what its class says where it does not', () => {
    const config = read()
    expect(config).toMatchObject({ hasSinks: true, windows: [128, null], tiedHead: false })
    expect(config.mixers.map((_, layer) => attentionOf(config, layer).window)).toEqual([0, 1, 0])
    expect(config.biases).toMatchObject({ q_proj: true, k_proj: true, v_proj: true, o_proj: true })
    expect(config.experts).toMatchObject({
      count: 5,
      chosen: 4,
      width: 20,
      weighed: 'chosen',
      biased: true,
      clamp: { limit: 7, alpha: 1.702 },
    })
    expect(read({ swiglu_limit: 3, swiglu_alpha: 1 }).experts?.clamp).toEqual({ limit: 3, alpha: 1 })
    expect(read({ attention_bias: false }).biases.o_proj).toBe(false)
    const full = read({ layer_types: ['full_attention', 'full_attention', 'full_attention'] })
    expect(full.windows).toEqual([null])
  })

  test('the blend of YaRN is rounded to whole pairs only where the config says so', () => {
    const [plain, rounded] = [read(), read({ rope_scaling: { ...yarn, truncate: true } })]
    expect(plain.ropes[0]?.inverseFrequencies).not.toEqual(rounded.ropes[0]?.inverseFrequencies)
  })

  test('a config that does not say how positions are stretched is refused', () => {
    expect(() => read({ rope_scaling: null })).toThrow('“rope_parameters” in c must be')
  })

  test('a file holds the experts of a layer together, transposed; biases, router and sinks stay exact', () => {
    const config = read()
    const stored = new Map(storedTensors(config).map(({ name, shape }) => [name, shape]))
    expect(stored.get('model.layers.1.mlp.experts.gate_up_proj')).toEqual([5, 64, 40])
    expect(stored.get('model.layers.1.mlp.experts.down_proj')).toEqual([5, 20, 64])
    expect(stored.get('model.layers.1.mlp.experts.gate_up_proj_bias')).toEqual([5, 40])
    expect(stored.get('model.layers.1.mlp.router.bias')).toEqual([5])
    expect(stored.get('model.layers.1.self_attn.sinks')).toEqual([4])
    const computed = new Map(expectedTensors(config).map(({ name, shape }) => [name, shape]))
    expect(computed.get('model.layers.1.mlp.experts.4.gate_up_proj')).toEqual([40, 64])
    const rounded = linearWeights(config).map(({ name }) => name)
    expect(rounded).toContain('model.layers.0.mlp.experts.4.down_proj')
    expect(rounded.filter((name) => /bias|router|sinks/.test(name))).toEqual([])
  })

  test('an adapter is on attention', () => {
    const lora = { rank: 1, alpha: 1, rsLora: false, targets: linearNames }
    expect(adaptedLinears(read(), lora, 0)).toEqual(['q_proj', 'k_proj', 'v_proj', 'o_proj'])
  })

  test('experts may be in MXFP4, those of other families not, and nothing in other bits', () => {
    const quantised = (quant_method: string) => ({ quantization_config: { quant_method } })
    expect(read(quantised('mxfp4'))).toEqual(read())
    expect(readModelType({ ...json, ...quantised('mxfp4') }, 'c')).toBe('gpt_oss')
    expect(() => read(quantised('awq'))).toThrow('quantised by “awq”')
    const other = { ...json, model_type: 'olmoe', architectures: ['OlmoeForCausalLM'] }
    expect(() => readModelConfig({ ...other, ...quantised('mxfp4') }, 'c')).toThrow('quantised by “mxfp4”')
  })
})
