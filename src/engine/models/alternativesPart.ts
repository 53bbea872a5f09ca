/** The vocabulary head where losses look at K further tokens of each prediction, such as a teacher's likeliest. */
import type { Seed } from '../ops/gradient.ts'
import type { Program } from '../graph/onnx.ts'
import type { Dim } from '../graph/shape.ts'
import { input } from '../graph/value.ts'
import { cast } from '../ops/arithmetic.ts'
import {
  alternativesHead,
  topTokens,
  vocabularyHead,
  type VocabularyHeadInputs,
} from '../ops/vocabularyHead.ts'

/** Names of coefficients of the head, [A, 1]: ∂loss/∂log-probability and ∂loss/∂entropy. */
export const coefficientNames = {
  logprobs: 'logprob coefficients',
  entropies: 'entropy coefficients',
} as const

export const alternativeNames = {
  /** [A, K] i64, an input; as an output in f32, which holds them exactly. */
  ids: 'alternatives',
  /** [1] i64: K of the likeliest. */
  count: 'count of alternatives',
  /** [A, K] */
  logprobs: 'alternative logprobs',
  /** [A, K] ∂loss/∂log-probability */
  coefficients: 'alternative coefficients',
} as const

export interface AlternativesPart {
  /** `logprob`, `entropy` [A, 1] and `alternative logprobs` of given tokens. */
  readonly alternatives: Program
  /** The same of the likeliest tokens, with their ids. */
  readonly likeliest: Program
  /** Cotangents of what `alternatives` returns. */
  readonly seeds: readonly Seed[]
}

/** The head over A rows. */
export function headWithAlternatives(inputs: VocabularyHeadInputs, rows: Dim): AlternativesPart {
  const { logprob, entropy, logTotal } = vocabularyHead(inputs)
  const given = alternativesHead(inputs, input(alternativeNames.ids, 'int64', [rows, 'K']), logTotal)
  const count = { value: input(alternativeNames.count, 'int64', [1]), length: 'K' }
  const { ids, logprobs } = topTokens(inputs, count, logTotal)
  const cotangent = (name: string, width: Dim) => input(name, 'float32', [rows, width])
  return {
    alternatives: { logprob, entropy, [alternativeNames.logprobs]: given },
    likeliest: {
      logprob,
      entropy,
      [alternativeNames.logprobs]: logprobs,
      [alternativeNames.ids]: cast(ids, 'float32'),
    },
    seeds: [
      { value: logprob, cotangent: cotangent(coefficientNames.logprobs, 1) },
      { value: entropy, cotangent: cotangent(coefficientNames.entropies, 1) },
      { value: given, cotangent: cotangent(alternativeNames.coefficients, 'K') },
    ],
  }
}
