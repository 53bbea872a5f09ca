import type { Dim } from '../graph/shape.ts'
import type { CompositeOp, Value } from '../graph/value.ts'
import { compose } from '../graph/value.ts'
import { softmax } from './activation.ts'
import { add, mul, sub } from './arithmetic.ts'
import { onlyCotangent } from './define.ts'
import { concat, reshape, split } from './layout.ts'
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
}

/**
 * softmax(q kᵀ/√C + mask) v → [B, K, Q, C]. Its gradient needs Σ P·dP over the keys, which equals dO·O over the channels:
 * two passes over the scores fewer (Dao et al. 2022, arXiv:2205.14135, §3.1).
 */
export function attention({ queries, keys, values, mask }: AttentionInputs): Value {
  const alpha = (queries.shape.at(-1) as number) ** -0.5
  const weights = softmax(add(matmul(queries, keys, { transB: true, alpha }), mask)) // [B, K, Q, T]
  const mixed = matmul(weights, values)

  const vjp: CompositeOp['vjp'] = ({ cotangents }) => {
    const dMixed = onlyCotangent(cotangents)
    const dWeights = matmul(dMixed, values, { transB: true })
    const dScores = mul(weights, sub(dWeights, dotLastAxis(dMixed, mixed)))
    return [
      matmul(dScores, keys, { alpha }),
      matmul(dScores, queries, { transA: true, alpha }),
      matmul(weights, dMixed, { transA: true }),
      dScores,
    ]
  }
  return compose({ name: 'Attention', vjp }, [queries, keys, values, mask], [mixed])[0] as Value
}

/** Parts of the queries that see ever longer prefixes of the keys. */
export const CAUSAL_PARTS = 4

export interface CausalAttentionInputs {
  /** [B, K, g, T, C], T a multiple of `CAUSAL_PARTS` */
  readonly queries: Value
  /** [B, K, T, C] */
  readonly keys: Value
  /** [B, K, T, C] */
  readonly values: Value
  /** Part i: [g·T/4, (i+1)·T/4] */
  readonly masks: readonly Value[]
}

/**
 * Causal attention → [B, K, g, T, C]. A query of the first quarter can see no key beyond it, so nothing is computed for
 * those pairs: 10 of 16 blocks remain. The query heads of one key head stand below each other: one product per key head.
 */
export function causalAttention({ queries, keys, values, masks }: CausalAttentionInputs): Value {
  const [batch, kvHeads, group, , channels] = queries.shape as readonly [Dim, Dim, Dim, Dim, Dim]
  const [queryParts, keyParts, valueParts] = [
    split(queries, 3, CAUSAL_PARTS),
    split(keys, 2, CAUSAL_PARTS),
    split(values, 2, CAUSAL_PARTS),
  ]
  const mixed = queryParts.map((part, index) => {
    const result = attention({
      queries: reshape(part, [batch, kvHeads, -1, channels]),
      keys: concat(keyParts.slice(0, index + 1), 2),
      values: concat(valueParts.slice(0, index + 1), 2),
      mask: masks[index] as Value,
    })
    return reshape(result, [batch, kvHeads, group, part.shape[3] as Dim, channels])
  })
  return concat(mixed, 3)
}
