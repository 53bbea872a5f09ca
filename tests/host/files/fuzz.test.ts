/**
 * Every reader of foreign files, fed thousands of broken and hostile ones. Whatever comes in, the outcome is a value or
 * one clear sentence: no other exception, no hang, no memory by a file's claim.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { AppError } from '#shared/errors.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import type { ModelConfig } from '#engine/models/config.ts'
import { loraSlots } from '#engine/models/lora.ts'
import { readGgufLora, writeGgufLora } from '#host/adapters/ggufLora.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { adapterForModel, readAdapter, writeAdapter } from '#host/adapters/peft.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { openSafetensors, readTensor } from '#host/files/safetensors.ts'
import { temporaryFolder } from './temporaryFolder.ts'

const root = temporaryFolder()
const single = join(root, 'single')
const sharded = join(root, 'sharded')
const adapter = join(root, 'adapter')
const gguf = join(root, 'adapter.gguf')
const shape = {
  ...modelShapes['tiny-qwen3'],
  hiddenSize: 8,
  heads: 2,
  kvHeads: 1,
  headDim: 4,
  intermediateSize: 8,
  layers: 1,
}

beforeAll(async () => {
  await writeRandomModel(single, shape, 1, 'F32')
  const model = openModelFolder(single)
  mkdirSync(sharded)
  for (const name of ['config.json', 'generation_config.json']) {
    writeFileSync(join(sharded, name), readFileSync(join(single, name)))
  }
  writeFileSync(join(sharded, 'model-1.safetensors'), readFileSync(join(single, 'model.safetensors')))
  const weightMap = Object.fromEntries([...model.tensors.keys()].map((name) => [name, 'model-1.safetensors']))
  const index = { metadata: { total_size: 1 }, weight_map: weightMap }
  writeFileSync(join(sharded, 'model.safetensors.index.json'), JSON.stringify(index))
  const config = { rank: 2, alpha: 4, rsLora: false, targets: ['q_proj', 'down_proj'] as const }
  const tensors = loraSlots(model.config, config).map(({ name, shape: size, size: length }) => ({
    name,
    shape: size,
    data: new Float32Array(length),
  }))
  await writeAdapter(adapter, { config, baseModel: null, tensors, metadata: {} })
  const trained = { config, baseModel: null, tensors }
  writeGgufLora(gguf, { adapter: trained, model: model.config, dtype: 'F32', name: 'fuzz', provenance: {} })
})

const openModel = (folder: string) => (): void => {
  openModelFolder(folder)
}
let adaptedConfig: ModelConfig | null = null
const baseConfig = (): ModelConfig => (adaptedConfig ??= openModelFolder(single).config)
const openAdapter = (): void => {
  adapterForModel(readAdapter(adapter), baseConfig(), adapter)
}
const openGguf = (): void => {
  readGgufLora(gguf, baseConfig())
}

interface Reader {
  readonly name: string
  readonly file: string
  readonly read: () => void
}

const jsonReaders: readonly Reader[] = [
  { name: 'config.json', file: join(single, 'config.json'), read: openModel(single) },
  { name: 'generation_config.json', file: join(single, 'generation_config.json'), read: openModel(single) },
  { name: 'index', file: join(sharded, 'model.safetensors.index.json'), read: openModel(sharded) },
  { name: 'adapter_config.json', file: join(adapter, 'adapter_config.json'), read: openAdapter },
]
const binaryReaders: readonly Reader[] = [
  { name: 'model.safetensors', file: join(single, 'model.safetensors'), read: openModel(single) },
  { name: 'adapter_model.safetensors', file: join(adapter, 'adapter_model.safetensors'), read: openAdapter },
]

const secondUs = 1_000_000
const allowedBytes = 64 * 1024 * 1024

/** Runs the reader on this content; the outcome must be a success or an AppError with one sentence. */
function probe({ file, read }: Reader, content: Uint8Array): void {
  writeFileSync(file, content)
  const before = process.memoryUsage().arrayBuffers
  const start = process.cpuUsage()
  try {
    read()
  } catch (error) {
    if (!(error instanceof AppError))
      throw new Error(`Another exception for ${describeContent(content)}`, { cause: error })
    if (!/^[^\n]{10,900}\.$/.test(error.message)) throw new Error(`Not one sentence: ${error.message}`)
  }
  const { user, system } = process.cpuUsage(start)
  if (user + system > secondUs) throw new Error(`Slow for ${describeContent(content)}`)
  if (process.memoryUsage().arrayBuffers - before > allowedBytes)
    throw new Error(`Large for ${describeContent(content)}`)
}

