/** The recorded experts of packed tokens, as the programs of layers read them. */
import type { Experts } from '../models/expertConfig.ts'
import { routeWidth } from '../models/expertConfig.ts'
import type { TokenSequence } from '../policy.ts'
import type { PrefixTree } from '../prefixes.ts'
import { type Feed, int64s } from './session.ts'

/** [N, W] experts of each token in all layers; −1 where none are recorded. */
export function packedRoutes(
  sequences: readonly TokenSequence[],
  { tokens, paths, own }: PrefixTree,
  width: number,
): Int32Array {
  const packed = new Int32Array(tokens * width).fill(-1)
  sequences.forEach(({ routes }, index) => {
    if (!routes) return
    if (routes.width !== width) {
      throw new Error(`Expected ${String(width)} experts of each token, got ${String(routes.width)}.`)
    }
    for (let at = own[index]!; at < paths[index]!.length; at++) {
      packed.set(routes.experts.subarray(at * width, (at + 1) * width), paths[index]![at]! * width)
    }
  })
  return packed
}

/** Picks the experts of one layer, [N, k]. */
export function layerRoutes(packed: Int32Array, experts: Experts, layer: number): Feed {
  const [width, start, { chosen }] = [routeWidth(experts), routeWidth(experts, layer), experts]
  const tokens = packed.length / width
  const own = new Int32Array(tokens * chosen)
  for (let token = 0; token < tokens; token++) {
    const from = token * width + start
    own.set(packed.subarray(from, from + chosen), token * chosen)
  }
  return int64s(own, [tokens, chosen])
}
