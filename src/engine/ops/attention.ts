import { type CompositeOp, type Value, compose, apply } from '../graph/value.ts'
import { softmax, tanh } from './activation.ts'
import { add, mul, scale, sub, neg } from './arithmetic.ts'
import { onlyCotangent, defineOp, inputOf, int } from './define.ts'
import { matmul } from './matmul.ts'
import { dotLastAxis } from './reduce.ts'

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
}

/** Rule by which q·k becomes a score. */
export interface ScoreRule {
  /** Factor of q·k. */
  readonly scale: number
  /** c in c·tanh(score/c); null: as it is. */
  readonly softcap: number | null
}

/**
 * softmax(s·q kᵀ + mask) v → [B, K, Q, C]. Its gradient needs Σ P·dP over the keys, which equals dO·O over the channels:
 * two passes over the scores fewer (Dao et al. 2022, arXiv:2205.14135, §3.1).
 */
export function attention(inputs: AttentionInputs): Value {
  const { queries, keys, values, mask } = inputs
  const weighed = attentionWeights(inputs, (scores) => add(scores, mask))
  const mixed = matmul(weighed.weights, values)
  const vjp: CompositeOp['vjp'] = ({ cotangents }) => {
    const dMixed = onlyCotangent(cotangents)
    const found = attentionGradients(inputs, weighed, { mixed, dMixed })
    return [found.queries, found.keys, found.values, found.scores]
  }
  return compose({ name: 'Attention', vjp }, [queries, keys, values, mask], [mixed])[0] as Value
}

type Attended = Omit<AttentionInputs, 'mask'>

/** The softmax of the scores, and what their gradient needs. */
export interface AttentionWeights {
  /** [B, K, Q, T] */
  readonly weights: Value
  /** The scores' tanh, where they have a soft cap. */
  readonly bent: Value | null
}

export function attentionWeights(
  { queries, keys, scores: { scale: alpha, softcap: cap } }: Omit<Attended, 'values'>,
  masked: (scores: Value) => Value,
): AttentionWeights {
  const scores = matmul(queries, keys, { transB: true, alpha: cap === null ? alpha : alpha / cap })
  const bent = cap === null ? null : tanh(scores)
  const capped = bent === null || cap === null ? scores : scale(bent, cap)
  return { weights: softmax(masked(capped)), bent }
}

/** Computes the gradients from that of the mixed values; `scores`: gradient of the scores that the mask is added to. */
export function attentionGradients(
  { queries, keys, values, scores: { scale: alpha } }: Attended,
  { weights, bent }: AttentionWeights,
  { mixed, dMixed }: { readonly mixed: Value; readonly dMixed: Value },
): Readonly<Record<'queries' | 'keys' | 'values' | 'scores', Value>> {
  const dWeights = matmul(dMixed, values, { transB: true })
  const dCapped = mul(weights, sub(dWeights, dotLastAxis(dMixed, mixed)))
  const dScores = bent === null ? dCapped : sub(dCapped, mul(dCapped, mul(bent, bent)))
  return {
    queries: matmul(dScores, keys, { alpha }),
    keys: matmul(dScores, queries, { transA: true, alpha }),
    values: matmul(weights, dMixed, { transA: true }),
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
}: CausalAttentionInputs): readonly Value[] {
  return queries.map((part, index) =>
    attention({
      queries: part,
      keys: keys[index] as Value,
      values: values[index] as Value,
      mask: masks[index] as Value,
      scores,
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
