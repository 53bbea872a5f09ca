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

/** Where packed rows lie in padded blocks; the two directions are each other's inverse on the real rows. */
export interface RowMap {
  /** For each block its [S…] i64: the packed row of each slot, N where the slot is padding. */
  readonly slots: readonly Value[]
  /** [N] i64: the slot of each packed row, counted through all blocks one after the other. */
  readonly rows: Value
}

/** Packed rows into blocks whose padding is zero. x [N, C] → [S…, C] each. Its gradient is `packRows`. */
export function unpackRows(x: Value, map: RowMap): readonly Value[] {
  const padded = withZeroRow(x)
  const blocks = map.slots.map((slots) => gather(padded, slots))
  const vjp: CompositeOp['vjp'] = ({ node, cotangents }) => {
    const parts = cotangents.flatMap((cotangent) => cotangent ?? [])
    if (parts.length < node.outputs.length) throw new Error('Expected a cotangent for every block.')
    return [packRows(parts, map)]
  }
  return compose({ name: 'UnpackRows', vjp }, [x], blocks)
}

/** The real rows of padded blocks. blocks [S…, C] → [N, C]. Its gradient is `unpackRows`. */
export function packRows(blocks: readonly Value[], map: RowMap): Value {
  const rows = blocks.map((block) =>
    reshape(block, [product(block.shape.slice(0, -1)), block.shape.at(-1) as Dim]),
  )
  const packed = gather(concat(rows, 0), map.rows)
  const vjp: CompositeOp['vjp'] = ({ cotangents }) => unpackRows(onlyCotangent(cotangents), map)
  return compose({ name: 'PackRows', vjp }, blocks, [packed])[0] as Value
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
