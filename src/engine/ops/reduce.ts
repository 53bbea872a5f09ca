import { type Dim, type Shape, axisIndex, sameShape, showShape } from '../graph/shape.ts'
import { type Op, type Value, apply, constant, integers } from '../graph/value.ts'
import { mul, scale } from './arithmetic.ts'
import { defineOp, inputOf, int, onlyCotangent } from './define.ts'
import { joinIntegers, lengthOf, reshape } from './layout.ts'

/** Reduced axes stay with length 1, so results broadcast back. */
function reduce(op: Op, x: Value, axes: readonly number[]): Value {
  const reduced = new Set(axes.map((axis) => axisIndex(axis, x.shape.length)))
  const shape = x.shape.map((dim, index) => (reduced.has(index) ? 1 : dim))
  const ordered = [...reduced].sort((a, b) => a - b)
  return apply(op, [x, integers(ordered)], { keepdims: int(1) }, [{ dtype: x.dtype, shape }])[0] as Value
}

export const expandOp = defineOp('Expand', ({ cotangents }) => [onlyCotangent(cotangents), null])
export const shapeOp = defineOp('Shape', 'A shape does not depend on the values.')

/** `x` broadcast to the shape of `like`, whose numbers do not matter. */
export function expandLike(x: Value, like: Value): Value {
  const shape = apply(shapeOp, [like], {}, [{ dtype: 'int64', shape: [like.shape.length] }])[0] as Value
  return apply(expandOp, [x, shape], {}, [{ dtype: x.dtype, shape: like.shape }])[0] as Value
}

/** The same row for each row of `like`. x [W], like [N, …] → [N, W]. */
export const forEachRow = (x: Value, like: Value): Value => {
  const lengths = joinIntegers([lengthOf(like, 0), integers(x.shape as readonly number[])])
  const shape = [like.shape[0] as Dim, ...x.shape]
  return apply(expandOp, [x, lengths], {}, [{ dtype: x.dtype, shape }])[0] as Value
}

/** Zeros of a shape that is fed: [n] i64. */
export const zeros = (lengths: Value, shape: Shape, like: Value | null = null): Value => {
  const dtype = like?.dtype === 'float64' ? 'float64' : 'float32'
  return apply(expandOp, [constant([0], [1], dtype), lengths], {}, [{ dtype, shape }])[0] as Value
}

export const reduceSumOp = defineOp('ReduceSum', ({ node, cotangents }) => [
  expandLike(onlyCotangent(cotangents), inputOf(node, 0)),
  null,
])
/** Sum over the axes, which stay with length 1. */
export const reduceSum = (x: Value, axes: readonly number[]): Value => reduce(reduceSumOp, x, axes)

export const reduceMaxOp = defineOp(
  'ReduceMax',
  'Used only as a shift that cancels, where its gradient is zero by construction, or in attention, which has its own rule.',
)
/** Largest element over the axes, which stay with length 1. */
export const reduceMax = (x: Value, axes: readonly number[]): Value => reduce(reduceMaxOp, x, axes)

export const reduceSumSquareOp = defineOp('ReduceSumSquare', ({ node, cotangents }) => [
  scale(mul(onlyCotangent(cotangents), inputOf(node, 0)), 2),
  null,
])
/** Σ x² over the last axis, which stays with length 1. */
export const reduceSumSquare = (x: Value): Value => reduce(reduceSumSquareOp, x, [-1])

/** Mean over the last axis, whose length must be a number. */
export function meanLastAxis(x: Value): Value {
  const width = x.shape.at(-1)
  if (typeof width !== 'number')
    throw new Error(`Expected a fixed last dimension, got ${showShape(x.shape)}.`)
  return scale(reduceSum(x, [-1]), 1 / width)
}

/** Undoes broadcasting: sums `x` to a shape that broadcasts to its own. */
export function sumToShape(x: Value, shape: Shape): Value {
  const lead = x.shape.length - shape.length
  const axes = x.shape.flatMap((dim, index) =>
    index < lead || (shape[index - lead] === 1 && dim !== 1) ? [index] : [],
  )
  const summed = axes.length > 0 ? reduceSum(x, axes) : x
  const result = lead > 0 ? reshape(summed, shape) : summed
  if (!sameShape(result.shape, shape)) {
    throw new Error(`A cotangent of shape ${showShape(x.shape)} does not fit ${showShape(shape)}.`)
  }
  return result
}

/** Σ a·b over the last axis, kept with length 1. */
export const dotLastAxis = (a: Value, b: Value): Value => reduceSum(mul(a, b), [-1])
