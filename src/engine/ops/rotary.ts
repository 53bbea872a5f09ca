import { apply } from '../graph/value.ts'
import type { Value } from '../graph/value.ts'
import { neg } from './arithmetic.ts'
import { defineOp, inputOf, int, onlyCotangent } from './define.ts'

// A rotation: its transpose turns the other way. Positions and tables are never learned.
export const rotaryOp = defineOp(
  'Rotary',
  ({ node, cotangents }) => {
    const [positions, cos, sin] = [inputOf(node, 1), inputOf(node, 2), inputOf(node, 3)]
    return [rotary(onlyCotangent(cotangents), { positions, cos, sin: neg(sin) }), null, null, null]
  },
  { type: 'RotaryEmbedding', domain: 'com.microsoft' },
)

export interface RotaryTables {
  /** [B, S] i64 */
  readonly positions: Value
  /** [P, C/2] */
  readonly cos: Value
  /** [P, C/2] */
  readonly sin: Value
}

/** Rotates channel i of each head with channel i + C/2 by its position's angle. x [B, S, H·C]. Su et al. 2021, arXiv:2104.09864. */
export const rotary = (x: Value, { positions, cos, sin }: RotaryTables): Value =>
  apply(rotaryOp, [x, positions, cos, sin], { interleaved: int(0) }, [x])[0] as Value
