import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { AppError } from '#shared/errors.ts'
import type { ModelSource, TensorDtype, TensorLocation } from '#engine/models/source.ts'
import { headWeightName, linearWeightName } from '#engine/models/weightNames.ts'
import { blockScales, blocksPerRow, blockSize, quantizeRows } from './quantize.ts'
import {
  bytesOf,
  openSafetensors,
  readFloatPieces,
  type TensorToWrite,
  writeSafetensors,
} from './safetensors.ts'
import {
  asFloat32Source,
  type CacheProgress,
  gatherInOneFolder,
  requireFinite,
  requireFreeSpace,
  resolveCache,
  weightsFolder,
} from './weightCache.ts'

const int8Name = 'int8.safetensors'
const piecesOfRows = 1 << 20

/** U8 [N, ⌈K/block⌉, block], 128 means zero. */
export const quantizedName = (weight: string): string => `${weight}.quantized`
/** F32 [N, ⌈K/block⌉] */
export const scalesName = (weight: string): string => `${weight}.scales`

/** The weights that are quantised: every linear and the vocabulary projection (the embedding, where they are one). */
export function quantizableWeights({ config }: ModelSource): string[] {
  const layers = Array.from({ length: config.layers }, (_, layer) => layer)
  const linears = layers.flatMap((layer) =>
    config.linears.map((linear) => linearWeightName(config, layer, linear)),
  )
  return [...linears, headWeightName(config)]
}

/**
 * The f32 source with 8-bit copies of its linears beside it: for each weight `W` also `W.quantized` and `W.scales`, in
 * the layout of MatMulNBits. All files lie in one folder of the cache (the f32 ones as hard links where the disk
 * allows). Made once. Errors as `asFloat32Source`.
 */
export async function asInt8Source<Source extends ModelSource>(
  source: Source,
  cacheDirectory: string,
  onProgress: CacheProgress = () => undefined,
): Promise<Source> {
  const exact = await asFloat32Source(source, cacheDirectory, onProgress)
  const folder = weightsFolder(exact)
  const isInCache = folder !== null && dirname(folder) === resolveCache(cacheDirectory)
  const gathered = isInCache ? exact : await gatherInOneFolder(exact, cacheDirectory, onProgress)
  const home = weightsFolder(gathered)
  if (home === null) throw new Error('Expected the files of a gathered source to lie in one folder.')
  const path = join(home, int8Name)
  const tensors = reopen(path, gathered) ?? (await writeQuantized(path, home, gathered, onProgress))
  return { ...gathered, tensors: new Map([...gathered.tensors, ...tensors]) }
}

async function writeQuantized(
  path: string,
  folder: string,
  source: ModelSource,
  onProgress: CacheProgress,
): Promise<ReadonlyMap<string, TensorLocation>> {
  const tensors = quantizableWeights(source).flatMap((name) =>
    quantizedTensors(name, locationOf(source, name)),
  )
  requireFreeSpace(folder, tensors)
  await writeSafetensors(path, tensors, {
    onProgress: (done, total) => {
      onProgress('convert', done, total)
    },
  })
  const written = reopen(path, source)
  if (!written) throw new Error(`Expected ${path} to hold what was just written.`)
  return written
}

function locationOf({ tensors }: ModelSource, name: string): TensorLocation {
  const location = tensors.get(name)
  if (!location) throw new Error(`Expected the source to have "${name}".`)
  return location
}

const expectedShapes = (
  name: string,
  [rows = 0, columns = 0]: readonly number[],
): [string, TensorDtype, number[]][] => [
  [quantizedName(name), 'U8', [rows, blocksPerRow(columns), blockSize]],
  [scalesName(name), 'F32', [rows, blocksPerRow(columns)]],
]

/** The file keeps types apart, so each weight is read twice: once for its scales, once for its values. */
function quantizedTensors(name: string, location: TensorLocation): TensorToWrite[] {
  return expectedShapes(name, location.shape).map(([tensor, dtype, shape]) => ({
    name: tensor,
    dtype,
    shape,
    *pieces() {
      const columns = location.shape[1] ?? 1
      const rowsPerPiece = Math.max(1, Math.floor(piecesOfRows / columns))
      for (const weights of readFloatPieces(location, rowsPerPiece * columns)) {
        if (dtype === 'F32') requireFinite(weights, name, location.file)
        const scales = blockScales(weights, columns)
        yield dtype === 'U8' ? quantizeRows(weights, scales, columns) : bytesOf(scales)
      }
    },
  }))
}

/** The tensors of a cached file if it holds all that is expected; null if there is none or it is another or broken. */
function reopen(path: string, source: ModelSource): ReadonlyMap<string, TensorLocation> | null {
  if (!existsSync(path)) return null
  let tensors: ReadonlyMap<string, TensorLocation>
  try {
    tensors = openSafetensors(path).tensors
  } catch (error) {
    if (error instanceof AppError && error.code === 'model/invalid') return null
    throw error
  }
  const isExpected = quantizableWeights(source)
    .flatMap((name) => expectedShapes(name, locationOf(source, name).shape))
    .every(([name, dtype, shape]) => {
      const location = tensors.get(name)
      return location?.dtype === dtype && location.shape.join() === shape.join()
    })
  return isExpected ? tensors : null
}
