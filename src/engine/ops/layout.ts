import { type Dim, type Shape, axisIndex, product, quotient, showShape, sum } from '../graph/shape.ts'
import { type Value, apply, integers } from '../graph/value.ts'
import { defineOp, inputOf, int, ints, onlyCotangent } from './define.ts'

export const reshapeOp = defineOp('Reshape', ({ node, cotangents }) => [
  reshapeLike(onlyCotangent(cotangents), inputOf(node, 0)),
  null,
])

/**
 * The same elements in another shape. Symbolic dimensions are written as ONNX's 0 (same as the input's at that place);
 * one that is not at its place may be inferred, and -1 asks for that explicitly.
 */
export function reshape(x: Value, target: Shape): Value {
  const shape = inferDims(x.shape, target)
  const written = writtenDims(x.shape, shape, target.indexOf(-1))
  if (!written) {
    throw new Error(
      `Cannot reshape ${showShape(x.shape)} to ${showShape(target)}: two dimensions are unknown.`,
    )
  }
  return apply(reshapeOp, [x, integers(written)], {}, [{ dtype: x.dtype, shape }])[0] as Value
}

/** Returns `x` in the shape of `like`; the graph reads the shape from `like` only where symbols must be told apart. */
function reshapeLike(x: Value, like: Value): Value {
  if (writtenDims(x.shape, like.shape, -1)) return reshape(x, like.shape)
  return reshapeTo(x, like.shape, dimensionsOf(like, 0, like.shape.length))
}

/** Splits the first axis [B·T, …] into the two first ones of `like` [B, T, …], whose lengths the graph reads from it. */
export function splitRows(x: Value, like: Value): Value {
  const [batch, length] = like.shape as readonly [Dim, Dim]
  const shape = [batch, length, ...x.shape.slice(1)]
  const rest = integers(x.shape.slice(1).map((dim) => (typeof dim === 'number' ? dim : -1)))
  return reshapeTo(x, shape, joinIntegers([dimensionsOf(like, 0, 2), rest]))
}

/** The same elements in a shape that the graph reads from `written`, [rank] i64 as ONNX has them: 0 as it was, -1 inferred. */
export const reshapeTo = (x: Value, shape: Shape, written: Value): Value =>
  apply(reshapeOp, [x, written], {}, [{ dtype: x.dtype, shape }])[0] as Value

/** Returns the dimensions to write in ONNX; `inferred` is the place of the -1. Null if a second -1 would be needed. */
function writtenDims(from: Shape, shape: Shape, inferred: number): number[] | null {
  const written = shape.map((dim, index) => {
    if (index === inferred) return -1
    if (typeof dim === 'number') return dim
    return from[index] === dim ? 0 : -1
  })
  return written.filter((dim) => dim === -1).length > 1 ? null : written
}

function inferDims(from: Shape, target: Shape): Shape {
  const known = product(target.filter((dim) => dim !== -1))
  const missing = quotient(product(from), known)
  const asked = target.filter((dim) => dim === -1).length
  if (missing === null || asked > 1 || (asked === 0 && missing !== 1)) {
    throw new Error(`Cannot reshape ${showShape(from)} to ${showShape(target)}.`)
  }
  return target.map((dim) => (dim === -1 ? missing : dim))
}

export const flattenOp = defineOp('Flatten', ({ node, cotangents }) => [
  reshapeLike(onlyCotangent(cotangents), inputOf(node, 0)),
])
/** The axes before `axis` joined into one, and those from it on into another, however many of them are symbols. */
export const flatten = (x: Value, axis: number): Value => {
  const shape = [product(x.shape.slice(0, axis)), product(x.shape.slice(axis))]
  return apply(flattenOp, [x], { axis: int(axis) }, [{ dtype: x.dtype, shape }])[0] as Value
}

export const transposeOp = defineOp('Transpose', ({ node, cotangents }) => {
  const order = node.attributes['perm'] as { ints: readonly number[] }
  const inverse = order.ints.map((_, axis) => order.ints.indexOf(axis))
  return [transpose(onlyCotangent(cotangents), inverse)]
})
/** Axes in a new order. */
export function transpose(x: Value, order: readonly number[]): Value {
  const shape = order.map((axis) => x.shape[axis] as Dim)
  return apply(transposeOp, [x], { perm: ints(order) }, [{ dtype: x.dtype, shape }])[0] as Value
}

// The pieces of the cotangent; each starts where the ones before it end.
export const concatOp = defineOp('Concat', ({ node, cotangents }) => {
  const dy = onlyCotangent(cotangents)
  const axis = (node.attributes['axis'] as { int: number }).int
  const lengths = new Set(node.inputs.map((_, index) => inputOf(node, index).shape[axis]))
  if (lengths.size === 1) return split(dy, axis, node.inputs.length)
  let start: Value = integers([0])
  return node.inputs.map((_, index) => {
    const part = inputOf(node, index)
    const end = addIntegers(start, lengthOf(part, axis))
    const piece = slice(dy, { axis, start, end, length: part.shape[axis] as Dim })
    start = end
    return piece
  })
})
/** One after the other along an axis. */
export function concat(parts: readonly Value[], axis: number): Value {
  const [first] = parts
  if (!first) throw new Error('Expected something to concatenate.')
  const at = axisIndex(axis, first.shape.length)
  const total = parts
    .slice(1)
    .reduce((length, part) => sum(length, part.shape[at] as Dim), first.shape[at] as Dim)
  const shape = first.shape.map((dim, index) => (index === at ? total : dim))
  return apply(concatOp, parts, { axis: int(at) }, [{ dtype: first.dtype, shape }])[0] as Value
}

