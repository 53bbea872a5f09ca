/** The readers of foreign files, each with files that it can read. */
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { ModelOrigin } from '#shared/api/models.ts'
import { AppError } from '#shared/errors.ts'
import { createChatTemplate } from '#engine/text/chatTemplate.ts'
import { loadCheckpoint, saveCheckpoint } from '#host/models/checkpoints.ts'
import { openDataFile } from '#host/data/dataFile.ts'
import { readRows as readDataRows } from '#host/data/table.ts'
import { foundModels } from '#host/models/foundModels.ts'
import { licenseOf } from '#host/hub/license.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { readAdapter } from '#host/adapters/peft.ts'
import { openSafetensors, readTensor } from '#host/files/safetensors.ts'
import { isJsonObject } from '#host/files/strictJson.ts'
import { parseRequest } from '#host/serving/openaiRequests.ts'
import { loadTokenizer } from '#host/models/tokenizerFolder.ts'
import { gguf, ggufModel } from './ggufSeeds.ts'
import { writeParquetSeeds } from './parquetSeeds.ts'
import { busyTemplates } from './templateSeeds.ts'
import { plainJson, type JsonShape } from './structures.ts'
import type { FuzzReader, FuzzTarget } from './targets.ts'

const fixtures = path.resolve(import.meta.dirname, '../../tests/fixtures')
const references = path.join(fixtures, 'reference')
const tokenizers = path.join(fixtures, 'tokenizers')
const whole = (content: Buffer): readonly [number, number] => [0, content.length]

/** Buffers that no file decides the size of. */
const small = 4_096

/** A text of the file becomes objects: entries of maps, ranks, patterns. */
const ofText = { perByte: 16, fixed: 1 << 16 }

function safetensorsHeader(content: Buffer): readonly [number, number] {
  if (content.length < 8) return whole(content)
  const length = content.readBigUInt64LE(0)
  return [0, length < BigInt(content.length) ? 8 + Number(length) : content.length]
}

const safetensorsJson: JsonShape = {
  take: (content) => content.toString('utf8', 8, safetensorsHeader(content)[1]),
  put(content, json) {
    const header = Buffer.from(json.padEnd(Math.ceil(json.length / 8) * 8))
    const length = Buffer.alloc(8)
    length.writeBigUInt64LE(BigInt(header.length))
    return Buffer.concat([length, header, content.subarray(safetensorsHeader(content)[1])])
  },
}

const safetensors: FuzzReader = {
  name: 'safetensors',
  header: safetensorsHeader,
  json: safetensorsJson,
  // Halves become floats.
  allocation: { perByte: 2, fixed: small },
  targets: (folder) =>
    ['llama-grouped', 'qwen2-bf16', 'mistral'].map((name): FuzzTarget => {
      const file = path.join(folder, `${name}.safetensors`)
      const source = path.join(references, name, 'adapter/adapter_model.safetensors')
      const read = (): void => {
        for (const location of openSafetensors(file).tensors.values()) readTensor(location)
      }
      return { name, original: readFileSync(source), file, read }
    }),
}

/** Copies of a folder, and the file in it that is changed. */
const folderTargets =
  (names: readonly string[], part: string, file: string, read: (folder: string) => void) =>
  (folder: string): FuzzTarget[] =>
    names.map((name) => {
      const own = path.join(folder, `${name}-${file}`)
      cpSync(path.join(references, name, part), own, { recursive: true })
      const target = path.join(own, file)
      return { name: `${name}/${file}`, original: readFileSync(target), file: target, read: () => read(own) }
    })

const openModel = (folder: string): void => void openModelFolder(folder)
const families = ['llama-yarn', 'gemma3-nested', 'phi3-longrope', 'smollm3', 'gpt2', 'stablelm']

const modelConfig: FuzzReader = {
  name: 'config',
  header: whole,
  json: plainJson,
  allocation: ofText,
  targets: (folder) => [
    ...folderTargets(families, 'model', 'config.json', openModel)(folder),
    ...folderTargets(['llama-grouped'], 'model', 'generation_config.json', openModel)(folder),
    indexTarget(folder),
  ],
}

