import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { join, normalize, isAbsolute, sep } from 'node:path'
import { AppError, invalidModel, unsupportedModel } from '#shared/errors.ts'
import { plural, shorten } from '#shared/plural.ts'
import { withGenerationConfig } from '#engine/models/common.ts'
import type { ModelConfig } from '#engine/models/config.ts'
import { readModelConfig } from '#engine/models/registry.ts'
import {
  type ModelSource,
  type TensorLocation,
  expectedTensors,
  type ExpectedTensor,
  storedName,
  storedShape,
} from '#engine/models/source.ts'
import { reading } from '#host/files/fileErrors.ts'
import { ggufFileOf, openGgufModel } from '#host/gguf/ggufModel.ts'
import { mxfp4Block } from '#host/files/dequantize.ts'
import { openSafetensors, type SafetensorsFile } from '#host/files/safetensors.ts'
import { isJsonObject, readJsonObject } from '#host/files/strictJson.ts'
import { differ } from './ownHead.ts'

/** A Hugging Face model folder or a GGUF file, checked; `directory` is the path of either. */
export interface ModelFolder extends ModelSource {
  /** Absolute path; the GGUF file itself, where it is one. */
  readonly configFile: string
  /**
   * Absolute paths; of a tokenizer in a GGUF file that of the file; null where there is none. Their content is not
   * checked here.
   */
  readonly tokenizerFile: string | null
  readonly tokenizerConfigFile: string | null
  readonly chatTemplateFile: string | null
  /** The weight files, links resolved. */
  readonly weightFiles: readonly string[]
  /** Paths of the weight files in the folder, as it names them; none for a GGUF file. */
  readonly weightNames: readonly string[]
  /** Sentences on files that contradict each other. */
  readonly notes: readonly string[]
  /** Tensors in the files that this model does not use. */
  readonly ignoredTensors: readonly string[]
}

interface OpeningOptions {
  readonly contextLength?: number | null
  readonly comparesHead?: boolean
}

const singleName = 'model.safetensors'
const indexName = 'model.safetensors.index.json'
const maxIndexBytes = 64 * 1024 * 1024

/**
 * Opens a folder with config.json and safetensors weights, in one file or in shards, or a GGUF file, by its path or that of
 * a folder around it, and checks every tensor the config asks for: present, of a type that is read, of the right shape.
 * Reads headers, and the head where config.json says that there is none. `contextLength` is the longest sequence that will be
 * computed; null: as the model's own positions reach. Without `comparesHead`, config.json is believed. Errors: AppError 'file/unreadable', 'model/invalid', 'model/unsupported', naming file and tensor;
 * 'config/invalid' for a context that is too long.
 */
export function openModelFolder(
  directory: string,
  { contextLength = null, comparesHead = true }: OpeningOptions = {},
): ModelFolder {
  const root = resolve(directory)
  const gguf = ggufFileOf(root)
  if (gguf !== null) return openGgufFile(root, gguf, contextLength)
  requireFolder(root)
  const written = readConfig(root, contextLength)
  const { files, names: weightNames, shardOf } = openWeights(root)
  const declared = withStoredExperts(written, files)
  const hasOwnHead = comparesHead && declared.tiedHead && holdsOwnHead(declared, files)
  const config = hasOwnHead ? { ...declared, tiedHead: false } : declared
  const expected = expectedTensors(config)
  const tensors = new Map(
    expected.map((tensor) => [
      tensor.name,
      isPacked(tensor, files) ? locatePacked(tensor, shardOf) : locate(tensor, shardOf(storedName(tensor))),
    ]),
  )
  const wanted = new Set(expected.map(storedName).flatMap(storedNames))
  const names = files.flatMap((file) => [...file.tensors.keys(), ...file.unreadable.keys()])
  const ignored = names.filter((name) => !wanted.has(name) && !isDerivedBuffer(name))
  requireAllLayers(root, ignored, { wanted, layers: config.layers })
  // A copy of the embedding changes nothing.
  const unused = ignored.filter((name) => name !== config.names.head)
  return {
    directory: root,
    config,
    tensors,
    configFile: join(root, 'config.json'),
    tokenizerFile: presentFile(root, 'tokenizer.json'),
    tokenizerConfigFile: presentFile(root, 'tokenizer_config.json'),
    chatTemplateFile: presentFile(root, 'chat_template.jinja'),
    weightFiles: [...new Set(files.map(({ file }) => file))],
    weightNames,
    notes: [...(hasOwnHead ? [ownHeadNote(declared)] : []), ...unusedNotes(config, unused)],
    ignoredTensors: ignored,
  }
}

