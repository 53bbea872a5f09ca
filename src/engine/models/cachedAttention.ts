/**
 * Attention of new positions over what they see: prompts that rows share, slots that each row has to itself, and the new
 * positions. Scores are joined, keys and values never are: nothing as large as a cache is copied.
 */
import { product, type Dim } from '../graph/shape.ts'
import { integers, type Value } from '../graph/value.ts'
import { softcap, softmax } from '../ops/activation.ts'
import { add, mul } from '../ops/arithmetic.ts'
import { addMask, largestOf, shareOfKeys } from '../ops/attention.ts'
import { gather } from '../ops/gather.ts'
import {
  concat,
  flatten,
  joinIntegers,
  lengthOf,
  piece,
  reshape,
  reshapeTo,
  splitAs,
  splitAt,
  transpose,
} from '../ops/layout.ts'
import { matmul } from '../ops/matmul.ts'
import type { HeadShape, ModelConfig } from './config.ts'

/** [B, K, slots, C] */
export interface KeyValue {
  readonly key: Value
  readonly value: Value
}

/** Keys and values of the G prompts that rows start from, each stored once: [G, K, S, C]. */
export interface SharedPrompts extends KeyValue {
  /**
   * [G, K, n] i64: the rows of each prompt, as row · K + key head; places that no row takes may name any. A row without a
   * prompt is among the rows of one that its mask hides.
   */
  readonly rows: Value
  /** [B, K] i64: where among those each row is, counted through. */
  readonly places: Value
  /** [3] i64: S, P and T. */
  readonly sizes: Value
}

export interface SeenSlots {
  /** A row's own, one or two. */
  readonly parts: readonly KeyValue[]
  /** Present only with two parts. */
  readonly prompts?: SharedPrompts | undefined
  /** [B, 1, R, S+P+T]; without prompts S is 0. */
  readonly mask: Value
  /** T */
  readonly length: Dim
  /** Score of each head's sink, [H]; null: they have none. */
  readonly sinks: Value | null
}

/** q [B·T, H·C] → [B·T, H·C] */
export function cachedAttention(
  { attentionScale: alpha, attentionSoftcap: cap }: Pick<ModelConfig, 'attentionScale' | 'attentionSoftcap'>,
  { heads, kvHeads, headDim }: HeadShape,
  q: Value,
  seen: SeenSlots,
): Value {
  const { parts, prompts, mask, length, sinks } = seen
  const group = heads / kvHeads
  const split = transpose(reshape(q, ['B', length, kvHeads, group, headDim]), [0, 2, 3, 1, 4])
  const queries = reshape(split, ['B', kvHeads, -1, headDim]) // [B, K, g·T, C]
  const scored = (rows: Value, key: Value) => matmul(rows, key, { transB: true, alpha })
  const own = parts.map(({ key }) => scored(queries, key))
  const common = prompts ? [ofPrompts(queries, prompts, (rows) => scored(rows, prompts.key))] : []
  const all = [...common, ...own]
  const scores = all.length === 1 ? (all[0] as Value) : concat(all, 3)
  const masked = addMask(cap === null ? scores : softcap(scores, cap), mask)
  const weights = softmax(masked)
  const mixed = prompts ? mixedWithPrompts(weights, prompts, parts) : mixedValues(weights, parts)
  const kept = sinks === null ? mixed : besideSinks(mixed, largestOf(masked, weights), sinks, length)
  const joined = transpose(reshape(kept, ['B', kvHeads, group, length, headDim]), [0, 3, 1, 2, 4])
  return reshape(joined, [product(['B', length]), heads * headDim])
}

/** Takes from the mixed values the share of a sink of each head; mixed [B, K, g·T, C], sinks [H] → [B, H, T, C]. */
function besideSinks(
  mixed: Value,
  { score, weight }: ReturnType<typeof largestOf>,
  sinks: Value,
  length: Dim,
): Value {
  const [heads] = sinks.shape as readonly [number]
  const byHead = (x: Value) => reshape(x, ['B', heads, length, x.shape[3] as Dim])
  const share = shareOfKeys({ score: byHead(score), weight: byHead(weight) }, reshape(sinks, [heads, 1, 1]))
  return mul(byHead(mixed), share)
}

/** [B, K, g·T, C] */
function mixedValues(weights: Value, [first, second]: readonly KeyValue[]): Value {
  if (!first) throw new Error('Expected something to attend to.')
  if (!second) return matmul(weights, first.value)
  const [past, fresh] = splitAt(weights, 3, {
    at: lengthOf(first.key, 2),
    lengths: [slotsOf(first), slotsOf(second)],
  })
  return add(matmul(past, first.value), matmul(fresh, second.value))
}

function mixedWithPrompts(weights: Value, prompts: SharedPrompts, parts: readonly KeyValue[]): Value {
  const [common, ...own] = splitAs(weights, 3, [prompts, ...parts].map(slotsOf), prompts.sizes)
  const mixed = own.map((part, index) => matmul(part, (parts[index] as KeyValue).value))
  return mixed.reduce(
    add,
    ofPrompts(common as Value, prompts, (rows) => matmul(rows, prompts.value)),
  )
}

const slotsOf = ({ key }: KeyValue): Dim => key.shape[2] as Dim

/**
 * A product with something of the prompts, for all rows of a prompt at once: the same keys and values are read once instead
 * of as often as there are rows (Juravsky et al. 2024, arXiv:2402.05099). x [B, K, Q, X] of the rows; `times` [G, K, n·Q, X] →
 * [G, K, n·Q, Y]; → [B, K, Q, Y].
 */
function ofPrompts(x: Value, { sizes, rows, places }: SharedPrompts, times: (x: Value) => Value): Value {
  const [, heads, queries, width] = x.shape as readonly [Dim, Dim, Dim, Dim]
  const [prompts, , readers] = rows.shape as readonly [Dim, Dim, Dim]
  // The graph infers one of two symbols in a shape; the other is S.
  const lastAxis = (dim: Dim) => (typeof dim === 'number' ? integers([dim]) : piece(sizes, 0, 1))
  const tail = (dim: Dim) => joinIntegers([integers([0, 0, -1]), lastAxis(dim)])
  const read = gather(flatten(x, 2), rows) // [G, K, n, Q·X]
  const result = times(reshapeTo(read, [prompts, heads, product([readers, queries]), width], tail(width)))
  const wide = result.shape[3] as Dim
  const [apart, cut] = [
    product([queries, wide]),
    joinIntegers([integers([0, 0]), lengthOf(rows, 2), integers([-1])]),
  ]
  const byReader = flatten(reshapeTo(result, [prompts, heads, readers, apart], cut), 3) // [G·K·n, Q·Y]
  return reshapeTo(gather(byReader, places), ['B', heads, queries, wide], tail(wide))
}
