/**
 * Mixtures of experts: every token goes through a few of many small networks, and the work grows with these few alone. The
 * rows of all tokens stand sorted by expert, so that a product takes the rows of one expert at a time. Shazeer et al. 2017,
 * arXiv:1701.06538; Gale et al. 2022, arXiv:2211.15841.
 */
import { type Dim, product } from '../graph/shape.ts'
import {
  type CompositeOp,
  type TensorType,
  type Value,
  apply,
  compose,
  input,
  integers,
} from '../graph/value.ts'
import { add, cast } from './arithmetic.ts'
import { topK } from './choice.ts'
import { defineOp, int, onlyCotangent } from './define.ts'
import { gather } from './gather.ts'
import { gradients } from './gradient.ts'
import { concatOp, integerEqualOp, lengthOf, reshape, splitAs } from './layout.ts'
import { reduceSum } from './reduce.ts'

const CHOOSES = 'Chooses or counts, which is not differentiable.'

/** Indices of the `count` largest of each row, the largest first; of equals, those before. x [N, E] → [N, count] i64. */
export const largest = (x: Value, count: number): Value =>
  topK(x, { value: integers([count]), length: count })[1]

/** Order that sorts numbers from the smallest on; equals stay in their order. x [M] i64 → [M] i64. */
const ascending = (x: Value): Value =>
  topK(x, { value: lengthOf(x, 0), length: x.shape[0] as Dim, smallest: true })[1]

export const integerDivOp = defineOp('IntegerDiv', CHOOSES, { type: 'Div' })

/** Places of M = N·k rows, k of each token, where they stand sorted by expert. */
export interface ExpertRows {
  /** Experts of each token. */
  readonly each: number
  /** [M] i64: which of the unsorted rows, a token's one after the other, each sorted one is. */
  readonly order: Value
  /** [M] i64: its expert. */
  readonly experts: Value
  /** [M] i64: its token. */
  readonly tokens: Value
  /** [M] i64: where each of the unsorted rows stands. */
  readonly places: Value
  /** [E] i64: rows of every expert. */
  readonly counts: Value
}

/** Sorts by expert. chosen [N, k] i64: the experts of each token. */
export function expertRows(chosen: Value, experts: number): ExpertRows {
  const [rows, each] = chosen.shape as readonly [Dim, number]
  const all = reshape(chosen, [product([rows, each])])
  const order = ascending(all)
  const numbers = integers(Array.from({ length: experts }, (_, expert) => expert))
  const column = reshape(all, [...all.shape, 1])
  const isOf = apply(integerEqualOp, [column, numbers], {}, [
    { dtype: 'bool', shape: [...all.shape, experts] },
  ])[0] as Value
  return {
    each,
    order,
    experts: gather(all, order),
    tokens: apply(integerDivOp, [order, integers([each])], {}, [order])[0] as Value,
    places: ascending(order),
    counts: reshape(reduceSum(cast(isOf, 'int64'), [0]), [experts]),
  }
}

/** The row of its token for each sorted row. x [N, D] → [M, D]. */
export function toExperts(x: Value, { each, tokens, places }: ExpertRows): Value {
  const vjp: CompositeOp['vjp'] = ({ node, cotangents }) => {
    const unsorted = gather(onlyCotangent(cotangents), places)
    const [rows, width] = (node.inputs[0] as Value).shape as readonly [Dim, Dim]
    const sum = reduceSum(reshape(unsorted, [rows, each, width]), [1])
    return [reshape(sum, [rows, width])]
  }
  return compose({ name: 'ToExperts', vjp }, [x], [gather(x, tokens)])[0] as Value
}

/** Sorted rows back in the order of the tokens. y [M, D] → [M, D]. */
export const fromExperts = (y: Value, { order, places }: ExpertRows): Value => {
  const vjp: CompositeOp['vjp'] = ({ cotangents }) => [gather(onlyCotangent(cotangents), order)]
  return compose({ name: 'FromExperts', vjp }, [y], [gather(y, places)])[0] as Value
}

/**
 * Multiplies each expert's rows by themselves. x [M, K] sorted by expert, `multiply` [·, K] → [·, width] of one expert, which
 * is linear and does not learn → [M, width].
 */
export function byExpert(
  x: Value,
  { counts }: Pick<ExpertRows, 'counts'>,
  width: number,
  multiply: (rows: Value, expert: number) => Value,
): Value {
  const [rows, inputs] = x.shape as readonly [Dim, Dim]
  const vjp: CompositeOp['vjp'] = ({ cotangents }) => {
    const pieces = apart(onlyCotangent(cotangents), counts).map((cotangent, expert) => {
      // What is linear has a gradient that does not depend on the rows.
      const any = input('rows of an expert', x.dtype, [cotangent.shape[0] as Dim, inputs])
      return gradients([{ value: multiply(any, expert), cotangent }], [any])[0] as Value
    })
    return [together(pieces, x)]
  }
  const products = together(apart(x, counts).map(multiply), { dtype: x.dtype, shape: [rows, width] })
  return compose({ name: 'ByExpert', vjp }, [x], [products])[0] as Value
}

/** Adds to each row the frozen one of its expert. y [M, W] sorted by expert, table [E, W] → [M, W]. */
export function addByExpert(y: Value, table: Value, { experts }: Pick<ExpertRows, 'experts'>): Value {
  const vjp: CompositeOp['vjp'] = ({ cotangents }) => [onlyCotangent(cotangents), null]
  return compose({ name: 'AddByExpert', vjp }, [y, table], [add(y, gather(table, experts))])[0] as Value
}

const apart = (x: Value, counts: Value): readonly Value[] => {
  const lengths = Array.from({ length: counts.shape[0] as number }, (_, expert) => `E${String(expert)}`)
  return splitAs(x, 0, lengths, counts)
}

/** The lengths of the parts add up to what the type says, which their names do not. */
const together = (parts: readonly Value[], { dtype, shape }: TensorType): Value =>
  apply(concatOp, parts, { axis: int(0) }, [{ dtype, shape }])[0] as Value
