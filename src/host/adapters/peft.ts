import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { attempt } from '#shared/attempt.ts'
import { AppError } from '#shared/errors.ts'
import { roundedPrecisions, type RoundedPrecision } from '#shared/precision.ts'
import {
  adaptableLinears,
  type LinearName,
  linearNames,
  linearPath,
  mixerOf,
  type LoraConfig,
  type ModelConfig,
} from '#engine/models/config.ts'
import { loraSlots } from '#engine/models/lora.ts'
import type { NamedTensor, TensorLocation } from '#engine/models/source.ts'
import { recoverFolder, replaceFolder, writeFileAtomic } from '#host/files/atomic.ts'
import {
  f32ToWrite,
  firstNonFinite,
  openSafetensors,
  readTensor,
  transposedTensor,
  writeSafetensors,
} from '#host/files/safetensors.ts'
import {
  adapterError,
  adapterFiles,
  configName,
  readAdapterConfig,
  tensorsName,
  unknownTensor,
  wrongType,
} from './adapterFiles.ts'
import { peftNameOf, swapped } from './mlxAdapter.ts'
import { formatPeftConfig, isHubId, meantTargets, type PeftConfig } from './peftConfig.ts'
import { evened } from './peftPatterns.ts'

/** LoRA parameters in memory, named `model.layers.0.self_attn.q_proj.lora_A` [R, in] and `….lora_B` [out, R]. */
export interface Adapter {
  readonly config: LoraConfig
  /** Hub id of the base model, if known. */
  readonly baseModel: string | null
  readonly tensors: readonly NamedTensor[]
  /** Notes on how the adapter was read, one sentence each; absent where there are none. */
  readonly warnings?: readonly string[]
  /** Rounding of the base it was trained on; absent where the base was exact, or nothing says so. */
  readonly base?: RoundedPrecision
  /** True if it may lack modules that a model has: they stay as they are. */
  readonly isPartial?: boolean
}

export interface AdapterToWrite extends Adapter {
  /** Provenance, kept in the tensors' file, where no reader trips over it. */
  readonly metadata: Readonly<Record<string, string>>
}

const readmeName = 'README.md'
/** Key of the base in the metadata of the tensors' file. */
const baseKey = 'base'
/** `model.…` of a causal language model inside PEFT's two wrappers. */
const diskPrefix = 'base_model.model.'
const diskSuffix = '.weight'
const maxLayers = 1_024

/** Path of the adapted linear in the model. */
const moduleOf = ({ layers, layer, linear }: Omit<MatrixName, 'matrix'>): string =>
  `${layers}${layer}.${linearPath(linear)}`

/** The in-memory name of a LoRA matrix: that of its linear in the model, and which matrix it is. */
const loraTensorName = ({ matrix, ...place }: MatrixName): string => `${moduleOf(place)}.lora_${matrix}`

/** Returns the name that PEFT gives it on disk. */
export const peftTensorName = (name: string): string => `${diskPrefix}${name}${diskSuffix}`

/**
 * Writes an adapter folder that PEFT, vLLM and llama.cpp's converter read. The folder appears complete or not at all;
 * an existing one is replaced if it is an adapter or empty, and refused otherwise. Errors: AppError 'file/unwritable'.
 */
export async function writeAdapter(directory: string, adapter: AdapterToWrite): Promise<void> {
  recoverFolder(directory)
  if (existsSync(directory) && !isReplaceable(directory)) {
    throw new AppError(
      'file/unwritable',
      `${directory} already contains something other than an adapter.`,
      'Choose another folder; nothing was changed.',
    )
  }
  await replaceFolder(directory, (temporary) => writeAdapterFiles(temporary, adapter))
}

/**
 * Writes the files of an adapter into a folder that exists, each completely or not at all. Errors: AppError
 * 'file/unwritable'; 'run/diverged' where a number of it is not finite: such an adapter is never written.
 */
export async function writeAdapterFiles(directory: string, adapter: AdapterToWrite): Promise<void> {
  const { config, baseModel, tensors, base } = adapter
  requireFinite(tensors)
  const metadata = { ...adapter.metadata, ...(base === undefined ? {} : { [baseKey]: base }), format: 'pt' }
  const renamed = tensors.map((tensor) => f32ToWrite({ ...tensor, name: peftTensorName(tensor.name) }))
  await writeSafetensors(join(directory, tensorsName), renamed, { metadata })
  writeFileAtomic(join(directory, configName), formatPeftConfig(config, baseModel))
  writeFileAtomic(join(directory, readmeName), formatReadme(config, baseModel))
}

