/** Sequences that begin alike, whose common prefixes are computed once, against each of them alone. */
import type { Heads, TokenSequence } from '#engine/policy.ts'
import type { OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { flatGradient, randomCoefficients, withValues } from './tinyModel.ts'

const sequence = (ids: readonly number[], actionMask: readonly number[]): TokenSequence => ({
  ids: Int32Array.from(ids),
  actionMask: Uint8Array.from(actionMask),
})

const prompt = [7, 19, 4, 33, 12, 5, 28, 9, 17, 3, 21]
const other = [7, 19, 40, 6, 11]
const behind = (start: readonly number[], completion: readonly number[]): TokenSequence =>
  sequence(
    [...start, ...completion],
    [...start, ...completion].slice(1).map((_, at) => (at >= start.length - 1 ? 1 : 0)),
  )

/**
 * A group of five behind one prompt, two of whose completions begin alike and one of which is there twice; a second group
 * with a prompt that begins like the first; and a turn whose history is the first completion.
 */
export const sequencesAlike = [
  behind(prompt, [1, 2, 3, 4, 5, 6]),
  behind(prompt, [1, 2, 9]),
  behind(other, [8, 8, 8, 8]),
  behind(prompt, [30]),
  behind(prompt, [31, 14, 15, 9, 2, 6, 5, 3]),
  behind(prompt, [30]),
  behind([...prompt, 1, 2, 3, 4, 5, 6, 22, 23], [10, 11, 12]),
  behind(other, [2]),
]

export interface Learned {
  /** Of all actions, one sequence after the other. */
  readonly logprobs: Float64Array
  readonly gradient: Float32Array
}

type Role = 'actor' | 'critic'
const options = { temperature: 0.8, entropyGradient: true }

/** What the sequences give, each in a micro-batch of its own; with the values of a critic for its gradient. */
export function learnAlone(policy: OrtPolicy, role: Role = 'actor'): Promise<Learned> {
  return learn(
    policy,
    role,
    [...sequencesAlike.keys()].map((row) => [row]),
  )
}

/** What they give in one micro-batch, and when they are only scored. */
export async function learnTogether(policy: OrtPolicy, role: Role = 'actor') {
  const heads = await policy.score(sequencesAlike, { role: 'actor', temperature: options.temperature })
  return { ...(await learn(policy, role, [[...sequencesAlike.keys()]])), scores: joined(heads) }
}

async function learn(policy: OrtPolicy, role: Role, batches: readonly (readonly number[])[]) {
  const ofActor = randomCoefficients(sequencesAlike, 3, true)
  const coefficients = role === 'critic' ? withValues(ofActor, sequencesAlike, 5) : ofActor
  const heads: Heads[] = []
  for (const rows of batches) {
    const batch = rows.map((row) => sequencesAlike[row]!)
    heads.push(...(await policy.accumulate(batch, options, () => rows.map((row) => coefficients[row]!))))
  }
  const gradient = await flatGradient(policy, role)
  policy.discardGradients()
  return { logprobs: joined(heads), gradient }
}

const joined = (heads: readonly Heads[]): Float64Array =>
  Float64Array.from(heads.flatMap(({ logprobs }) => [...logprobs]))
