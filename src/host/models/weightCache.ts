/**
 * Weights converted once and kept. ONNX Runtime maps f32 weights straight from their file, but the file must lie in one
 * folder with the others; what lies elsewhere, or is F16 or BF16, gets a converted copy in the cache, in a folder
 * named after the content of the files it was made from.
 */
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  constants,
  existsSync,
  linkSync,
  realpathSync,
  renameSync,
  rmSync,
  statfsSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { attempt } from '#shared/attempt.ts'
import { AppError, invalidModel } from '#shared/errors.ts'
import type {
  Arrangement,
  EverySecond,
  ModelSource,
  TensorLocation,
  TiledHeads,
} from '#engine/models/source.ts'
import { makeFolder } from '#host/files/atomic.ts'
import { hashFiles } from '#host/files/contentHash.ts'
import { reading, writeError } from '#host/files/fileErrors.ts'
import { makeOwnFolder } from '#host/files/ownFiles.ts'
import { permuteRows, tileHeads } from '#host/gguf/ggufNames.ts'
import {
  bytesOf,
  dtypeBytes,
  elementCount,
  firstNonFinite,
  isQuantized,
  openSafetensors,
  readFloatPieces,
  type TensorToWrite,
  transposedTensor,
  writeSafetensors,
} from '#host/files/safetensors.ts'
import { regularFileSize } from '#host/files/strictJson.ts'

/** `done` of `total` bytes of one phase: reading the files to know them by content, or writing the converted ones. */
export type CacheProgress = (phase: 'hash' | 'convert', done: number, total: number) => void

const convertedName = 'model.safetensors'
const pieceElements = 1 << 20

/** The files a source's tensors lie in. */
const filesOf = ({ tensors }: ModelSource): string[] => [
  ...new Set([...tensors.values()].flatMap(({ file, scales }) => [file, ...(scales ? [scales.file] : [])])),
]

/** The one folder that all tensors of a source lie in; null if there are several. */
export function weightsFolder(source: ModelSource): string | null {
  const [folder, ...others] = new Set(filesOf(source).map((file) => dirname(file)))
  return folder === undefined || others.length > 0 ? null : folder
}

/**
 * The same model with every tensor in F32, aligned, and all files in one folder: the source itself where that is so
 * already, else a copy in `cacheDirectory`, made once. Memory stays bounded by a few megabytes. Errors: AppError
 * 'model/invalid' for a value that is not a number, 'file/unreadable', 'file/unwritable'.
 */
export async function asFloat32Source<Source extends ModelSource>(
  source: Source,
  cacheDirectory: string,
  onProgress: CacheProgress = () => undefined,
): Promise<Source> {
  if (isPlainFloat32(source)) {
    return weightsFolder(source) === null ? gatherInOneFolder(source, cacheDirectory, onProgress) : source
  }
  const folder = await cacheFolder(source, cacheDirectory, onProgress)
  const path = join(folder, convertedName)
  const cached = reopen(path, source)
  if (cached) return { ...source, tensors: cached }
  const tensors = [...source.tensors].map(([name, location]) => convertedTensor(name, location))
  requireFreeSpace(folder, tensors)
  await writeSafetensors(path, tensors, {
    metadata: { format: 'pt' },
    onProgress: (done, total) => {
      onProgress('convert', done, total)
    },
  })
  const written = reopen(path, source)
  if (!written) throw new Error(`Expected ${path} to hold what was just written.`)
  return { ...source, tensors: written }
}

/** Returns true if all of it can be mapped as it is. */
export const isPlainFloat32 = ({ tensors }: ModelSource): boolean =>
  [...tensors.values()].every(
    ({ dtype, offset, arrangement }) => dtype === 'F32' && offset % 4 === 0 && arrangement === undefined,
  )

/** The cache's own path, links resolved; created if need be. */
export function resolveCache(cacheDirectory: string): string {
  makeFolder(cacheDirectory)
  return realpathSync(cacheDirectory)
}