/** The same weights as a shard behind an index. */
function indexTarget(folder: string): FuzzTarget {
  const own = path.join(folder, 'shards')
  cpSync(path.join(references, 'llama-grouped/model'), own, { recursive: true })
  const shard = 'model-00001-of-00001.safetensors'
  renameSync(path.join(own, 'model.safetensors'), path.join(own, shard))
  const names = [...openSafetensors(path.join(own, shard)).tensors.keys()]
  const index = {
    metadata: { total_size: 1 },
    weight_map: Object.fromEntries(names.map((name) => [name, shard])),
  }
  const file = path.join(own, 'model.safetensors.index.json')
  return { name: 'index', original: Buffer.from(JSON.stringify(index)), file, read: () => openModel(own) }
}

const peft: FuzzReader = {
  name: 'peft',
  header: whole,
  json: plainJson,
  // The tensors, which are not changed, are read too.
  allocation: { ...ofText, fixed: 1 << 17 },
  targets: folderTargets(
    ['llama-grouped', 'qwen3-rslora', 'gpt2', 'phi3'],
    'adapter',
    'adapter_config.json',
    (folder) => void readAdapter(folder),
  ),
}

const tokenizer: FuzzReader = {
  name: 'tokenizer',
  header: whole,
  json: plainJson,
  allocation: ofText,
  targets(folder) {
    const names = readdirSync(tokenizers).filter((name) =>
      existsSync(path.join(tokenizers, name, 'tokenizer.json')),
    )
    return names.flatMap((name) => {
      const own = path.join(folder, name)
      cpSync(path.join(tokenizers, name), own, { recursive: true })
      return ['tokenizer.json', 'tokenizer_config.json'].map((part): FuzzTarget => {
        const file = path.join(own, part)
        return { name: `${name}/${part}`, original: readFileSync(file), file, read: () => useTokenizer(own) }
      })
    })
  },
}

const sample = ' A naïve test: 12,345 words\n\t<s> don’t 東京 👩‍🚀 '
const conversation = [
  { role: 'user', content: sample },
  { role: 'assistant', content: 'Yes.' },
  { role: 'user', content: 'Why?' },
]

function useTokenizer(folder: string): void {
  const { tokenizer: loaded, chatTemplate } = loadTokenizer(folder)
  loaded.decode(loaded.encode(sample, { addSpecialTokens: true }), { skipSpecialTokens: false })
  chatTemplate?.render(conversation, { addGenerationPrompt: true })
}

const template: FuzzReader = {
  name: 'template',
  header: whole,
  allocation: ofText,
  targets(folder) {
    const source = path.join(tokenizers, 'templates')
    const names = readdirSync(source).filter((name) => name.endsWith('.jinja'))
    const published = names.map((name) => [name, readFileSync(path.join(source, name))] as const)
    const busy = Object.entries(busyTemplates).map(([name, text]) => [name, Buffer.from(text)] as const)
    return [...published, ...busy].map(([name, original], at): FuzzTarget => {
      const file = path.join(folder, `${at}.jinja`)
      return { name, original, file, read: () => renderTemplate(file) }
    })
  },
}

const tools = [{ type: 'function', function: { name: 'add', description: 'Adds.', parameters: {} } }]
const specialTokens = { bos_token: '<s>', eos_token: '</s>' }

function renderTemplate(file: string): void {
  const templateFile = readFileSync(file, 'utf8')
  const chatTemplate = createChatTemplate({ tokenizerConfig: specialTokens, templateFile, where: file })
  chatTemplate?.render(conversation, { addGenerationPrompt: true, tools })
}

/** Data of one format from the fixtures, small enough that most changes hit what is read. */
const dataTargets =
  (places: readonly string[], pattern: RegExp) =>
  (folder: string): FuzzTarget[] =>
    places.flatMap((place) =>
      readdirSync(path.join(fixtures, 'data', place))
        .filter((name) => pattern.test(name))
        .map((name) => ({ name, original: readFileSync(path.join(fixtures, 'data', place, name)) }))
        .filter(({ original }) => original.length <= 40_000)
        .map(({ name, original }): FuzzTarget => {
          const file = path.join(folder, `${place}-${name}`)
          return { name: `${place}/${name}`, original, file, read: () => readRows(file) }
        }),
    )