export function requireFinite(tensors: readonly Pick<NamedTensor, 'name' | 'data'>[]): void {
  const broken = tensors.find(({ data }) => firstNonFinite(data) !== -1)
  if (broken === undefined) return
  throw new AppError(
    'run/diverged',
    `${broken.name} became infinite or NaN, so it was not saved.`,
    'Earlier checkpoints are intact. Continue from one of them with a lower learning rate.',
  )
}

function formatReadme({ rank, alpha, rsLora, targets }: LoraConfig, baseModel: string | null): string {
  const base = baseModel !== null && isHubId(baseModel) ? baseModel : null
  return `---
${base === null ? '' : `base_model: ${base}\n`}library_name: peft
pipeline_tag: text-generation
tags:
- lora
- turnwise
---

# LoRA adapter

Trained with Turnwise${base === null ? '' : ` on \`${base}\``}: rank ${rank}, alpha ${alpha}${rsLora ? ', rsLoRA' : ''}, on ${targets.join(', ')}. The licence of the base model is not stated here.

${peftSnippet(base)}`
}

/** Code that opens an adapter's folder with peft; without an id, peft cannot know where the base model is. */
export const peftCode = (baseModel: string | null, folder: string): string =>
  baseModel !== null && isHubId(baseModel)
    ? `from peft import AutoPeftModelForCausalLM

model = AutoPeftModelForCausalLM.from_pretrained(${JSON.stringify(folder)})`
    : `from peft import PeftModel
from transformers import AutoModelForCausalLM

base = AutoModelForCausalLM.from_pretrained("path/of/the/base/model")
model = PeftModel.from_pretrained(base, ${JSON.stringify(folder)})`

/** The same as a part of a README, whose folder has no fixed place. */
export const peftSnippet = (baseModel: string | null): string =>
  `\`\`\`python\n${peftCode(baseModel, 'path/of/this/folder')}\n\`\`\`\n`

/**
 * Reads an adapter folder and checks it in itself: every tensor known, in pairs, of the config's rank, on the same
 * linears in every layer. The folder of a checkpoint stands for its actor. Errors: AppError 'file/unreadable' or
 * 'adapter/invalid', naming file and tensor.
 */
export function readAdapter(given: string): Adapter {
  recoverFolder(given)
  const files = adapterFiles(given)
  const { tensorsPath, isMlx } = files
  const peft = readAdapterConfig(files)
  const { tensors: locations, unreadable, metadata } = openSafetensors(tensorsPath, 'adapter/invalid')
  for (const [name, dtype] of unreadable) throw wrongType(name, dtype, tensorsPath)
  const matrices = [...locations].map(([name, location]) =>
    isMlx
      ? parseMatrix(name, peftNameOf(name), swapped(location), tensorsPath)
      : parseMatrix(name, name, location, tensorsPath),
  )
  requireOnce(matrices, tensorsPath)
  const targets = readLayout(matrices, peft, tensorsPath)
  const { rank, alpha, rsLora, baseModel, patterns, isPartial } = peft
  const rankOf = patterns.ranksDiffer ? ownRanks(matrices) : () => rank
  for (const matrix of matrices) requireRank(matrix, rankOf(matrix), tensorsPath)
  requireAlike(matrices, tensorsPath)
  const loaded = matrices.map((each) => ({
    module: moduleOf(each),
    matrix: each.matrix,
    tensor: load(each, tensorsPath),
  }))
  const { warnings: changes, ...even } = evened({ rank, alpha, rsLora, targets }, patterns, loaded)
  const warnings = [...peft.warnings, ...changes]
  const base = roundingIn(metadata)
  const rounding = base === undefined ? {} : { base }
  return {
    ...even,
    baseModel,
    ...rounding,
    ...(warnings.length === 0 ? {} : { warnings }),
    ...(isPartial ? { isPartial } : {}),
  }
}

/**
 * Returns the rounding of the base that an adapter was trained on; null: it was exact, or nothing says so. Errors: as
 * `readAdapter`.
 */
export function adapterBase(given: string): RoundedPrecision | null {
  const { tensorsPath } = adapterFiles(given)
  return roundingIn(openSafetensors(tensorsPath, 'adapter/invalid').metadata) ?? null
}

const roundingIn = (metadata: ReadonlyMap<string, string>): RoundedPrecision | undefined =>
  roundedPrecisions.find((precision) => precision === metadata.get(baseKey))

interface MatrixName {
  /** Prefix of a layer's number, by family. */
  readonly layers: string
  readonly layer: number
  readonly linear: LinearName
  readonly matrix: 'A' | 'B'
}

interface Matrix extends MatrixName {
  readonly location: TensorLocation
}

