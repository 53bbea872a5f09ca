import { dirname, join } from 'node:path'
import type { BlockPrecision } from '#shared/precision.ts'
import {
  type BlockForm,
  blockForm,
  blocksName,
  blocksPerRow,
  type Int8Form,
  linearWeights,
  plainRowsName,
  rowScalesName,
  rowsName,
  scalesName,
  SLICE_ROWS,
  slicedRowsName,
} from '#engine/models/blocks.ts'
import {
  type ModelSource,
  type TensorDtype,
  type TensorLocation,
  headWeightName,
} from '#engine/models/source.ts'
import { blockScales, quantizeRows, rowScales } from './quantize.ts'
import { bytesOf, type TensorToWrite, writeSafetensors } from '#host/files/safetensors.ts'
import {
  asFloat32Source,
  type CacheProgress,
  cachedTensors,
  exactPieces,
  gatherInOneFolder,
  requireFreeSpace,
  resolveCache,
  weightsFolder,
} from './weightCache.ts'

const piecesOfRows = 1 << 20

/** The weights that rollouts read rounded: every linear and the vocabulary projection (the embedding, where they are one). */
export const quantizableWeights = ({ config }: ModelSource): string[] => [
  ...linearWeights(config).map(({ name }) => name),
  headWeightName(config),
]

/**
 * Returns the f32 source with 8-bit copies of its linears, in a layout of engine/models/blocks.ts, for rollouts. All
 * files are in one folder of the cache (the f32 ones as hard links where the disk allows). Made once. Errors as
 * `asFloat32Source`.
 */
export async function asInt8Source<Source extends ModelSource>(
  source: Source,
  cacheDirectory: string,
  form: Int8Form,
  onProgress: CacheProgress = () => undefined,
): Promise<Source> {
  const exact = await asFloat32Source(source, cacheDirectory, onProgress)
  const folder = weightsFolder(exact)
  const isInCache = folder !== null && dirname(folder) === resolveCache(cacheDirectory)
  const gathered = isInCache ? exact : await gatherInOneFolder(exact, cacheDirectory, onProgress)
  const home = weightsFolder(gathered)
  if (home === null) throw new Error('Expected the files of a gathered source to lie in one folder.')
  const tensors = quantizableWeights(gathered).flatMap((name) => {
    const location = gathered.tensors.get(name)
    if (!location) throw new Error(`Expected the source to have “${name}”.`)
    return form === 'rows' ? rowTensors(name, location) : blockTensors(name, location, 'int8')
  })
  const written = await keepTensors(join(home, `int8-${form}.safetensors`), tensors, onProgress)
  return { ...gathered, tensors: new Map([...gathered.tensors, ...written]) }
}

/**
 * Returns the tensors of a file of the cache, which is written if it is not there. Errors: AppError 'file/unwritable',
 * those of reading.
 */
export async function keepTensors(
  path: string,
  tensors: readonly TensorToWrite[],
  onProgress: CacheProgress,
): Promise<ReadonlyMap<string, TensorLocation>> {
  const cached = reopen(path, tensors)
  if (cached) return cached
  requireFreeSpace(dirname(path), tensors)
  await writeSafetensors(path, tensors, {
    onProgress: (done, total) => {
      onProgress('convert', done, total)
    },
  })
  const written = reopen(path, tensors)
  if (!written) throw new Error(`Expected ${path} to hold what was just written.`)
  return written
}

/**
 * A matrix in blocks: the values and their scales. The file keeps types apart, so each weight is read twice. `location`
 * may be of any float type.
 */
export function blockTensors(
  name: string,
  location: TensorLocation,
  precision: BlockPrecision,
  scalesOf = blockScales,
): TensorToWrite[] {
  const [rows = 0, columns = 1] = location.shape
  const form = blockForm(precision, columns)
  const blocks = blocksPerRow(columns, form)
  const tensor = convertedRows(name, location)
  const blockBytes = (form.blockSize * form.bits) / 8
  return [
    tensor(blocksName(name, precision), 'U8', [rows, blocks, blockBytes], (weights) =>
      quantizeRows(weights, scalesOf(weights, columns, form), columns, form),
    ),
    tensor(scalesName(name, precision), 'F32', [rows, blocks], (weights) =>
      bytesOf(scalesOf(weights, columns, form)),
    ),
  ]
}

/** A matrix that learning reads, with one scale for each row: the same numbers in blocks, or in rows that lie both ways. */
export function rowScaledTensors(name: string, location: TensorLocation, form: Int8Form): TensorToWrite[] {
  if (form === 'blocks') return blockTensors(name, location, 'int8', rowScales)
  const [, columns = 1] = location.shape
  const tensors = rowTensors(name, location)
  const { scales } = exactRows(columns)
  const plain = convertedRows(name, location)(plainRowsName(name), 'U8', location.shape, (weights) =>
    quantizeRows(weights, scales(weights), columns, ofRows(columns)).map((value) => value ^ 128),
  )
  return [...tensors, plain]
}

