import type { Tokenizer } from './tokenizer.ts'

/** Text of tokens that arrive one by one. */
export interface StreamingDecoder {
  /** The text that became certain with this token; empty while a character is still incomplete. */
  push(id: number): string
  /** Returns the text held back; a truncated character comes out as U+FFFD. The decoder can then start afresh. */
  finish(): string
}

const replacementCharacter = '\uFFFD'

/**
 * Decodes a growing window of tokens and emits what no further token can change; joined, the pieces are what decoding all
 * tokens at once gives. Three things are held back: a U+FFFD at the end, which may be half a character; the text of lone
 * bytes (byte fallback) while more of them may follow, since one wrong byte spoils its whole run; and nothing else. The
 * window restarts where it ends in certain text and keeps those tokens as context, because a decoder may treat the first
 * token of a text in its own way (a leading space).
 */
export function createStreamingDecoder(
  tokenizer: Pick<Tokenizer, 'decode'> & Partial<Pick<Tokenizer, 'isByte'>>,
  options: { readonly skipSpecialTokens: boolean },
): StreamingDecoder {
  let window: number[] = []
  let isInBytes = false
  /** Length of the window's text that was already emitted. */
  let emitted = 0

  const emit = (text: string, end: number): string => {
    const added = text.slice(emitted, end)
    emitted = Math.max(emitted, end)
    return added
  }
  /** Length of the last piece of the window, which becomes the context of what follows. */
  let contextLength = 0
  const restart = () => {
    window = window.slice(contextLength)
    contextLength = window.length
    emitted = tokenizer.decode(window, options).length
  }

  return {
    push(id) {
      window.push(id)
      // A token that is left out does not end a run of bytes.
      isInBytes = tokenizer.isByte?.(id) === true || (isInBytes && tokenizer.decode([id], options) === '')
      if (isInBytes) return ''
      const text = tokenizer.decode(window, options)
      const isOpen = text.endsWith(replacementCharacter)
      const added = emit(text, isOpen ? text.length - 1 : text.length)
      if (added !== '' && !isOpen) restart()
      return added
    },
    finish() {
      const added = emit(tokenizer.decode(window, options), Infinity)
      window = []
      contextLength = emitted = 0
      isInBytes = false
      return added
    },
  }
}
