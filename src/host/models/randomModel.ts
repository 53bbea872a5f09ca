import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { usageError } from '#shared/errors.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import type { ModelConfig } from '#engine/models/config.ts'
import { architectures, readModelConfig } from '#engine/models/registry.ts'
import { blockScaleName, deltaNames, stateNames, storedShape, storedTensors } from '#engine/models/source.ts'
import { makeFolder, writeFileAtomic } from '#host/files/atomic.ts'
import { writing } from '#host/files/fileErrors.ts'
import { bytesOf, elementCount, type TensorToWrite, writeSafetensors } from '#host/files/safetensors.ts'
import { f32ToBf16 } from '#host/files/halfPrecision.ts'
import { share } from '#host/files/permissions.ts'
import {
  byteTokenizerConfigJson,
  byteTokenizerJson,
  endOfTextId,
  turnEndId,
  digitEndId,
  digitPadId,
  digitTokenizerConfigJson,
  digitTokenizerJson,
} from './smallTokenizers.ts'
import type { ModelShape } from './modelShapes.ts'

export type RandomModelDtype = 'F32' | 'BF16'

interface RandomModelTokenizer {
  readonly json: () => object
  readonly configJson: (maxPositions: number) => object
  /** Tokens that end an answer; the first is the config's. */
  readonly endIds: readonly number[]
  readonly padId: number
}

const tokenizers: Readonly<Record<'bytes' | 'digits', RandomModelTokenizer>> = {
  bytes: {
    json: byteTokenizerJson,
    configJson: byteTokenizerConfigJson,
    endIds: [turnEndId, endOfTextId],
    padId: endOfTextId,
  },
  digits: {
    json: digitTokenizerJson,
    configJson: digitTokenizerConfigJson,
    endIds: [digitEndId],
    padId: digitPadId,
  },
}

const tokenizerOf = ({ tokenizer }: ModelShape): RandomModelTokenizer => tokenizers[tokenizer ?? 'bytes']

/**
 * Writes a Hugging Face model folder with random weights and a simple tokenizer, the same bytes for the same seed: linears
 * and embeddings N(0, deviation²), biases N(0, 0.02²), norms and factors of blocks 1 + N(0, 0.02²). The folder must be new or empty. Errors:
 * AppError 'file/unwritable', 'usage/invalid'.
 */
export async function writeRandomModel(
  directory: string,
  shape: ModelShape,
  seed: number,
  dtype: RandomModelDtype,
): Promise<void> {
  makeFolder(directory)
  requireEmpty(directory)
  const document = configJson(shape, dtype)
  const config = readModelConfig(document, 'config.json')
  const pool = normalPool(seed)
  const tensors = storedTensors(config).map((tensor, index) => {
    const distribution = distributionOf(tensor.name, config, shape)
    return randomTensor(
      { name: tensor.name, shape: storedShape(tensor), dtype, ...distribution },
      pool,
      randomStream(seed, index),
    )
  })
  await writeSafetensors(join(directory, 'model.safetensors'), tensors, { metadata: { format: 'pt' } })
  const tokenizer = tokenizerOf(shape)
  writeJson(directory, 'tokenizer.json', tokenizer.json())
  writeJson(directory, 'tokenizer_config.json', tokenizer.configJson(shape.maxPositions))
  writeJson(directory, 'generation_config.json', {
    eos_token_id: tokenizer.endIds,
    pad_token_id: tokenizer.padId,
  })
  // Last: a folder with a config is a complete model.
  writeJson(directory, 'config.json', document)
  share(directory)
}

/** Returns the config of a model of this shape. */
export const configOfShape = (shape: ModelShape): ModelConfig =>
  readModelConfig(configJson(shape, 'F32'), 'config.json')

function requireEmpty(directory: string): void {
  if (writing(directory, () => readdirSync(directory)).length === 0) return
  throw usageError(`${directory} is not empty.`, 'Give a new folder; nothing was changed.')
}

function writeJson(directory: string, name: string, document: object): void {
  writeFileAtomic(join(directory, name), `${JSON.stringify(document, null, 2)}\n`)
}

