import { flatten, library, readPattern, type StepConfig } from './steps.ts'

/** Cuts a text into the pieces that are encoded one by one. */
export interface PreTokenizer {
  /** Splits a text into pieces. `isFirst`: the text is at the very beginning of what is encoded. */
  split(text: string, isFirst: boolean): readonly string[]
  /** True if the pieces are then spelled byte by byte. */
  readonly isByteLevel: boolean
}

type Split = (text: string, isFirst: boolean) => readonly string[]

/** The pre-tokenizer of a tokenizer.json. Errors: Error for a step that the library does not know either. */
export function createPreTokenizer(stage: unknown): PreTokenizer {
  const configs = flatten(stage, 'pretokenizers')
  const isByteLevel = configs.at(-1)?.['type'] === 'ByteLevel'
  const steps = configs.map((config, at) => createStep(config, at === configs.length - 1))
  const [first, ...rest] = steps
  if (first === undefined) return { split: (text) => [text], isByteLevel }
  const split: Split = (text, isFirst) =>
    rest.reduce<readonly string[]>(
      (pieces, step) => pieces.flatMap((piece, at) => step(piece, isFirst && at === 0)),
      first(text, isFirst),
    )
  return { split, isByteLevel }
}

/** Bytes are spelled after the last step (`bpe.ts`); before another one the library spells them. */
const createStep = (config: StepConfig, isLast: boolean): Split =>
  createOwnStep(config, isLast) ?? createLibraryStep(config)

function createLibraryStep(config: StepConfig): Split {
  const step = new library.SequencePreTokenizer({ pretokenizers: [config] })
  return (text, isFirst) => step.pre_tokenize(text, { section_index: isFirst ? 0 : 1 })
}

function createOwnStep(config: StepConfig, isLast: boolean): Split | null {
  switch (config['type']) {
    case 'ByteLevel':
      return isLast ? createByteLevel(config) : null
    case 'Digits':
      return createSplit(/\p{N}/gu, config['individual_digits'] === true ? 'Isolated' : 'Contiguous')
    case 'Metaspace':
      return createMetaspace(config)
    case 'Split':
      return createConfiguredSplit(config)
    default:
      return null
  }
}

/** GPT-2's words. The classes are spelled out because JavaScript's \s is another set than the reference's. */
const wordsOfGpt2 =
  /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu

function createByteLevel({ add_prefix_space, use_regex }: StepConfig): Split {
  const split: Split = use_regex === false ? (text) => [text] : createSplit(wordsOfGpt2, 'Isolated')
  if (add_prefix_space !== true) return split
  return (text, isFirst) => split(text.startsWith(' ') ? text : ` ${text}`, isFirst)
}

function createMetaspace({ replacement, str_rep, prepend_scheme, split }: StepConfig): Split | null {
  const mark = replacement ?? '\u2581'
  const scheme = prepend_scheme ?? 'always'
  if (typeof mark !== 'string' || mark === '' || (str_rep !== undefined && str_rep !== mark)) return null
  const cut: Split =
    split === false
      ? (text) => [text]
      : createSplit(new RegExp(`\\u{${hexOf(mark)}}`, 'gu'), 'MergedWithNext')
  return (text, isFirst) => {
    const marked = text.replaceAll(' ', () => mark)
    const isPrepended = !marked.startsWith(mark) && (scheme === 'always' || (scheme === 'first' && isFirst))
    return cut(isPrepended ? mark + marked : marked, isFirst)
  }
}

const hexOf = (character: string): string => (character.codePointAt(0) ?? 0).toString(16)

const behaviors = ['Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous'] as const
type Behavior = (typeof behaviors)[number]

function createConfiguredSplit({ pattern, behavior, invert }: StepConfig): Split | null {
  const matches = readPattern(pattern)
  const known = behaviors.find((name) => name === behavior)
  if (matches === null || known === undefined) return null
  return createSplit(matches, known, invert === true)
}

/** Cuts at the matches of a pattern; with `isInverted` at the text between them. */
function createSplit(pattern: RegExp, behavior: Behavior, isInverted = false): Split {
  const join = joins[behavior]
  // Most patterns match all of a text; then the matches are the pieces, and nothing needs to be looked at again.
  const isPlain = behavior === 'Isolated' || (behavior === 'Removed' && isInverted)
  return (text) => {
    if (text === '') return []
    if (isPlain) {
      const matches = text.match(pattern)
      if (matches !== null && covers(matches, text.length)) return matches
    }
    return join(partsOf(text, pattern, isInverted))
  }
}

function covers(matches: readonly string[], length: number): boolean {
  let total = 0
  for (const match of matches) {
    if (match === '') return false
    total += match.length
  }
  return total === length
}

interface Part {
  readonly text: string
  readonly isDelimiter: boolean
}

/** Returns the matches and the texts between them, none empty. */
function partsOf(text: string, pattern: RegExp, isInverted: boolean): Part[] {
  const parts: Part[] = []
  let end = 0
  const add = (from: number, to: number, isMatch: boolean) => {
    if (from < to) parts.push({ text: text.slice(from, to), isDelimiter: isMatch !== isInverted })
  }
  for (const match of text.matchAll(pattern)) {
    add(end, match.index, false)
    end = match.index + match[0].length
    add(match.index, end, true)
  }
  add(end, text.length, false)
  return parts
}

/** Joins parts for which `isJoined` holds, given the part before. */
function joined(parts: readonly Part[], isJoined: (previous: Part, part: Part) => boolean): string[] {
  const pieces: string[] = []
  parts.forEach((part, index) => {
    const previous = parts[index - 1]
    if (previous !== undefined && isJoined(previous, part)) pieces.push(`${pieces.pop() ?? ''}${part.text}`)
    else pieces.push(part.text)
  })
  return pieces
}

const joins: Readonly<Record<Behavior, (parts: readonly Part[]) => string[]>> = {
  Removed: (parts) => parts.filter(({ isDelimiter }) => !isDelimiter).map(({ text }) => text),
  Isolated: (parts) => parts.map(({ text }) => text),
  MergedWithPrevious: (parts) => joined(parts, (previous, part) => part.isDelimiter && !previous.isDelimiter),
  MergedWithNext: (parts) => joined(parts, (previous, part) => previous.isDelimiter && !part.isDelimiter),
  Contiguous: (parts) => joined(parts, (previous, part) => previous.isDelimiter === part.isDelimiter),
}
