import type { Value } from '../graph/value.ts'
import { input } from '../graph/value.ts'
import { add, scale } from '../ops/arithmetic.ts'
import { gather } from '../ops/gather.ts'
import type { ModelConfig } from './config.ts'

interface EmbeddingInputs {
  /** [N] */
  readonly ids: Value
  /** [N] */
  readonly positions: Value
}

/** Graph inputs `ids` and `positions`. */
const packedInputs = (): EmbeddingInputs => ({
  ids: input('ids', 'int64', ['N']),
  positions: input('positions', 'int64', ['N']),
})

/** What the first layer reads: [N, D] from ids and, where positions are learned, those. */
export function embeddingValue(
  { names, embeddingScale }: ModelConfig,
  weight: (name: string) => Value,
  { ids, positions }: EmbeddingInputs = packedInputs(),
): Value {
  const rows = gather(weight(names.embedding), ids)
  const scaled = embeddingScale === 1 ? rows : scale(rows, embeddingScale)
  if (names.positions === null) return scaled
  return add(scaled, gather(weight(names.positions), positions))
}
