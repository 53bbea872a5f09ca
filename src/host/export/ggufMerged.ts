/** Writes a merged model as one GGUF file: its tensors, each made a few rows at a time, and its metadata. */
import { defaultHub } from '#shared/hub.ts'
import { type ModelConfig } from '#engine/models/config.ts'
import { expectedTensors, type TensorLocation } from '#engine/models/source.ts'
import { encode } from '#host/adapters/ggufLora.ts'
import type { Adapter } from '#host/adapters/peft.ts'
import { isHubId } from '#host/adapters/peftConfig.ts'
import { bytesOf, elementCount, readPieces, readTensor } from '#host/files/safetensors.ts'
import { readJsonObject } from '#host/files/strictJson.ts'
import {
  alignmentKey,
  type GgufTensor,
  type GgufToWrite,
  type GgufValue,
  ggufTensorBytes,
} from '#host/gguf/gguf.ts'
import { tokenizerKey, tokenizerKeys } from '#host/gguf/ggufKeys.ts'
import { fileTypes, type GgufMix, isBlocks, typeInMix, type WrittenType } from '#host/gguf/ggufMix.ts'
import { describeModel, type ModelWords } from '#host/gguf/ggufMetadata.ts'
import { ggufFileOf } from '#host/gguf/ggufModel.ts'
import { withExpertsApart } from '#host/gguf/ggufExperts.ts'
import { type GgufPlace, ggufPlaces, ggufShape, permuteRows, tileHeads } from '#host/gguf/ggufNames.ts'
import { openGguf } from '#host/gguf/ggufReader.ts'
import { describeTokenizer } from '#host/gguf/ggufVocabulary.ts'
import { quantize } from '#host/gguf/quantize.ts'
import type { ModelFolder } from '#host/models/modelFolder.ts'
import { textFiles } from '#host/models/tokenizerFolder.ts'
import { exactPieces } from '#host/models/weightCache.ts'
import { adaptedWeights, addRows, weightDelta, type WeightDelta } from './loraDelta.ts'
import { type Provenance, provenanceTexts } from './provenance.ts'

export const mergedGgufName = 'model.gguf'

/** Bytes of the tensors of a merged model, without its metadata. */
export function ggufModelBytes(model: ModelConfig, mix: GgufMix): number {
  const apart = withExpertsApart(model)
  const places = ggufPlaces(apart)
  return expectedTensors(apart).reduce((sum, { name, shape }) => {
    const dtype = typeInMix(mix, { name: places.get(name)?.name ?? '', shape }, model)
    return sum + ggufTensorBytes({ shape, dtype })
  }, 0)
}

/** Returns what an adapter adds to each weight in the form used in computation, by the weight's name. */
export const computedDeltas = (model: ModelConfig, adapter: Adapter): ReadonlyMap<string, WeightDelta> =>
  new Map(
    adaptedWeights(model, adapter.config, adapter.tensors).map(({ name, factors }) => [
      name,
      weightDelta(factors),
    ]),
  )

/** The tensors of base + s·B·A, whose experts are apart, in the file's names, types and order of rows. */
function mergedTensors(
  { config, tensors, directory }: ModelFolder,
  adapter: Adapter,
  mix: GgufMix,
): GgufTensor[] {
  const places = ggufPlaces(config)
  const deltas = computedDeltas(config, adapter)
  const isGguf = ggufFileOf(directory) !== null
  const parts = [...tensors].map(([name, location]): GgufTensor & Pick<GgufPlace, 'stack'> => {
    const place = places.get(name)
    if (place === undefined) throw new Error(`Expected a place for ${name}.`)
    const delta = deltas.get(name) ?? null
    const dtype = typeInMix(mix, { name: place.name, shape: location.shape }, config)
    // Blocks that stay as they are lose nothing.
    const isSame = isGguf && delta === null && location.dtype === dtype
    const pieces = () =>
      isSame
        ? readPieces({ ...location, dtype: 'U8' }, pieceElements)
        : mergedPieces(name, { location, place, delta, dtype })
    const shape = place.stack === undefined ? ggufShape(location.shape) : location.shape
    return { ...place, dtype, shape, pieces }
  })
  return stacked(parts)
}

/** One tensor of all matrices that belong into it, which come one after the other. */
function stacked(parts: readonly (GgufTensor & Pick<GgufPlace, 'stack'>)[]): GgufTensor[] {
  return parts.flatMap(({ stack, ...part }, at) => {
    if (stack === undefined) return [part]
    if (stack.index > 0) return []
    const all = parts.slice(at, at + stack.count)
    const pieces = function* () {
      for (const each of all) yield* each.pieces()
    }
    return [{ ...part, shape: [stack.count, ...part.shape], pieces }]
  })
}

const pieceElements = 1 << 20

interface Merging {
  readonly location: TensorLocation
  readonly place: GgufPlace
  readonly delta: WeightDelta | null
  readonly dtype: WrittenType
}

/**
 * Number of elements in a piece: whole rows of about that many numbers; of rows that change places, those of a head.
 */
