/** Comparing weights that were read back, number by number, in f64. */
import type { ModelConfig } from '#engine/models/config.ts'
import type { TensorLocation } from '#engine/models/source.ts'
import type { Adapter } from '#host/adapters/peft.ts'
import { readFloatPieces, readPieces } from '#host/files/safetensors.ts'
import type { ModelFolder } from '#host/models/modelFolder.ts'
import { placeOf, rawTensors, type RawTensor } from './baseFiles.ts'
import type { ParityLine } from './exports.ts'
import { adaptedWeights, storedDeltas, weightDelta, type WeightDelta } from './loraDelta.ts'
import { type FloatType, parityLine, unitRoundoff } from './parity.ts'

/** Rows of each matrix that are looked at, evenly spread. */
const sampledRows = 64

const rowsToSample = (rows: number): number[] => {
  const count = Math.min(rows, sampledRows)
  return Array.from({ length: count }, (_, index) => Math.floor((index * rows) / count))
}

/** Largest difference between values of the same tensors; Infinity where one is missing. */
export function adapterLine(trained: Adapter, readBack: Adapter): ParityLine {
  const found = new Map(readBack.tensors.map(({ name, data }) => [name, data]))
  let largest = trained.tensors.length === readBack.tensors.length ? 0 : Infinity
  for (const { name, data } of trained.tensors) {
    const copy = found.get(name)
    if (copy?.length !== data.length) largest = Infinity
    else data.forEach((value, at) => (largest = Math.max(largest, Math.abs(value - (copy[at] ?? NaN)))))
  }
  return parityLine(`The values of ${trained.tensors.length} tensors.`, largest, 0)
}

/** s·B·A of every matrix, from both: the largest difference of an entry, relative to the sum of its terms' sizes. */
export function productLine(
  model: ModelConfig,
  {
    trained,
    readBack,
    type,
  }: { readonly trained: Adapter; readonly readBack: Adapter; readonly type: FloatType },
): ParityLine {
  const ours = adaptedWeights(model, trained.config, trained.tensors)
  const theirs = adaptedWeights(model, readBack.config, readBack.tensors)
  const isSame =
    ours.length === theirs.length && ours.every(({ name }, index) => name === theirs[index]?.name)
  const largest = ours.reduce((most, { factors }, index) => {
    const other = theirs[index]
    if (!isSame || other === undefined) return Infinity
    return Math.max(most, relativeDifference(weightDelta(factors), weightDelta(other.factors)))
  }, 0)
  const u = unitRoundoff[type]
  const limit = type === 'F32' ? 1e-6 : 2 * u + u * u + 1e-6
  return parityLine(
    `s·B·A of ${ours.length} matrices in f64, relative to the magnitudes of their terms.`,
    largest,
    limit,
  )
}

function relativeDifference(ours: WeightDelta, theirs: WeightDelta): number {
  const [mine, sizes, its] = [0, 0, 0].map(() => new Float64Array(ours.columns)) as [
    Float64Array,
    Float64Array,
    Float64Array,
  ]
  let [difference, size] = [0, 0]
  for (const row of rowsToSample(ours.rows)) {
    ours.row(row, mine)
    ours.sizes(row, sizes)
    theirs.row(row, its)
    for (let column = 0; column < ours.columns; column++) {
      difference = Math.max(difference, Math.abs((mine[column] ?? NaN) - (its[column] ?? NaN)))
      size = Math.max(size, sizes[column] ?? 0)
    }
  }
  return difference === 0 ? 0 : difference / size
}

