import type { Dim } from '../graph/shape.ts'
import {
  type CompositeOp,
  type Dtype,
  type Value,
  compose,
  apply,
  constant,
  integers,
} from '../graph/value.ts'
import { div, mul, add, scale, sub, cast } from './arithmetic.ts'
import { inputOf, onlyCotangent, defineOp, int } from './define.ts'
import { atMost } from './choice.ts'
import { blockRows, dequantizeOp, type BlockRows } from './blocks.ts'
import { gather } from './gather.ts'
import { matmul, quantizedMatmul } from './matmul.ts'
import { concat, piece, reshape, transpose } from './layout.ts'
import { normalizedRows } from './normalization.ts'
import { expandLike, reduceMax, reduceSum } from './reduce.ts'

/*
 * Products with a frozen matrix in 16 bits, which matrix units of GPUs multiply many times faster than f32. What goes in and
 * what comes out is f32; sums run in f32 inside the units.
 */

export type HalfType = 'float16' | 'bfloat16'

const isHalf = (dtype: Dtype): dtype is HalfType => dtype === 'float16' || dtype === 'bfloat16'

/**
 * x op(W) with op(W) = W, or Wᵀ with `transB`. x […, K] f32, W f16 or bf16 and frozen → […, N] f32. The gradient of x is the
 * same product of its cotangent with the other side of W.
 *
 * f16 ends at 65,504 and its smallest normal number is 6·10⁻⁵, while single activations of language models exceed the
 * one and cotangents the other: rows are divided by their largest magnitude first, which takes the place of a loss scale
 * (Micikevicius et al. 2018, arXiv:1710.03740, §3.2). bf16 has the range of f32.
 */
export function halfMatmul(x: Value, weight: Value, { transB = false } = {}): Value {
  const { dtype } = weight
  if (!isHalf(dtype)) throw new Error(`Expected a matrix in 16 bits, got ${dtype}.`)
  return compose(
    {
      name: 'HalfMatMul',
      vjp: ({ node, cotangents }) => [
        halfMatmul(onlyCotangent(cotangents), inputOf(node, 1), { transB: !transB }),
        null,
      ],
    },
    [x, weight],
    [product(x, weight, dtype, transB)],
  )[0] as Value
}

function product(x: Value, weight: Value, dtype: HalfType, transB: boolean): Value {
  const times = (rows: Value) => cast(matmul(cast(rows, dtype), weight, { transB }), 'float32')
  if (dtype === 'bfloat16') return times(x)
  const scales = largestMagnitudes(x)
  return mul(times(div(x, scales)), scales)
}

/*
 * Products in whole numbers. Weights have 8 bits and a scale for each output. What they are multiplied with has 16, as two
 * bytes that are multiplied like two rows: that reads the weights once for both, and what is rounded there is far less
 * than what is rounded of the weights. AMX and AVX-512-VNNI multiply bytes several times faster than f32, and sums of bytes
 * are exact, so results do not depend on their order. A scale belongs to a whole row: one for each block would cut a product
 * into as many products as a row has blocks. Adapter, norms, attention, softmax and optimizer stay in f32.
 */

const WHOLE_NUMBERS = 'Occurs only inside ByteMatmul, which has its own rule, and in rollouts.'

export const absOp = defineOp('Abs', WHOLE_NUMBERS)
export const quantizeOp = defineOp('QuantizeLinear', WHOLE_NUMBERS)
export const integerMatmulOp = defineOp('MatMulIntegerToFloat', WHOLE_NUMBERS, { domain: 'com.microsoft' })

/** Rows in 16 bits: x ≈ factors · (upper − 128, lower − 128). */
export interface RoundedRows {
  /** [N, 2, K] u8: of every row the upper and the lower bytes. */
  readonly bytes: Value
  /** [N, 1, 2]: what one of the upper bytes stands for and what one of the lower ones does. */
  readonly factors: Value
}

/** Steps of the lower byte to one of the upper. */
const FINE_STEPS = 254
/** A row of zeros is divided by this. */
const SMALLEST_SCALE = 2 ** -100
const zeroByte = (): Value => cast(constant([128], [1]), 'uint8')

/** max |x| of each row, [N, 1]; of a row of zeros a number that it can be divided by. Without a gradient. x [N, K] f32. */
const largestMagnitudes = (x: Value): Value => largestOf(abs(x))

const abs = (x: Value): Value => apply(absOp, [x], {}, [x])[0] as Value
const largestOf = (magnitudes: Value): Value =>
  add(reduceMax(magnitudes, [-1]), constant([SMALLEST_SCALE], [1]))

