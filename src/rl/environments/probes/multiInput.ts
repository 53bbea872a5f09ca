import { defineTask } from '../tasks/common.ts'
import { PythonRandom } from './pythonRandom.ts'

/** The right digit depends on two that are shown: (sum mod 3) + 1. Columns `first` and `second` of a row are taken instead. */
export const multiInput = defineTask({
  id: 'probe-multi-input',
  description: 'Probe: two digits, +1 if the turn holds (their sum mod 3) + 1, else −1.',
  settings: { digits: '123' },
  create: ({ digits }) => ({
    maxTurns: 1,
    reset({ row, seed }) {
      const random = new PythonRandom(seed)
      const choices = [...digits].map(Number)
      const drawn = [random.choice(choices), random.choice(choices)] as const
      const first = typeof row['first'] === 'number' ? row['first'] : drawn[0]
      const second = typeof row['second'] === 'number' ? row['second'] : drawn[1]
      return { state: String(((first + second) % 3) + 1), observation: `${first}${second}` }
    },
    step({ state, action }) {
      const isRight = action.includes(state)
      return { reward: isRight ? 1 : -1, done: true, metrics: { correct: Number(isRight) } }
    },
  }),
})
