/** A base model as GGUF, for llama.cpp: what its own converter would write of our tiny Llama and Qwen2 models. */
import { type LinearName, type ModelConfig, linearPath } from '#engine/models/config.ts'
import { type GgufValue, writeGguf } from '#host/gguf/gguf.ts'
import { permuteRows } from '#host/gguf/ggufNames.ts'
import type { ModelFolder } from '#host/models/modelFolder.ts'
import { f32ToWrite, readTensor, type TensorToWrite } from '#host/files/safetensors.ts'

const linears: Readonly<Partial<Record<LinearName, string>>> = {
  q_proj: 'attn_q',
  k_proj: 'attn_k',
  v_proj: 'attn_v',
  o_proj: 'attn_output',
  gate_proj: 'ffn_gate',
  up_proj: 'ffn_up',
  down_proj: 'ffn_down',
}

const number = (value: number): GgufValue => ({ type: 'uint32', value })
const float = (value: number): GgufValue => ({ type: 'float32', value })
const text = (value: string): GgufValue => ({ type: 'string', value })

export function writeGgufBase(path: string, model: ModelFolder): void {
  const { config } = model
  const tensor = (name: string, from: string, heads: number | null = null): TensorToWrite => {
    const location = model.tensors.get(from)
    if (!location) throw new Error(`Expected ${from}.`)
    const data = readTensor(location)
    const ordered = heads === null ? data : permuteRows(data, { heads, rows: location.shape[0] ?? 0 })
    return f32ToWrite({ name, shape: location.shape, data: ordered })
  }
  const layers = Array.from({ length: config.layers }, (_, layer) =>
    layerTensors(config, layer, tensor),
  ).flat()
  const tensors = [
    tensor('token_embd.weight', 'model.embed_tokens.weight'),
    tensor('output_norm.weight', 'model.norm.weight'),
    ...(config.tiedHead ? [] : [tensor('output.weight', 'lm_head.weight')]),
    ...layers,
  ]
  writeGguf(path, { metadata: metadataOf(config), tensors })
}

type Take = (name: string, from: string, heads?: number | null) => TensorToWrite

function layerTensors(config: ModelConfig, layer: number, take: Take): TensorToWrite[] {
  const prefix = `model.layers.${layer}.`
  const isPermuted = config.architecture === 'llama'
  const headsOf: Readonly<Partial<Record<LinearName, number>>> = isPermuted
    ? { q_proj: config.heads, k_proj: config.kvHeads }
    : {}
  const parts = config.linears.flatMap((linear) => {
    const [name, from] = [`blk.${layer}.${linears[linear] ?? ''}`, `${prefix}${linearPath(linear)}`]
    const weight = take(`${name}.weight`, `${from}.weight`, headsOf[linear] ?? null)
    return config.biases[linear] === true ? [weight, take(`${name}.bias`, `${from}.bias`)] : [weight]
  })
  return [
    take(`blk.${layer}.attn_norm.weight`, `${prefix}input_layernorm.weight`),
    take(`blk.${layer}.ffn_norm.weight`, `${prefix}post_attention_layernorm.weight`),
    ...parts,
  ]
}

function metadataOf(config: ModelConfig): Map<string, GgufValue> {
  const { architecture: name } = config
  const ids = Array.from({ length: config.vocabSize }, (_, id) => id)
  const theta = config.ropes[0]?.inverseFrequencies[1] ?? 1
  return new Map([
    ['general.architecture', text(name)],
    ['general.type', text('model')],
    ['general.name', text(`tiny ${name}`)],
    ['general.file_type', number(0)],
    [`${name}.vocab_size`, number(config.vocabSize)],
    [`${name}.context_length`, number(config.maxPositions)],
    [`${name}.embedding_length`, number(config.hiddenSize)],
    [`${name}.block_count`, number(config.layers)],
    [`${name}.feed_forward_length`, number(config.intermediateSize)],
    [`${name}.attention.head_count`, number(config.heads)],
    [`${name}.attention.head_count_kv`, number(config.kvHeads)],
    [`${name}.attention.key_length`, number(config.headDim)],
    [`${name}.attention.value_length`, number(config.headDim)],
    [`${name}.attention.layer_norm_rms_epsilon`, float(config.normEpsilon)],
    [`${name}.rope.dimension_count`, number(config.headDim)],
    // The second frequency is theta^(−2/C).
    [`${name}.rope.freq_base`, float(Math.round(theta ** (-config.headDim / 2)))],
    ['tokenizer.ggml.model', text('gpt2')],
    ['tokenizer.ggml.pre', text('default')],
    ['tokenizer.ggml.tokens', { type: 'array', of: 'string', items: ids.map((id) => `t${id}`) }],
    ['tokenizer.ggml.token_type', { type: 'array', of: 'int32', items: ids.map(() => 1) }],
    ['tokenizer.ggml.merges', { type: 'array', of: 'string', items: ['t 1'] }],
    ['tokenizer.ggml.eos_token_id', number(config.vocabSize - 1)],
    ['tokenizer.ggml.bos_token_id', number(config.vocabSize - 1)],
    ['tokenizer.ggml.add_bos_token', { type: 'bool', value: false }],
  ])
}
