/** Opens a base model in one GGUF file of llama.cpp, used in its place. */
import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import path from 'node:path'
import { invalidModel, unsupportedModel } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'
import type { ModelConfig } from '#engine/models/config.ts'
import { readModelConfig } from '#engine/models/registry.ts'
import { type ExpectedTensor, expectedTensors, type TensorLocation } from '#engine/models/source.ts'
import { reading } from '#host/files/fileErrors.ts'
import { regularFileSize } from '#host/files/strictJson.ts'
import { ggufConfig } from './ggufConfig.ts'
import { unreadKeys } from './ggufGemma4.ts'
import { describedBy } from './ggufReading.ts'
import { ropeTensors } from './ggufKeys.ts'
import { withExpertsApart } from './ggufExperts.ts'
import { type GgufPlace, ggufPlaces, ggufShape } from './ggufNames.ts'
import { type GgufFile, openGguf } from './ggufReader.ts'
import { ggufTokenizer, tokenizerKind } from './ggufTokenizer.ts'

export interface GgufModel {
  readonly config: ModelConfig
  /** Tensors by their Hugging Face names. */
  readonly tensors: ReadonlyMap<string, TensorLocation>
  readonly hasTokenizer: boolean
}

/**
 * The GGUF file that a path means: itself, or the only one of a folder without safetensors files; null where it means a
 * Hugging Face folder. Errors: AppError 'model/invalid' for several, 'file/unreadable'.
 */
export function ggufFileOf(place: string): string | null {
  if (!isFolder(place)) return isGguf(place) ? place : null
  const names = readdirSync(place)
  if (names.some((name) => /[.]safetensors(?:[.]index[.]json)?$/.test(name))) return null
  const files = names.filter((name) => /[.]gguf$/i.test(name)).sort()
  if (files.length > 1) {
    throw invalidModel(
      `${place} holds ${files.length} GGUF files: ${shorten(files.join(', '))}.`,
      'Give the path of one of them.',
    )
  }
  return files[0] === undefined ? null : path.join(place, files[0])
}

const isFolder = (place: string): boolean => reading(place, () => statSync(place).isDirectory())

/** Recognizes a file by its name, or by its first bytes: Ollama names its files by their digests. */
function isGguf(file: string): boolean {
  if (/[.]gguf$/i.test(file)) return true
  regularFileSize(file)
  const handle = openSync(file, 'r')
  try {
    const magic = Buffer.alloc(4)
    return readSync(handle, magic) === 4 && magic.toString('latin1') === 'GGUF'
  } finally {
    closeSync(handle)
  }
}

/** Tensors of frequencies, which are a part of the config. */
const partsOfConfig: ReadonlySet<string> = new Set(Object.values(ropeTensors))

/**
 * Opens a model, everything checked: the family, the tokenizer's kind, and that it has the tensors its metadata asks for, in
 * their shapes and of types that are read, and no others. Reads the metadata only. `contextLength` as in `openModelFolder`.
 * Errors: AppError 'file/unreadable', 'model/invalid', 'model/unsupported', 'config/invalid' for too long a context.
 */
export function openGgufModel(file: string, contextLength: number | null): GgufModel {
  const gguf = openGguf(file, 'model/invalid')
  for (const [name, type] of gguf.unreadable) {
    throw unsupportedModel(
      `The tensor “${shorten(name)}” in ${file} is of the type ${type}, which is not supported.`,
      'Get the file in another quantisation, such as Q8_0, Q4_K_M or Q4_0.',
    )
  }
  const hasTokenizer = tokenizerKind(gguf) !== null
  const config = withExpertsApart(readModelConfig(ggufConfig(describedBy(gguf)), file, contextLength))
  const places = ggufPlaces(config)
  const used = new Set([...places.values()].map(({ name }) => name))
  const known = [used, partsOfConfig, unreadKeys(config)]
  const surplus = [...gguf.tensors.keys()].find((name) => !known.some((names) => names.has(name)))
  if (surplus !== undefined) {
    throw unsupportedModel(
      `${file} holds the tensor “${shorten(surplus)}”, which ${config.architecture} models do not have.`,
    )
  }
  const tensors = expectedTensors(config).map((expected) => {
    const place = places.get(expected.name)
    if (place === undefined) throw new Error(`Expected a place for ${expected.name}.`)
    const location = locate(gguf, place, expected)
    const { arrangement } = place
    return [expected.name, arrangement === null ? location : { ...location, arrangement }] as const
  })
  return { config, tensors: new Map(tensors), hasTokenizer }
}

/**
 * Rebuilds the text files of the Hugging Face folder that a file was made from, by name, as far as its metadata has
 * their content: configs, tokenizer and chat template. Errors: as `openGguf` and `ggufTokenizer`.
 */
export function ggufTexts(file: string): ReadonlyMap<string, string> {
  const gguf = openGguf(file, 'model/invalid')
  const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`
  const texts = new Map([['config.json', json(ggufConfig(describedBy(gguf)))]])
  const tokenizer = ggufTokenizer(gguf)
  if (tokenizer === null) return texts
  const { chat_template: template, ...config } = tokenizer.tokenizerConfig
  const isOne = typeof template === 'string'
  texts.set('tokenizer.json', json(tokenizer.tokenizerJson))
  texts.set('tokenizer_config.json', json(isOne ? config : tokenizer.tokenizerConfig))
  if (isOne) texts.set('chat_template.jinja', template)
  return texts
}

/** Name that a model's GGUF file gives it; null: none, or the path means a Hugging Face folder. */
export function ggufOwnName(place: string): string | null {
  const file = ggufFileOf(place)
  const name = file === null ? undefined : openGguf(file, 'model/invalid').metadata.get('general.name')
  return name?.type === 'string' && name.value.trim() !== '' ? name.value.trim() : null
}

function locate(
  { file, tensors }: GgufFile,
  { name, stack }: GgufPlace,
  { shape }: ExpectedTensor,
): TensorLocation {
  const location = tensors.get(name)
  if (location === undefined) {
    throw invalidModel(`${file} lacks the tensor “${name}” that its metadata asks for.`)
  }
  const stored = stack === undefined ? ggufShape(shape) : [stack.count, ...shape]
  if (location.shape.join() === stored.join()) {
    if (stack === undefined) return { ...location, shape }
    const byteLength = location.byteLength / stack.count
    return { ...location, shape, byteLength, offset: location.offset + stack.index * byteLength }
  }
  throw invalidModel(
    `The tensor “${name}” in ${file} is [${location.shape.join(', ')}], but its metadata asks for [${stored.join(', ')}].`,
  )
}
