import { defineReward, expectedText } from './common.ts'

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