/** x [N, K] f32. Every value is off by at most its row's largest magnitude / 64,516. */
export function roundRows(x: Value): RoundedRows {
  const magnitudes = abs(x)
  // Bytes hide what is not finite, and a maximum skips what is no number; a sum does not: its row becomes NaN.
  const nothing = scale(reduceSum(magnitudes, [-1]), 0)
  return roundTo(x, add(largestOf(magnitudes), nothing))
}

/** The same of numbers that are finite and not negative. */
export const roundPositiveRows = (x: Value): RoundedRows => roundTo(x, largestOf(x))

/** largest [N, 1] */
function roundTo(x: Value, largest: Value): RoundedRows {
  const [rows, width] = x.shape as readonly [Dim, Dim]
  const scales = scale(largest, 1 / 127)
  const steps = reshape(scales, [rows])
  const zeros = expandLike(zeroByte(), steps)
  const upper = quantized(x, steps, zeros)
  const rest = sub(x, dequantized(upper, steps, zeros))
  const lower = quantized(rest, scale(steps, 1 / FINE_STEPS), zeros)
  const factors = matmul(scales, constant([1, 1 / FINE_STEPS], [1, 2]))
  return {
    bytes: reshape(concat([upper, lower], 1), [rows, 2, width]),
    factors: reshape(factors, [rows, 1, 2]),
  }
}

const byRow = { axis: int(0) }

/** x / steps to the nearest whole number, zeros added, as bytes. x [N, K], steps and zeros [N]. */
const quantized = (x: Value, steps: Value, zeros: Value): Value =>
  apply(quantizeOp, [x, steps, zeros], byRow, [{ dtype: 'uint8', shape: x.shape }])[0] as Value

/** The numbers that those bytes stand for. */
const dequantized = (bytes: Value, steps: Value, zeros: Value): Value =>
  apply(dequantizeOp, [bytes, steps, zeros], byRow, [{ dtype: 'float32', shape: bytes.shape }])[0] as Value

/** The largest 16-bit number that leaves room for rounding and for both offsets of 128. */
const LARGEST_STEPS = 32_639
/** A row of zeros is divided by the root of this. */
const SMALLEST_SQUARE = 1e-30

/**
 * Rounds rows like `roundRows`, but in half as many nodes, which counts where rows are few: a decoding step has
 * hundreds of these products. Steps are a 32,639th of √K times the root mean square of the row, which no element
 * exceeds: unlike the largest element, the runtime's norm finds it and divides by it in one node. So they are coarser
 * by √K times the root mean square over the largest magnitude. x [N, K] f32.
 */
export function roundFewRows(x: Value): RoundedRows {
  const width = x.shape.at(-1) as number
  const [rows, most] = [x.shape[0] ?? 1, LARGEST_STEPS / Math.sqrt(width)]
  const { normalized, inverse } = normalizedRows(reshape(x, [rows, 1, width]), most, SMALLEST_SQUARE)
  // Both bytes at once: a 256th of a number in steps, and the number itself, of which a cast to bytes keeps the lower one.
  // The cast cuts the fraction off, so a half more rounds to nearest; 128 more brings each byte to its own zero.
  const parts = mul(normalized, constant([1 / 256, 1], [2, 1]))
  const shifted = add(parts, constant([128 + 128.5 / 256, 128 * 256 + 128.5], [2, 1])) // [128.5 / 256 + …, < 2¹⁶]
  const bytes = cast(cast(shifted, 'int32'), 'uint8')
  const factors = div(constant([256 / most, 1 / most], [1, 2]), inverse)
  return { bytes, factors }
}

/** x W. weights [K, M] i8, multiplied with scales, [M] for the columns or [1] → [N, M] f32. */
export function integerMatmul({ bytes, factors }: RoundedRows, weights: Value, scales: Value): Value {
  const [rows, outputs] = [bytes.shape[0] as Dim, weights.shape[1] as number]
  const inputs = [bytes, weights, constant([1], []), scales, zeroByte()]
  const type = { dtype: 'float32', shape: [rows, 2, outputs] } as const
  const product = apply(integerMatmulOp, inputs, {}, [type])[0] as Value
  // The two parts of a row are added, and its scale is taken back, in one pass: [1, 2] · [2, M] for each row.
  return reshape(matmul(factors, product), [rows, outputs])
}

