/**
 * The simplest tokenizer that takes any text: one token per byte (its id is the byte), and three special tokens above.
 * For models with random weights.
 */

/** An entry of `added_tokens` in tokenizer.json: text that is always this one token and never part of another. */
export const specialToken = (id: number, content: string) => ({
  id,
  content,
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: false,
  special: true,
})

export const endOfTextId = 256
const turnStartId = 257
export const turnEndId = 258

const specials = [
  { id: endOfTextId, content: '<|endoftext|>' },
  { id: turnStartId, content: '<|im_start|>' },
  { id: turnEndId, content: '<|im_end|>' },
] as const

/**
 * Characters in which byte-level tokenizers print bytes: the printable Latin-1 characters stand for themselves, the
 * others follow from U+0100.
 */
function byteCharacters(): string[] {
  const isPrintable = (byte: number): boolean =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae
  let next = 0x100
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isPrintable(byte) ? byte : next++))
}

/** The content of tokenizer.json. */
export function byteTokenizerJson(): object {
  const vocab = Object.fromEntries([
    ...byteCharacters().map((character, byte) => [character, byte]),
    ...specials.map(({ id, content }) => [content, id]),
  ]) as Record<string, number>
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false }
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: specials.map(({ id, content }) => specialToken(id, content)),
    normalizer: null,
    pre_tokenizer: byteLevel,
    post_processor: null,
    decoder: byteLevel,
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab,
      merges: [],
    },
  }
}

const chatTemplate =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"

/** The content of tokenizer_config.json. */
export function byteTokenizerConfigJson(maxPositions: number): object {
  const addedTokens = specials.map(({ id, content }) => [
    String(id),
    { content, lstrip: false, normalized: false, rstrip: false, single_word: false, special: true },
  ])
  return {
    add_prefix_space: false,
    added_tokens_decoder: Object.fromEntries(addedTokens) as Record<string, unknown>,
    bos_token: null,
    chat_template: chatTemplate,
    clean_up_tokenization_spaces: false,
    eos_token: '<|im_end|>',
    model_max_length: maxPositions,
    pad_token: '<|endoftext|>',
    tokenizer_class: 'PreTrainedTokenizerFast',
    unk_token: null,
  }
}

/* A tokenizer of seven tokens: the digits 0 to 4, a padding and an end. For the policies that probes train. */

const digits = ['0', '1', '2', '3', '4']

const digitSpecials = [
  { id: 5, content: '<pad>' },
  { id: 6, content: '<end>' },
] as const

export const digitPadId = 5
export const digitEndId = 6

/** The content of tokenizer.json. */
export function digitTokenizerJson(): object {
  const vocab = Object.fromEntries([
    ...digits.map((digit, id) => [digit, id]),
    ...digitSpecials.map(({ id, content }) => [content, id]),
  ]) as Record<string, number>
  return {
    version: '1.0',
    added_tokens: digitSpecials.map(({ id, content }) => specialToken(id, content)),
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