/** The cache's folder for exactly these tensors of exactly these files; created if need be. */
export async function cacheFolder(
  source: ModelSource,
  cacheDirectory: string,
  onProgress: CacheProgress,
): Promise<string> {
  const root = resolveCache(cacheDirectory)
  const files = filesOf(source)
  const hashes = await hashFiles(files, root, {
    onProgress: (done, total) => onProgress('hash', done, total),
  })
  const hashOf = new Map(files.map((file, index) => [file, hashes[index]]))
  const content = [...source.tensors]
    .map(([name, { file, offset, dtype, shape, arrangement, scales }]) => {
      const apart = scales ? [hashOf.get(scales.file), scales.offset] : []
      return JSON.stringify([
        name,
        hashOf.get(file),
        offset,
        dtype,
        shape,
        ...arrangementKey(arrangement),
        ...apart,
      ])
    })
    .sort()
  const key = createHash('sha256').update(content.join('\n')).digest('hex')
  const folder = join(root, key.slice(0, 32))
  makeOwnFolder(folder)
  return folder
}

function arrangementKey(arrangement: Arrangement | undefined): readonly (string | number)[] {
  if (arrangement === undefined) return []
  if (arrangement.kind === 'tiled' || arrangement.kind === 'every-second')
    return [JSON.stringify(arrangement)]
  return arrangement.kind === 'interleaved' ? [arrangement.kind, arrangement.heads] : [arrangement.kind]
}

/** Opens the tensors of a cached file; null if there is none, or it is broken. */
export function cachedTensors(path: string): ReadonlyMap<string, TensorLocation> | null {
  if (!existsSync(path)) return null
  try {
    return openSafetensors(path).tensors
  } catch (error) {
    if (error instanceof AppError && error.code === 'model/invalid') return null
    throw error
  }
}

/**
 * Opens the tensors of a cached file if it holds all of the source's; null if there is none, or it is another or
 * broken.
 */
function reopen(path: string, source: ModelSource): Map<string, TensorLocation> | null {
  const cached = cachedTensors(path)
  if (cached === null) return null
  const result = new Map<string, TensorLocation>()
  for (const [name, { shape }] of source.tensors) {
    const location = cached.get(name)
    if (location?.dtype !== 'F32' || location.shape.join() !== shape.join()) return null
    result.set(name, location)
  }
  return result
}

export const convertedTensor = (name: string, location: TensorLocation): TensorToWrite => ({
  name,
  dtype: 'F32',
  shape: location.shape,
  *pieces() {
    for (const piece of exactPieces(name, location, pieceElements)) yield bytesOf(piece)
  },
})

/**
 * Yields the values of a tensor as it is computed with, in pieces of about the given size, in whole rows if that is
 * whole rows; a transposed one in one piece. Each piece is valid until the next is requested. Errors: AppError
 * 'model/invalid' for a value that is not a number, 'file/unreadable'.
 */
export function* exactPieces(
  name: string,
  location: TensorLocation,
  elements: number,
): Generator<Float32Array> {
  for (const piece of arrangedPieces(location, elements)) {
    requireFinite(piece, name, location.file)
    yield piece
  }
}

function* untwisted(location: TensorLocation, heads: number): Generator<Float32Array> {
  const [count = 0, columns = 1] = location.shape
  const rows = count / heads
  for (const head of readFloatPieces(location, rows * columns))
    yield permuteRows(head, { heads: 1, rows, back: true })
}

/** Every second row of a matrix, which is whole in memory, as a transposed one is in any case. */
function everySecond(values: Float32Array, { first, whole }: EverySecond): Float32Array {
  const [, columns = 1] = whole.shape
  const result = new Float32Array(values.length / 2)
  for (let to = 0; to < result.length; to += columns) {
    const from = 2 * to + first * columns
    result.set(values.subarray(from, from + columns), to)
  }
  return result
}

function untiled(location: TensorLocation, arrangement: TiledHeads): Float32Array {
  const [whole] = readFloatPieces(location, elementCount(location.shape))
  const rows = location.shape[0] ?? 1
  const values = tileHeads(whole ?? new Float32Array(), arrangement, { rows, back: true })
  return arrangement.isRate === true ? values.map((value) => Math.log(-value)) : values
}

