import type { Device } from '#shared/device.ts'
import type { ModelConfig } from '../models/config.ts'

/** Rows of a product from which packing its matrix anew costs little, and those from which more bring nothing. */
const [LEAST, MOST] = [512, 2048]
/** Numbers of a layer's widest activation that stay near one core: 4 MB. */
const NEAR_CORE = 1 << 20
/** More would cost more memory than their speed is worth. */
const MOST_REPLICAS = 4

/** Micro-batches that are learned from at once, each by an equal part of the threads: a divisor of their number. */
export function replicasOf({ kind, threads }: Pick<Device, 'kind' | 'threads'>): number {
  if (kind !== 'cpu') return 1
  return [MOST_REPLICAS, 3, 2].find((count) => threads % count === 0) ?? 1
}

/**
 * Tokens learned from at once that are fastest: so many for each thread that a layer's activations stay in its cache,
 * for small layers more than for large ones. The 512 of each thread are
 * measured (docs/performance.md, two threads at most); the larger share of narrow layers and the limit of threads are not.
 */
export function learningTokens(
  { intermediateSize }: Pick<ModelConfig, 'intermediateSize'>,
  { threads }: Pick<Device, 'threads'>,
): number {
  const fitting = Math.floor(NEAR_CORE / intermediateSize / LEAST) * LEAST
  return Math.min(MOST, Math.max(LEAST, fitting)) * Math.min(threads, MOST_REPLICAS)
}
