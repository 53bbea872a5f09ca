/**
 * Our own encoder, for byte-pair encoding. Reading guide: added tokens are found (`addedTokens.ts`), what lies between is
 * normalized, cut into pieces (`preTokenizers.ts`) and merged (`bpe.ts`, `mergeQueue.ts`); special tokens come around it.
 * The way back is `decoders.ts`. Each step does what the reference does, Hugging Face tokenizers. Normalizers and special
 * tokens are the library's; what is ours is so because the library is slower or gives other ids, as docs/models.md lists.
 */
import { createFinder, type AddedToken, type Section } from './addedTokens.ts'
import { createBpe, IdBuffer } from './bpe.ts'
import { createPreTokenizer } from './preTokenizers.ts'
import { flatten, library, plainContent, type StepConfig } from './steps.ts'
import { isRecord } from '../pipelineLimits.ts'

export type EncodeText = (text: string, addSpecialTokens: boolean) => Int32Array

export interface EncoderParts {
  /** tokenizer.json, checked. */
  readonly json: Readonly<Record<string, unknown>>
  readonly addedTokens: readonly AddedToken[]
  /** Errors: `tokenizer/invalid` for a token that is not in the vocabulary. */
  readonly expectId: (token: string) => number
}

/** An encoder for a tokenizer.json; null when its model is another than byte-pair encoding. */
export function createEncoder({ json, addedTokens, expectId }: EncoderParts): EncodeText | null {
  const preTokenizer = createPreTokenizer(json['pre_tokenizer'])
  const bpe = isRecord(json['model']) ? createBpe(json['model'], preTokenizer.isByteLevel) : null
  if (bpe === null) return null
  const normalize = createNormalizer(json['normalizer'])
  const around = readSurroundings(json['post_processor'])
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
    if (addSpecialTokens) ids.pushAll(around.before.map(expectId))
    for (const section of findPlain(text)) {
      if (section.id >= 0) ids.push(section.id)
      else encodeBetween(section, ids)
    }
    if (addSpecialTokens) ids.pushAll(around.after.map(expectId))
    return ids.toArray()
  }
}

type Normalize = (text: string) => string

function createNormalizer(stage: unknown): Normalize {
  const steps = flatten(stage, 'normalizers').map(createNormalizerStep)
  return (text) => steps.reduce((current, step) => step(current), text)
}

function createNormalizerStep(config: StepConfig): Normalize {
  const { type, prepend } = config
  // Letter by letter, so that a sigma at the end of a word is like any other.
  if (type === 'Lowercase') return (text) => Array.from(text, (letter) => letter.toLowerCase()).join('')
  // Not before a text of which nothing is left.
  if (type === 'Prepend' && typeof prepend === 'string') return (text) => (text === '' ? '' : prepend + text)
  const step = new library.SequenceNormalizer({ normalizers: [plainContent(config)] })
  return (text) => step.normalize(text)
}

/** Placeholder of the text among the tokens around it. */
const place = '\0'

/** Reads the special tokens before and after a text, as the library puts them around a token. */
function readSurroundings(stage: unknown) {
  if (stage === null || stage === undefined) return { before: [], after: [] }
  const around = new library.SequencePostProcessor({ processors: [stage] })
  const { tokens } = around.post_process([place], null, true)
  const at = tokens.indexOf(place)
  if (at < 0) throw new Error('its post_processor omits the text')
  return { before: tokens.slice(0, at), after: tokens.slice(at + 1) }
}
