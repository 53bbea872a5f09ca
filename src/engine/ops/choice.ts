/** Operations for choosing tokens inside the graph; no gradient passes through them. */
import { type Dim, broadcast } from '../graph/shape.ts'
import { type Value, apply, integers } from '../graph/value.ts'
import { cast } from './arithmetic.ts'
import { defineOp, int } from './define.ts'
import { reshape } from './layout.ts'

const CHOOSES = 'Used to choose tokens, which is not differentiable.'

export const cumulativeSumOp = defineOp('CumSum', CHOOSES)
/** Running sums along the last axis. x [B, n] → [B, n]. */
export const cumulativeSum = (x: Value): Value =>
  apply(cumulativeSumOp, [x, lastAxis(x)], {}, [x])[0] as Value

const lastAxis = (x: Value): Value => integers([x.shape.length - 1])

export const lessOrEqualOp = defineOp('LessOrEqual', CHOOSES)
/** a ≤ limit as bool, broadcast. */
export const isAtMost = (a: Value, limit: Value): Value =>
  apply(lessOrEqualOp, [a, limit], {}, [
    { dtype: 'bool', shape: broadcast(a.shape, limit.shape) },
  ])[0] as Value
/** 1 where a ≤ limit, else 0; broadcast. */
export const atMost = (a: Value, limit: Value): Value => cast(isAtMost(a, limit), 'float32')

export const whereOp = defineOp('Where', CHOOSES)
/** Integers of `a` that are not negative, those of `b` in the place of the others; [N, k] i64 each. */
export const whereAny = (a: Value, b: Value): Value =>
  apply(whereOp, [isAtMost(integers([0]), a), a, b], {}, [b])[0] as Value

export const argMaxOp = defineOp('ArgMax', CHOOSES)
/** Index of the first of the largest elements of each row. x [B, V] → [B, 1] i64. */
export const argMax = (x: Value): Value =>
  apply(argMaxOp, [x], { axis: int(-1), keepdims: int(1) }, [
    { dtype: 'int64', shape: [...x.shape.slice(0, -1), 1] },
  ])[0] as Value

export const topKOp = defineOp('TopK', CHOOSES)

export interface TopCount {
  /** [1] i64 */
  readonly value: Value
  readonly length: Dim
  /** The smallest instead, the smallest first; false if absent. */
  readonly smallest?: boolean
}

/** The largest elements of each row, the largest first, and their indices; of equals, those before. [N, E] → [N, k] each. */
export function topK(x: Value, { value, length, smallest = false }: TopCount): readonly [Value, Value] {
  const shape = [...x.shape.slice(0, -1), length]
  const attributes = { axis: int(-1), largest: int(Number(!smallest)), sorted: int(1) }
  const types = [x.dtype, 'int64' as const].map((dtype) => ({ dtype, shape }))
  return apply(topKOp, [x, value], attributes, types) as [Value, Value]
}

export const gatherNdOp = defineOp('GatherND', CHOOSES)
/** Rows of each matrix. x [B, n, W], indices [B, E] i64 → [B, E, W]. */
export const rowsOf = (x: Value, indices: Value): Value =>
  apply(gatherNdOp, [x, reshape(indices, [...indices.shape, 1])], { batch_dims: int(1) }, [
    { dtype: x.dtype, shape: [...indices.shape, x.shape[2] ?? 1] },
  ])[0] as Value

export const scatterElementsOp = defineOp('ScatterElements', CHOOSES)
/** x [B, n], but with those values at the indices of each row, [B, E] i64, which differ. values [B, E]. */
export const withElements = (x: Value, indices: Value, values: Value): Value =>
  apply(scatterElementsOp, [x, indices, values], { axis: int(1) }, [x])[0] as Value