function* arrangedPieces(location: TensorLocation, elements: number): Generator<Float32Array> {
  const { arrangement } = location
  switch (arrangement?.kind) {
    case undefined:
      yield* readFloatPieces(location, elements)
      return
    case 'transposed':
      yield transposedTensor(location)
      return
    case 'one-added':
      for (const piece of readFloatPieces(location, elements)) yield piece.map((value) => value - 1)
      return
    case 'tiled':
      yield untiled(location, arrangement)
      return
    case 'interleaved':
      yield* untwisted(location, arrangement.heads)
      return
    case 'every-second':
      for (const whole of arrangedPieces(arrangement.whole, elementCount(arrangement.whole.shape)))
        yield everySecond(whole, arrangement)
  }
}

/** Errors: AppError 'model/invalid' naming file and tensor. */
function requireFinite(values: Float32Array, name: string, file: string): void {
  if (firstNonFinite(values) === -1) return
  throw invalidModel(
    `The tensor “${name}” in ${file} holds a value that is not a finite number.`,
    'The checkpoint is damaged or its training diverged; get another copy.',
  )
}

/**
 * Checks all weights for values that are not numbers, except those in blocks, which are checked when they are
 * converted. Errors: AppError 'model/invalid' naming file and tensor, 'file/unreadable'.
 */
export async function requireNumbers({ tensors }: ModelSource): Promise<void> {
  for (const [name, location] of tensors) {
    if (isQuantized(location.dtype)) continue
    for (const piece of readFloatPieces(location, pieceElements)) {
      requireFinite(piece, name, location.file)
      await new Promise((resolve) => setImmediate(resolve)) // others are answered in between
    }
  }
}

/** Checks before writing that the tensors fit on the disk. Errors: AppError 'file/unwritable'. */
export function requireFreeSpace(folder: string, tensors: readonly TensorToWrite[]): void {
  requireFreeBytes(
    folder,
    tensors.reduce((sum, { shape, dtype }) => sum + elementCount(shape) * dtypeBytes[dtype], 0),
    forWeights,
  )
}

const forWeights = {
  subject: 'The converted weights need',
  hint: 'Free some space or choose another data directory; the model itself was not changed.',
}

const slackBytes = 64 * 1024 * 1024

/** Checks before writing that there is room on the disk. Errors: AppError 'file/unwritable', in these words. */
export function requireFreeBytes(
  folder: string,
  neededBytes: number,
  { subject, hint }: typeof forWeights,
): void {
  const { bavail, bsize } = reading(folder, () => statfsSync(folder))
  const freeBytes = bavail * bsize
  if (freeBytes >= neededBytes + slackBytes) return
  const gigabytes = (bytes: number): string => (bytes / 1e9).toFixed(1)
  throw new AppError(
    'file/unwritable',
    `${subject} ${gigabytes(neededBytes)} GB in ${folder}, which has ${gigabytes(freeBytes)} GB free.`,
    hint,
  )
}

/** Brings all files of an f32 source into one folder of the cache, as hard links where the disk allows. */
export async function gatherInOneFolder<Source extends ModelSource>(
  source: Source,
  cacheDirectory: string,
  onProgress: CacheProgress,
): Promise<Source> {
  const folder = await cacheFolder(source, cacheDirectory, onProgress)
  const gathered = new Map(
    filesOf(source).map((file, index) => [
      file,
      linkOrCopy(file, join(folder, `${index}-${basename(file)}`)),
    ]),
  )
  const tensors = new Map(
    [...source.tensors].map(([name, location]) => [
      name,
      { ...location, file: gathered.get(location.file) ?? location.file },
    ]),
  )
  return { ...source, tensors }
}

function linkOrCopy(file: string, target: string): string {
  const size = regularFileSize(file)
  // The folder is named after the content, so a whole file in it is the right one.
  if (existsSync(target) && regularFileSize(target) === size) return target
  const temporary = `${target}.${process.pid}.partial`
  try {
    rmSync(temporary, { force: true })
    if (!tryLink(file, temporary)) {
      requireFreeBytes(dirname(target), size, forWeights)
      copyFileSync(file, temporary, constants.COPYFILE_FICLONE)
    }
    renameSync(temporary, target)
    return target
  } catch (error) {
    throw writeError(target, error)
  } finally {
    rmSync(temporary, { force: true })
  }
}

/** False on another disk than the file's, or one without links. */
const tryLink = (file: string, target: string): boolean =>
  attempt(() => {
    linkSync(file, target)
    return true
  }, false)
