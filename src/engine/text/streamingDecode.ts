import type { Tokenizer } from './tokenizer.ts'

/** Text of tokens that arrive one by one. */
export interface StreamingDecoder {
  /** The text that became certain with this token; empty while a character is still incomplete. */
  push(id: number): string
  /** What was held back; a truncated character comes out as U+FFFD. Afterwards the decoder is fresh. */
  finish(): string
}

const replacementCharacter = '\uFFFD'

/**
 * Decodes a growing window of tokens and emits what was added to its text. A character may be spread over several
 * tokens: while the text ends in U+FFFD nothing is emitted. The window restarts at the last emission and keeps those
 * tokens as context, because a decoder may treat the first token of a text in its own way (a leading space).
 */
export function createStreamingDecoder(
  tokenizer: Pick<Tokenizer, 'decode'>,
  options: { readonly skipSpecialTokens: boolean },
): StreamingDecoder {
  let context: number[] = []
  let pending: number[] = []
  let contextText = ''

  const addedText = () => tokenizer.decode([...context, ...pending], options).slice(contextText.length)
  const restart = (ids: number[]) => {
    context = ids
    pending = []
    contextText = tokenizer.decode(ids, options)
  }

  return {
    push(id) {
      pending.push(id)
      const text = addedText()
      if (text === '' || (text.endsWith(replacementCharacter) && pending.length < longestCharacter)) return ''
      restart(pending)
      return text
    },
    finish() {
      const text = pending.length === 0 ? '' : addedText()
      restart([])
      return text
    },
  }
}

/** A character has at most four bytes, so after as many tokens a U+FFFD at the end is there to stay. */
const longestCharacter = 4
