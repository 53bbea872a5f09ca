/**
 * Writes an ONNX folder: the graph, its weights in one file beside it, and an adapter of its own where that stays
 * apart.
 */
import path from 'node:path'
import { type OnnxModel, writeOnnx } from '#engine/graph/onnx.ts'
import { topologicalOrder, type WeightLocation } from '#engine/graph/value.ts'
import { type ModelConfig, ropeFactor, type RopeConfig } from '#engine/models/config.ts'
import { type ModelSource, expectedTensors } from '#engine/models/source.ts'
import { AtomicFile, writeFileAtomic } from '#host/files/atomic.ts'
import { alignedSize } from '#host/gguf/gguf.ts'
import type { Adapter } from '#host/adapters/peft.ts'
import {
  bytesOf,
  elementCount,
  f32ToWrite,
  readFloatPieces,
  writeSafetensors,
} from '#host/files/safetensors.ts'
import { addRows, adaptedWeights, weightDelta, type WeightDelta } from './loraDelta.ts'
import { onnxProgram, rotaryWeightNames } from './onnxGraph.ts'

export const graphName = 'model.onnx'
const weightsName = 'model.onnx.data'
export const adapterName = 'adapter.safetensors'

/** Rows of the rotary tables, where the model's own context is longer. */
const maxTableRows = 32_768
/** Alignment at which a runtime may map a tensor: a page of memory. */
const pageBytes = 4096

/** Longest sequence that an exported graph of this model takes. */
const exportedPositions = ({ contextLength }: ModelConfig): number => Math.min(contextLength, maxTableRows)

interface Tensor {
  readonly name: string
  readonly shape: readonly number[]
  readonly pieces: () => Iterable<Float32Array>
}

interface OnnxModelToWrite {
  /** f32 tensors only. */
  readonly base: ModelSource
  readonly adapter: Adapter
  /** The adapter's matrices are inputs of the graph; otherwise they are in the weights. */
  readonly adapterInputs: boolean
}

export interface OnnxPlan extends OnnxModelToWrite {
  readonly tensors: readonly Tensor[]
  readonly places: ReadonlyMap<string, Omit<WeightLocation, 'file'>>
  readonly totalBytes: number
}

/** Plans the layout of the file of weights. */
export function planOnnx(given: OnnxModelToWrite): OnnxPlan {
  const tensors = [...modelTensors(given), ...tableTensors(given.base.config)]
  const places = new Map<string, Omit<WeightLocation, 'file'>>()
  let offset = 0
  for (const { name, shape } of tensors) {
    const byteLength = elementCount(shape) * 4
    places.set(name, { offset, byteLength, shape })
    offset = alignedSize(offset + byteLength, pageBytes)
  }
  return { ...given, tensors, places, totalBytes: offset }
}

const pieceElements = 1 << 20

function modelTensors({ base, adapter, adapterInputs }: OnnxModelToWrite): Tensor[] {
  const adapted = adapterInputs ? [] : adaptedWeights(base.config, adapter.config, adapter.tensors)
  const deltas = new Map(adapted.map(({ name, factors }) => [name, weightDelta(factors)]))
  return expectedTensors(base.config).map(({ name, shape }) => ({
    name,
    shape,
    pieces: () => weightPieces(base, name, deltas.get(name) ?? null),
  }))
}

function* weightPieces(base: ModelSource, name: string, delta: WeightDelta | null): Generator<Float32Array> {
  const location = base.tensors.get(name)
  if (location?.dtype !== 'F32' || location.arrangement !== undefined) {
    throw new Error(`Expected ${name} in f32 as it is computed with.`)
  }
  const columns = delta?.columns ?? 1
  const rows = Math.max(1, Math.floor(pieceElements / columns))
  let row = 0
  for (const piece of readFloatPieces(location, rows * columns)) {
    if (delta !== null) addRows(piece, delta, row)
    row += rows
    yield piece
  }
}