async function readRows(file: string): Promise<void> {
  await using data = await openDataFile(file)
  const pieces = readDataRows(data)
  while ((await pieces.next()).done !== true);
}

const parquet: FuzzReader = {
  name: 'parquet',
  // The footer lies at the end, behind it its length and the magic word.
  header: (content) => [Math.max(0, content.length - 1_024), content.length],
  // Pages are packed: deflate makes 1,032 bytes of one, and a run of a million equal values takes a few bytes.
  allocation: { perByte: 1_032, fixed: 8 << 20 },
  targets: (folder) => [
    ...dataTargets(['parquet-samples', 'python'], /\.parquet$/)(folder),
    ...writeParquetSeeds(folder).map((seed): FuzzTarget => ({
      ...seed,
      read: () => readRows(seed.file),
    })),
  ],
}

const rows: FuzzReader = {
  name: 'rows',
  header: whole,
  allocation: ofText,
  targets: (folder) => [
    ...dataTargets(['csv-spectrum', 'papaparse', 'vega-datasets'], /\.[ct]sv$/)(folder),
    ...dataTargets(['python'], /\.(csv|tsv|json|jsonl)$/)(folder),
  ],
}

/** With its seal, without which nothing in it would be looked at. */
const sealedJson: JsonShape = {
  ...plainJson,
  put(_content, json) {
    const state = JSON.parse(json) as unknown
    if (!isJsonObject(state)) return Buffer.from(json)
    const { digest: _, ...document } = state
    const digest = createHash('sha256')
      .update(JSON.stringify(document, null, 2))
      .digest('hex')
    return Buffer.from(`${JSON.stringify({ ...document, digest }, null, 2)}\n`)
  },
}

const checkpoint: FuzzReader = {
  name: 'checkpoint',
  header: whole,
  json: sealedJson,
  allocation: { ...ofText, fixed: 1 << 20 },
  async targets(folder) {
    mkdirSync(path.join(folder, 'run'))
    const factor = (name: string, shape: readonly number[]) => ({
      name: `model.layers.0.self_attn.q_proj.lora_${name}`,
      shape,
      data: Float32Array.from({ length: 8 }, (_, index) => index),
    })
    const { directory } = await saveCheckpoint(path.join(folder, 'run'), {
      trainer: {
        step: 4,
        stage: 0,
        promptsDrawn: 8,
        updates: 4,
        tokens: 100,
        updateHistory: { actor: [0.5], critic: [], skipped: 0 },
      },
      events: 12,
      reward: 0.5,
      metrics: { eval_reward: 0.5 },
      lora: { rank: 2, alpha: 4, rsLora: false, targets: ['q_proj'] },
      baseModel: null,
      actor: [factor('A', [2, 4]), factor('B', [4, 2])],
      reference: null,
      critic: null,
      optimizer: null,
      model: null,
    })
    const file = path.join(directory, 'state.json')
    return [
      { name: 'state.json', original: readFileSync(file), file, read: () => void loadCheckpoint(directory) },
    ]
  },
}