/** The decoder of a model that also sees has a name in front; an adapter's own name is left over from some savings. */
const matrixPattern =
  /^base_model\.model\.((?:language_model\.)?model\.(?:language_model\.)?layers\.|transformer\.h\.)(0|[1-9][0-9]{0,3})\.((?:[a-z_]+\.){0,2}[a-z0-9_]+)\.lora_([AB])(?:\.default)?\.weight$/
const linearOfPath = new Map(linearNames.map((name) => [linearPath(name), name]))

/** `given`: the name in the file, `name`: PEFT's. */
function parseMatrix(given: string, name: string, location: TensorLocation, path: string): Matrix {
  const [, found = '', layer = '', linearName = '', matrix] = matrixPattern.exec(name) ?? []
  const layers = found.replaceAll('language_model.', '')
  const linear = linearOfPath.get(linearName)
  if (linear === undefined || Number(layer) >= maxLayers) throw unknownTensor(given, path)
  if (location.dtype === 'U8') throw wrongType(given, 'U8', path)
  return { layers, layer: Number(layer), linear, matrix: matrix === 'A' ? 'A' : 'B', location }
}

/** Refuses an adapter that holds a module twice: several spellings mean the same module. */
function requireOnce(matrices: readonly Matrix[], path: string): void {
  const seen = new Set<string>()
  const twice = matrices.map(loraTensorName).find((name) => seen.size === seen.add(name).size)
  if (twice !== undefined) throw adapterError(path, `holds “${peftTensorName(twice)}” twice`)
}

/** The rank of each module, as its A says it. */
function ownRanks(matrices: readonly Matrix[]): (matrix: Matrix) => number {
  const ranks = new Map(
    matrices
      .filter(({ matrix }) => matrix === 'A')
      .map((each) => [moduleOf(each), each.location.shape[0] ?? 0]),
  )
  return (matrix) => ranks.get(moduleOf(matrix)) ?? 0
}

/** Largest padding, as a multiple of what is stored. */
const maxPadding = 64

/** Ranks are made equal by padding: a small file must not become a large adapter. */
function requireAlike(matrices: readonly Matrix[], path: string): void {
  const rank = matrices.reduce((most, { matrix, location }) => Math.max(most, rankAt(matrix, location)), 1)
  const sizes = matrices.map(({ matrix, location: { shape } }) => ({
    stored: (shape[0] ?? 0) * (shape[1] ?? 0),
    padded: rank * (shape[matrix === 'A' ? 1 : 0] ?? 0),
  }))
  const sum = (key: 'stored' | 'padded') => sizes.reduce((total, size) => total + size[key], 0)
  if (sum('padded') > maxPadding * sum('stored'))
    throw adapterError(path, `has modules with ranks up to ${rank}, too different to be padded`)
}

const rankAt = (matrix: 'A' | 'B', { shape }: TensorLocation): number => shape[matrix === 'A' ? 0 : 1] ?? 0

/**
 * The adapted linears, each with both matrices; the same in every layer, unless some may be left out. A layer with none of a
 * mixer's linears may mix positions otherwise, and one without those of keys may read another's, which only the model can say.
 */
function readLayout(matrices: readonly Matrix[], peft: PeftConfig, path: string): readonly LinearName[] {
  requireNamed(matrices, peft, path)
  const present = new Set(matrices.map(loraTensorName))
  const found = linearNames.filter((name) => matrices.some(({ linear }) => linear === name))
  const targets = peft.isPartial ? found : meantTargets(peft, found)
  if (targets.length === 0) throw adapterError(path, 'holds no LoRA matrices')
  const layers = matrices.reduce((count, { layer }) => Math.max(count, layer + 1), 1)
  const [{ layers: prefix } = { layers: '' }] = matrices
  const mixes = (layer: number, mixer: string | null) =>
    mixer === null || matrices.some((each) => each.layer === layer && mixerOf(each.linear) === mixer)
  for (let layer = 0; layer < layers; layer++) {
    for (const linear of targets) {
      const mayLack = peft.isPartial || /^[kv]_proj$/.test(linear) || !mixes(layer, mixerOf(linear))
      const missing = missingOf(pairOf({ layers: prefix, layer, linear }), present, mayLack)
      if (missing !== null) throw adapterError(path, `lacks the tensor “${peftTensorName(missing)}”`)
    }
  }
  return targets
}

function missingOf(pair: readonly string[], present: ReadonlySet<string>, mayLack: boolean): string | null {
  const missing = pair.filter((name) => !present.has(name))
  return mayLack && missing.length === pair.length ? null : (missing[0] ?? null)
}

