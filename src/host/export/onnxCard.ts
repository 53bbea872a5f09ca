/** The interface of an exported graph, for people, and a program that runs it. */
import type { ModelConfig } from '#engine/models/config.ts'
import { adapterName, exportedPositions, extensionOperators, graphName, weightsName } from './onnxModel.ts'

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

/** A program that runs the graph beside it; it needs onnxruntime-node alone. */
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
