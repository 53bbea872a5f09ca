import type { CompositeOp, Value } from '../graph/value.ts'
import { compose } from '../graph/value.ts'
import { softmax } from './activation.ts'
import { add, mul, sub } from './arithmetic.ts'
import { onlyCotangent } from './define.ts'
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