/** Says that the weights have the experts stacked, as hubs do where transformers writes each by itself. */
function withStoredExperts(config: ModelConfig, files: readonly SafetensorsFile[]): ModelConfig {
  const { experts } = config
  if (experts?.form !== 'apart') return config
  const fused = { ...config, experts: { ...experts, form: 'fused' } } as const
  const [first] = expectedTensors(fused).flatMap(({ stack }) => stack?.name ?? [])
  return files.some(({ tensors }) => tensors.has(first ?? '')) ? fused : config
}

/** A copy of the embedding says no more than the config does; other numbers were trained, and transformers keeps them. */
function holdsOwnHead({ names }: ModelConfig, files: readonly SafetensorsFile[]): boolean {
  const held = (name: string) => files.flatMap(({ tensors }) => tensors.get(name) ?? []).at(0)
  const head = held(names.head)
  const embedding = held(names.embedding) ?? held(shortened(names.embedding))
  return head !== undefined && embedding !== undefined && differ(head, embedding)
}

const ownHeadNote = ({ names }: ModelConfig): string =>
  `config.json says that the embedding is the head too (tie_word_embeddings), but the weights hold another one, ${names.head}; that one is used.`

/** Refuses weights with a layer that config.json does not have: without it, they answer as no model that was trained. */
function requireAllLayers(
  root: string,
  ignored: readonly string[],
  { wanted, layers }: { readonly wanted: ReadonlySet<string>; readonly layers: number },
): void {
  const further = ignored.find(
    (name) => Number(/\.(\d+)\./.exec(name)?.[1]) >= layers && wanted.has(name.replace(/\.\d+\./, '.0.')),
  )
  if (further === undefined) return
  throw invalidModel(
    `The weights in ${root} hold more layers than config.json says, such as in “${shorten(further)}”; without them the answers are not those of the model that was trained.`,
    'Give config.json the number of layers that the weights have, or save the smaller model anew.',
  )
}

const textPrefix = 'model.language_model.'
const isOfText = (name: string): boolean => name.startsWith(textPrefix)
/** True for the decoder of a checkpoint that also sees or hears. */
const isTextHalf = ({ names }: ModelConfig): boolean => isOfText(names.layers)
const textHalfNote =
  'The model also reads images or sound. Its text half is used; what is for images and sound is left aside.'

function unusedNotes(config: ModelConfig, names: readonly string[]): string[] {
  if (isTextHalf(config)) return [textHalfNote, ...countedNotes(names.filter(isOfText))]
  return countedNotes(names)
}

const countedNotes = (names: readonly string[]): string[] => {
  const [first] = names
  return first === undefined
    ? []
    : [
        `The weights hold ${plural(names.length, 'tensor')} that this model does not use, such as “${shorten(first)}”.`,
      ]
}

/** Old checkpoints store the rotary frequencies, which follow from the config, and GPT-2's its causal masks. */
const isDerivedBuffer = (name: string): boolean =>
  name.endsWith('.rotary_emb.inv_freq') || name.endsWith('.attn.bias') || name.endsWith('.attn.masked_bias')

/** Checkpoints of a model without its head, such as the first GPT-2 ones, leave out the name of the part. */
const shortened = (name: string): string => name.replace(/^transformer\./, '')

/** True for one of several matrices whose transpose the files have in MXFP4. */
const isPacked = (
  { stack, isTransposed = false }: ExpectedTensor,
  files: readonly SafetensorsFile[],
): boolean =>
  stack !== undefined &&
  isTransposed &&
  files.some((file) => file.tensors.has(packedName(stack.name, 'blocks')))

/** Names under which a tensor may be stored. */
const storedNames = (name: string): string[] => [
  name,
  shortened(name),
  packedName(name, 'blocks'),
  packedName(name, 'scales'),
]

/** Names of a tensor in MXFP4: that of its numbers, and that of the powers of two which scale them. */
const packedName = (name: string, part: 'blocks' | 'scales'): string => `${name}_${part}`

function openGgufFile(root: string, path: string, contextLength: number | null): ModelFolder {
  const file = resolve(path)
  const { config, tensors, hasTokenizer } = openGgufModel(file, contextLength)
  return {
    directory: root,
    config,
    tensors,
    configFile: file,
    tokenizerFile: hasTokenizer ? file : null,
    tokenizerConfigFile: null,
    chatTemplateFile: null,
    weightFiles: [file],
    weightNames: [],
    notes: [],
    ignoredTensors: [],
  }
}

