/**
 * The frozen weights as graph values. Whatever their form on disk, the runtime maps them from there: f32 as they are, 16
 * bits widened and blocks dequantised while a program runs, so that no more than one layer of them is in f32 at a time.
 */
import { invalidModel } from '#shared/errors.ts'
import type { FrozenProducts } from '#shared/precision.ts'
import type { Dtype, Value } from '../graph/value.ts'
import { weight } from '../graph/value.ts'
import type { BlockWeight, RowWeight } from './blocks.ts'
import {
  blocksName,
  blockWeight,
  halfWeight,
  hasRoundedLinears,
  linearWeights,
  plainRowsName,
  rowScalesName,
  rowsName,
  rowWeight,
  scalesName,
  SLICE_ROWS,
  slicedRowsName,
} from './blocks.ts'
import type { DeviceWeights } from './generationGraph.ts'
import { addLora, addLoraTransposed } from './lora.ts'
import { type ModelSource, type TensorLocation, expectedTensors, headWeightName } from './source.ts'
import { cast } from '../ops/arithmetic.ts'
import { dequantize, type BlockedMatrix } from '../ops/blocks.ts'
import {
  frozenMatmul,
  integerMatmul,
  roundFewRows,
  floatRows,
  type ByteMatrix,
  type FrozenMatrix,
  type RoundedRows,
} from '../ops/frozenMatmul.ts'
import { gather } from '../ops/gather.ts'
import { splitSizes, transpose } from '../ops/layout.ts'
import { matmul, quantizedMatmul } from '../ops/matmul.ts'
import type { Vocabulary } from '../ops/vocabularyHead.ts'

/** A stored f32 tensor as a graph weight that the runtime maps from its file. */
export function mappedWeight(source: ModelSource, name: string): Value {
  const location = requireTensor(source, name)
  if (location.dtype !== 'F32' || location.arrangement !== undefined) {
    throw new Error(`Expected ${name} in f32, got ${location.dtype}: convert the model first.`)
  }
  return weight(name, location)
}

/** Every frozen tensor by its full name, as whole programs read it. */
export interface FrozenTensors {
  vector(name: string): Value
  /** Matrix of a linear, in the form in which it is multiplied. */
  matrix(name: string): FrozenMatrix
  /** Rows of a table, in f32. ids [N] i64 → [N, D]. */
  rows(name: string, ids: Value): Value
  /** [V, D] */
  readonly head: Value | Vocabulary
}

/** Vectors as they lie, matrices as learning multiplies with them. */
export function frozenTensors(source: ModelSource): FrozenTensors {
  const shapes = new Map(expectedTensors(source.config).map(({ name, shape }) => [name, shape]))
  return {
    vector: (name) => mappedWeight(source, name),
    matrix: (name) => learningMatrix(source, name, shapes.get(name)?.[1] ?? 0),
    rows: (name, ids) => gather(mappedWeight(source, name), ids),
    head: headMatrix(source).table,
  }
}

/** Cuts tensors with equally many rows into pieces of `rows` rows, the last perhaps shorter; `first` is a piece's first row. */
export function rowPieces(
  tensors: readonly TensorLocation[],
  rows: number,
): { readonly first: number; readonly parts: readonly TensorLocation[] }[] {
  const total = tensors[0]?.shape[0] as number
  return Array.from({ length: Math.ceil(total / rows) }, (_, piece) => {
    const first = piece * rows
    const count = Math.min(rows, total - first)
    const parts = tensors.map(({ shape, offset, byteLength, ...location }) => {
      const rowBytes = byteLength / total
      const place = { offset: offset + first * rowBytes, byteLength: count * rowBytes }
      return { ...location, ...place, shape: [count, ...shape.slice(1)] }
    })
    return { first, parts }
  })
}

export function requireTensor(source: ModelSource, name: string): TensorLocation {
  const location = source.tensors.get(name)
  if (location) return location
  throw invalidModel(`The model in ${source.directory} has no tensor ${name}.`)
}

/** Rows of bytes that are all that the source has of a matrix; null where it has another form, too. */
const onlyRows = (source: ModelSource, name: string): RowWeight | null =>
  source.tensors.has(name) || blockWeight(source, name) ? null : rowWeight(source, name)

/** A matrix [out, in] as learning multiplies with it: in whole numbers where the source has it in rows of bytes alone. */
export function multipliedMatrix(source: ModelSource, name: string, inputs: number): FrozenMatrix {
  const rows = onlyRows(source, name)
  return rows ? byteMatrix(name, rows) : learningMatrix(source, name, inputs)
}

/** True if learning multiplies in whole numbers. */
export const learnsInBytes = (source: ModelSource, products: FrozenProducts = 'auto'): boolean =>
  products === 'auto' && linearWeights(source.config).every(({ name }) => onlyRows(source, name) !== null)

/**
 * Bytes of a packed copy of the 8-bit weights in one learner: four copies of every layer (forward, forward again,
 * backward, scoring) and two of the head (one per side).
 */
export function packedBytes({ config }: ModelSource): number {
  const inLinears = linearWeights(config).reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b), 0)
  return 4 * inLinears + 2 * config.vocabSize * config.hiddenSize
}

