/** Finds rows whose answer in full ends with another result than the column that rewards compare with. */
import { expectedMath, saysMath, type MathAnswer } from '#rl/answers/mathAnswer.ts'
import { statedLiteral } from '#rl/answers/findLiteral.ts'
import { statedAnswer } from '#rl/answers/statedAnswer.ts'
import { shorten } from '#shared/plural.ts'
import type { Columns } from './columnKinds.ts'

interface Compared {
  /** Column with the expected answer. */
  readonly expected: string
  /** Column with the answer in full, and how a row's text is read of it. */
  readonly full: string
  readonly textOf: (value: unknown) => string | null
  /** Name of the text in the sentence. */
  readonly words: string
}

/** A sentence that counts the contradictions and shows one; none where there are none. Only what can be compared is compared. */
export function answerConflicts({ rows }: Columns, { expected, full, textOf, words }: Compared): string[] {
  const found = rows.flatMap((row, index) => {
    const [wanted, text] = [scalarText(row[expected]), textOf(row[full])]
    return wanted !== null && text !== null && contradicts(wanted, text) ? [{ index, wanted, text }] : []
  })
  const [first] = found
  return first === undefined
    ? []
    : [
        `In ${found.length} of the first ${rows.length} rows ${words} contradicts “${expected}”: in row ${first.index + 1} it ends with “${ending(first.text)}”, and “${expected}” is “${shorten(first.wanted)}”.`,
      ]
}

const scalarText = (value: unknown): string | null =>
  typeof value === 'string' && value.trim() !== '' ? value : typeof value === 'number' ? String(value) : null

const longestEnding = 60

const ending = (text: string): string => {
  const end = text.trim().replaceAll(/\s+/g, ' ')
  return end.length > longestEnding ? `…${end.slice(-longestEnding)}` : end
}

/**
 * Returns true if a text contradicts the wanted answer. If the text marks its result, the mark decides; otherwise it is
 * enough that the answer is anywhere in the text.
 */
function contradicts(wanted: string, text: string): boolean {
  const expected = expectedMath(wanted)
  if (expected === null || saysMath(expected, text, 0)) return false
  if (statedAnswer(text, () => true).kind === 'marked') return true
  return isNumber(expected, text) && !holds(text, expected.text)
}

/** Returns true for numbers. Words can be put in another way; of two numbers one is wrong. */
const isNumber = ({ literal }: MathAnswer, text: string): boolean =>
  literal !== null && statedLiteral(text, literal) !== null

const holds = (text: string, answer: string): boolean => {
  const plain = (written: string) => written.replaceAll(/(?<=\d)[,\s](?=\d{3})/g, '')
  return plain(text)
    .split(/[^\w./%-]+/)
    .some((word) => word.replace(/[.:]+$/, '') === plain(answer))
}
