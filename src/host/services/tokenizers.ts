import type { Tokenizer } from '#engine/text/tokenizer.ts'
import { createStreamingDecoder } from '#engine/text/streamingDecode.ts'
import { loadTokenizer, type LoadedTokenizer } from '../artifacts/tokenizerFolder.ts'

/** Tokenizer and chat template of a model folder. Errors: AppError 'tokenizer/invalid', 'file/unreadable'. */
export type OpenText = (directory: string) => LoadedTokenizer

const maxKept = 4

/** Keeps the last few: reading a large one takes a second. */
export function rememberTokenizers(): OpenText {
  const kept = new Map<string, LoadedTokenizer>()
  return (directory) => {
    const text = kept.get(directory) ?? loadTokenizer(directory)
    kept.delete(directory)
    kept.set(directory, text)
    const [oldest] = kept.keys()
    if (kept.size > maxKept && oldest !== undefined) kept.delete(oldest)
    return text
  }
}

/** What each token adds to the text; joined they are the text. Empty for all but the last token of a character. */
export function tokenTexts(tokenizer: Tokenizer, ids: Iterable<number>): string[] {
  const decoder = createStreamingDecoder(tokenizer, { skipSpecialTokens: false })
  const texts = Array.from(ids, (id) => decoder.push(id))
  const rest = decoder.finish()
  if (texts.length > 0) texts.push(`${texts.pop() ?? ''}${rest}`)
  return texts
}