function configJson(shape: ModelShape, dtype: RandomModelDtype): object {
  const { modelType } = shape
  const family = architectures.find((architecture) => architecture.modelType === modelType)
  return {
    architectures: [family?.className],
    model_type: modelType,
    vocab_size: shape.vocabSize,
    tie_word_embeddings: shape.tiedHead,
    torch_dtype: dtype === 'F32' ? 'float32' : 'bfloat16',
    bos_token_id: null,
    eos_token_id: tokenizerOf(shape).endIds[0],
    pad_token_id: tokenizerOf(shape).padId,
    hidden_size: shape.hiddenSize,
    intermediate_size: shape.intermediateSize,
    num_hidden_layers: shape.layers,
    num_attention_heads: shape.heads,
    num_key_value_heads: shape.kvHeads,
    head_dim: shape.headDim,
    hidden_act: 'silu',
    max_position_embeddings: shape.maxPositions,
    rms_norm_eps: shape.normEpsilon,
    rope_theta: shape.ropeTheta,
    rope_scaling: null,
    ...family?.tiny.config?.(shape),
    ...shape.config,
  }
}

interface Distribution {
  readonly mean: number
  readonly deviation: number
}

function distributionOf(
  name: string,
  { norm, attentionScale, headDim, names }: ModelConfig,
  { deviation }: ModelShape,
): Distribution {
  if (name.endsWith('.bias')) return { mean: 0, deviation: 0.02 }
  // Some norms are stored as what is added to 1, not that of linear attention.
  if (name.endsWith(stateNames.skip)) return { mean: 1, deviation: 0.02 }
  const isOffset = norm === 'rms-offset' && !name.endsWith(deltaNames.norm)
  // Where nothing else scales the scores, models learn to do it here.
  if (attentionScale === 1 && name.endsWith(`${names.queryNorm}.weight`))
    return { mean: headDim ** -0.5, deviation: 0.02 }
  if (/norm|\.ln_/.test(name) || name.endsWith(blockScaleName))
    return { mean: isOffset ? 0 : 1, deviation: 0.02 }
  return { mean: 0, deviation }
}

/** The largest prime below 2²⁰, so that every stride visits the whole pool. */
const poolSize = 1_048_573

interface NormalPool {
  readonly values: Float32Array
  /** Draws what a walk reads and none before it has read. */
  fill(walk: { readonly start: number; readonly stride: number; readonly count: number }): void
}

/**
 * Standard normal numbers, each used many times: drawing half a billion of them would take minutes. A small model reads few
 * of them, and only these are drawn.
 */
function normalPool(seed: number): NormalPool {
  const stream = randomStream(seed)
  const values = new Float32Array(poolSize)
  const isDrawn = new Uint8Array(poolSize)
  let undrawnPairs = Math.ceil(poolSize / 2)
  const drawPair = (first: number): void => {
    const radius = Math.sqrt(-2 * Math.log(1 - stream.uniformAt(first)))
    const angle = 2 * Math.PI * stream.uniformAt(first + 1)
    values[first] = radius * Math.cos(angle)
    values[first + 1] = radius * Math.sin(angle) // of the last pair, nowhere
    isDrawn.fill(1, first, first + 2)
    undrawnPairs--
  }
  return {
    values,
    fill({ start, stride, count }) {
      for (let index = 0, position = start; index < count && undrawnPairs > 0; index++) {
        if (isDrawn[position] === 0) drawPair(position - (position % 2))
        position = (position + stride) % poolSize
      }
    },
  }
}

interface RandomTensor extends Distribution {
  readonly name: string
  readonly shape: readonly number[]
  readonly dtype: RandomModelDtype
}

const pieceElements = 1 << 20

/**
 * Walks the pool from a start and with a stride of its own for every piece of a million numbers; so no two rows of a
 * tensor are alike, as they would be if one walk went round and round.
 */
function randomTensor(
  tensor: RandomTensor,
  pool: NormalPool,
  stream: ReturnType<typeof randomStream>,
): TensorToWrite {
  const { name, shape, dtype, mean, deviation } = tensor
  return {
    name,
    dtype,
    shape,
    *pieces() {
      const random = new SequentialRandom(stream)
      const count = elementCount(shape)
      for (let done = 0; done < count; done += pieceElements) {
        const values = new Float32Array(Math.min(pieceElements, count - done))
        const start = random.integer(poolSize)
        const stride = 1 + random.integer(poolSize - 1)
        pool.fill({ start, stride, count: values.length })
        let position = start
        for (let index = 0; index < values.length; index++) {
          values[index] = mean + deviation * (pool.values[position] ?? 0)
          position += stride
          if (position >= poolSize) position -= poolSize
        }
        yield encode(values, dtype)
      }
    },
  }
}

function encode(values: Float32Array, dtype: RandomModelDtype): Uint8Array {
  if (dtype === 'F32') return bytesOf(values)
  const bits = new Uint16Array(values.length)
  f32ToBf16(values, bits)
  return bytesOf(bits)
}
