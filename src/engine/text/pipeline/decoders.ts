import { flatten, library, plainContent, type StepConfig } from './steps.ts'

export type DecodeTokens = (tokens: readonly string[]) => string

type Step = (tokens: readonly string[]) => readonly string[]

export interface Decoder {
  readonly decode: DecodeTokens
  /** True if tokens like <0xE6> are bytes; a run of them is text only as a whole. */
  readonly hasByteTokens: boolean
}

/** The decoder of a tokenizer.json. Errors: Error for a step that the library does not know either. */
export function createDecoder(stage: unknown): Decoder {
  const configs = flatten(stage, 'decoders')
  const steps = configs.map(createStep)
  const hasByteTokens = configs.some(({ type }) => type === 'ByteFallback')
  if (steps.length === 0) return { decode: (tokens) => tokens.join(' '), hasByteTokens }
  const decode: DecodeTokens = (tokens) =>
    steps.reduce<readonly string[]>((current, step) => step(current), tokens).join('')
  return { decode, hasByteTokens }
}

function createStep(config: StepConfig): Step {
  const { type, replacement = '\u2581' } = config
  if (type === 'ByteLevel') return decodeByteLevel
  if (type === 'ByteFallback') return decodeByteTokens
  if (type === 'Metaspace' && typeof replacement === 'string' && replacement !== '')
    return createMetaspace(replacement, config)
  const step = new library.SequenceDecoder({ decoders: [plainContent(config)] })
  return (tokens) => step.decode_chain(tokens)
}

/**
 * GPT-2's spelling of bytes as characters: a printable Latin-1 byte is its own character; the others are the characters
 * from U+0100 on, in order.
 */
const isPrintable = (byte: number): boolean =>
  (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae

const characterOfByte: readonly string[] = (() => {
  let next = 0x100
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isPrintable(byte) ? byte : next++))
})()

const byteOfCharacter: ReadonlyMap<string, number> = new Map(
  characterOfByte.map((character, byte) => [character, byte]),
)

/** A text's UTF-8 bytes, spelled in characters. */
export function spellBytes(text: string): string {
  let spelled = ''
  for (const byte of utf8Encoder.encode(text)) spelled += characterOfByte[byte]!
  return spelled
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

/** The first token loses its marks, which stood for the beginning of the text. */
function createMetaspace(mark: string, { prepend_scheme }: StepConfig): Step {
  const opening = prepend_scheme === 'never' ? ' ' : ''
  return (tokens) => tokens.map((token, at) => token.replaceAll(mark, () => (at === 0 ? opening : ' ')))
}
