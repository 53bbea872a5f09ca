import { type CompositeOp, type Value, compose, apply, constant } from '../graph/value.ts'
import { softmax, tanh } from './activation.ts'
import { add, div, exp, mul, scale, sub, neg } from './arithmetic.ts'
import { onlyCotangent, defineOp, inputOf, int } from './define.ts'
import { matmul } from './matmul.ts'
import { dotLastAxis, reduceMax } from './reduce.ts'

export interface AttentionInputs {
  /** [B, K, Q, C] */
  readonly queries: Value
  /** [B, K, T, C] */
  readonly keys: Value
  /** [B, K, T, C] */
  readonly values: Value
  /** [Q, T] added to the scores */
  readonly mask: Value
  readonly scores: ScoreRule
  /** Score of each query's sink, [B, K, Q, 1], which is frozen; null: it has none. */
  readonly sinks: Value | null
}

/** Rule by which q·k becomes a score. */
export interface ScoreRule {
  /** Factor of q·k. */
  readonly scale: number
  /** c in c·tanh(score/c); null: as it is. */
  readonly softcap: number | null
}

/**
 * softmax(s·q kᵀ + mask) v → [B, K, Q, C]; a sink is one more score, of a value of zero. Its gradient needs Σ P·dP over the keys, which equals dO·O over the channels:
 * two passes over the scores fewer (Dao et al. 2022, arXiv:2205.14135, §3.1).
 */
export function attention(inputs: AttentionInputs): Value {
  const { queries, keys, values, mask, sinks } = inputs
  const weighed = attentionWeights(inputs, (scores) => add(scores, mask))
  const mixed = mixedValues(weighed, values)
  const vjp: CompositeOp['vjp'] = ({ cotangents }) => {
    const dMixed = onlyCotangent(cotangents)
    const found = attentionGradients(inputs, weighed, { mixed, dMixed })
    return [found.queries, found.keys, found.values, found.scores, ...(sinks === null ? [] : [null])]
  }
  const reads = [queries, keys, values, mask, ...(sinks === null ? [] : [sinks])]
  return compose({ name: 'Attention', vjp }, reads, [mixed])[0] as Value
}

type Attended = Omit<AttentionInputs, 'mask' | 'sinks'>

/** The softmax of the scores, and what their gradient needs. */
export interface AttentionWeights {
  /** [B, K, Q, T] */
  readonly weights: Value
  /** The scores' tanh, where they have a soft cap. */
  readonly bent: Value | null
  /** Share of the softmax that the keys keep beside a sink, [B, K, Q, 1]; null: all of it. */
  readonly share: Value | null
}

export function attentionWeights(
  { queries, keys, sinks, scores: { scale: alpha, softcap: cap } }: Omit<AttentionInputs, 'values' | 'mask'>,
  masked: (scores: Value) => Value,
): AttentionWeights {
  const scores = matmul(queries, keys, { transB: true, alpha: cap === null ? alpha : alpha / cap })
  const bent = cap === null ? null : tanh(scores)
  const capped = bent === null || cap === null ? scores : scale(bent, cap)
  const seen = masked(capped)
  const weights = softmax(seen)
  return { weights, bent, share: sinks === null ? null : shareOfKeys(largestOf(seen, weights), sinks) }
}

/** The largest score of each query and the largest weight, which its softmax has there; [B, K, Q, 1] each. */
export const largestOf = (scores: Value, weights: Value) => ({
  score: reduceMax(scores, [-1]),
  weight: reduceMax(weights, [-1]),
})

/**
 * Share of the softmax that the keys keep beside a sink: Σ exp(score) over that and exp(sink). The largest weight is
 * exp(largest score) over the first sum, so that nothing as large as the scores is computed for it. Xiao et al. 2023,
 * arXiv:2309.17453; as a learned score OpenAI 2025, arXiv:2508.10925, §2.
 */
export function shareOfKeys({ score, weight }: ReturnType<typeof largestOf>, sinks: Value): Value {
  const one = constant([1], [], score.dtype === 'float64' ? 'float64' : 'float32')
  return div(one, add(one, mul(exp(sub(sinks, score)), weight)))
}

/** Mixes the values by their weights. */
export function mixedValues({ weights, share }: AttentionWeights, values: Value): Value {
  const mixed = matmul(weights, values)
  return share === null ? mixed : mul(mixed, share)
}