const tableTensors = (config: ModelConfig): Tensor[] =>
  config.ropes.flatMap((rope, index) => {
    const names = rotaryWeightNames(index)
    const shape = [exportedPositions(config), rope.inverseFrequencies.length]
    return [
      { name: names.cos, shape, pieces: () => [rotaryTable(rope, shape[0] ?? 0, Math.cos)] },
      { name: names.sin, shape, pieces: () => [rotaryTable(rope, shape[0] ?? 0, Math.sin)] },
    ]
  })

/** [positions, R/2]; the angle in f32, as the model's makers compute it. */
function rotaryTable(rope: RopeConfig, positions: number, turn: (angle: number) => number): Float32Array {
  const { inverseFrequencies } = rope
  const half = inverseFrequencies.length
  const table = new Float32Array(positions * half)
  for (let position = 0; position < positions; position++) {
    for (const [pair, frequency] of inverseFrequencies.entries()) {
      const angle = Math.fround(position * Math.fround(frequency))
      table[position * half + pair] = turn(angle) * ropeFactor(rope, position)
    }
  }
  return table
}

/** Writes graph, weights and, where it stays apart, the adapter. Errors: AppError 'file/unwritable', 'file/unreadable'. */
export async function writeOnnxModel(
  folder: string,
  plan: OnnxPlan,
  onProgress: (writtenBytes: number) => void,
): Promise<OnnxModel> {
  const { base, adapter, adapterInputs } = plan
  const file = path.join(folder, weightsName)
  await writeWeights(file, plan, onProgress)
  const places = new Map([...plan.places].map(([name, place]) => [name, { ...place, file }]))
  const lora = adapterInputs ? adapter.config : null
  const model = writeOnnx('turnwise', onnxProgram({ config: base.config, lora, places }))
  writeFileAtomic(path.join(folder, graphName), model.bytes)
  if (adapterInputs) {
    await writeSafetensors(path.join(folder, adapterName), adapter.tensors.map(f32ToWrite))
  }
  return model
}

async function writeWeights(
  path: string,
  { tensors }: OnnxPlan,
  onProgress: (writtenBytes: number) => void,
): Promise<void> {
  using file = new AtomicFile(path)
  let written = 0
  for (const tensor of tensors) {
    for (const piece of tensor.pieces()) {
      file.write(bytesOf(piece))
      written += piece.byteLength
    }
    const padded = alignedSize(written, pageBytes)
    file.write(new Uint8Array(padded - written))
    written = padded
    onProgress(written)
    await new Promise((resolve) => setImmediate(resolve)) // the progress has to get out
  }
  file.commit()
}

/** Operators of the runtime's own domain that the graph has; the rest are ONNX's. */
function extensionOperators(config: ModelConfig): string[] {
  const places = new Map(
    [...expectedTensors(config), ...tableTensors(config)].map(({ name, shape }) => [
      name,
      { file: weightsName, offset: 0, byteLength: 0, shape },
    ]),
  )
  const nodes = topologicalOrder(Object.values(onnxProgram({ config, lora: null, places })), true)
  const found = nodes.flatMap((node) =>
    node.kind === 'op' && node.op.domain !== '' ? [`${node.op.domain}.${node.op.type}`] : [],
  )
  const own = nodes.some((node) => node.kind === 'op' && node.op.type === 'SimplifiedLayerNormalization')
  return [...new Set([...found, ...(own ? ['SimplifiedLayerNormalization'] : [])])].sort()
}

/* The interface of an exported graph, for people, and a program that runs it. */

interface OnnxCardContent {
  readonly model: ModelConfig
  readonly adapterInputs: boolean
}

export const exampleName = 'example.mjs'

export function onnxCard({ model, adapterInputs }: OnnxCardContent): string {
  const { kvHeads, headDim, vocabSize, layers } = model
  const cache = `[batch_size, ${kvHeads}, past_sequence_length, ${headDim}] float32`
  const present = cache.replace('past_', 'total_')
  const adapter = adapterInputs
    ? `| input | each tensor of \`${adapterName}\`, by its name | as there, float32; the factor alpha/rank is in the graph |\n`
    : ''
  return `\`${graphName}\` with its weights in \`${weightsName}\`, float32; ${adapterInputs ? `the adapter apart, in \`${adapterName}\`: other adapters of the same rank and linears fit too` : 'the adapter is in the weights'}. At most ${exportedPositions(model)} tokens.

