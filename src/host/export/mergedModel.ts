/** The base model with an adapter worked into its weights: base + s·B·A, in the base's type, every other byte as it was. */
import path from 'node:path'
import type { TensorDtype, TensorLocation } from '#engine/models/source.ts'
import { AtomicFile, writeFileAtomic } from '#host/files/atomic.ts'
import { encode } from '#host/adapters/ggufLora.ts'
import type { ModelFolder } from '#host/models/modelFolder.ts'
import type { Adapter } from '#host/adapters/peft.ts'
import { dtypeBytes, elementCount, readFloatPieces, readPieces } from '#host/files/safetensors.ts'
import { compareForWriting, encodeSafetensorsHeader } from '#host/files/safetensorsHeader.ts'
import { readSmallFile } from '#host/files/strictJson.ts'
import { placeOf, type RawTensor, rawTensors } from './baseFiles.ts'
import { addRows, storedDeltas, type WeightDelta } from './loraDelta.ts'

/** A tensor of the merged model: its bytes, and where they come from. */
interface MergedTensor {
  readonly source: RawTensor
  readonly name: string
  readonly dtype: string
  readonly shape: readonly number[]
  readonly byteLength: number
  /** null: the base's numbers as they are. */
  readonly delta: WeightDelta | null
}

export interface MergedPlan {
  readonly shards: readonly (readonly MergedTensor[])[]
  readonly totalBytes: number
}

type FloatDtype = Exclude<TensorDtype, 'U8'>

const isFloat = (dtype: string): dtype is FloatDtype => ['F32', 'F16', 'BF16'].includes(dtype)

export interface MergeOptions {
  /** null: each tensor keeps its own. */
  readonly dtype: 'f32' | null
  readonly shardBytes: number
}

/** Which tensor goes where, before anything is written. */
export function planMerge(base: ModelFolder, adapter: Adapter, options: MergeOptions): MergedPlan {
  const deltas = storedDeltas(base.config, adapter.config, adapter.tensors)
  const deltaAt = new Map(
    [...deltas].map(([name, delta]) => [placeOf(locationOf(base, name)), delta] as const),
  )
  const tensors = rawTensors(base).map((source): MergedTensor => {
    const { name, shape } = source
    const widens = options.dtype === 'f32' && isFloat(source.dtype)
    const dtype = widens ? 'F32' : source.dtype
    const byteLength = widens ? elementCount(shape) * dtypeBytes.F32 : source.byteLength
    return { source, name, dtype, shape, byteLength, delta: deltaAt.get(placeOf(source)) ?? null }
  })
  return {
    shards: cutIntoShards(tensors, options.shardBytes),
    totalBytes: tensors.reduce((sum, { byteLength }) => sum + byteLength, 0),
  }
}

function locationOf({ tensors }: ModelFolder, name: string): TensorLocation {
  const location = tensors.get(name)
  if (location === undefined) throw new Error(`Expected the model to have ${name}.`)
  return location
}

/** In order; a file holds at most `shardBytes`, or one tensor that is larger. */
function cutIntoShards(tensors: readonly MergedTensor[], shardBytes: number): MergedTensor[][] {
  const shards: MergedTensor[][] = []
  let [shard, size]: [MergedTensor[], number] = [[], 0]
  for (const tensor of tensors) {
    if (shard.length > 0 && size + tensor.byteLength > shardBytes) {
      shards.push(shard)
      ;[shard, size] = [[], 0]
    }
    shard.push(tensor)
    size += tensor.byteLength
  }
  return [...shards, shard]
}

const shardName = (index: number, count: number): string => {
  const digits = (value: number) => String(value).padStart(5, '0')
  return count === 1 ? 'model.safetensors' : `model-${digits(index + 1)}-of-${digits(count)}.safetensors`
}

export interface MergeWriting {
  /** Kept in the files' metadata. */
  readonly provenance: Readonly<Record<string, string>>
  readonly onProgress: (writtenBytes: number) => void
}

/** Writes the weight files and, for several, their index. Errors: AppError 'file/unwritable', 'file/unreadable'. */
export async function writeMergedWeights(
  folder: string,
  { shards, totalBytes }: MergedPlan,
  { provenance, onProgress }: MergeWriting,
): Promise<void> {
  const weightMap: Record<string, string> = {}
  let written = 0
  for (const [index, shard] of shards.entries()) {
    const name = shardName(index, shards.length)
    const tensors = shard.toSorted(compareForWriting)
    using file = new AtomicFile(path.join(folder, name))
    file.write(encodeSafetensorsHeader(tensors, { ...provenance, format: 'pt' }))
    for (const tensor of tensors) {
      for (const piece of mergedPieces(tensor)) file.write(piece)
      written += tensor.byteLength
      onProgress(written)
      await new Promise((resolve) => setImmediate(resolve)) // the progress has to get out
      weightMap[tensor.name] = name
    }
    file.commit()
  }
  if (shards.length === 1) return
  const index = { metadata: { total_size: totalBytes }, weight_map: sortedByKey(weightMap) }
  writeFileAtomic(path.join(folder, 'model.safetensors.index.json'), `${JSON.stringify(index, null, 2)}\n`)
}

const sortedByKey = (map: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)))

const pieceBytes = 1 << 22

/** The bytes of a tensor, a few megabytes at a time. */
function* mergedPieces({ source, dtype, delta }: MergedTensor): Generator<Uint8Array> {
  if (delta === null && dtype === source.dtype) {
    yield* readPieces({ ...source, dtype: 'U8' }, pieceBytes)
    return
  }
  if (!isFloat(source.dtype) || !isFloat(dtype)) throw new Error(`Expected floats, got ${source.dtype}.`)
  const columns = delta?.columns ?? 1
  const rows = Math.max(1, Math.floor(pieceBytes / 4 / columns))
  let row = 0
  for (const piece of readFloatPieces({ ...source, dtype: source.dtype }, rows * columns)) {
    if (delta !== null) addRows(piece, delta, row)
    row += rows
    yield encode(piece, dtype)
  }
}

/** Says in config.json what type the numbers have; as text, since other readers tell 5.0 from 5. */
export function nameDtype(folder: string, torchName: string): void {
  const file = path.join(folder, 'config.json')
  const text = Buffer.from(readSmallFile(file, maxConfigBytes)).toString('utf8')
  const given = /("(?:torch_)?dtype"\s*:\s*)(?:"[^"]*"|null)/g
  const named = given.test(text)
    ? text.replaceAll(given, `$1"${torchName}"`)
    : text.replace('{', `{\n  "dtype": "${torchName}",`)
  writeFileAtomic(file, named)
}

const maxConfigBytes = 4 * 1024 * 1024