/** Computes the gradients from that of the mixed values; `scores`: gradient of the scores that the mask is added to. */
export function attentionGradients(
  { queries, keys, values, scores: { scale: alpha } }: Attended,
  { weights, bent, share }: AttentionWeights,
  { mixed, dMixed }: { readonly mixed: Value; readonly dMixed: Value },
): Readonly<Record<'queries' | 'keys' | 'values' | 'scores', Value>> {
  // A sink is one more weight of a zero: it changes the sum of the others, and not P·dP.
  const dShared = share === null ? dMixed : mul(dMixed, share)
  const dWeights = matmul(dShared, values, { transB: true })
  const dCapped = mul(weights, sub(dWeights, dotLastAxis(dShared, mixed)))
  const dScores = bent === null ? dCapped : sub(dCapped, mul(dCapped, mul(bent, bent)))
  return {
    queries: matmul(dScores, keys, { alpha }),
    keys: matmul(dScores, queries, { transA: true, alpha }),
    values: matmul(weights, dShared, { transA: true }),
    scores: dCapped,
  }
}

/** Parts of the queries that see ever longer prefixes of the keys. */
export const CAUSAL_PARTS = 4

export interface CausalAttentionInputs {
  /**
   * `CAUSAL_PARTS` parts of the positions, of those sequences that are long enough to have any there: [Bᵢ, K, g·Q, C], the
   * query heads of one key head below each other.
   */
  readonly queries: readonly Value[]
  /** Keys that each part can see, up to its own end: [Bᵢ, K, (i+1)·Q, C]. */
  readonly keys: readonly Value[]
  /** [Bᵢ, K, (i+1)·Q, C] */
  readonly values: readonly Value[]
  /** Part i: [g·Q, (i+1)·Q] */
  readonly masks: readonly Value[]
  readonly scores: ScoreRule
  /** Sinks of each part's queries, [Bᵢ, K, g·Q, 1]; null: there are none. */
  readonly sinks: readonly Value[] | null
}

/**
 * Causal attention → parts as those of the queries. A query of the first quarter can see no key beyond it, so nothing is
 * computed for those pairs: 10 of 16 blocks remain.
 */
export function causalAttention({
  queries,
  keys,
  values,
  masks,
  scores,
  sinks,
}: CausalAttentionInputs): readonly Value[] {
  return queries.map((part, index) =>
    attention({
      queries: part,
      keys: keys[index] as Value,
      values: values[index] as Value,
      mask: masks[index] as Value,
      scores,
      sinks: sinks === null ? null : (sinks[index] as Value),
    }),
  )
}

/**
 * Value that a mask adds to the score of a hidden position. Finite: a row of minus infinities would make a softmax NaN.
 */
export const HIDDEN = -1e9

export const addMaskOp = defineOp('AddMask', ({ cotangents }) => [onlyCotangent(cotangents), null], {
  type: 'Add',
})
/** Scores plus a mask that broadcasts to them at run time, whatever its symbols; a mask is never learned. */
export const addMask = (scores: Value, mask: Value): Value =>
  apply(addMaskOp, [scores, mask], {}, [scores])[0] as Value

// A rotation: its transpose turns the other way. Positions and tables are never learned.
export const rotaryOp = defineOp(
  'Rotary',
  ({ node, cotangents }) => {
    const [positions, cos, sin] = [inputOf(node, 1), inputOf(node, 2), inputOf(node, 3)]
    const back = [onlyCotangent(cotangents), positions, cos, neg(sin)]
    return [apply(rotaryOp, back, node.attributes, [inputOf(node, 0)])[0] as Value, null, null, null]
  },
  { type: 'RotaryEmbedding', domain: 'com.microsoft' },
)

export interface RotaryTables {
  /** [B, S] i64 */
  readonly positions: Value
  /** [P, R/2] */
  readonly cos: Value
  /** [P, R/2] */
  readonly sin: Value
}

/**
 * Rotates channel i of each head with channel i + R/2 by its position's angle, i < R/2, or channel 2i with 2i + 1 where
 * pairs are adjacent; channels from R on stay as they are. x [B, S, H·C]. Su et al. 2021, arXiv:2104.09864.
 */
export function rotary(
  x: Value,
  heads: number,
  { positions, cos, sin }: RotaryTables,
  pairs: 'halves' | 'adjacent' = 'halves',
): Value {
  const rotated = 2 * (cos.shape[1] as number)
  const isPartial = rotated * heads !== x.shape.at(-1)
  const partial = { num_heads: int(heads), rotary_embedding_dim: int(rotated) }
  const attributes = { interleaved: int(pairs === 'adjacent' ? 1 : 0), ...(isPartial ? partial : {}) }
  return apply(rotaryOp, [x, positions, cos, sin], attributes, [x])[0] as Value
}
