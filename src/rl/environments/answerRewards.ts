import { invalidConfig } from '#shared/errors.ts'
import { expectedLiteral, statedLiteral } from '../answers/findLiteral.ts'
import { isSameLiteral } from '../answers/literal.ts'
import { expectedMath, saysMath } from '../answers/mathAnswer.ts'
import { defineReward, doubt, expectedText, type Doubt } from './common.ts'

/**
 * 1 when the completion states the number, list, ratio, date or time of the answer. Where it states it is found by a marker
 * (`\boxed{}`, `<answer>`, ####, “the answer is”), else it is the last number, because reasoning comes before the result.
 */
export const numericEquality = defineReward({
  id: 'numeric-equality',
  description: '1 if the completion states the number in the answer of the row, else 0.',
  settings: { column: 'answer', tolerance: 1e-6 },
  create({ column, tolerance }) {
    requireTolerance('numeric-equality', tolerance)
    return ({ completion, row }) => {
      const expected = expectedLiteral(expectedText(row, column) ?? '')
      if (expected === null) return null
      const found = statedLiteral(completion, expected)
      return Number(found !== null && isSameLiteral(expected, found, tolerance))
    }
  },
  doubts: ({ tolerance }) => toleranceDoubts(tolerance),
})

/** 1 when the completion states an expression that equals the answer, in LaTeX or plain text, or the same few words. */
export const mathEquality = defineReward({
  id: 'math-equality',
  description:
    '1 if the completion states an expression equal to the answer of the row (LaTeX or plain), else 0.',
  settings: { column: 'answer', tolerance: 1e-6 },
  create({ column, tolerance }) {
    requireTolerance('math-equality', tolerance)
    return ({ completion, row }) => {
      const expected = expectedMath(expectedText(row, column) ?? '')
      return expected === null ? null : Number(saysMath(expected, completion, tolerance))
    }
  },
  doubts: ({ tolerance }) => toleranceDoubts(tolerance),
})

function requireTolerance(id: string, tolerance: number): void {
  if (tolerance >= 0) return
  throw invalidConfig(`The tolerance of ${id} is at least 0, got ${tolerance}.`)
}

const toleranceDoubts = (tolerance: number): Doubt[] =>
  tolerance > 0.1
    ? [doubt('tolerance', `${tolerance}; numbers that are ${100 * tolerance} % off count as right.`)]
    : []
