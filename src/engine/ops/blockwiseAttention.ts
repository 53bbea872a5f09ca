/**
 * Causal attention of packed tokens, one block of queries after the other, so that scores exist for one block only: memory
 * grows with the length of a sequence, not with its square (Rabe and Staats 2021, arXiv:2112.05682; the gradient computes
 * the scores again, as Dao 2023, arXiv:2307.08691, algorithm 2). The blocks are turns of an ONNX `Loop`: the memory of a turn
 * serves the next, and the gradients of keys and values are handed on from turn to turn. Whole programs
 * (runtime/segmentLearner.ts) do without: they keep the four parts of attention.ts at every length.
 */
import type { Dim } from '../graph/shape.ts'
import { product } from '../graph/shape.ts'
import { apply, compose, constant, integers, loop, outputOf } from '../graph/value.ts'
import type { CompositeOp, Value } from '../graph/value.ts'
import { add } from './arithmetic.ts'
import type { AttentionWeights, ScoreRule } from './attention.ts'
import { attentionGradients, attentionWeights, mixedValues } from './attention.ts'
import { defineOp, onlyCotangent, text } from './define.ts'
import { gather } from './gather.ts'
import { concat, joinIntegers, lengthOf, reshape, slice, split, transpose } from './layout.ts'
import { expandLike, zeros } from './reduce.ts'

export interface BlockLimits {
  /** Sequences are cut into blocks if the longest has more tokens than this. */
  readonly longerThan: number
  /** Queries of a block. */
  readonly rows: number
}

/** Limits measured as best: up to 1,024 tokens a quarter of a sequence is no larger than a block (bench/history/attention.md). */
export const defaultBlocks: BlockLimits = { longerThan: 1_024, rows: 256 }

/** Starts of the blocks of the positions `from` ≤ i < `end`. */
export const blockStarts = (from: number, end: number, rows: number): number[] =>
  Array.from({ length: Math.ceil(Math.max(0, end - from) / rows) }, (_, block) => from + block * rows)

/** The columns of a table of blocks; the queries and keys of a block are `from` ≤ i < `end`. */
export const blockColumns = [
  'query from',
  'query end',
  'key from',
  'key end',
  'mask from',
  'mask end',
  'padding',
] as const

/** Queries that form a block, and the keys they see. */
export interface QueryBlocks {
  /** [I, 7] i64: of each block its `blockColumns`. */
  readonly table: Value
  /** [T] i64: the packed row of each key, sequence by sequence. */
  readonly keyRows: Value
  /** [N] i64: where each packed row stands among the queries of all blocks, each padded to Q rows. */
  readonly places: Value
  /** [Q, M]: added to the scores; of each block as many rows as it has queries, and the columns that its table says. */
  readonly mask: Value
}

export interface BlockwiseAttentionInputs {
  /** [N, H·C] */
  readonly queries: Value
  /** [N, K·C] */
  readonly keys: Value
  /** [N, K·C] */
  readonly values: Value
  readonly blocks: QueryBlocks
  readonly kvHeads: number
  readonly headDim: number
  readonly scores: ScoreRule
  /** Score of the sink of each head of a query, [N, H], which is frozen; null: they have none. */
  readonly sinks: Value | null
}

/** → [N, H·C] */
export function blockwiseAttention(inputs: BlockwiseAttentionInputs): Value {
  const { queries, keys, values, blocks, sinks } = inputs
  const { table, keyRows, places, mask } = blocks
  const sunk = sinks === null ? [] : [sinks]
  const { stacked } = loop({
    turns: lengthOf(table, 0),
    reads: [table, keyRows, mask, queries, keys, values, ...sunk],
    initial: [],
    body(turn, [ownTable, ownRows, ownMask, q, k, v, s]) {
      const block = openBlock(inputs, { table: ownTable, keyRows: ownRows, mask: ownMask } as Tables, turn)
      const weighed = block.weights(block.queries(q as Value), block.keys(k as Value), s)
      return { next: [], stacked: [block.padded(mixedValues(weighed, block.keys(v as Value)))] }
    },
  })
  // The gradient reads the composite's result, in whose place an activation may have been kept.
  const vjp: CompositeOp['vjp'] = ({ node, cotangents }) => [
    ...blockwiseGradients(inputs, outputOf(node), onlyCotangent(cotangents)),
    ...[null, null, null, null],
    ...sunk.map(() => null),
  ]
  const mixed = gather(rowsOf(stacked[0] as Value), places)
  const reads = [queries, keys, values, table, keyRows, places, mask, ...sunk]
  return compose({ name: 'BlockwiseAttention', vjp }, reads, [mixed])[0] as Value
}