const resolve = (path: string): string => reading(path, () => realpathSync(path))

function requireFolder(root: string): void {
  if (statSync(root).isDirectory()) return
  throw new AppError(
    'file/unreadable',
    `${root} is a file; a model is a folder with config.json and weights, or a GGUF file.`,
  )
}

function presentFile(root: string, name: string): string | null {
  const path = join(root, name)
  return existsSync(path) ? path : null
}

function readConfig(root: string, contextLength: number | null): ModelConfig {
  const path = join(root, 'config.json')
  if (!existsSync(path)) throw missingConfig(root)
  const config = readModelConfig(readJsonObject(path, 'model/invalid'), path, contextLength)
  const generationPath = presentFile(root, 'generation_config.json')
  if (generationPath === null) return config
  return withGenerationConfig(config, readJsonObject(generationPath, 'model/invalid'), generationPath)
}

function missingConfig(root: string): AppError {
  const isAdapter = existsSync(join(root, 'adapter_config.json'))
  const hint = isAdapter
    ? 'It is an adapter: give the folder of its base model, and this one as the adapter.'
    : foreignWeightsHint(root)
  return invalidModel(`${root} has no config.json, so it is not a model folder.`, hint)
}

const listNames = (root: string): string[] => reading(root, () => readdirSync(root))

/** Hint that explains why weights in another format are not read. */
function foreignWeightsHint(root: string): string | undefined {
  const names = listNames(root)
  if (names.some((name) => /\.(bin|pt|pth|ckpt)$/.test(name))) {
    return 'Its .bin or .pt files are pickles, which can run code when opened and are never read; get the safetensors files.'
  }
  return undefined
}

interface Weights {
  readonly files: readonly SafetensorsFile[]
  /** Their paths in the folder. */
  readonly names: readonly string[]
  /** The file that must hold a tensor, with its path as the folder names it. */
  readonly shardOf: (name: string) => Shard
}

interface Shard {
  readonly path: string
  readonly content: SafetensorsFile
}

function openWeights(root: string): Weights {
  const single = presentFile(root, singleName)
  if (single !== null) {
    const shard = { path: single, content: openSafetensors(single) }
    return { files: [shard.content], names: [singleName], shardOf: () => shard }
  }
  const index = presentFile(root, indexName)
  if (index !== null) return openShards(root, index)
  const hint = foreignWeightsHint(root)
  throw invalidModel(`${root} has neither ${singleName} nor ${indexName}.`, hint)
}

function openShards(root: string, indexPath: string): Weights {
  const { weight_map: weightMap } = readJsonObject(indexPath, 'model/invalid', maxIndexBytes)
  if (!isJsonObject(weightMap)) throw invalidModel(`${indexPath} has no “weight_map”.`)
  const shards = new Map<string, Shard>()
  const shardNames = new Map<string, string>()
  for (const [tensor, name] of Object.entries(weightMap)) {
    if (typeof name !== 'string' || !isPlainName(name)) {
      throw invalidModel(
        `${indexPath} places tensor “${shorten(tensor)}” in ${shorten(JSON.stringify(name))}, which is not a file of this folder.`,
      )
    }
    shardNames.set(tensor, name)
  }
  for (const name of new Set(shardNames.values())) {
    const path = join(root, name)
    shards.set(name, { path, content: openSafetensors(path) })
  }
  const shardOf = (tensor: string): Shard => {
    const shard = shards.get(shardNames.get(tensor) ?? shardNames.get(shortened(tensor)) ?? '')
    if (!shard) throw invalidModel(`${indexPath} does not list the tensor “${tensor}”.`)
    return shard
  }
  const files = [...shards.values()].map(({ content }) => content)
  return { files, names: [...shards.keys()], shardOf }
}

/**
 * Returns true for a relative path that stays in the folder. Links are followed later: download caches consist of them.
 */
function isPlainName(name: string): boolean {
  const path = normalize(name)
  const leaves = path.startsWith('..') || isAbsolute(path) || /^[a-zA-Z]:/.test(path)
  return (
    name.endsWith('.safetensors') && !leaves && !name.includes('\0') && (sep === '\\' || !name.includes('\\'))
  )
}

