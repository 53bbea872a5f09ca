import { defineTask } from '../tasks/common.ts'

/** The simplest thing that can be learned: always the same prompt, always the same right digit. */
export const constantTarget = defineTask({
  id: 'probe-constant',
  description: 'Probe: a fixed prompt, +1 if the turn holds the target digit, else −1.',
  settings: { target: '3', prompt: '11' },
  create: ({ target, prompt }) => ({
    maxTurns: 1,
    reset: () => ({ state: null, observation: prompt }),
    step({ action }) {
      const isRight = action.includes(target)
      return { reward: isRight ? 1 : -1, done: true, metrics: { correct: Number(isRight) } }
    },
  }),
})
