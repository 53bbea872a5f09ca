/** Graph inputs of rotary embeddings. */
import type { Dim } from '../graph/shape.ts'
import { input } from '../graph/value.ts'
import type { LayerAttention, ModelConfig, RopeConfig } from './config.ts'

/** Graph inputs: the tables of one of `ModelConfig.ropes`. */
export const rotaryNames = (rope: number) => ({ cos: `cos ${rope}`, sin: `sin ${rope}` }) as const
export type RotaryNames = ReturnType<typeof rotaryNames>
/** The tables by which a layer's queries and keys are rotated; null where they are not. */
export const rotaryTables = <Tables>(
  { rope, queryRope = rope ?? 0 }: LayerAttention,
  tablesOf: (rope: number) => Tables,
): Readonly<Record<'query' | 'key', Tables>> | null =>
  rope === null ? null : { query: tablesOf(queryRope), key: tablesOf(rope) }

/** Cosines and sines of a rotary embedding, one row per position. */
export function rotaryInputs({ ropes }: ModelConfig, rope: number, positions: Dim) {
  const half = (ropes[rope] as RopeConfig).inverseFrequencies.length
  const { cos, sin } = rotaryNames(rope)
  return { cos: input(cos, 'float32', [positions, half]), sin: input(sin, 'float32', [positions, half]) }
}
