import { flatten, mapKnown, readPattern, type StepConfig } from './steps.ts'

export type Normalize = (text: string) => string

/** The normalizer of a tokenizer.json as one function; null when it has a step unknown here. */
export function createNormalizer(stage: unknown): Normalize | null {
  const configs = flatten(stage, 'normalizers')
  const steps = configs === null ? null : mapKnown(configs, createStep)
  if (steps === null) return null
  const [only] = steps
  if (only === undefined) return (text) => text
  return steps.length === 1 ? only : (text) => steps.reduce((current, step) => step(current), text)
}

const isAscii = (text: string): boolean => !/[^\x00-\x7f]/.test(text)

function createStep(config: StepConfig): Normalize | null {
  const { type } = config
  switch (type) {
    case 'NFC':
    case 'NFD':
    case 'NFKC':
    case 'NFKD':
      return (text) => (isAscii(text) ? text : text.normalize(type))
    case 'Lowercase':
      // Letter by letter, so that a sigma at the end of a word is like any other.
      return (text) => Array.from(text, (letter) => letter.toLowerCase()).join('')
    case 'Prepend': {
      const { prepend } = config
      return typeof prepend === 'string' ? (text) => (text === '' ? '' : prepend + text) : null
    }
    case 'Replace':
      return createReplace(config)
    default:
      return null
  }
}

/** Replaces every match; the content is plain text, whatever dollar signs it holds. */
export function createReplace({ pattern, content }: StepConfig): Normalize | null {
  const matches = readPattern(pattern)
  if (matches === null || typeof content !== 'string') return null
  return (text) => text.replace(matches, () => content)
}
