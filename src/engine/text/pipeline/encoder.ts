/**
 * Our own encoder, for the pipelines that nearly all language models have: byte-pair encoding after known steps.
 * Reading guide: added tokens are found (`addedTokens.ts`), what lies between is normalized (`normalizers.ts`), cut into
 * pieces (`preTokenizers.ts`) and merged (`bpe.ts`, `mergeQueue.ts`); special tokens come around it (`postProcessor.ts`).
 * The way back is `decoders.ts`. Each step does what the reference implementation does, Hugging Face tokenizers.
 */
import { createFinder, type AddedToken, type Section } from './addedTokens.ts'
import { createBpe } from './bpe.ts'
import { IdBuffer } from './idBuffer.ts'
import { createNormalizer } from './normalizers.ts'
import { readSurroundings } from './postProcessor.ts'
import { createPreTokenizer } from './preTokenizers.ts'
import { isRecord } from '../pipelineLimits.ts'

export type EncodeText = (text: string, addSpecialTokens: boolean) => Int32Array

export interface EncoderParts {
  /** tokenizer.json, checked. */
  readonly json: Readonly<Record<string, unknown>>
  readonly addedTokens: readonly AddedToken[]
  readonly vocabSize: number
}

/** An encoder for a tokenizer.json; null when a step of its pipeline is unknown here. */
export function createEncoder({ json, addedTokens, vocabSize }: EncoderParts): EncodeText | null {
  const normalize = createNormalizer(json['normalizer'])
  const preTokenizer = createPreTokenizer(json['pre_tokenizer'])
  const around = readSurroundings(json['post_processor'])
  if (normalize === null || preTokenizer === null || around === null || !isRecord(json['model'])) return null
  if ([...around.before, ...around.after].some((id) => id >= vocabSize)) return null
  const bpe = createBpe(json['model'], preTokenizer.isByteLevel)
  if (bpe === null) return null
  const isNormalized = ({ normalized, special }: AddedToken) => normalized ?? !special
  const plain = addedTokens.filter((token) => isNormalized(token) !== true)
  const findPlain = createFinder(plain.map((token) => ({ token, content: token.content })))
  const normalized = addedTokens.filter((token) => isNormalized(token) === true)
  const findNormalized = createFinder(
    normalized.map((token) => ({ token, content: normalize(token.content) })),
  )

  const encodeBetween = ({ text, start }: Section, ids: IdBuffer) => {
    for (const section of findNormalized(normalize(text))) {
      if (section.id >= 0) ids.push(section.id)
      else {
        const pieces = preTokenizer.split(section.text, start === 0 && section.start === 0)
        for (const piece of pieces) bpe.encode(piece, ids)
      }
    }
  }
  return (text, addSpecialTokens) => {
    const ids = new IdBuffer(Math.ceil(text.length / 3) + 8)
    if (addSpecialTokens) ids.pushAll(around.before)
    for (const section of findPlain(text)) {
      if (section.id >= 0) ids.push(section.id)
      else encodeBetween(section, ids)
    }
    if (addSpecialTokens) ids.pushAll(around.after)
    return ids.toArray()
  }
}