/** Computes the gradients of queries, keys and values. */
function blockwiseGradients(
  inputs: BlockwiseAttentionInputs,
  mixed: Value,
  dMixed: Value,
): readonly [Value, Value, Value] {
  const { queries, keys, values, blocks, scores, sinks } = inputs
  const { table, keyRows, places, mask } = blocks
  const none = expandLike(constant([0], [1, 1], keys.dtype === 'float64' ? 'float64' : 'float32'), keys)
  const { last, stacked } = loop({
    turns: lengthOf(table, 0),
    reads: [table, keyRows, mask, queries, keys, values, mixed, dMixed, ...(sinks === null ? [] : [sinks])],
    initial: [none, none],
    body(turn, [ownTable, ownRows, ownMask, q, k, v, o, dO, s], [dKeys, dValues]) {
      const block = openBlock(inputs, { table: ownTable, keyRows: ownRows, mask: ownMask } as Tables, turn)
      const [own, seen, heard] = [block.queries(q as Value), block.keys(k as Value), block.keys(v as Value)]
      const result = { mixed: block.queries(o as Value), dMixed: block.queries(dO as Value) }
      const attended = { queries: own, keys: seen, values: heard, scores }
      const found = attentionGradients(attended, block.weights(own, seen, s), result)
      return {
        next: [block.addToKeys(dKeys as Value, found.keys), block.addToKeys(dValues as Value, found.values)],
        stacked: [block.padded(found.queries)],
      }
    },
  })
  return [gather(rowsOf(stacked[0] as Value), places), last[0] as Value, last[1] as Value]
}

/** [I, Q, W] → [I·Q, W] */
const rowsOf = (x: Value): Value => reshape(x, [product(x.shape.slice(0, 2)), x.shape[2] as Dim])

type Tables = Pick<QueryBlocks, 'table' | 'keyRows' | 'mask'>

/** One block: q queries of each head, which see t keys. */
function openBlock(
  { kvHeads, headDim, queries, scores }: BlockwiseAttentionInputs,
  { table, keyRows, mask }: Tables,
  turn: Value,
) {
  const width = queries.shape[1] as number
  const group = width / (kvHeads * headDim)
  const columns = split(gather(table, turn), 0, blockColumns.length)
  const column = (name: (typeof blockColumns)[number]) => columns[blockColumns.indexOf(name)] as Value
  const [from, end] = [column('query from'), column('query end')]
  const rows = slice(keyRows, { axis: 0, start: column('key from'), end: column('key end'), length: 't' })
  const ownMask = slice(
    slice(mask, { axis: 1, start: column('mask from'), end: column('mask end'), length: 't' }),
    { axis: 0, start: integers([0]), end: difference(end, from), length: 'q' },
  )
  const masked = (x: Value) =>
    reshape(add(reshape(x, [kvHeads * group, 'q', 't']), ownMask), [kvHeads, product([group, 'q']), 't'])
  /** [N, H·C] → [K, g·q, C] */
  const ofQueries = (x: Value, channels = headDim): Value => {
    const own = slice(x, { axis: 0, start: from, end, length: 'q' })
    const heads = transpose(reshape(own, ['q', kvHeads, group, channels]), [1, 2, 0, 3])
    return reshape(heads, [kvHeads, product([group, 'q']), channels])
  }
  return {
    queries: ofQueries,
    /** [N, K·C] → [K, t, C] */
    keys: (x: Value): Value => transpose(reshape(gather(x, rows), ['t', kvHeads, headDim]), [1, 0, 2]),
    /** `sinks` [N, H] */
    weights: (own: Value, seen: Value, sinks: Value | undefined): AttentionWeights =>
      attentionWeights(
        { queries: own, keys: seen, scores, sinks: sinks === undefined ? null : ofQueries(sinks, 1) },
        masked,
      ),
    /** [K, g·q, C] → [Q, H·C], the rows behind the queries zero. */
    padded: (x: Value): Value => {
      const heads = transpose(reshape(x, [kvHeads, group, 'q', headDim]), [2, 0, 1, 3])
      const padding = zeros(joinIntegers([column('padding'), integers([width])]), ['p', width], x)
      return concat([reshape(heads, ['q', width]), padding], 0)
    },
    /** total [N, K·C] and, at the rows of the keys, part [K, t, C]. */
    addToKeys: (total: Value, part: Value): Value => {
      const updates = reshape(transpose(part, [1, 0, 2]), ['t', kvHeads * headDim])
      const places = reshape(rows, ['t', 1])
      return apply(scatterAddOp, [total, places, updates], { reduction: text('add') }, [total])[0] as Value
    },
  }
}

export const scatterAddOp = defineOp(
  'ScatterAdd',
  'Used inside blockwise attention, which has its own rule.',
  {
    type: 'ScatterND',
  },
)
export const integerSubOp = defineOp('IntegerSub', 'Subtracts places, which are not differentiable.', {
  type: 'Sub',
})
/** a − b, both [1] i64. */
const difference = (a: Value, b: Value): Value => apply(integerSubOp, [a, b], {}, [a])[0] as Value
