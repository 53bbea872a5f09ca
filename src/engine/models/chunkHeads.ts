/** Heads of linear attention in chunks of positions. */
import type { Dim } from '../graph/shape.ts'
import { type Value, constant } from '../graph/value.ts'
import { mul } from '../ops/arithmetic.ts'
import { reshape, transpose } from '../ops/layout.ts'

/** [M, B, C, h·d] → [M, B·H, C, d]; each of h heads serves H / h neighbours. */
export function headsOf(x: Value, heads: number, all: number): Value {
  const [chunks, batch, length, width] = x.shape as readonly [Dim, Dim, number, number]
  const channels = width / heads
  const apart = transpose(reshape(x, [chunks, batch, length, heads, channels]), [0, 1, 3, 2, 4])
  if (heads === all) return reshape(apart, [chunks, -1, length, channels])
  const copies = constant(new Array<number>(all / heads).fill(1), [all / heads, 1, 1])
  const repeated = mul(reshape(apart, [chunks, batch, heads, 1, length, channels] as const), copies)
  return reshape(repeated, [chunks, -1, length, channels])
}

/** [M, B·H, C, V] → [M, B, C, H·V] */
export function fromHeads(x: Value, heads: number): Value {
  const [chunks, , length, channels] = x.shape as readonly [Dim, Dim, number, number]
  const apart = transpose(reshape(x, [chunks, -1, heads, length, channels]), [0, 1, 3, 2, 4])
  return reshape(apart, [chunks, -1, length, heads * channels])
}
