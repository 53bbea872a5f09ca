import { AppError } from '#shared/errors.ts'
import { defineReward, doubt, expectedText } from './common.ts'

/**
 * 1 when the last number of the completion equals the last number of the expected answer. The last, because reasoning
 * comes before the result, in completions as in reference solutions (“… #### 42”).
 */
export const numericEquality = defineReward({
  id: 'numeric-equality',
  description: '1 if the last number of the completion equals the number in the answer of the row, else 0.',
  settings: { column: 'answer', tolerance: 1e-6 },
  create({ column, tolerance }) {
    if (tolerance < 0)
      throw new AppError(
        'config/invalid',
        `The tolerance of numeric-equality is at least 0, got ${tolerance}.`,
      )
    return ({ completion, row }) => {
      const expected = lastNumber(expectedText(row, column) ?? '')
      if (expected === null) return null
      const found = lastNumber(completion)
      if (found === null) return 0
      return Math.abs(found - expected) <= tolerance * Math.max(1, Math.abs(expected)) ? 1 : 0
    }
  },
  doubts: ({ tolerance }) =>
    tolerance > 0.1
      ? [doubt('tolerance', `${tolerance}; numbers that are ${100 * tolerance} % off count as right.`)]
      : [],
})

/** Digits with optional sign, thousands commas, decimals and exponent. A sign counts only where no word precedes it. */
const numberPattern =
  /(?:(?<![\p{L}\p{N}_)])[-−])?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:[eE][-+]?\d{1,3}(?!\d))?/gu

function lastNumber(text: string): number | null {
  const found = text.match(numberPattern)?.at(-1)
  if (found === undefined) return null
  const value = Number(found.replaceAll(',', '').replace('−', '-'))
  return Number.isFinite(value) ? value : null
}
