/** Heads of linear attention: rows of all heads made rows of each, in chunks of positions and one by one. */
import { type Dim, product } from '../graph/shape.ts'
import { type Value, constant, integers } from '../graph/value.ts'
import { mul } from '../ops/arithmetic.ts'
import { type DeltaRuleInputs, recurrentStep } from '../ops/deltaRule.ts'
import { reshape, reshapeTo, transpose } from '../ops/layout.ts'
import type { Recurrence } from './config.ts'
import type { RecurrentForms } from './layerScope.ts'

/** Rows of all heads. */
interface RecurrentRows {
  /** [N, h·K], of which each of h heads serves H / h neighbours; keys too. */
  readonly queries: Value
  readonly keys: Value
  /** [N, H·V] */
  readonly values: Value
  /** [N, H] */
  readonly decays: Value
  /** [N, H]; absent: of a rule without. */
  readonly strengths?: Value
}

const names = ['queries', 'keys', 'values', 'decays', 'strengths'] as const

/** The rows in the order in which forms take them. */
export const rowsOf = (rows: RecurrentRows): Value[] => names.flatMap((name) => rows[name] ?? [])

/** A rule in chunks, as `gatedDeltaRule` or `decayingSum`, and its step for one row of each sequence. */
export function recurrentForms(
  { keyHeads, valueHeads, keyDim, valueDim }: Recurrence,
  rule: (inputs: DeltaRuleInputs) => { readonly mixed: Value; readonly last: Value },
): RecurrentForms {
  const named = (rows: readonly Value[], byHead: (x: Value, heads: number) => Value) =>
    Object.fromEntries(
      rows.map((x, index) => [names[index], byHead(x, index < 2 ? keyHeads : valueHeads)]),
    ) as unknown as Omit<DeltaRuleInputs, 'initial' | 'backwards'>
  return {
    inChunks(rows, before, { cut, join, backwards }) {
      const inputs = named(rows, (x, heads) => headsOf(cut(x), heads, valueHeads))
      const { mixed, last } = rule({ ...inputs, initial: reshape(before, [-1, keyDim, valueDim]), backwards })
      return { mixed: join(fromHeads(mixed, valueHeads)), last: reshape(last, before.shape) }
    },
    atOnce(rows, before) {
      // As many rows as sequences, which the names of their axes do not say.
      const count = (rows[0] as Value).shape[0] as Dim
      const all = [product([count, valueHeads]), keyDim, valueDim]
      const inputs = named(rows, (x, heads) => eachHead(x, heads, valueHeads))
      const initial = reshapeTo(before, all, integers([-1, keyDim, valueDim]))
      const { mixed, last } = recurrentStep({ ...inputs, initial })
      const behind = reshapeTo(last, before.shape, integers([-1, valueHeads, keyDim, valueDim]))
      return { mixed: reshape(mixed, [count, valueHeads * valueDim]), last: behind }
    },
  }
}

/** [M, B, C, h·d] → [M, B·H, C, d]; each of h heads serves H / h neighbours. */
function headsOf(x: Value, heads: number, all: number): Value {
  const [chunks, batch, length, width] = x.shape as readonly [Dim, Dim, number, number]
  const channels = width / heads
  const apart = transpose(reshape(x, [chunks, batch, length, heads, channels]), [0, 1, 3, 2, 4])
  if (heads === all) return reshape(apart, [chunks, -1, length, channels])
  const repeated = mul(
    reshape(apart, [chunks, batch, heads, 1, length, channels] as const),
    ones(all / heads),
  )
  return reshape(repeated, [chunks, -1, length, channels])
}

const ones = (count: number): Value => constant(new Array<number>(count).fill(1), [count, 1, 1])

/** [N, h·d] → [N·H, 1, d] */
function eachHead(x: Value, heads: number, all: number): Value {
  const [rows, width] = x.shape as readonly [Dim, number]
  const channels = width / heads
  if (heads === all) return reshape(x, [-1, 1, channels])
  return reshape(mul(reshape(x, [rows, heads, 1, 1, channels]), ones(all / heads)), [-1, 1, channels])
}

/** [M, B·H, C, V] → [M, B, C, H·V] */
function fromHeads(x: Value, heads: number): Value {
  const [chunks, , length, channels] = x.shape as readonly [Dim, Dim, number, number]
  const apart = transpose(reshape(x, [chunks, -1, heads, length, channels]), [0, 1, 3, 2, 4])
  return reshape(apart, [chunks, -1, length, heads * channels])
}