export const dimensionOp = defineOp('Dimension', 'A length does not depend on the values.', {
  type: 'Shape',
})
const dimensionsOf = (x: Value, start: number, end: number): Value =>
  apply(dimensionOp, [x], { start: int(start), end: int(end) }, [
    { dtype: 'int64', shape: [end - start] },
  ])[0] as Value

/** Length of one axis as a value: [1] i64. */
export const lengthOf = (x: Value, axis: number): Value => {
  const at = axisIndex(axis, x.shape.length)
  return dimensionsOf(x, at, at + 1)
}

export const integerConcatOp = defineOp('IntegerConcat', 'Joins lengths, which are not differentiable.', {
  type: 'Concat',
})
/** i64 lists of fixed lengths, one after the other. */
export function joinIntegers(parts: readonly Value[]): Value {
  const length = parts.reduce((total, { shape }) => total + (shape[0] as number), 0)
  return apply(integerConcatOp, parts, { axis: int(0) }, [{ dtype: 'int64', shape: [length] }])[0] as Value
}

export const integerAddOp = defineOp('IntegerAdd', 'Adds lengths, which are not differentiable.', {
  type: 'Add',
})
/** a + b of i64, where b [1] is broadcast. */
export const addIntegers = (a: Value, b: Value): Value =>
  apply(integerAddOp, [a, b], {}, [{ dtype: 'int64', shape: a.shape }])[0] as Value

export const integerEqualOp = defineOp(
  'IntegerEqual',
  'Compares whole numbers, which are not differentiable.',
  {
    type: 'Equal',
  },
)
/** Compares a length, [1] i64, with a number. → [1] bool */
export const isLength = (length: Value, number: number): Value =>
  apply(integerEqualOp, [length, integers([number])], {}, [{ dtype: 'bool', shape: [1] }])[0] as Value

export interface SliceRange {
  readonly axis: number
  /** [1] i64 */
  readonly start: Value
  /** [1] i64, exclusive */
  readonly end: Value
  /** Length, end − start, as a dimension. */
  readonly length: Dim
}

export const sliceOp = defineOp(
  'Slice',
  'Only what was joined is cut again, where no gradient flows or a composite has its rule.',
)
/** Elements start ≤ i < end of one axis. */
export function slice(x: Value, { axis, start, end, length }: SliceRange): Value {
  const at = axisIndex(axis, x.shape.length)
  const shape = x.shape.map((dim, index) => (index === at ? length : dim))
  return apply(sliceOp, [x, start, end, integers([at])], {}, [{ dtype: x.dtype, shape }])[0] as Value
}

// Every part reaches the loss or none does: a part nobody asked about would have no cotangent to put in its place.
export const splitOp = defineOp('Split', ({ node, cotangents }) => {
  const axis = (node.attributes['axis'] as { int: number }).int
  const parts = cotangents.flatMap((cotangent) => cotangent ?? [])
  if (parts.length < cotangents.length) throw new Error('Expected a cotangent for every part of a split.')
  return node.inputs.length === 1 ? [concat(parts, axis)] : [concat(parts, axis), null]
})
/** Splits along an axis, whose length must be a multiple of `count`, into equal parts. */
export function split(x: Value, axis: number, count: number): readonly Value[] {
  const at = axisIndex(axis, x.shape.length)
  const length = quotient(x.shape[at] as Dim, count)
  if (length === null) {
    throw new Error(
      `Cannot split axis ${String(at)} of ${showShape(x.shape)} into ${String(count)} equal parts.`,
    )
  }
  const type = { dtype: x.dtype, shape: x.shape.map((dim, index) => (index === at ? length : dim)) }
  const types = Array.from({ length: count }, () => type)
  return apply(splitOp, [x], { axis: int(at), num_outputs: int(count) }, types)
}

/** Splits along an axis into parts of the given lengths, which must fill it. */
export function splitSizes(x: Value, axis: number, lengths: readonly number[]): readonly Value[] {
  const at = axisIndex(axis, x.shape.length)
  if (lengths.reduce((total, length) => total + length, 0) !== x.shape[at]) {
    throw new Error(
      `Cannot split axis ${String(at)} of ${showShape(x.shape)} into parts of ${lengths.join(', ')}.`,
    )
  }
  return splitAs(x, at, lengths, integers(lengths))
}

/** Takes a concatenation apart again; `sizes` [parts] i64 are the values of `lengths`. */
export const splitAs = (x: Value, axis: number, lengths: readonly Dim[], sizes: Value): readonly Value[] => {
  const at = axisIndex(axis, x.shape.length)
  const types = lengths.map((length) => ({
    dtype: x.dtype,
    shape: x.shape.map((dim, index) => (index === at ? length : dim)),
  }))
  return apply(splitOp, [x, sizes], { axis: int(at) }, types)
}

/** Elements `start` ≤ i < `start + length` of an axis. */
export const piece = (x: Value, start: number, length: number, axis = 0): Value =>
  slice(x, { axis, start: integers([start]), end: integers([start + length]), length })

/** Takes a concatenation of two apart again: the elements before `at` ([1] i64) and from it on. */
export function splitAt(
  x: Value,
  axis: number,
  { at, lengths: [before, after] }: { readonly at: Value; readonly lengths: readonly [Dim, Dim] },
): [Value, Value] {
  const start = slice(x, { axis, start: integers([0]), end: at, length: before })
  const end = slice(x, { axis, start: at, end: integers([Number.MAX_SAFE_INTEGER]), length: after })
  return [start, end]
}