/** Returns the same for the head, whose slices learning also reads transposed, each by itself. */
export const headTensors = (name: string, location: TensorLocation, form: Int8Form): TensorToWrite[] =>
  form === 'blocks'
    ? rowScaledTensors(name, location, form)
    : [...rowScaledTensors(name, location, form), slicedRows(name, location)]

function slicedRows(name: string, location: TensorLocation): TensorToWrite {
  const [total = 0, columns = 1] = location.shape
  const { scales } = exactRows(columns)
  return {
    name: slicedRowsName(name),
    dtype: 'U8',
    shape: location.shape,
    *pieces() {
      let [left, filled] = [total, 0]
      let slice = new Uint8Array(Math.min(SLICE_ROWS, left) * columns)
      for (const weights of exactPieces(name, location, rowsPerPiece(columns) * columns)) {
        const values = quantizeRows(weights, scales(weights), columns, ofRows(columns))
        for (let row = 0; row < values.length / columns;) {
          const rows = slice.length / columns
          const next = Math.min(values.length / columns, row + rows - filled)
          putColumns(slice, values.subarray(row * columns, next * columns), { columns, rows, row: filled })
          filled += next - row
          row = next
          if (filled < rows) continue
          yield slice
          left -= rows
          filled = 0
          slice = new Uint8Array(Math.min(SLICE_ROWS, left) * columns)
        }
      }
    },
  }
}

/** Rounding of a matrix by rows: what its stored rows stand for, and the scales of those, both [rows, columns]. */
export interface RowRounding {
  readonly known: (weights: Float32Array) => Float32Array
  readonly scales: (weights: Float32Array) => Float32Array
}

const ofRows = (columns: number): BlockForm => ({ bits: 8, blockSize: columns, zero: 128 })

const exactRows = (columns: number): RowRounding => ({
  known: (weights) => weights,
  scales: (weights) => blockScales(weights, columns, ofRows(columns)),
})

/**
 * A matrix in rows of 8 bits: the values, transposed in memory as a whole, and the scales. `location` may be of any float
 * type.
 */
export function rowTensors(
  name: string,
  location: TensorLocation,
  { known, scales }: RowRounding = exactRows(location.shape[1] ?? 1),
): TensorToWrite[] {
  const [rows = 0, columns = 1] = location.shape
  const found = new Map<number, Float32Array>() // by the first row of a piece: both tensors need them
  function* scaledPieces() {
    let row = 0
    for (const piece of exactPieces(name, location, rowsPerPiece(columns) * columns)) {
      const weights = known(piece)
      const ofPiece = found.get(row) ?? scales(weights)
      found.set(row, ofPiece)
      yield { weights, scales: ofPiece, row }
      row += ofPiece.length
    }
  }
  return [
    {
      name: rowsName(name),
      dtype: 'U8',
      shape: [columns, rows],
      *pieces() {
        const transposed = new Uint8Array(rows * columns)
        for (const { weights, scales: ofPiece, row } of scaledPieces()) {
          const values = quantizeRows(weights, ofPiece, columns, ofRows(columns))
          putColumns(transposed, values, { columns, rows, row })
        }
        yield transposed
      },
    },
    {
      name: rowScalesName(name),
      dtype: 'F32',
      shape: [rows],
      *pieces() {
        for (const { scales: ofPiece } of scaledPieces()) yield bytesOf(ofPiece)
      },
    },
  ]
}

/** Writes rows of bytes as columns, less 128 each. */
function putColumns(
  target: Uint8Array,
  values: Uint8Array,
  { columns, rows, row }: { readonly columns: number; readonly rows: number; readonly row: number },
): void {
  const count = values.length / columns
  for (let column = 0; column < columns; column++) {
    const place = column * rows + row
    for (let index = 0; index < count; index++)
      target[place + index] = (values[index * columns + column] ?? 0) ^ 128
  }
}

const rowsPerPiece = (columns: number): number => Math.max(1, Math.floor(piecesOfRows / columns))

/** Returns tensors that are computed from some rows of a matrix at a time. `location` may be of any float type. */
export function convertedRows(name: string, location: TensorLocation) {
  const [, columns = 1] = location.shape
  return (
    tensorName: string,
    dtype: TensorDtype,
    shape: readonly number[],
    bytes: (weights: Float32Array) => Uint8Array,
  ): TensorToWrite => ({
    name: tensorName,
    dtype,
    shape,
    *pieces() {
      for (const weights of exactPieces(name, location, rowsPerPiece(columns) * columns)) yield bytes(weights)
    },
  })
}

/**
 * Opens the tensors of a cached file if it holds everything expected; null if there is none, or it is another or
 * broken.
 */
function reopen(
  path: string,
  expected: readonly TensorToWrite[],
): ReadonlyMap<string, TensorLocation> | null {
  const tensors = cachedTensors(path)
  const isExpected = expected.every(({ name, dtype, shape }) => {
    const location = tensors?.get(name)
    return location?.dtype === dtype && location.shape.join() === shape.join()
  })
  return isExpected ? tensors : null
}