const describeContent = (content: Uint8Array): string =>
  JSON.stringify(Buffer.from(content.subarray(0, 400)).toString('latin1'))

/** Probes every variant, then puts the original back and checks that it still is read. */
function probeAll(reader: Reader, variants: (original: Buffer) => Iterable<Uint8Array>): number {
  const original = readFileSync(reader.file)
  let cases = 0
  for (const content of variants(original)) {
    probe(reader, content)
    cases++
  }
  writeFileSync(reader.file, original)
  reader.read()
  return cases
}

function* truncations(original: Buffer, count: number): Generator<Uint8Array> {
  for (let index = 0; index < count; index++)
    yield original.subarray(0, Math.floor((original.length * index) / count))
}

/** Flips bits, overwrites, removes, doubles and inserts bytes, a few at once, within the first `span` bytes. */
function* mutations(original: Buffer, count: number, span: number): Generator<Uint8Array> {
  const random = new SequentialRandom(randomStream(11))
  const interesting = Buffer.from('{}[]",:0-9eE.\\u\0\xff', 'latin1')
  for (let index = 0; index < count; index++) {
    let content = Buffer.from(original)
    for (let change = 0; change <= random.integer(4); change++) {
      const at = random.integer(Math.min(span, content.length))
      const byte = interesting[random.integer(interesting.length)] ?? 0
      const kind = random.integer(5)
      if (kind === 0) content[at] = (content[at] ?? 0) ^ (1 << random.integer(8))
      else if (kind === 1) content[at] = byte
      else if (kind === 2)
        content = Buffer.concat([content.subarray(0, at), content.subarray(at + 1 + random.integer(8))])
      else if (kind === 3)
        content = Buffer.concat([content.subarray(0, at + random.integer(40)), content.subarray(at)])
      else content = Buffer.concat([content.subarray(0, at), Buffer.of(byte), content.subarray(at)])
    }
    yield content
  }
}

const hostileValues: readonly string[] = [
  'null',
  'true',
  '-1',
  '0',
  '0.5',
  '1e308',
  '-0',
  '9007199254740993',
  '1e400',
  '""',
  '"x"',
  `"${'é'.repeat(10_000)}"`,
  '"\\u0000\\ud800\\n"',
  '[]',
  '[null]',
  '["../x", 1]',
  '{}',
  '{"__proto__": {"rope_type": "yarn"}}',
  '{"rope_type": "yarn", "factor": 1e6, "beta_fast": 1e6, "beta_slow": 1e-9}',
  '{"constructor": 1, "toString": 2, "length": -1}',
  `${'['.repeat(60)}${']'.repeat(60)}`,
  '['.repeat(30_000),
  '{"a":'.repeat(30_000),
  `[${'1,'.repeat(20_000)}1]`,
  '1'.repeat(30_000),
]

const hostileDocuments: readonly string[] = [
  '',
  ' ',
  '\uFEFF{}',
  '{}',
  '[]',
  'null',
  '{"a":1,"a":2}',
  '{"__proto__":null}',
  '{"__proto__":{"model_type":"llama"}}',
  '{"model_type":"__proto__"}',
  '{"weight_map":{"__proto__":"model-1.safetensors"}}',
  '{"weight_map":[]}',
  '{"a":NaN}',
  '{"a":Infinity}',
  '{"a":01}',
  "{'a':1}",
  '{"a":1,}',
  '{"a"}',
  `{"a":"${'\\u0041'.repeat(30_000)}"}`,
  `${' '.repeat(300_000)}{}`,
  '['.repeat(300_000),
  `{${Array.from({ length: 20_000 }, (_, index) => `"k${index}":{}`).join(',')}}`,
  '\0'.repeat(1_000),
]

