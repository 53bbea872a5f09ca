/** The text of a completion as it grows, and its tokens as clients see them. */
import { createStreamingDecoder } from '#engine/text/streamingDecode.ts'
import type { Tokenizer } from '#engine/text/tokenizer.ts'

/** Text that can no longer change; the completion's text ends before the first stop string in it. */
export class CompletionText {
  readonly #decoder
  readonly #stopStrings: readonly string[]
  /** Text held back because it may be the beginning of a stop string. */
  #held = ''
  #isOver = false

  constructor(tokenizer: Tokenizer, stopStrings: readonly string[]) {
    this.#decoder = createStreamingDecoder(tokenizer, { skipSpecialTokens: true })
    this.#stopStrings = stopStrings
  }

  /** Adds an id and returns the text that became certain with it. */
  push(id: number): string {
    return this.#take(this.#decoder.push(id), false)
  }

  /** Returns the text held back. */
  finish(): string {
    return this.#take(this.#decoder.finish(), true)
  }

  #take(added: string, isLast: boolean): string {
    if (this.#isOver) return ''
    const text = this.#held + added
    const ends = this.#stopStrings.map((stop) => text.indexOf(stop)).filter((at) => at >= 0)
    this.#isOver = ends.length > 0
    const certain = this.#isOver
      ? Math.min(...ends)
      : isLast
        ? text.length
        : text.length - this.#openEnd(text)
    this.#held = text.slice(certain)
    return text.slice(0, certain)
  }

  /** Length of the longest end of the text that begins a stop string. */
  #openEnd(text: string): number {
    const longest = Math.max(0, ...this.#stopStrings.map((stop) => stop.length - 1))
    for (let length = Math.min(longest, text.length); length > 0; length--) {
      const end = text.slice(-length)
      if (this.#stopStrings.some((stop) => stop.startsWith(end))) return length
    }
    return 0
  }
}

/** Tokens before that a token's text may depend on: a leading space, or the bytes of a character. */
export const contextTokens = 4

/** Returns what a token adds to the text behind the ids before it; U+FFFD where it is a part of a character. */
export function tokenText(tokenizer: Tokenizer, before: readonly number[], id: number): string {
  const decode = (ids: readonly number[]) => tokenizer.decode(ids, { skipSpecialTokens: false })
  const context = before.slice(-contextTokens)
  const known = decode(context)
  const whole = decode([...context, id])
  return whole.startsWith(known) ? whole.slice(known.length) : decode([id])
}
