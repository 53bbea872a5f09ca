/** From raw logits to the distribution the sampler draws from. */
import { distribution } from '../../engine/runtime/generation/distribution.ts'
import { asNumbers, asObject, exact, type Json, type JsonObject } from '../contract.ts'

const numberOr = (value: Json | undefined, fallback: number): number =>
  typeof value === 'number' ? value : fallback

/** null in the logits of a case means minus infinity. */
const asLogits = (value: Json | undefined): Float64Array =>
  Float64Array.from((value as readonly Json[]).map((logit) => numberOr(logit, -Infinity)))

function endIds(value: Json | undefined): number[] {
  if (typeof value === 'number') return [value]
  return value === undefined || value === null ? [] : asNumbers(value)
}

function process(inputs: JsonObject): unknown {
  const options = asObject(inputs.options)
  const canEnd = numberOr(options.n_new, 0) >= numberOr(options.min_new, 0)
  const { scores, probabilities } = distribution(
    asLogits(inputs.logits),
    new Set(asNumbers(inputs.token_history)),
    {
      repetitionPenalty: numberOr(options.rep, 1),
      suppressed: canEnd ? [] : endIds(options.eos),
      temperature: numberOr(options.T, 1),
      topK: numberOr(options.top_k, 0),
      topP: numberOr(options.top_p, 1),
      minP: numberOr(options.min_p, 0),
    },
  )
  return { scores, probs: probabilities }
}

export const samplingContracts = { process_logits: exact(process) }