/** Refuses tensors of modules that the config leaves out. Errors: AppError 'adapter/invalid'. */
function requireNamed(
  matrices: readonly Matrix[],
  { targets, excluded, layers }: PeftConfig,
  path: string,
): void {
  const surplus = targets && matrices.find(({ linear }) => !targets.includes(linear))
  if (surplus) throw adapterError(path, `adapts ${surplus.linear}, which ${configName} does not name`)
  const isExcluded = (matrix: Matrix) => excluded.some((name) => `.${moduleOf(matrix)}`.endsWith(`.${name}`))
  const left = matrices.find(isExcluded)
  if (left) throw adapterError(path, `adapts ${left.linear}, which exclude_modules leaves out`)
  const outside = layers && matrices.find(({ layer }) => !layers.includes(layer))
  if (outside)
    throw adapterError(path, `adapts layer ${outside.layer}, which layers_to_transform does not name`)
}

const pairOf = (place: Omit<MatrixName, 'matrix'>): string[] =>
  (['A', 'B'] as const).map((matrix) => loraTensorName({ ...place, matrix }))

function requireRank(found: Matrix, rank: number, path: string): void {
  const { matrix, location } = found
  const { shape } = location
  if (shape.length === 2 && rank >= 1 && rankAt(matrix, location) === rank) return
  const name = peftTensorName(loraTensorName(found))
  const form = matrix === 'A' ? `[${rank}, input]` : `[output, ${rank}]`
  throw adapterError(path, `holds “${name}” as [${shape.join(', ')}]; for rank ${rank} it must be ${form}`)
}

function load(matrix: Matrix, path: string): NamedTensor {
  const { location } = matrix
  const name = loraTensorName(matrix)
  const data = location.arrangement === undefined ? readTensor(location) : transposedTensor(location)
  if (firstNonFinite(data) !== -1) {
    throw adapterError(path, `holds a value in “${peftTensorName(name)}” that is not a finite number`)
  }
  return { name, shape: location.shape, data }
}

/**
 * Checks an adapter against the model it is to adapt, and returns it with its tensors in the model's order: by layer,
 * linear, A before B; zeros where it leaves modules out. `where` names the adapter in errors: AppError 'adapter/invalid'.
 */
export function adapterForModel(adapter: Adapter, model: ModelConfig, where: string): Adapter {
  requireFamily(adapter, model, where)
  const given = new Map(adapter.tensors.map((tensor) => [tensor.name, tensor]))
  const { isPartial = false, ...whole } = adapter
  const slots = loraSlots(model, adapter.config)
  const isMissing = (name: string) => isPartial && !given.has(name)
  const tensors = slots.map(({ name, shape, size }) =>
    isMissing(name) ? { name, shape, data: new Float32Array(size) } : take(given, name, shape, where),
  )
  const missing = slots.filter(({ name }) => isMissing(name)).length
  if (tensors.length - missing !== given.size) {
    throw adapterError(where, `adapts more layers than the ${model.layers} of this model`, wrongModelHint)
  }
  if (missing === 0) return { ...whole, tensors }
  const counts = `${given.size / 2} of the ${slots.length / 2} modules`
  const warning = `The adapter changes ${counts} of ${adapter.config.targets.join(', ')}; zeros stand for the others, which do not learn.`
  return { ...whole, tensors, warnings: [...(adapter.warnings ?? []), warning] }
}

/** Families name and fuse their linears in different ways. */
function requireFamily(
  { config: { targets }, tensors, baseModel }: Adapter,
  model: ModelConfig,
  where: string,
): void {
  const known = adaptableLinears(model)
  const isForeign = targets.some((name) => !known.includes(name))
  const isElsewhere = tensors.some(({ name }) => !name.startsWith(model.names.layers))
  if (!isForeign && !isElsewhere) return
  const of = baseModel === null ? 'of another family' : `made for ${baseModel}`
  throw adapterError(
    where,
    `is ${of}: it adapts ${targets.join(', ')}, but a ${model.architecture} model has ${known.join(', ')}`,
    wrongModelHint,
  )
}

const wrongModelHint = 'It was probably trained on another model; adapter_config.json may name it.'

function take(
  given: ReadonlyMap<string, NamedTensor>,
  name: string,
  shape: readonly number[],
  where: string,
): NamedTensor {
  const tensor = given.get(name)
  if (!tensor) throw adapterError(where, `lacks “${name}”, which this model needs`, wrongModelHint)
  if (tensor.shape.join() !== shape.join()) {
    const found = tensor.shape.join(', ')
    throw adapterError(
      where,
      `holds “${name}” as [${found}], but this model needs [${shape.join(', ')}]`,
      wrongModelHint,
    )
  }
  return tensor
}

const ownNames: readonly string[] = [configName, tensorsName, readmeName]

/** Returns true if a folder is empty, or an adapter folder with nothing else that a person would miss. */
const isReplaceable = (directory: string): boolean =>
  attempt(() => readdirSync(directory).every((name) => ownNames.includes(name)), false)
