import { trainBpe } from '../../../scripts/starter/bpeTrainer.ts'

/** A small byte-level tokenizer.json: enough merges for English words, bytes for everything else. */
export const smallTokenizerJson = (): Record<string, unknown> =>
  trainBpe(['the cat sat on the mat and the hat', 'Sort 7 2 9', 'the end of the cat'], {
    vocabSize: 300,
    specialTokens: ['<|pad|>', '<|end|>', '<|user|>', '<|assistant|>'],
  }) as Record<string, unknown>

export const smallTokenizerConfig = { eos_token: '<|end|>', pad_token: { content: '<|pad|>' } }
