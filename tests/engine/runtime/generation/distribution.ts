import { TokenFilter, type Filters } from '#engine/runtime/generation/tokenFilter.ts'
import { weighLogits } from '#engine/runtime/sampling.ts'

export interface DistributionOptions extends Filters {
  readonly repetitionPenalty: number
  readonly suppressed: readonly number[]
  readonly temperature: number
}

/** What a sampler draws from, written out: the processed logits, minus infinity where nothing is drawn, and their softmax. */
export function distribution(
  logits: ArrayLike<number>,
  seen: Iterable<number>,
  { repetitionPenalty, suppressed, temperature, ...filters }: DistributionOptions,
): { readonly scores: Float64Array; readonly probabilities: Float64Array } {
  const filter = new TokenFilter(logits.length)
  const tempered = Array.from(logits, (logit) => logit / temperature)
  const { offset } = weighLogits(filter.weights, tempered, seen, repetitionPenalty)
  for (const id of suppressed) filter.weights[id] = 0
  const { ids, weights } = filter.keep(filters)
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const scores = new Float64Array(logits.length).fill(-Infinity)
  const probabilities = new Float64Array(logits.length)
  for (const [i, id] of ids.entries()) {
    scores[id] = Math.log(weights[i]!) + offset
    probabilities[id] = weights[i]! / total
  }
  return { scores, probabilities }
}