/** A frozen matrix W [N, K] in 8 bits with a scale for each row: W[n, k] = scales[n] · rows[n, k]. */
export interface ByteRows {
  /** [N, K] i8 */
  readonly rows: Value
  /** [N] */
  readonly scales: Value
}

/**
 * Byte rows stored in transposed form too: the runtime packs a matrix before it multiplies, and one that a program transposes
 * it would pack anew for every product.
 */
export interface ByteMatrix extends ByteRows {
  /** [K, N] i8 */
  readonly columns: Value
}

/**
 * x Wᵀ, x [R, K] f32 → [R, N]. The gradient of x is a product in whole numbers too: the scales go to the cotangent, since they
 * belong to what is summed over there. `rounded` are the rows of x, where other products read them as well.
 */
export const byteMatmul = (x: Value, matrix: ByteMatrix, rounded = roundRows(x)): Value =>
  compose(
    {
      name: 'ByteMatmul',
      vjp: ({ cotangents }) => [sumOfRows(onlyCotangent(cotangents), matrix), null, null],
    },
    [x, matrix.columns, matrix.scales],
    [productWithColumns(rounded, matrix)],
  )[0] as Value

/** Returns the values that rounded rows stand for: [N, K] f32. */
export function roundedRows({ bytes, factors }: RoundedRows): Value {
  const [rows, , width] = bytes.shape as readonly [Dim, number, Dim]
  const steps = sub(cast(bytes, 'float32'), constant([128], [1]))
  return reshape(matmul(factors, steps), [rows, width])
}

/** x Wᵀ, x [R, K] → [R, N]. Without a gradient: the head has a rule of its own, for which there is the other product. */
export const productWithColumns = (x: RoundedRows, { columns, scales }: ByteMatrix): Value =>
  integerMatmul(x, columns, scales)

/** x W, x [R, N] → [R, K]. */
const sumOfRows = (x: Value, { rows, scales }: ByteRows, round = roundRows): Value =>
  integerMatmul(round(mul(x, scales)), rows, constant([1], [1]))

/** Returns W in f32; also works for rows chosen by `gather`. */
export const floatRows = ({ rows, scales }: ByteRows): Value =>
  mul(cast(rows, 'float32'), reshape(scales, [scales.shape[0] as Dim, 1]))

/*
 * Products for devices that hold tensors. What is multiplied is f32, and so are the sums: an adapter of WebGPU adds products in 16
 * bits up in 16 bits.
 */

/** Frozen matrix in 16 bits that each product widens to f32 when it reads it. */
export interface WidenedMatrix {
  /** [N, K] f16 */
  readonly half: Value
}

/**
 * x Wᵀ or x W as (W xᵀ)ᵀ or (Wᵀ xᵀ)ᵀ. Of a product's factors ONNX Runtime computes the one first that was written last: with W as
 * the second, the f32 forms of all matrices of a program would be there before the first of them is multiplied.
 */
const afterwards = (x: Value, matrix: Value, { transA = false } = {}): Value =>
  transpose(matmul(matrix, x, { transA, transB: true }), [1, 0])

/** x Wᵀ, x [R, K]. The gradient widens W again: until then its f32 form need not wait. */
const widenedMatmul = (x: Value, matrix: WidenedMatrix): Value =>
  compose(
    {
      name: 'WidenedMatmul',
      vjp: ({ cotangents }) => [timesMatrix(onlyCotangent(cotangents), matrix), null],
    },
    [x, matrix.half],
    [afterwards(x, cast(matrix.half, 'float32'))],
  )[0] as Value

/** x Wᵀ with W in blocks. Its gradient takes W out of them, which the forward product does not. x […, K] f32 → […, N]. */
const blockMatmul = (x: Value, matrix: BlockRows): Value =>
  compose(
    {
      name: 'BlockMatmul',
      vjp: ({ cotangents }) => [timesMatrix(onlyCotangent(cotangents), matrix), null, null],
    },
    [x, matrix.blocks, matrix.scales],
    [quantizedMatmul(x, matrix, 'f32')],
  )[0] as Value

/** Numbers of all rows; one constant for matrices of one height. */
const allRows = (() => {
  const known = new Map<number, Value>()
  return (rows: number): Value => {
    const value = known.get(rows) ?? integers(Array.from({ length: rows }, (_, row) => row))
    known.set(rows, value)
    return value
  }
})()

/** A part of a matrix's rows: no larger than what a device binds at once. */
export type MatrixSlice = Value | ByteMatrix | WidenedMatrix | BlockRows

