/** A tokenizer of seven tokens: the digits 0 to 4, a padding and an end. For the policies that probes train. */
import { specialToken } from './specialTokens.ts'

const digits = ['0', '1', '2', '3', '4']

const specials = [
  { id: 5, content: '<pad>' },
  { id: 6, content: '<end>' },
] as const

export const digitPadId = 5
export const digitEndId = 6

/** The content of tokenizer.json. */
export function digitTokenizerJson(): object {
  const vocab = Object.fromEntries([
    ...digits.map((digit, id) => [digit, id]),
    ...specials.map(({ id, content }) => [content, id]),
  ]) as Record<string, number>
  return {
    version: '1.0',
    added_tokens: specials.map(({ id, content }) => specialToken(id, content)),
    normalizer: null,
    pre_tokenizer: null,
    post_processor: null,
    decoder: { type: 'Fuse' },
    model: { type: 'BPE', unk_token: null, fuse_unk: false, byte_fallback: false, vocab, merges: [] },
  }
}

/** The content of tokenizer_config.json. */
export const digitTokenizerConfigJson = (maxPositions: number): object => ({
  clean_up_tokenization_spaces: false,
  eos_token: '<end>',
  model_max_length: maxPositions,
  pad_token: '<pad>',
  tokenizer_class: 'PreTrainedTokenizerFast',
})
