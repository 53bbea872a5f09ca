import { apply } from '../graph/value.ts'
import type { Value } from '../graph/value.ts'
import { neg } from './arithmetic.ts'
import { defineOp, inputOf, int, onlyCotangent } from './define.ts'

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
 * Rotates channel i of each head with channel i + R/2 by its position's angle, i < R/2; channels from R on stay as they
 * are. x [B, S, H·C]. Su et al. 2021, arXiv:2104.09864.
 */
export function rotary(x: Value, heads: number, { positions, cos, sin }: RotaryTables): Value {
  const rotated = 2 * (cos.shape[1] as number)
  const isPartial = rotated * heads !== x.shape.at(-1)
  const partial = { num_heads: int(heads), rotary_embedding_dim: int(rotated) }
  const attributes = { interleaved: int(0), ...(isPartial ? partial : {}) }
  return apply(rotaryOp, [x, positions, cos, sin], attributes, [x])[0] as Value
}
