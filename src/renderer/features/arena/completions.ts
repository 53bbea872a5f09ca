/** Completions as they come in, put together by column. */
import type { Answer } from '#renderer/client/api.tsx'

type Piece = Answer<'models.generate'>

export interface Completion {
  readonly text: string
  readonly tokens: number
  readonly tokensPerSecond: number | null
  /** null: still being written. */
  readonly stopReason: string | null
}

const nothing: Completion = { text: '', tokens: 0, tokensPerSecond: null, stopReason: null }

/**
 * One per contender. They are asked for in the order of the columns, one after the other: in any other order, who writes
 * first would tell a hidden name. `order`: column → contender.
 */
export function completions(pieces: readonly Piece[], order: readonly number[]): readonly Completion[] {
  const all = order.map(() => nothing)
  for (const { contender: column, text, tokens, tokensPerSecond, stopReason } of pieces) {
    const contender = order[column]
    const before = contender === undefined ? undefined : all[contender]
    if (contender === undefined || before === undefined) continue
    all[contender] = { text: before.text + text, tokens, tokensPerSecond, stopReason }
  }
  return all
}

/** The column that is being written; null: all are. */
export const columnAtWork = (written: readonly Completion[], order: readonly number[]): number | null => {
  const column = order.findIndex((contender) => written[contender]?.stopReason === null)
  return column < 0 ? null : column
}
