import { describe, expect, test } from 'vitest'
import { AppError } from '#shared/errors.ts'
import { withGenerationConfig } from '#engine/models/common.ts'
import { linearWeights } from '#engine/models/blocks.ts'
import { adaptedLinears, attentionOf, linearNames, linearsOf } from '#engine/models/config.ts'
import { architectures, readModelConfig } from '#engine/models/registry.ts'
import { expectedTensors, storedTensors } from '#engine/models/source.ts'

const sizes = {
  hidden_size: 64,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  intermediate_size: 96,
  num_hidden_layers: 2,
  vocab_size: 300,
  max_position_embeddings: 512,
  rms_norm_eps: 1e-5,
}
const llama = { model_type: 'llama', architectures: ['LlamaForCausalLM'], ...sizes }
const qwen2 = { model_type: 'qwen2', architectures: ['Qwen2ForCausalLM'], ...sizes }
const qwen3 = { model_type: 'qwen3', architectures: ['Qwen3ForCausalLM'], head_dim: 24, ...sizes }

const errorOf = (config: unknown): AppError => {
  try {
    readModelConfig(config, '/m/config.json')
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
  throw new Error('Expected an error, got a config.')
}
const omit = (config: object, key: string): object =>
  Object.fromEntries(Object.entries(config).filter(([name]) => name !== key))
const shapesOf = (config: unknown): Map<string, readonly number[]> =>
  new Map(expectedTensors(readModelConfig(config, 'c')).map(({ name, shape }) => [name, shape]))

describe('model configs', () => {
  test('llama: every size, its biases only where the config says so', () => {
    const config = readModelConfig({ ...llama, attention_bias: true, mlp_bias: false }, 'c')
    expect(config).toMatchObject({
      architecture: 'llama',
      layers: 2,
      hiddenSize: 64,
      heads: 4,
      kvHeads: 2,
      headDim: 16,
      intermediateSize: 96,
      vocabSize: 300,
      maxPositions: 512,
      normEpsilon: 1e-5,
      tiedHead: false,
      qkNorm: 'none',
      bosId: 1,
      eosIds: [2],
      padId: null,
    })
    expect(config.biases).toMatchObject({ q_proj: true, o_proj: true, gate_proj: false, down_proj: false })
  })

  test('experts: which layers have them, how their weights add up, and what an adapter may change', () => {
    const base = { ...sizes, model_type: 'qwen3_moe', num_hidden_layers: 4, head_dim: 24, num_experts: 6 }
    const read = (fields: object = {}) => readModelConfig({ ...base, ...fields }, 'c')
    const { experts, linears } = read({ num_experts_per_tok: 2, moe_intermediate_size: 20 })
    expect(experts).toMatchObject({ count: 6, chosen: 2, width: 20, weighed: 'all', form: 'apart' })
    expect(experts?.layers).toEqual([true, true, true, true])
    expect(linears).toEqual(['q_proj', 'k_proj', 'v_proj', 'o_proj'])
    expect(read({ norm_topk_prob: true }).experts?.weighed).toBe('chosen')

    const mixed = read({ mlp_only_layers: [3], decoder_sparse_step: 2 })
    expect(mixed.experts?.layers).toEqual([false, true, false, false])
    expect(linearsOf(mixed, 0)).toContain('down_proj')
    expect(linearsOf(mixed, 1)).toEqual(['q_proj', 'k_proj', 'v_proj', 'o_proj'])
    const lora = { rank: 1, alpha: 1, rsLora: false, targets: linearNames }
    expect(adaptedLinears(mixed, lora, 0)).toEqual(['q_proj', 'k_proj', 'v_proj', 'o_proj'])

    expect(() => read({ num_experts_per_tok: 7 })).toThrow('from 1 to 6')
    expect(() => read({ mlp_only_layers: ['a'] })).toThrow('mlp_only_layers')
    expect(() => readModelConfig({ ...sizes, model_type: 'olmoe', clip_qkv: 8 }, 'c')).toThrow('clip_qkv')
    expect(errorOf({ ...qwen3, num_experts: 8 }).message).toContain('a mixture of experts')
  })

  test('experts of granitemoe are parts of one tensor of the file', () => {
    const config = { ...sizes, model_type: 'granitemoe', intermediate_size: 20, num_local_experts: 3 }
    const shapes = shapesOf(config)
    expect(shapes.get('model.layers.1.block_sparse_moe.input_linear.2.weight')).toEqual([40, 64])
    expect(shapes.get('model.layers.1.block_sparse_moe.output_linear.2.weight')).toEqual([64, 20])
    const stored = storedTensors(readModelConfig(config, 'c'))
    expect(stored.find(({ name }) => name.endsWith('1.block_sparse_moe.input_linear.weight'))?.shape).toEqual(
      [3, 40, 64],
    )
    expect(stored.some(({ name }) => name.endsWith('input_linear.2.weight'))).toBe(false)
    // What rounds matrices leaves the router as it is.
    const rounded = linearWeights(readModelConfig(config, 'c')).map(({ name }) => name)
    expect(rounded).toContain('model.layers.0.block_sparse_moe.output_linear.0.weight')
    expect(rounded.some((name) => name.includes('router'))).toBe(false)
  })

  test('lfm2: layers that attend by their types or numbers, and the width of the MLP', () => {
    const base = { model_type: 'lfm2', architectures: ['Lfm2ForCausalLM'], ...sizes, num_hidden_layers: 3 }
    const read = (fields: object) => readModelConfig({ ...base, ...fields }, 'c')
    const kindsOf = (fields: object) => read(fields).mixers.map(({ kind }) => kind)
    const [attends, convolves] = ['attention', 'convolution']
    expect(kindsOf({})).toEqual([attends, attends, attends])
    expect(kindsOf({ full_attn_idxs: [1] })).toEqual([convolves, attends, convolves])
    const layer_types = ['full_attention', 'conv', 'conv']
    expect(kindsOf({ full_attn_idxs: [1], layer_types })).toEqual([attends, convolves, convolves])
    expect(() => read({ full_attn_idxs: [] })).toThrow('a model without attention')
    expect(() => read({ layer_types: ['conv', 'conv'] })).toThrow('a list of 3 types')
    expect(() => read({ layer_types: ['conv', 'mamba', 'conv'] })).toThrow('layers of type “mamba”')
    expect(() => read({ conv_L_cache: 1 })).toThrow('conv_L_cache')
    // LFM2-1.2B: two thirds of 12288, rounded up to a multiple of 256.
    const large = { block_ff_dim: 12_288, block_ffn_dim_multiplier: 1, block_multiple_of: 256 }
    expect(read(large).intermediateSize).toBe(8_192)
    expect(read({ ...large, block_ffn_dim_multiplier: 1.1 }).intermediateSize).toBe(9_216)
    expect(read({ ...large, block_auto_adjust_ff_dim: false }).intermediateSize).toBe(12_288)
    expect([read({}).tiedHead, read({ tie_embedding: false }).tiedHead]).toEqual([true, false])
  })

  test('exaone4: windows by letters, by a number, or none, and rotation goes with them', () => {
    const base = {
      model_type: 'exaone4',
      architectures: ['Exaone4ForCausalLM'],
      ...sizes,
      num_hidden_layers: 6,
    }
    const kindsOf = (fields: object) => {
      const config = readModelConfig({ ...base, ...fields }, 'c')
      return config.mixers.map((_, layer) => {
        const { window, rope } = attentionOf(config, layer)
        return [config.windows[window], rope === null ? 'still' : 'rotates']
      })
    }
    const [local, global] = [
      [8, 'rotates'],
      [null, 'still'],
    ]
    const pattern = { sliding_window: 8, sliding_window_pattern: 'LLG' }
    expect(kindsOf(pattern)).toEqual([local, local, global, local, local, global])
    expect(kindsOf({ ...pattern, sliding_window_pattern: 'L' }).at(-1)).toEqual(global)
    expect(kindsOf({ ...pattern, sliding_window_pattern: 2 })).toEqual([
      local,
      global,
      local,
      global,
      local,
      global,
    ])
    expect(kindsOf({ ...pattern, sliding_window: null })).toEqual(Array(6).fill([null, 'rotates']))
    expect(errorOf({ ...base, sliding_window_pattern: 'LX' }).message).toContain('letters L and G')
  })

  test('qwen2: biases on q, k and v only', () => {
    const { biases, tiedHead, eosIds } = readModelConfig(
      { ...qwen2, tie_word_embeddings: true, eos_token_id: 7 },
      'c',
    )
    expect(Object.entries(biases).flatMap(([name, has]) => (has ? [name] : []))).toEqual([
      'q_proj',
      'k_proj',
      'v_proj',
    ])
    expect(tiedHead).toBe(true)
    expect(eosIds).toEqual([7])
  })

  test('qwen3: norms per head, width of heads independent of the hidden size', () => {
    const config = readModelConfig(qwen3, 'c')
    expect(config).toMatchObject({ qkNorm: 'head', headDim: 24, bosId: null, eosIds: [] })
    expect(readModelConfig(omit(qwen3, 'head_dim'), 'c').headDim).toBe(128)
  })

  test('absent key/value heads mean the class default, null means as many as heads', () => {
    expect(readModelConfig(omit(llama, 'num_key_value_heads'), 'c').kvHeads).toBe(4)
    expect(readModelConfig({ ...qwen2, num_key_value_heads: null }, 'c').kvHeads).toBe(4)
    expect(errorOf(omit(qwen2, 'num_key_value_heads')).message).toContain('“num_key_value_heads” (32)')
  })

  test('the class name decides where model_type is missing', () => {
    expect(readModelConfig(omit(qwen2, 'model_type'), 'c').architecture).toBe('qwen2')
  })

  test('expected tensors: names and shapes, biases, head norms, a head only when untied', () => {
    const tensors = shapesOf(qwen2)
    expect(tensors.get('model.layers.1.self_attn.k_proj.weight')).toEqual([32, 64])
    expect(tensors.get('model.layers.1.self_attn.k_proj.bias')).toEqual([32])
    expect(tensors.get('model.layers.0.mlp.down_proj.weight')).toEqual([64, 96])
    expect(tensors.get('lm_head.weight')).toEqual([300, 64])
    expect(tensors.has('model.layers.0.self_attn.o_proj.bias')).toBe(false)
    expect(tensors.has('model.layers.0.self_attn.q_norm.weight')).toBe(false)
    expect(shapesOf(qwen3).get('model.layers.0.self_attn.q_norm.weight')).toEqual([24])
    expect(shapesOf(qwen3).get('model.layers.0.self_attn.o_proj.weight')).toEqual([64, 96])
    expect(shapesOf({ ...llama, tie_word_embeddings: true }).has('lm_head.weight')).toBe(false)
    expect(tensors.size).toBe(3 + 2 * (2 + 7 + 3))
  })

  test('end-of-sequence ids of both files are kept, the generation config first', () => {
    const config = readModelConfig({ ...qwen2, eos_token_id: 5 }, 'c')
    const both = withGenerationConfig(config, { eos_token_id: [9, 5], bos_token_id: 3, pad_token_id: 4 }, 'g')
    expect(both).toMatchObject({ eosIds: [9, 5], bosId: 3, padId: 4 })
    expect(withGenerationConfig(config, {}, 'g')).toEqual(config)
    expect(() => withGenerationConfig(config, { eos_token_id: [300] }, 'g.json')).toThrow(
      '“eos_token_id” in g.json',
    )
  })

  test('−1 means no token', () => {
    expect(readModelConfig({ ...llama, pad_token_id: -1, bos_token_id: null }, 'c')).toMatchObject({
      padId: null,
      bosId: null,
    })
  })
})

describe('refused configs', () => {
  test.each(['mixtral', 'qwen2_moe', 'gemma3', 'gpt_neox', 'constructor'])('%s by name', (modelType) => {
    const error = errorOf({ ...llama, model_type: modelType })
    expect(error.code).toBe('model/unsupported')
    expect(error.message).toBe(
      `/m/config.json is for a model of type “${modelType}”, which is not supported.`,
    )
    expect(error.hint).toBe(`Supported are ${architectures.map(({ modelType: type }) => type).join(', ')}.`)
  })

  test.each([
    [{ model_type: 'gemma3', vision_config: {} }, 'type “gemma3” (reads images), which'],
    [{ model_type: 'mixtral', num_local_experts: 8 }, 'type “mixtral” (a mixture of experts), which'],
    [{ model_type: 't5', is_encoder_decoder: true }, 'type “t5” (an encoder with a decoder), which'],
    [{ model_type: 'falcon', is_encoder_decoder: false }, 'type “falcon”, which'],
  ])('%j says what it is', (config, words) => {
    expect(errorOf(config).message).toContain(words)
  })

  test.each([
    ['phi3', 'Phi3ForCausalLM', { partial_rotary_factor: 0.1 }, 'model/invalid', 'channels of each head'],
    ['stablelm', 'StableLmForCausalLM', { use_parallel_residual: true }, 'model/unsupported', 'parallel'],
    ['stablelm', 'StableLmForCausalLM', { qk_layernorm: true }, 'model/unsupported', 'on the heads'],
    ['gemma2', 'Gemma2ForCausalLM', { hidden_activation: 'gelu' }, 'model/unsupported', '“gelu”'],
    ['gemma2', 'Gemma2ForCausalLM', { use_bidirectional_attention: true }, 'model/unsupported', 'both'],
    ['mistral', 'MistralForCausalLM', { sliding_window: 0 }, 'model/invalid', 'sliding_window'],
    ['smollm3', 'SmolLM3ForCausalLM', { no_rope_layers: [1] }, 'model/invalid', 'no_rope_layers'],
    ['gemma3_text', 'Gemma3ForCausalLM', { layer_types: ['a', 'b'] }, 'model/unsupported', '“a”'],
    ['qwen3', 'Qwen3ForCausalLM', { layer_types: ['full_attention'] }, 'model/invalid', 'layer_types'],
    ['olmo2', 'Olmo2ForCausalLM', { use_sliding_window: true }, 'model/unsupported', 'sliding'],
  ] as const)('%s (%s) with %j', (...[type, className, change, code, words]) => {
    const error = errorOf({ ...llama, model_type: type, architectures: [className], ...change })
    expect(error.code).toBe(code)
    expect(error.message).toContain(words)
  })

  test.each([
    ['llama', { rope_scaling: { rope_type: 'dynamic', factor: 2 } }, 1_024, 1_025],
    ['llama', { rope_scaling: { rope_type: 'linear', factor: 2 } }, 512, 513],
  ])('%s %j takes a context of %i, not of %i', (_, change, most, more) => {
    const read = (length: number) => readModelConfig({ ...llama, ...change }, 'c', length)
    expect(read(most).contextLength).toBe(most)
    expect(() => read(more)).toThrow(`A context of ${more} tokens exceeds the ${most}`)
  })

  test('LongRoPE stays within the original length unless asked', () => {
    const divisors = Array<number>(8).fill(1)
    const longrope = { rope_type: 'longrope', short_factor: divisors, long_factor: divisors.map(() => 3) }
    const phi = {
      ...llama,
      model_type: 'phi3',
      architectures: ['Phi3ForCausalLM'],
      eos_token_id: 7,
      original_max_position_embeddings: 64,
      rope_scaling: longrope,
    }
    const short = readModelConfig(phi, 'c')
    const long = readModelConfig(phi, 'c', 65)
    expect([short.contextLength, long.contextLength, long.maxPositions]).toEqual([64, 65, 512])
    expect(short.ropes[0]!.inverseFrequencies[0]! / long.ropes[0]!.inverseFrequencies[0]!).toBeCloseTo(3, 5)
    const wrong = { ...phi, rope_scaling: { ...longrope, short_factor: [1] } }
    expect(() => readModelConfig(wrong, 'c')).toThrow('“rope_scaling.short_factor” in c must be a list of 8')
  })

  test.each([
    ['a classifier', { architectures: ['LlamaForSequenceClassification'] }, 'LlamaForSequenceClassification'],
    ['sliding window', { use_sliding_window: true }, 'sliding-window'],
    ['sliding layers', { layer_types: ['full_attention', 'sliding_attention'] }, 'sliding-window'],
    ['quantised weights', { quantization_config: { quant_method: 'gptq' } }, 'gptq'],
    ['experts', { num_experts: 8 }, 'experts'],
    ['another activation', { hidden_act: 'gelu' }, 'gelu'],
  ])('%s', (_, change, word) => {
    const error = errorOf({ ...llama, ...change })
    expect(error.code).toBe('model/unsupported')
    expect(error.message).toContain(word)
  })

  test.each([
    ['hidden_size', undefined],
    ['hidden_size', '64'],
    ['hidden_size', 0],
    ['hidden_size', 66],
    ['hidden_size', 1e9],
    ['num_hidden_layers', 1.5],
    ['num_hidden_layers', 1e15],
    ['num_hidden_layers', true],
    ['num_attention_heads', -4],
    ['num_key_value_heads', 3],
    ['vocab_size', [300]],
    ['vocab_size', NaN],
    ['max_position_embeddings', {}],
    ['rms_norm_eps', 0],
    ['rms_norm_eps', 1],
    ['tie_word_embeddings', 'yes'],
    ['attention_bias', 0],
    ['eos_token_id', 300],
    ['eos_token_id', [1, -2]],
    ['bos_token_id', 'a'],
    ['architectures', 'LlamaForCausalLM'],
    ['rope_scaling', 'linear'],
    ['head_dim', 15.5],
  ])('%s = %j names file and field', (key, value) => {
    const error = errorOf(value === undefined ? omit(llama, key) : { ...llama, [key]: value })
    expect(error.code).toBe('model/invalid')
    expect(error.message).toContain(`“${key}”`)
    expect(error.message).toContain('/m/config.json')
  })

  test('an odd head width', () => {
    expect(errorOf({ ...llama, head_dim: 15 }).message).toContain('15 channels')
  })

  test.each([null, [], 'text', 3])('%j instead of an object', (json) => {
    expect(errorOf(json).message).toBe('/m/config.json must be a JSON object.')
  })

  test('a config that says nothing', () => {
    expect(errorOf({}).message).toContain('model_type')
  })
})
