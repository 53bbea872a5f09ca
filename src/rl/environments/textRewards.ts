import { defineReward, expectedText, normalized } from './common.ts'
import { invalidConfig } from '#shared/errors.ts'

/** 1 when the completion is the expected answer and nothing else, up to white space. */
export const exactMatch = defineReward({
  id: 'exact-match',
  description: '1 if the completion is exactly the answer of the row, else 0.',
  settings: { column: 'answer', ignoreCase: false },
  create:
    ({ column, ignoreCase }) =>
    ({ completion, row }) => {
      const expected = expectedText(row, column)
      if (expected === null) return null
      return normalized(completion, ignoreCase) === normalized(expected, ignoreCase) ? 1 : 0
    },
})

/** 1 when the expected answer stands somewhere in the completion as whole words: 4 is not contained in 42. */
export const contains = defineReward({
  id: 'contains',
  description: '1 if the answer of the row appears in the completion as whole words, else 0.',
  settings: { column: 'answer', ignoreCase: true },
  create:
    ({ column, ignoreCase }) =>
    ({ completion, row }) => {
      const expected = expectedText(row, column)
      if (expected === null || expected === '') return null
      return holdsWords(normalized(completion, ignoreCase), normalized(expected, ignoreCase)) ? 1 : 0
    },
})

const wordCharacter = /[\p{L}\p{N}_]/u

/** Returns true if a text has the words in it, whole: 4 is not contained in 42. */
export function holdsWords(text: string, words: string): boolean {
  const breaksWord = (inside: string, outside: string) =>
    wordCharacter.test(inside) && wordCharacter.test(outside)
  for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + 1)) {
    const after = at + words.length
    if (breaksWord(words.at(0) ?? '', text.charAt(at - 1))) continue
    if (breaksWord(words.at(-1) ?? '', text.charAt(after))) continue
    return true
  }
  return false
}

const formatSettings = { pattern: '<think>.*</think>\\s*<answer>.*</answer>', ignoreCase: false }

/**
 * 1 when the whole completion, without surrounding white space, has the form of a regular expression. On some texts a pattern takes
 * for ever, hence the sandbox.
 */
export const format = defineReward({
  id: 'format',
  description: '1 if the whole completion matches a regular expression, else 0.',
  settings: formatSettings,
  code: `export const settings = ${JSON.stringify(formatSettings)}
export const format = ({ completion, settings: { pattern, ignoreCase } }) =>
  Number(new RegExp('^(?:' + pattern + ')$', ignoreCase ? 'isu' : 'su').test(completion.trim()))
`,
  create({ pattern, ignoreCase }) {
    requirePattern(pattern, ignoreCase)
    return () => {
      throw new Error('Expected a pattern to be tried in the sandbox.')
    }
  },
})

function requirePattern(pattern: string, ignoreCase: boolean): void {
  try {
    new RegExp(`^(?:${pattern})$`, ignoreCase ? 'isu' : 'su')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw invalidConfig(`The pattern of the format reward is not valid: ${reason}.`, undefined, error)
  }
}

/**
 * 0 up to `free` characters, then falling evenly to −1 at `limit`, and −1 beyond. The soft overlong punishment of
 * DAPO (Yu et al. 2025, arXiv:2503.14476, eq. 13), over characters instead of tokens.
 */
export const lengthPenalty = defineReward({
  id: 'length-penalty',
  description: '0 for short completions, falling to −1 for long ones (in characters).',
  settings: { free: 400, limit: 800 },
  create({ free, limit }) {
    if (!(free >= 0 && limit > free)) {
      throw invalidConfig(`The length penalty needs 0 ≤ free < limit, got ${free} and ${limit}.`)
    }
    return ({ completion }) => {
      const excess = ([...completion].length - free) / (limit - free)
      return excess <= 0 ? 0 : -Math.min(1, excess)
    }
  },
})

/**
 * The rewards of the bundled exercises (sorting, reversing, finding the largest, adding, counting). The starter model
 * knows how to do them, but often answers in words, with small talk or carelessly: the bare right digits earn it all.
 */
export const starterCorrect = defineReward({
  id: 'starter-correct',
  description: 'Starter exercises: 1 if the completion is the right answer and nothing else.',
  settings: { column: 'answer' },
  create:
    ({ column }) =>
    ({ completion, row }) => {
      const expected = expectedText(row, column)
      return expected === null ? null : Number(completion.trim() === expected)
    },
})

export const starterFormat = defineReward({
  id: 'starter-format',
  description: 'Starter exercises: 1 if the completion is digits only, separated by single spaces.',
  settings: {},
  create:
    () =>
    ({ completion }) =>
      Number(/^\d+(?: \d+)*$/.test(completion.trim())),
})
