/** The text of a completion as it grows, and its tokens as clients see them. */
import { createStreamingDecoder } from '#engine/text/streamingDecode.ts'
import type { SamplingOptions } from '#engine/policy.ts'
import type { Tokenizer } from '#engine/text/tokenizer.ts'
import { heldFrom, type OfferedTools, readCalls, type ToolCall } from '#engine/text/toolCalls.ts'

/** Text that can no longer change; the completion's text ends before the first stop string in it. */
export class CompletionText {
  readonly #decoder
  readonly #stopStrings: readonly string[]
  /** Text held back because it may be the beginning of a stop string. */
  #held = ''
  #isOver = false

  constructor(tokenizer: Tokenizer, stopStrings: readonly string[], { skipSpecialTokens = true } = {}) {
    this.#decoder = createStreamingDecoder(tokenizer, { skipSpecialTokens })
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

/** The text of a completion that may call tools: what may turn out to be a call is held back until the end. */
export class CalledText {
  readonly #offered: OfferedTools
  readonly #stopIds: readonly number[]
  readonly #text: CompletionText
  #whole = ''
  #told = 0

  constructor(
    tokenizer: Tokenizer,
    { stopStrings, stopIds }: Pick<SamplingOptions, 'stopStrings' | 'stopIds'>,
    offered: OfferedTools,
  ) {
    this.#offered = offered
    this.#stopIds = stopIds
    this.#text = new CompletionText(tokenizer, stopStrings, { skipSpecialTokens: false })
  }

  /** Adds an id and returns the text that is certain to be no part of a call. */
  push(id: number): string {
    if (!this.#stopIds.includes(id)) this.#whole += this.#text.push(id)
    return this.#tell(this.#whole.slice(0, heldFrom(this.#whole, this.#offered)).trimEnd().length)
  }

  /** Returns the rest of what is said, and the calls. */
  finish(): { readonly text: string; readonly calls: readonly ToolCall[] } {
    this.#whole += this.#text.finish()
    const told = this.#whole.slice(0, this.#told).trim()
    const answer = readCalls(this.#whole, this.#offered)
    if (answer === null) return { text: this.#tell(this.#whole.length), calls: [] }
    return { text: answer.content.slice(told.length), calls: answer.calls }
  }

  #tell(until: number): string {
    const text = this.#whole.slice(this.#told, until)
    this.#told = Math.max(this.#told, until)
    return text
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