/** Matrix of the head, for logits of the whole vocabulary at once and for those of a slice at a time. */
export interface HeadMatrix {
  readonly table: Value | Vocabulary
  readonly slices: Vocabulary
}

/** The head as learning multiplies with it: rounded where a rounded base has it so, as rollouts read it there. */
export function headMatrix(source: ModelSource, products: FrozenProducts = 'auto'): HeadMatrix {
  const name = headWeightName(source.config)
  const isRounded = hasRoundedLinears(source)
  const rows = isRounded ? source.tensors.get(plainRowsName(name)) : undefined
  if (rows) return bothWays(headInRows(source, name, products))
  const blocks = isRounded ? blockWeight(source, name) : null
  if (blocks) return bothWays(headInBlocks(name, blocks, source.config.hiddenSize))
  const table = mappedWeight(source, name)
  const slices = rowPieces([requireTensor(source, name)], SLICE_ROWS).map(({ first, parts: [location] }) =>
    weight(pieceName(name, first), location as TensorLocation),
  )
  return { table, slices: { slices, rows: (ids) => gather(table, ids) } }
}

const bothWays = (vocabulary: Vocabulary): HeadMatrix => ({ table: vocabulary, slices: vocabulary })
export const pieceName = (name: string, first: number): string => `${name} from row ${String(first)}`

function headInRows(source: ModelSource, name: string, products: FrozenProducts): Vocabulary {
  const stored = [plainRowsName, rowScalesName, slicedRowsName].map((nameOf) =>
    requireTensor(source, nameOf(name)),
  )
  const matrix = (ofName: string, [rows, scales, columns]: readonly TensorLocation[]): ByteMatrix => ({
    rows: weight(plainRowsName(ofName), rows as TensorLocation, 'int8'),
    scales: weight(rowScalesName(ofName), scales as TensorLocation),
    columns: weight(slicedRowsName(ofName), transposed(columns as TensorLocation), 'int8'),
  })
  const slices = rowPieces(stored, SLICE_ROWS).map(({ first, parts }) =>
    matrix(pieceName(name, first), parts),
  )
  const { rows, scales } = matrix(name, stored)
  return {
    slices: products === 'f32' ? slices.map(floatRows) : slices,
    rows: (ids) => floatRows({ rows: gather(rows, ids), scales: gather(scales, ids) }),
  }
}

const transposed = ({ shape, ...location }: TensorLocation): TensorLocation => ({
  ...location,
  shape: shape.toReversed(),
})

function headInBlocks(name: string, stored: BlockWeight, inputs: number): Vocabulary {
  const pieces = rowPieces([stored.blocks, stored.scales], SLICE_ROWS)
  const slices = pieces.map(({ first, parts: [blocks, scales] }) =>
    dequantized(pieceName(name, first), { ...stored, blocks, scales } as BlockWeight, inputs),
  )
  const whole = blockValues(name, stored)
  const rows = (ids: Value) =>
    withoutPadding(
      dequantize({
        ...whole,
        blocks: gather(whole.blocks, ids),
        scales: gather(whole.scales, ids),
        zeros: gather(whole.zeros, ids),
      }),
      inputs,
    )
  return { slices, rows }
}

/** A matrix [out, in] as a value: exact or in 16 bits where the source has it so, else out of its bytes or blocks. */
export function learningMatrix(source: ModelSource, name: string, inputs: number): Value {
  const exact = source.tensors.get(name)
  if (exact) return exactMatrix(name, exact)
  const half = halfMatrix(source, name)
  if (half) return half
  // Rows beside blocks are for rollouts.
  const blocked = blockWeight(source, name)
  if (blocked) return dequantized(name, blocked, inputs)
  const rows = rowWeight(source, name)
  return rows ? floatRows(byteMatrix(name, rows)) : mappedWeight(source, name)
}

/** [out, in] in 16 bits, which products read as they are; null where the source has no such matrix. */
function halfMatrix(source: ModelSource, name: string): Value | null {
  const half = halfWeight(source, name)
  if (half === null) return null
  return weight(half.name, half.location, halfTypes[half.location.dtype as keyof typeof halfTypes])
}

const halfTypes = { F16: 'float16', BF16: 'bfloat16' } as const

function exactMatrix(name: string, location: TensorLocation): Value {
  const { dtype, shape, arrangement } = location
  const isTransposed = arrangement?.kind === 'transposed'
  const stored = { ...location, shape: isTransposed ? shape.toReversed() : shape }
  const value =
    dtype === 'F16' || dtype === 'BF16'
      ? cast(weight(name, stored, halfTypes[dtype]), 'float32')
      : weight(name, stored)
  return isTransposed ? transpose(value, [1, 0]) : value
}

const dequantized = (name: string, stored: BlockWeight, inputs: number): Value =>
  withoutPadding(dequantize(blockValues(name, stored)), inputs)

/** Removes the padding: the last block of a row may extend beyond its end. */
function withoutPadding(whole: Value, inputs: number): Value {
  const padding = (whole.shape[1] as number) - inputs
  return padding === 0 ? whole : (splitSizes(whole, 1, [inputs, padding])[0] as Value)
}

