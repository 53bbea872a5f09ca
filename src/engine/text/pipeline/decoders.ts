import { byteOfCharacter } from './byteCharacters.ts'
import { createReplace } from './normalizers.ts'
import { flatten, mapKnown, type StepConfig } from './steps.ts'

export type DecodeTokens = (tokens: readonly string[]) => string

type Step = (tokens: readonly string[]) => readonly string[]

export interface Decoder {
  readonly decode: DecodeTokens
  /** Whether tokens like <0xE6> are bytes; a run of them is text only as a whole. */
  readonly hasByteTokens: boolean
}

/** The decoder of a tokenizer.json; null when it has a step unknown here. */
export function createDecoder(stage: unknown): Decoder | null {
  const configs = flatten(stage, 'decoders')
  const steps = configs === null ? null : mapKnown(configs, createStep)
  if (configs === null || steps === null) return null
  const hasByteTokens = configs.some(({ type }) => type === 'ByteFallback')
  if (steps.length === 0) return { decode: (tokens) => tokens.join(' '), hasByteTokens }
  const decode: DecodeTokens = (tokens) =>
    steps.reduce<readonly string[]>((current, step) => step(current), tokens).join('')
  return { decode, hasByteTokens }
}

function createStep(config: StepConfig): Step | null {
  switch (config['type']) {
    case 'ByteLevel':
      return decodeByteLevel
    case 'ByteFallback':
      return decodeByteTokens
    case 'Fuse':
      return (tokens) => [tokens.join('')]
    case 'Replace': {
      const replace = createReplace(config)
      return replace === null ? null : (tokens) => tokens.map(replace)
    }
    case 'Strip':
      return createStrip(config)
    case 'Metaspace':
      return createMetaspace(config)
    default:
      return null
  }
}

/** ignoreBOM keeps U+FEFF, which is text like any other here. */
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
const strictUtf8 = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true })
const utf8Encoder = new TextEncoder()

const decodeByteLevel: Step = (tokens) => {
  const bytes: number[] = []
  for (const token of tokens) for (const byte of bytesOfToken(token)) bytes.push(byte)
  return [utf8.decode(Uint8Array.from(bytes))]
}

/** A token that is not spelled in byte characters throughout, such as an added one with a space, stands for itself. */
function bytesOfToken(token: string): Iterable<number> {
  const bytes: number[] = []
  for (const character of token) {
    const byte = byteOfCharacter.get(character)
    if (byte === undefined) return utf8Encoder.encode(token)
    bytes.push(byte)
  }
  return bytes
}

/** The byte that a token like <0x0A> stands for; null for other tokens. */
export function byteOfToken(token: string): number | null {
  return /^<0x[0-9A-Fa-f]{2}>$/.test(token) ? Number.parseInt(token.slice(3, 5), 16) : null
}

/** A run of bytes that is not valid UTF-8 becomes one U+FFFD for each byte. */
const decodeByteTokens: Step = (tokens) => {
  const decoded: string[] = []
  let run: number[] = []
  const endRun = () => {
    if (run.length > 0) decoded.push(textOfRun(run))
    run = []
  }
  for (const token of tokens) {
    const byte = byteOfToken(token)
    if (byte !== null) {
      run.push(byte)
      continue
    }
    endRun()
    decoded.push(token)
  }
  endRun()
  return decoded
}

function textOfRun(bytes: readonly number[]): string {
  try {
    return strictUtf8.decode(Uint8Array.from(bytes))
  } catch {
    return '\uFFFD'.repeat(bytes.length)
  }
}

function createStrip({ content, start, stop }: StepConfig): Step | null {
  if (typeof content !== 'string' || typeof start !== 'number' || typeof stop !== 'number') return null
  return (tokens) =>
    tokens.map((token) => {
      const letters = Array.from(token)
      let [from, to] = [0, letters.length]
      while (from < Math.min(start, letters.length) && letters[from] === content) from++
      while (letters.length - to < stop && to > from && letters[to - 1] === content) to--
      return letters.slice(from, to).join('')
    })
}

/** The first token loses its marks, which stood for the beginning of the text. */
function createMetaspace({ replacement, prepend_scheme }: StepConfig): Step | null {
  const mark = replacement ?? '\u2581'
  if (typeof mark !== 'string' || mark === '') return null
  const opening = prepend_scheme === 'never' ? ' ' : ''
  return (tokens) => tokens.map((token, at) => token.replaceAll(mark, () => (at === 0 ? opening : ' ')))
}