| | name | shape |
|---|---|---|
| input | \`input_ids\` | [batch_size, sequence_length] int64 |
| input | \`attention_mask\` | [batch_size, total_sequence_length] int64; 1 for tokens, 0 for padding, past ones first |
| input | \`position_ids\` | [batch_size, sequence_length] int64; from 0 |
| input | \`past_key_values.0.key\`, \`past_key_values.0.value\` … ${layers - 1} | ${cache}; past_sequence_length may be 0 |
${adapter}| output | \`logits\` | [batch_size, sequence_length, ${vocabSize}] float32 |
| output | \`present.0.key\`, \`present.0.value\` … ${layers - 1} | ${present}: the past of the next call |

total_sequence_length = past_sequence_length + sequence_length. These are the names of Optimum's text-generation models with
a past. Operators: ONNX's (opset 21) and of ONNX Runtime's own ${extensionOperators(model).join(', ')}; so ONNX Runtime is
what runs it.

\`${exampleName}\` goes on with token ids, greedily: \`npm install onnxruntime-node && node ${exampleName} "1 2 3" 20\`.
`
}

/** Program that runs the graph beside it; it needs onnxruntime-node alone. */
export function onnxExample({ model, adapterInputs }: OnnxCardContent): string {
  const { layers, kvHeads, headDim } = model
  return `// node ${exampleName} "IDS" [COUNT]: goes on with token ids, greedily, with a cache of keys and values.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

process.env.ORT_DISABLE_TELEMETRY = '1' // the runtime reports its use to its maker unless this is set before it is loaded
const { InferenceSession, Tensor } = await import('onnxruntime-node')

const [layers, heads, channels] = [${layers}, ${kvHeads}, ${headDim}]
const here = (name) => fileURLToPath(new URL(name, import.meta.url))
const ids = (process.argv[2] ?? '1 2 3').split(/[ ,]+/).map(Number)
const count = Number(process.argv[3] ?? 20)

const session = await InferenceSession.create(here('${graphName}'))
${adapterInputs ? readingAdapter : 'const adapter = {}\n'}const integers = (values) => new Tensor('int64', BigInt64Array.from(values, BigInt), [1, values.length])

const caches = Array.from({ length: layers }, (_, layer) => [\`\${layer}.key\`, \`\${layer}.value\`]).flat()
let past = Object.fromEntries(
  caches.map((name) => [\`past_key_values.\${name}\`, new Tensor('float32', new Float32Array(0), [1, heads, 0, channels])]),
)
let seen = 0
let next = ids
const generated = []
while (generated.length < count) {
  const total = seen + next.length
  const results = await session.run({
    input_ids: integers(next),
    attention_mask: integers(Array(total).fill(1)),
    position_ids: integers(next.map((_, index) => seen + index)),
    ...past,
    ...adapter,
  })
  const [, length, vocabulary] = results.logits.dims
  const last = results.logits.data.subarray((length - 1) * vocabulary)
  const best = last.reduce((top, value, id) => (value > last[top] ? id : top), 0)
  past = Object.fromEntries(caches.map((name) => [\`past_key_values.\${name}\`, results[\`present.\${name}\`]]))
  seen = total
  next = [best]
  generated.push(best)
}
console.log(generated.join(' '))
`
}

const readingAdapter = `// A safetensors file: the length of its header, the header as JSON, the numbers.
const file = readFileSync(here('${adapterName}'))
const start = 8 + Number(file.readBigUInt64LE(0))
const { __metadata__, ...tensors } = JSON.parse(file.subarray(8, start).toString())
const adapter = Object.fromEntries(
  Object.entries(tensors).map(([name, { shape, data_offsets: [from, to] }]) => {
    const data = new Float32Array(Uint8Array.from(file.subarray(start + from, start + to)).buffer)
    return [name, new Tensor('float32', data, shape)]
  }),
)
`
