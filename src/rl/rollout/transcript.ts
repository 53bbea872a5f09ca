/**
 * The tokens of an episode: a first prompt, then the policy's turns and the environment's replies. Every turn is
 * appended to the tokens before it; nothing is ever decoded and encoded again.
 */

/** Generated tokens [start, end). */
interface TurnSpan {
  readonly start: number
  readonly end: number
}

export interface Transcript {
  readonly ids: Int32Array
  /** Tokens of the first prompt. */
  readonly openingLength: number
  /** The policy's turns, in order. */
  readonly turns: readonly TurnSpan[]
}

export interface TranscriptMasks {
  /** [L−1] 1 where ids[t+1] was generated. */
  readonly actionMask: Uint8Array
  /** [L−1] turn of each action token, −1 elsewhere. */
  readonly turnIds: Int32Array
}

export const openTranscript = (prompt: Int32Array): Transcript => ({
  ids: prompt,
  openingLength: prompt.length,
  turns: [],
})

/** Appends a turn of the policy. */
export const withGenerated = (
  { ids, openingLength, turns }: Transcript,
  generated: Int32Array,
): Transcript => ({
  ids: joined(ids, generated),
  openingLength,
  turns: [...turns, { start: ids.length, end: ids.length + generated.length }],
})

/** Appends an observation. */
export const withFeedback = (transcript: Transcript, feedback: Int32Array): Transcript => ({
  ...transcript,
  ids: joined(transcript.ids, feedback),
})

export function joined(first: Int32Array, second: Int32Array): Int32Array {
  const ids = new Int32Array(first.length + second.length)
  ids.set(first)
  ids.set(second, first.length)
  return ids
}

/**
 * Returns what the policy reads when only `budget` tokens fit: the first prompt and as many of the latest whole turns
 * as there is room for. null if not even the first prompt fits.
 */
export function windowed({ ids, openingLength, turns }: Transcript, budget: number): Int32Array | null {
  if (ids.length <= budget) return ids
  if (openingLength > budget) return null
  const from = turns.map(({ start }) => start).find((start) => openingLength + ids.length - start <= budget)
  return joined(ids.subarray(0, openingLength), ids.subarray(from ?? ids.length))
}

/** Masks are derived from the origin of tokens, never from their ids. */
export function masksOf({ ids, turns }: Pick<Transcript, 'ids' | 'turns'>): TranscriptMasks {
  const length = Math.max(0, ids.length - 1)
  const actionMask = new Uint8Array(length)
  const turnIds = new Int32Array(length).fill(-1)
  turns.forEach(({ start, end }, turn) => {
    actionMask.fill(1, start - 1, end - 1)
    turnIds.fill(turn, start - 1, end - 1)
  })
  return { actionMask, turnIds }
}