/** The two lines about a merged model's weights: those the adapter changes, and all others. */
export function mergedLines(base: ModelFolder, merged: ModelFolder, adapter: Adapter): readonly ParityLine[] {
  const deltas = storedDeltas(base.config, adapter.config, adapter.tensors)
  const changed = new Map<string, WeightDelta>()
  for (const [name, delta] of deltas) {
    const location = base.tensors.get(name)
    if (location !== undefined) changed.set(placeOf(location), delta)
  }
  const written = new Map(rawTensors(merged).map((tensor) => [tensor.name, tensor]))
  const tensors = rawTensors(base)
  let [worst, different] = [0, written.size === tensors.length ? 0 : 1]
  for (const tensor of tensors) {
    const copy = written.get(tensor.name)
    const delta = changed.get(placeOf(tensor))
    if (copy === undefined || copy.shape.join() !== tensor.shape.join()) different += 1
    else if (delta !== undefined) worst = Math.max(worst, roundingError(tensor, copy, delta))
    else if (!isSame(tensor, copy)) different += 1
  }
  const types = [...new Set([...changed.keys()].map((place) => written.get(nameAt(tensors, place))?.dtype))]
  return [
    parityLine(
      `${changed.size} changed weights against base + s·B·A in f64, rounded to ${types.join(' and ')}: the error in units of the last place.`,
      worst,
      0.501,
    ),
    parityLine(
      `Tensors that differ from the base although the adapter does not change them, out of ${tensors.length - changed.size}.`,
      different,
      0,
    ),
  ]
}

const nameAt = (tensors: readonly RawTensor[], place: string): string =>
  tensors.find((tensor) => placeOf(tensor) === place)?.name ?? ''

const asLocation = (tensor: RawTensor): TensorLocation => ({ ...tensor, dtype: tensor.dtype as FloatType })

/** Returns any row of a matrix. */
function rowOf(tensor: RawTensor, row: number, columns: number): Float32Array {
  const width = tensor.byteLength / (columns * (tensor.shape[0] ?? 1))
  const place = {
    ...asLocation(tensor),
    offset: tensor.offset + row * columns * width,
    byteLength: columns * width,
    shape: [columns],
  }
  for (const values of readFloatPieces(place, columns)) return values.slice()
  return new Float32Array()
}

/** Returns how far the written numbers are from base + delta, in units of the last place of their type. */
function roundingError(base: RawTensor, merged: RawTensor, delta: WeightDelta): number {
  const exact = new Float64Array(delta.columns)
  let worst = 0
  for (const row of rowsToSample(delta.rows)) {
    delta.row(row, exact)
    const [from, to] = [rowOf(base, row, delta.columns), rowOf(merged, row, delta.columns)]
    for (let column = 0; column < delta.columns; column++) {
      const wanted = (from[column] ?? NaN) + (exact[column] ?? NaN)
      const error = Math.abs((to[column] ?? NaN) - wanted) / lastPlace(wanted, merged.dtype as FloatType)
      worst = error <= worst ? worst : error
    }
  }
  return worst
}

const smallestExponent = { F32: -126, F16: -14, BF16: -126 } as const

/** Distance between neighbouring numbers of a type about a value. */
function lastPlace(value: number, type: FloatType): number {
  const exponent = value === 0 ? -Infinity : Math.floor(Math.log2(Math.abs(value)))
  return 2 * unitRoundoff[type] * 2 ** Math.max(exponent, smallestExponent[type])
}

const pieceBytes = 1 << 20

/** The same bytes; or the same numbers where the copy is wider. */
function isSame(ours: RawTensor, theirs: RawTensor): boolean {
  if (ours.dtype !== theirs.dtype) {
    return equalPieces(
      readFloatPieces(asLocation(ours), pieceBytes),
      readFloatPieces(asLocation(theirs), pieceBytes),
      (a, b) => a.every((value, at) => Object.is(value, b[at])),
    )
  }
  const bytes = (tensor: RawTensor) => readPieces({ ...tensor, dtype: 'U8' }, pieceBytes)
  return equalPieces(bytes(ours), bytes(theirs), (a, b) => Buffer.compare(a, b) === 0)
}

function equalPieces<Piece extends { readonly length: number }>(
  ours: Generator<Piece>,
  theirs: Generator<Piece>,
  isEqual: (a: Piece, b: Piece) => boolean,
): boolean {
  for (const piece of ours) {
    const other = theirs.next()
    if (other.done === true || other.value.length !== piece.length || !isEqual(piece, other.value))
      return false
  }
  return theirs.next().done === true
}
