/** GGUF files of random quantised models. */
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { readModelConfig } from '#engine/models/registry.ts'
import { expectedTensors, type QuantizedDtype } from '#engine/models/source.ts'
import { type GgufTensor, type GgufValue, writeGguf } from '#host/gguf/gguf.ts'
import { blockLayouts } from '#host/files/dequantize.ts'
import { ggufPlaces } from '#host/gguf/ggufNames.ts'
import { f32ToF16 } from '#host/files/halfPrecision.ts'
import { bytesOf, elementCount } from '#host/files/safetensors.ts'

export interface QuantizedShape {
  readonly architecture: 'llama' | 'qwen2'
  readonly layers: number
  readonly hiddenSize: number
  readonly heads: number
  readonly kvHeads: number
  readonly intermediateSize: number
  readonly vocabSize: number
  readonly tiedHead: boolean
  /** What the file calls itself. */
  readonly name?: string
  /** Standard deviation of its matrices, about. */
  readonly deviation: number
}

/** Rows as long as a super-block. */
export const smallShape = (architecture: QuantizedShape['architecture']): QuantizedShape => ({
  architecture,
  layers: 2,
  hiddenSize: 256,
  heads: 4,
  kvHeads: 2,
  intermediateSize: 512,
  vocabSize: 128,
  tiedHead: false,
  deviation: 0.03,
})

export function writeQuantizedModel(file: string, dtype: QuantizedDtype, shape: QuantizedShape): void {
  const config = readModelConfig(
    {
      model_type: shape.architecture,
      hidden_size: shape.hiddenSize,
      num_hidden_layers: shape.layers,
      num_attention_heads: shape.heads,
      num_key_value_heads: shape.kvHeads,
      intermediate_size: shape.intermediateSize,
      vocab_size: shape.vocabSize,
      max_position_embeddings: 512,
      tie_word_embeddings: shape.tiedHead,
    },
    file,
  )
  const places = ggufPlaces(config)
  const blocks = randomBlocks(dtype, shape.deviation)
  const tensors = expectedTensors(config).map(({ name, shape: size }, index): GgufTensor => {
    const target = places.get(name)?.name ?? ''
    if (size.length === 2)
      return {
        name: target,
        dtype,
        shape: size,
        pieces: () => repeated(blocks, { dtype, shape: size, index }),
      }
    const level = name.endsWith('norm.weight') ? 1 : 0
    const values = Float32Array.from({ length: elementCount(size) }, (_, at) => level + 0.05 * Math.sin(at))
    return { name: target, dtype: 'F32', shape: size, pieces: () => [bytesOf(values)] }
  })
  writeGguf(file, { metadata: metadataOf(shape), tensors })
}

function metadataOf(shape: QuantizedShape): Map<string, GgufValue> {
  const own = (key: string, value: number): [string, GgufValue] => [
    `${shape.architecture}.${key}`,
    { type: 'uint32', value },
  ]
  const ids = Array.from({ length: shape.vocabSize }, (_, id) => id)
  return new Map<string, GgufValue>([
    ['general.architecture', { type: 'string', value: shape.architecture }],
    ...(shape.name === undefined
      ? []
      : [['general.name', { type: 'string', value: shape.name }] satisfies [string, GgufValue]]),
    own('block_count', shape.layers),
    own('context_length', 512),
    own('embedding_length', shape.hiddenSize),
    own('feed_forward_length', shape.intermediateSize),
    own('attention.head_count', shape.heads),
    own('attention.head_count_kv', shape.kvHeads),
    own('rope.dimension_count', shape.hiddenSize / shape.heads),
    [`${shape.architecture}.attention.layer_norm_rms_epsilon`, { type: 'float32', value: 1e-6 }],
    ['tokenizer.ggml.model', { type: 'string', value: 'gpt2' }],
    ['tokenizer.ggml.pre', { type: 'string', value: 'gpt-2' }],
    ['tokenizer.ggml.tokens', { type: 'array', of: 'string', items: ids.map((id) => `t${id}`) }],
    ['tokenizer.ggml.token_type', { type: 'array', of: 'int32', items: ids.map(() => 1) }],
    ['tokenizer.ggml.merges', { type: 'array', of: 'string', items: ['t 1'] }],
    ['tokenizer.ggml.eos_token_id', { type: 'uint32', value: shape.vocabSize - 1 }],
    ['tokenizer.ggml.bos_token_id', { type: 'uint32', value: shape.vocabSize - 1 }],
    ['tokenizer.ggml.add_bos_token', { type: 'bool', value: false }],
  ])
}

/** Where a block has its f16 numbers, and what they are for a deviation of one if all other bytes are random. */
const scales: Readonly<Record<QuantizedDtype, readonly (readonly [place: number, value: number])[]>> = {
  Q4_0: [[0, 1 / 4.6]],
  Q4_1: [
    [0, 1 / 4.6],
    [2, -7.5 / 4.6],
  ],
  Q5_0: [[0, 1 / 9.2]],
  Q5_1: [
    [0, 1 / 9.2],
    [2, -15.5 / 9.2],
  ],
  Q8_0: [[0, 1 / 74]],
  Q4_K: [
    [0, 1 / 250],
    [2, 7.5 / 250],
  ],
  Q5_K: [
    [0, 1 / 500],
    [2, 15.5 / 500],
  ],
  Q6_K: [[208, 1 / (18.5 * 74)]],
  IQ4_NL: [[0, 1 / 70]],
  // Its scale is a byte, and no model here is in it.
  MXFP4: [],
}

const [blocksInPool, prime] = [4_096, 1_021]

/** Random blocks. */
function randomBlocks(dtype: QuantizedDtype, deviation: number): Uint8Array {
  const { bytes } = blockLayouts[dtype]
  const random = new SequentialRandom(randomStream(7))
  const pool = Uint8Array.from({ length: blocksInPool * bytes }, () => random.integer(256))
  for (const [place, value] of scales[dtype]) {
    const half = new Uint16Array(1)
    f32ToF16(Float32Array.of(value * deviation), half)
    for (let at = place; at < pool.length; at += bytes) pool.set(bytesOf(half), at)
  }
  return pool
}

/** As many blocks as the tensor has, from another place of the pool in every piece. */
function* repeated(
  pool: Uint8Array,
  {
    dtype,
    shape,
    index,
  }: { readonly dtype: QuantizedDtype; readonly shape: readonly number[]; readonly index: number },
): Generator<Uint8Array> {
  const { bytes, elements } = blockLayouts[dtype]
  let left = elementCount(shape) / elements
  for (let first = (index + 1) * prime; left > 0; first += prime) {
    const start = first % (blocksInPool / 2)
    const count = Math.min(left, blocksInPool / 2)
    yield pool.subarray(start * bytes, (start + count) * bytes)
    left -= count
  }
}
