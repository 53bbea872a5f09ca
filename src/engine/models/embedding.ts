import type { Value } from '../graph/value.ts'
import { input } from '../graph/value.ts'
import { add, scale } from '../ops/arithmetic.ts'
import { gather } from '../ops/gather.ts'
import type { ModelConfig } from './config.ts'

/** What the first layer reads: [N, D] from graph inputs `ids` [N] and, where positions are learned, `positions` [N]. */
export function embeddingValue(
  { names, embeddingScale }: ModelConfig,
  weight: (name: string) => Value,
): Value {
  const rows = gather(weight(names.embedding), input('ids', 'int64', ['N']))
  const scaled = embeddingScale === 1 ? rows : scale(rows, embeddingScale)
  if (names.positions === null) return scaled
  return add(scaled, gather(weight(names.positions), input('positions', 'int64', ['N'])))
}
