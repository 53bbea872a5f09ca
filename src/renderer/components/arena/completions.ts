/** Completions as they come in, put together by column. */
import type { Answer } from '#renderer/hooks/api.tsx'

type Piece = Answer<'models.generate'>

export interface Completion {
  readonly text: string
  readonly tokens: number
  readonly tokensPerSecond: number | null
  /** null: still being written. */
  readonly stopReason: string | null
}

const nothing: Completion = { text: '', tokens: 0, tokensPerSecond: null, stopReason: null }

/** One per contender. */
export function completions(pieces: readonly Piece[], columns: number): readonly Completion[] {
  const all = Array.from({ length: columns }, () => nothing)
  for (const { contender, text, tokens, tokensPerSecond, stopReason } of pieces) {
    const before = all[contender]
    if (before === undefined) continue
    all[contender] = { text: before.text + text, tokens, tokensPerSecond, stopReason }
  }
  return all
}
