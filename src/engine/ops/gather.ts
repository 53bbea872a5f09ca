import type { Dim } from '../graph/shape.ts'
import { product } from '../graph/shape.ts'
import type { CompositeOp, Value } from '../graph/value.ts'
import { apply, compose, constant } from '../graph/value.ts'
import { defineOp, int, onlyCotangent } from './define.ts'
import { concat, reshape } from './layout.ts'

export const gatherOp = defineOp('Gather', 'Embedding gradients are summed row by row outside the graph.')
/** Rows of a table. table [V, D], indices […] i64 → […, D]. */
export const gather = (table: Value, indices: Value): Value =>
  apply(gatherOp, [table, indices], { axis: int(0) }, [
    { dtype: table.dtype, shape: [...indices.shape, ...table.shape.slice(1)] },
  ])[0] as Value

const withZeroRow = (x: Value): Value => {
  const width = x.shape[1] as number
  const zeros = constant(
    new Array<number>(width).fill(0),
    [1, width],
    x.dtype === 'float64' ? 'float64' : 'float32',
  )
  return concat([x, zeros], 0)
}

/** Where packed rows lie in a padded block; each is the other's inverse on the real rows. */
export interface RowMap {
  /** [B, T] i64: the packed row of each slot, N where the slot is padding. */
  readonly slots: Value
  /** [N] i64: the slot (row-major over B, T) of each packed row. */
  readonly rows: Value
}

/** Packed rows into a padded block whose padding is zero. x [N, D] → [B, T, D]. Its gradient is `packRows`. */
export function unpackRows(x: Value, map: RowMap): Value {
  const padded = gather(withZeroRow(x), map.slots)
  const vjp: CompositeOp['vjp'] = ({ cotangents }) => [packRows(onlyCotangent(cotangents), map)]
  return compose({ name: 'UnpackRows', vjp }, [x], [padded])[0] as Value
}

/** The real rows of a padded block. y [B, T, D] → [N, D]. Its gradient is `unpackRows`. */
export function packRows(y: Value, map: RowMap): Value {
  const [batch, length, width] = y.shape as readonly [Dim, Dim, Dim]
  const packed = gather(reshape(y, [product([batch, length]), width]), map.rows)
  const vjp: CompositeOp['vjp'] = ({ cotangents }) => [unpackRows(onlyCotangent(cotangents), map)]
  return compose({ name: 'PackRows', vjp }, [y], [packed])[0] as Value
}

export const gatherElementsOp = defineOp(
  'GatherElements',
  'Used inside the vocabulary head, which has its own rule.',
)
/** One element of each row. x [N, V], indices [N, 1] i64 → [N, 1]. */
export const gatherElements = (x: Value, indices: Value): Value =>
  apply(gatherElementsOp, [x, indices], { axis: int(1) }, [
    { dtype: x.dtype, shape: indices.shape },
  ])[0] as Value