function locate(tensor: ExpectedTensor, shard: Shard): TensorLocation {
  const { name, shape, isTransposed = false, stack } = tensor
  const location = find(storedName(tensor), shard)
  const arrangement = isTransposed ? ({ arrangement: { kind: 'transposed' } } as const) : null
  const stored = storedShape(tensor)
  if (stack !== undefined) {
    requireShape(location, [stack.count, ...stored], { name: stack.name, path: shard.path })
    const byteLength = location.byteLength / stack.count
    const offset = location.offset + stack.index * byteLength
    return { ...location, shape, byteLength, offset, ...arrangement }
  }
  requireShape(location, stored, { name, path: shard.path })
  return { ...location, shape, ...arrangement }
}

/** Finds one of several matrices in MXFP4, [count, out, in / 32, 16] bytes with a scale for each block; never transposed. */
function locatePacked(tensor: ExpectedTensor, shardOf: Weights['shardOf']): TensorLocation {
  const { shape, stack } = tensor
  const [rows = 0, columns = 0] = shape
  const { elements, bytes } = mxfp4Block
  if (stack === undefined || columns % elements !== 0)
    throw unsupportedModel(
      `“${storedName(tensor)}” is in MXFP4, whose rows must be of whole blocks of ${elements}.`,
    )
  const blocks = rows * (columns / elements)
  const [pairs, powers] = (['blocks', 'scales'] as const).map((part) => {
    const name = packedName(stack.name, part)
    const { path, content } = shardOf(name)
    const found = content.tensors.get(name)
    if (found === undefined) throw lacking(name, path, [...content.tensors.keys()])
    const inside = part === 'blocks' ? [bytes] : []
    requireShape(found, [stack.count, rows, columns / elements, ...inside], { name, path })
    if (found.dtype !== 'U8') throw unsupportedModel(`The tensor “${name}” in ${path} must be of bytes (U8).`)
    return found
  }) as [TensorLocation, TensorLocation]
  return {
    file: pairs.file,
    offset: pairs.offset + stack.index * blocks * bytes,
    byteLength: blocks * bytes,
    dtype: 'MXFP4',
    shape,
    scales: { file: powers.file, offset: powers.offset + stack.index * blocks },
  }
}

/** Finds a tensor in a file, also under its short name. */
function find(fullName: string, { path, content }: Shard): TensorLocation {
  const isThere = content.tensors.has(fullName) || content.unreadable.has(fullName)
  const name = isThere ? fullName : shortened(fullName)
  const location = content.tensors.get(name)
  const dtype = location?.dtype ?? content.unreadable.get(name)
  if (dtype === undefined) {
    throw lacking(fullName, path, [...content.tensors.keys(), ...content.unreadable.keys()])
  }
  if (!location || dtype === 'U8') {
    throw unsupportedModel(
      `The tensor “${name}” in ${path} is of type ${dtype}; weights must be F32, F16 or BF16.`,
    )
  }
  return location
}

/** Programs that put a prefix before every tensor's name, and the remedy for each. */
const wrappers: readonly (readonly [prefix: string, remedy: string])[] = [
  ['_orig_mod.', 'torch.compile wrote them: save the model that was compiled (model._orig_mod).'],
  ['module.', 'A wrapper for several GPUs wrote them: save the model inside (model.module).'],
  ['base_model.model.', 'PEFT wrote them before merging: save what merge_and_unload() returns.'],
]

function lacking(fullName: string, path: string, names: readonly string[]): AppError {
  const inside = (name: string) => name.replace('.base_layer.', '.')
  const wrapped = names.find((name) => inside(name).endsWith(`.${fullName}`))
  const instead = wrapped ?? names.find((name) => fullName.endsWith(`.${name}`))
  const found = instead === undefined ? '' : `; it has “${shorten(instead)}” instead`
  const remedy =
    wrapped === undefined
      ? 'They are those of a model without its head: save AutoModelForCausalLM instead of AutoModel.'
      : wrappers.find(([prefix]) => wrapped.startsWith(prefix))?.[1]
  return invalidModel(
    `${path} lacks the tensor “${fullName}” that config.json asks for${found}.`,
    instead === undefined ? undefined : remedy,
  )
}

function requireShape(
  { shape: found }: TensorLocation,
  shape: readonly number[],
  { name, path }: { readonly name: string; readonly path: string },
): void {
  if (found.length === shape.length && found.every((size, axis) => size === shape[axis])) return
  throw invalidModel(
    `The tensor “${name}” in ${path} is [${found.join(', ')}], but config.json asks for [${shape.join(', ')}].`,
  )
}