function blockValues(name: string, { precision, form, ...stored }: BlockWeight): BlockedMatrix {
  const { blocks, scales, zeros } = stored
  if (!zeros) throw new Error(`Expected zero points beside the blocks of ${name}.`)
  const { bits, blockSize } = form
  const [outputs, count] = scales.shape as readonly [number, number]
  const dtype: Dtype = bits === 4 ? 'uint4' : 'uint8'
  const zeroShape = { shape: [outputs, count], byteLength: Math.ceil((outputs * count * bits) / 8) }
  // Other names than those of `blockProduct`, whose kernel wants the same bytes in other shapes and types.
  return {
    blocks: weight(
      `${blocksName(name, precision)} to dequantize`,
      { ...blocks, shape: [outputs, count * blockSize] },
      dtype,
    ),
    scales: weight(`${scalesName(name, precision)} to dequantize`, scales),
    zeros: weight(`${name}.${precision}.zeros`, { ...zeros, ...zeroShape }, dtype),
    blockSize,
  }
}

/** Chooses the session purpose for learning, so that weights in forms other than f32 stay as they are. */
export function learningPurpose({ config, tensors }: ModelSource): 'learn' | 'learn-stored' {
  const isExact = (location: TensorLocation | undefined) =>
    location?.dtype === 'F32' && location.arrangement === undefined
  return linearWeights(config).every(({ name }) => isExact(tensors.get(name))) ? 'learn' : 'learn-stored'
}

/** True if generation reads all matrices in f32 as they lie on disk, so that two programs can share them. */
export const readsMappedWeights = (source: ModelSource, rounded: boolean): boolean =>
  !rounded &&
  learningPurpose(source) === 'learn' &&
  source.tensors.get(headWeightName(source.config))?.dtype === 'F32'

export interface GenerationReading {
  /** Blocks are read wherever the source has them, and not only where it has nothing else. */
  readonly rounded: boolean
  /** True if the products have one row. */
  readonly isOneRow?: boolean
}

/** The weights of generation: in blocks or exact. */
export function generationWeights(
  source: ModelSource,
  { rounded, isOneRow = false }: GenerationReading,
): DeviceWeights {
  const vector = cachedBy((name: string) => mappedWeight(source, name))
  // A rounded base is read in rounded form wherever it has one, as learning does.
  const isRounded = rounded || hasRoundedLinears(source)
  const rowsOf = cachedBy(roundFewRows) // several products read the same x
  const roundedProduct = (x: Value, name: string): Value | null => {
    const rows = isRounded ? rowWeight(source, name) : null
    if (rows) return rowProduct(rowsOf(x), name, rows)
    const half = halfMatrix(source, name)
    if (half) return frozenMatmul(x, half)
    const blocked = isRounded ? blockWeight(source, name) : null
    return blocked && blockProduct(x, name, blocked)
  }
  // A single row has a kernel of its own, which reads each row of W once and packs nothing either.
  const oneRowProduct = (x: Value, name: string): Value | null =>
    isOneRow ? matmul(x, vector(name), { transB: true }) : null
  return {
    vector,
    rows: (name, ids) => gather(vector(name), ids),
    product(x, name, lora) {
      const y = roundedProduct(x, name) ?? oneRowProduct(x, name)
      if (y) return lora ? addLora(y, x, lora) : y
      // W xᵀ instead of x Wᵀ: the large matrix streams through row by row as it lies on disk, and is never packed.
      const yT = matmul(vector(name), x, { transB: true })
      return transpose(lora ? addLoraTransposed(yT, x, lora) : yT, [1, 0])
    },
  }
}

function blockProduct(x: Value, name: string, { precision, form, blocks, scales }: BlockWeight): Value {
  const [outputs, count] = scales.shape as readonly [number, number]
  return quantizedMatmul(x, {
    blocks: weight(blocksName(name, precision), blocks, 'uint8'),
    // The kernel wants one axis.
    scales: weight(scalesName(name, precision), { ...scales, shape: [outputs * count] }),
    outputs,
    inputs: x.shape.at(-1) as number,
    bits: form.bits,
    blockSize: form.blockSize,
  })
}

function rowProduct(x: RoundedRows, name: string, rows: RowWeight): Value {
  return integerMatmul(x, byteColumns(name, rows), byteScales(name, rows))
}

const byteColumns = (name: string, { values }: RowWeight): Value => weight(rowsName(name), values, 'int8')
const byteScales = (name: string, { scales }: RowWeight): Value => weight(rowScalesName(name), scales)

function byteMatrix(name: string, rows: RowWeight): ByteMatrix {
  if (!rows.plain) throw new Error(`Expected the rows of ${name} both ways.`)
  return {
    columns: byteColumns(name, rows),
    rows: weight(plainRowsName(name), rows.plain, 'int8'),
    scales: byteScales(name, rows),
  }
}

export function cachedBy<Key, Made>(make: (key: Key) => Made): (key: Key) => Made {
  const made = new Map<Key, Made>()
  return (key) => {
    const value = made.get(key) ?? make(key)
    made.set(key, value)
    return value
  }
}
