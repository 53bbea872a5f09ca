import { defineTask } from '../tasks/common.ts'

/** Whatever the policy does is worth 1: nothing to learn for it, but a critic must foresee it. */
export const constantReward = defineTask({
  id: 'probe-value',
  description: 'Probe: a fixed prompt, +1 for every turn.',
  settings: { prompt: '11' },
  create: ({ prompt }) => ({
    maxTurns: 1,
    reset: () => ({ state: null, observation: prompt }),
    step: () => ({ reward: 1, done: true, metrics: { correct: 1 } }),
  }),
})