export function rowElements({ shape }: Pick<TensorLocation, 'shape'>, { arrangement }: GgufPlace): number {
  const [rows = 1, columns = 1] = shape
  if (arrangement?.kind === 'tiled') return elementCount(shape)
  if (arrangement?.kind === 'interleaved') return (rows / arrangement.heads) * columns
  return Math.max(1, Math.floor(pieceElements / columns)) * columns
}

function* mergedPieces(name: string, { location, place, delta, dtype }: Merging): Generator<Uint8Array> {
  const { arrangement } = place
  const columns = delta?.columns ?? 1
  let done = 0
  for (const piece of exactPieces(name, location, rowElements(location, place))) {
    if (delta !== null) addRows(piece, delta, done / columns)
    done += piece.length
    const arranged = arrangement === null ? piece : arrange(piece, arrangement, location)
    yield isBlocks(dtype) ? quantize(dtype, arranged) : encode(arranged, dtype)
  }
}

function arrange(
  piece: Float32Array,
  arrangement: NonNullable<GgufPlace['arrangement']>,
  { shape: [rows = 0] }: TensorLocation,
): Float32Array {
  if (arrangement.kind === 'one-added') return piece.map((value) => value + 1)
  if (arrangement.kind === 'tiled') {
    const values = arrangement.isRate === true ? piece.map((value) => -Math.exp(value)) : piece
    return tileHeads(values, arrangement, { rows })
  }
  if (arrangement.kind === 'interleaved')
    return permuteRows(piece, { heads: 1, rows: rows / arrangement.heads })
  throw new Error('Expected no transposed tensor in a GGUF file.')
}

/**
 * Returns everything that a merged model's file says beside its weights: of a GGUF base what that file says, of a
 * folder what its configs say. Errors: AppError 'model/unsupported' for what GGUF cannot say, 'tokenizer/invalid',
 * 'file/unreadable'.
 */
function mergedWords(base: ModelFolder): ModelWords {
  const gguf = ggufFileOf(base.directory)
  return gguf === null ? wordsOfFolder(base) : wordsOfGguf(gguf)
}

function wordsOfGguf(gguf: string): ModelWords {
  const { metadata, tensors } = openGguf(gguf, 'model/invalid')
  const carried = new Map([...metadata].filter(([key]) => !ofFile.has(key)))
  const small = [...tensors].filter(([name]) => name.startsWith('rope_'))
  return {
    metadata: carried,
    tensors: new Map(small.map(([name, location]) => [name, readTensor(location)])),
  }
}

/** Metadata on the numbers of a file, rather than on its model. */
const ofFile: ReadonlySet<string> = new Set([
  alignmentKey,
  'general.file_type',
  'general.quantization_version',
])

function wordsOfFolder({ directory, configFile, config, tokenizerFile }: ModelFolder): ModelWords {
  const { metadata, tensors } = describeModel(readJsonObject(configFile, 'model/invalid'), configFile)
  const none: GgufValue = { type: 'string', value: 'none' }
  return {
    metadata:
      tokenizerFile === null
        ? new Map([...metadata, [tokenizerKey(tokenizerKeys.model), none]])
        : describeTokenizer(textFiles(directory), config, metadata),
    tensors,
  }
}

interface MergedGguf {
  readonly base: ModelFolder
  readonly adapter: Adapter
  readonly mix: GgufMix
  /** Name shown by tools. */
  readonly name: string
  readonly license: string | null
  readonly origin: Provenance
}

/** The whole file, nothing of it read yet but the words. Errors: as `mergedWords`. */
export function mergedGguf({ base, adapter, mix, name, license, origin }: MergedGguf): GgufToWrite {
  const text = (value: string): GgufValue => ({ type: 'string', value })
  const whole = (value: number): GgufValue => ({ type: 'uint32', value })
  const words = mergedWords(base)
  const { baseModel } = origin
  const ofBase: [string, GgufValue][] =
    baseModel === null || !isHubId(baseModel)
      ? []
      : [
          ['general.base_model.count', whole(1)],
          ['general.base_model.0.name', text(baseModel)],
          ['general.base_model.0.repo_url', text(`${defaultHub}/${baseModel}`)],
        ]
  const small = [...words.tensors].map(([tensor, data]): GgufTensor => ({
    name: tensor,
    dtype: 'F32',
    shape: [data.length],
    pieces: () => [bytesOf(data)],
  }))
  const metadata = new Map<string, GgufValue>([
    ...words.metadata,
    ['general.name', text(name)],
    ...(license === null ? [] : [['general.license', text(license)] as const]),
    ...ofBase,
    ['general.file_type', whole(fileTypes[mix])],
    ['general.quantization_version', whole(2)],
    ...Object.entries(provenanceTexts(origin)).map(([key, value]): [string, GgufValue] => [
      `turnwise.${key}`,
      text(value),
    ]),
  ])
  return { metadata, tensors: [...small, ...mergedTensors(base, adapter, mix)] }
}
