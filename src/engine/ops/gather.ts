import { type Dim, product } from '../graph/shape.ts'
import { type CompositeOp, type Value, apply, compose, constant } from '../graph/value.ts'
import { add } from './arithmetic.ts'
import { withElements } from './choice.ts'
import { defineOp, inputOf, int, onlyCotangent } from './define.ts'
import { concat, reshape } from './layout.ts'
import { expandLike, reduceSum } from './reduce.ts'

export const gatherOp = defineOp('Gather', 'Embedding gradients are summed row by row outside the graph.')
/** Rows of a table. table [V, D], indices […] i64 → […, D]. */
export const gather = (table: Value, indices: Value): Value =>
  apply(gatherOp, [table, indices], { axis: int(0) }, [
    { dtype: table.dtype, shape: [...indices.shape, ...table.shape.slice(1)] },
  ])[0] as Value

const zeroRow = (x: Value): Value => {
  const width = x.shape.at(-1) as number
  const dtype = x.dtype === 'float64' ? 'float64' : 'float32'
  return constant(new Array<number>(width).fill(0), [1, width], dtype)
}

/** Places of packed rows in padded blocks; each row is in at least one. */
export interface RowMap {
  /** Packed row of each slot, one [S…] i64 for each block; N where the slot is padding. */
  readonly slots: readonly Value[]
  /**
   * The slots of each packed row, counted through all blocks one after the other: [N] i64 where each has one, [U, N]
   * where it has up to U; what there is less of them points behind the last slot.
   */
  readonly rows: Value
  /** Rows that have more than one slot; none if absent. Needs `rows` of [U, N]. */
  readonly shared?: SharedRows
}

/** The many slots of a few packed rows. */
export interface SharedRows {
  /** [M, R] i64: further slots of R rows, counted as in `RowMap.rows`. */
  readonly slots: Value
  /** [N] i64: which of the R each packed row is; R where it is none of them. */
  readonly places: Value
}

/** Packed rows into blocks whose padding is zero. x [N, C] → [S…, C] each. Its gradient is `packRows`. */
export function unpackRows(x: Value, map: RowMap): readonly Value[] {
  const padded = concat([x, zeroRow(x)], 0)
  const blocks = map.slots.map((slots) => gather(padded, slots))
  const vjp: CompositeOp['vjp'] = ({ node, cotangents }) => {
    const parts = cotangents.flatMap((cotangent) => cotangent ?? [])
    if (parts.length < node.outputs.length) throw new Error('Expected a cotangent for every block.')
    return [packRows(parts, map)]
  }
  return compose({ name: 'UnpackRows', vjp }, [x], blocks)
}

/** The real rows of padded blocks; one that stands in several is their sum. blocks [S…, C] → [N, C]. Its gradient is `unpackRows`. */
export function packRows(blocks: readonly Value[], map: RowMap): Value {
  const all = blocks.map((block) =>
    reshape(block, [product(block.shape.slice(0, -1)), block.shape.at(-1) as Dim]),
  )
  const packed = map.rows.shape.length === 1 ? gather(concat(all, 0), map.rows) : sumOfSlots(all, map)
  const vjp: CompositeOp['vjp'] = ({ cotangents }) => unpackRows(onlyCotangent(cotangents), map)
  return compose({ name: 'PackRows', vjp }, blocks, [packed])[0] as Value
}

/** blocks [S, C] each → [N, C]. */
function sumOfSlots(blocks: readonly Value[], { rows, shared }: RowMap): Value {
  const [first] = blocks as readonly [Value, ...Value[]]
  const padded = concat([...blocks, zeroRow(first)], 0)
  const sumOf = (slots: Value): Value => {
    const found = gather(padded, slots) // [U, N, C]
    return reshape(reduceSum(found, [0]), found.shape.slice(1))
  }
  const packed = sumOf(rows)
  if (!shared) return packed
  const further = sumOf(shared.slots)
  return add(packed, gather(concat([further, zeroRow(further)], 0), shared.places))
}

export const gatherElementsOp = defineOp('GatherElements', ({ node, cotangents }) => {
  const x = inputOf(node, 0)
  const nothing = expandLike(constant([0], [1, 1], x.dtype === 'float64' ? 'float64' : 'float32'), x)
  return [withElements(nothing, inputOf(node, 1), onlyCotangent(cotangents)), null]
})
/** Some elements of each row, which differ. x [N, V], indices [N, k] i64 → [N, k]. */
export const gatherElements = (x: Value, indices: Value): Value =>
  apply(gatherElementsOp, [x, indices], { axis: int(1) }, [
    { dtype: x.dtype, shape: indices.shape },
  ])[0] as Value
