import { randomStream, SequentialRandom } from '#shared/random.ts'

/** Numbers in [0, 1) that depend on the seed alone. */
export function createRandom(seed: number): () => number {
  const random = new SequentialRandom(randomStream(seed))
  return () => random.uniform()
}
