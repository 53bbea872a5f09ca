import { defineReward, expectedText, normalized } from './common.ts'

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
