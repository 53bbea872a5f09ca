import { defineTask } from '../tasks/common.ts'
import { PythonRandom } from './pythonRandom.ts'

/** The right digit depends on the one that is shown: (digit mod 3) + 1. A column `digit` of a row is taken instead. */
export const conditionalTarget = defineTask({
  id: 'probe-conditional',
  description: 'Probe: one digit d, +1 if the turn holds (d mod 3) + 1, else −1.',
  settings: { digits: '123' },
  create: ({ digits }) => ({
    maxTurns: 1,
    reset({ row, seed }) {
      const drawn = Number(new PythonRandom(seed).choice([...digits]))
      const digit = typeof row['digit'] === 'number' ? row['digit'] : drawn
      return { state: String((digit % 3) + 1), observation: String(digit) }
    },
    step({ state, action }) {
      const isRight = action.includes(state)
      return { reward: isRight ? 1 : -1, done: true, metrics: { correct: Number(isRight) } }
    },
  }),
})