/** What other programs say of the models they keep: manifests of Ollama, the settings of LM Studio. */
const keepers: FuzzReader = {
  name: 'keepers',
  header: whole,
  json: plainJson,
  allocation: ofText,
  targets(folder) {
    const digest = 'a'.repeat(64)
    const [store, studio] = [path.join(folder, 'ollama'), path.join(folder, '.lmstudio')]
    const manifest = path.join(store, 'manifests/registry.ollama.ai/library/tiny/latest')
    const downloads = path.join(folder, 'models')
    const downloaded = path.join(downloads, 'someone', 'tiny')
    for (const place of [path.dirname(manifest), path.join(store, 'blobs'), studio, downloaded])
      mkdirSync(place, { recursive: true })
    writeFileSync(path.join(store, 'blobs', `sha256-${digest}`), 'GGUF')
    writeFileSync(path.join(downloaded, 'tiny.gguf'), 'GGUF')
    const readFrom = (keeper: ModelOrigin) => () => {
      const found = foundModels({ OLLAMA_MODELS: store, HF_HOME: folder }, folder)
      requireSome(found.filter(({ origin }) => origin === keeper))
    }
    const layer = (kind: string, of: string) => ({
      mediaType: `application/vnd.ollama.image.${kind}`,
      digest: `sha256:${of}`,
      size: 4,
    })
    const layers = [layer('license', 'b'.repeat(64)), layer('model', digest), layer('params', 'c'.repeat(64))]
    const mediaType = 'application/vnd.docker.distribution.manifest.v2+json'
    const documents = [
      ['ollama', manifest, { schemaVersion: 2, mediaType, config: layer('config', digest), layers }],
      ['lmstudio', path.join(studio, 'settings.json'), { downloadsFolder: downloads }],
    ] as const
    return documents.map(([name, file, document]): FuzzTarget => ({
      name,
      original: Buffer.from(JSON.stringify(document)),
      file,
      read: readFrom(name),
    }))
  },
}

/** Readers that pass over what they cannot read refuse it by finding nothing. */
function requireSome(found: readonly unknown[]): void {
  if (found.length === 0) throw new AppError('model/invalid', 'Nothing was found.')
}

/** What a model says of its licence: its card, and the note of its download. */
const card: FuzzReader = {
  name: 'card',
  header: whole,
  allocation: { ...ofText, fixed: 1 << 17 },
  targets(folder) {
    const readme =
      '---\nlicense: &l [other, mit]\nlicense_name: *l\nlicense_link: ./LICENSE\nconfigs:\n- data_files: "*.csv"\n---\n# Tiny\n'
    const note = { id: 'someone/tiny', license: { name: 'mit', link: null, acceptedAt: 1_700_000_000_000 } }
    const texts = { 'README.md': readme, '.hub.json': JSON.stringify(note) }
    return Object.entries(texts).map(([name, text]): FuzzTarget => {
      const own = path.join(folder, name === 'README.md' ? 'card' : 'note')
      mkdirSync(own)
      const read = () => requireSome([licenseOf(own)].filter((license) => license !== null))
      return { name, original: Buffer.from(text), file: path.join(own, name), read }
    })
  },
}

/** Bodies of requests to the server for other programs. */
const openai: FuzzReader = {
  name: 'openai',
  header: whole,
  json: plainJson,
  allocation: ofText,
  targets: (folder) =>
    Object.entries(openaiBodies).map(([name, { endpoint, body }]): FuzzTarget => {
      const file = path.join(folder, `${name}.json`)
      const read = () => void parseRequest(endpoint, readFileSync(file))
      return { name, original: Buffer.from(JSON.stringify(body)), file, read }
    }),
}

const openaiBodies = {
  chat: {
    endpoint: 'chat',
    body: {
      model: 'starter',
      messages: [
        { role: 'system', content: 'Answer in one word.' },
        { role: 'user', content: [{ type: 'text', text: sample }], name: 'Ann' },
      ],
      n: 4,
      max_completion_tokens: 32,
      temperature: 0.7,
      top_p: 0.9,
      seed: 5,
      stop: ['\n', '.'],
      stream: true,
      stream_options: { include_usage: true },
      logprobs: true,
      top_logprobs: 5,
      presence_penalty: 0,
      tools: [],
      user: 'somebody',
    },
  },
  texts: {
    endpoint: 'completions',
    body: { model: 'starter', prompt: ['1 + 1 =', sample], max_tokens: 8, echo: true, stop: 'x' },
  },
  ids: {
    endpoint: 'completions',
    body: {
      model: 'starter',
      prompt: [[5, 9], [2]],
      logprobs: 3,
      min_p: 0.1,
      top_k: 40,
      return_token_ids: true,
    },
  },
} as const

/** Every reader of files that a person did not make here; a new one is one entry. */
export const fuzzReaders: readonly FuzzReader[] = [
  safetensors,
  modelConfig,
  peft,
  gguf,
  ggufModel,
  tokenizer,
  template,
  parquet,
  rows,
  checkpoint,
  keepers,
  card,
  openai,
]