/** A frozen matrix [N, K] in slices of its rows, one after the other. */
export interface SlicedMatrix {
  readonly slices: readonly MatrixSlice[]
}

/** A frozen matrix [N, K] as a product reads it. */
export type FrozenMatrix = MatrixSlice | SlicedMatrix

export const isInBytes = (slice: MatrixSlice): slice is ByteMatrix => 'columns' in slice

export function rowCount(slice: MatrixSlice): number {
  if ('blocks' in slice) return slice.outputs
  if ('half' in slice) return slice.half.shape[0] as number
  return (isInBytes(slice) ? slice.rows : slice).shape[0] as number
}

/**
 * x Wᵀ with a frozen matrix in whatever it is held in. x […, K], W [N, K] → […, N] f32. `round` may remember the rows that
 * several products read.
 */
export function frozenMatmul(x: Value, matrix: FrozenMatrix, round = roundRows): Value {
  if ('slices' in matrix) return slicedMatmul(x, matrix)
  if ('columns' in matrix) return byteMatmul(x, matrix, round(x))
  if ('blocks' in matrix) return blockMatmul(x, matrix)
  if ('half' in matrix) return widenedMatmul(x, matrix)
  return isHalf(matrix.dtype) ? halfMatmul(x, matrix, { transB: true }) : matmul(x, matrix, { transB: true })
}

/**
 * x Wᵀ of every slice, joined. The gradient takes the columns of each slice by themselves: a kernel that cut all of them apart
 * would need more buffers at once than devices have bindings for.
 */
function slicedMatmul(x: Value, { slices }: SlicedMatrix): Value {
  const parts = slices.map((slice) => frozenMatmul(x, slice))
  if (parts.length === 1) return parts[0] as Value
  const vjp: CompositeOp['vjp'] = ({ cotangents }) => {
    let first = 0
    const terms = slices.map((slice) => {
      const count = rowCount(slice)
      first += count
      return timesMatrix(piece(onlyCotangent(cotangents), first - count, count, -1), slice)
    })
    return [sliceBySlice(terms, add)]
  }
  return compose({ name: 'SlicedMatmul', vjp }, [x], [concat(parts, -1)])[0] as Value
}

/** x W, x [R, N] → [R, K]. Without a gradient. */
export function timesMatrix(x: Value, slice: MatrixSlice, round = roundRows): Value {
  if ('blocks' in slice) return afterwards(x, blockRows(slice, allRows(slice.outputs)), { transA: true })
  if ('half' in slice) return afterwards(x, cast(slice.half, 'float32'), { transA: true })
  return isInBytes(slice) ? sumOfRows(x, slice, round) : matmul(x, slice)
}

/**
 * Rows of a matrix in slices, in f32. ids [I] i64 → [I, K]. Every slice gives a row for every id, and nothing of it where the id
 * is another slice's.
 */
export function slicedRows(slices: readonly MatrixSlice[], ids: Value): Value {
  const [only, ...others] = slices as readonly [MatrixSlice, ...MatrixSlice[]]
  if (others.length === 0) return rowsOf(only, ids)
  const [count] = ids.shape as readonly [Dim]
  const number = cast(ids, 'float32') // whole up to 2²⁴, which is more than any vocabulary
  let first = 0
  const parts = slices.map((slice) => {
    const start = first
    first += rowCount(slice)
    const isHere = mul(atMost(constant([start], [1]), number), atMost(number, constant([first - 1], [1])))
    const local = cast(mul(sub(number, constant([start], [1])), isHere), 'int64')
    return mul(rowsOf(slice, local), reshape(isHere, [count, 1]))
  })
  return sliceBySlice(parts, add)
}

function rowsOf(slice: MatrixSlice, ids: Value): Value {
  if ('blocks' in slice) return blockRows(slice, ids)
  if ('half' in slice) return cast(gather(slice.half, ids), 'float32')
  return isInBytes(slice)
    ? floatRows({ rows: gather(slice.rows, ids), scales: gather(slice.scales, ids) })
    : gather(slice, ids)
}

/**
 * Terms put together, nested so that ONNX Runtime, which walks back from the result and takes the input that was written last
 * first, adds each term right after it is computed. A slice has to leave one term: with two, put together apart, it would wait
 * for the second, and all slices would exist at once.
 */
export const sliceBySlice = (terms: readonly Value[], join: (term: Value, rest: Value) => Value): Value =>
  terms.reduceRight((rest, term) => join(term, rest))