/** The document with each of its fields, in turn, replaced by each hostile value, and one field doubled. */
function* hostileFields(original: Buffer): Generator<Uint8Array> {
  const document = JSON.parse(original.toString()) as Record<string, unknown>
  const extra = {
    rope_scaling: {},
    rope_parameters: {},
    layer_types: [],
    quantization_config: {},
    num_experts: 0,
  }
  for (const key of new Set([...Object.keys(document), ...Object.keys(extra)])) {
    const others = Object.entries(document).filter(([name]) => name !== key)
    const fields = others.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)
    for (const value of hostileValues)
      yield Buffer.from(`{${[...fields, `${JSON.stringify(key)}:${value}`].join(',')}}`)
    yield Buffer.from(`{${[...fields, `"${key}":1`, `"${key}":1`].join(',')}}`)
  }
}

describe('JSON files', () => {
  test.each(jsonReaders)('$name', (reader) => {
    const cases = probeAll(reader, function* (original) {
      yield* truncations(original, 100)
      yield* mutations(original, 250, original.length)
      yield* hostileFields(original)
      yield* hostileDocuments.map((text) => Buffer.from(text))
    })
    expect(cases).toBeGreaterThan(400)
  })
})

describe('GGUF files', () => {
  test('adapter.gguf', () => {
    const cases = probeAll({ name: 'adapter.gguf', file: gguf, read: openGguf }, function* (original) {
      yield* truncations(original, 200)
      yield* mutations(original, 900, original.length)
      yield* mutations(original, 900, 600)
    })
    expect(cases).toBe(2000)
  })
})

/** A safetensors file with another header, its data kept. */
function withHeader(original: Buffer, header: string, claimed?: bigint): Buffer {
  const json = Buffer.from(header)
  const prefix = Buffer.alloc(8)
  prefix.writeBigUInt64LE(claimed ?? BigInt(json.length))
  return Buffer.concat([prefix, json, original.subarray(8 + Number(original.readBigUInt64LE(0)))])
}

const headerOf = (original: Buffer): string =>
  original.subarray(8, 8 + Number(original.readBigUInt64LE(0))).toString()

/** Each entry's parts replaced by hostile values; lengths that lie. */
function* hostileHeaders(original: Buffer): Generator<Uint8Array> {
  const header = headerOf(original)
  for (const length of [0n, 1n, 7n, 100_000_000n, 100_000_001n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n]) {
    yield withHeader(original, header, length)
  }
  const entries = JSON.parse(header) as Record<string, Record<string, unknown>>
  const names = Object.keys(entries).filter((name) => name !== '__metadata__')
  for (const name of [...names.slice(0, 2), ...names.slice(-2)]) {
    for (const part of ['dtype', 'shape', 'data_offsets']) {
      for (const value of hostileValues) {
        const marked = JSON.stringify({ ...entries, [name]: { ...entries[name], [part]: '@' } })
        yield withHeader(
          original,
          marked.replace('"@"', () => value),
        )
      }
    }
  }
  for (const value of hostileValues) yield withHeader(original, `{"__metadata__":${value},${header.slice(1)}`)
  for (const size of ['4294967296', '9007199254740991', '1e15', '1099511627776']) {
    yield withHeader(original, `{"a":{"dtype":"F32","shape":[${size},${size}],"data_offsets":[0,${size}]}}`)
    yield withHeader(
      original,
      `{"a":{"dtype":"F32","shape":[${size}],"data_offsets":[0,${size}]},${header.slice(1)}`,
    )
  }
}

describe('safetensors files', () => {
  test.each(binaryReaders)('$name', (reader) => {
    const cases = probeAll(reader, function* (original) {
      const headerEnd = 8 + Number(original.readBigUInt64LE(0))
      yield* truncations(original.subarray(0, headerEnd + 64), 150)
      yield* truncations(original, 50)
      yield* mutations(original, 500, headerEnd)
      yield* mutations(original, 100, original.length)
      yield* hostileHeaders(original)
      yield* hostileDocuments.map((text) => withHeader(original, text))
    })
    expect(cases).toBeGreaterThan(1_000)
  })

  test('what is opened can be read', () => {
    const file = join(root, 'any.safetensors')
    const original = readFileSync(join(adapter, 'adapter_model.safetensors'))
    writeFileSync(file, original)
    const read = (): void => {
      for (const location of openSafetensors(file).tensors.values()) readTensor(location)
    }
    expect(probeAll({ name: 'any', file, read }, (bytes) => mutations(bytes, 300, bytes.length))).toBe(300)
  })
})
