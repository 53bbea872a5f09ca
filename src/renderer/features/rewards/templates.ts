/** What stands in the editor when something new is begun. */
import type { RewardKind } from './types.ts'

const reward = `// What is a completion worth? Return a number (higher is better), or null where this does not apply.
export const settings = { column: 'answer' }

export default function score({ prompt, completion, row, settings, log }) {
  const expected = String(row[settings.column] ?? '').trim()
  if (expected === '') return null
  log.column('expected', expected) // shown beside the sample
  return completion.trim() === expected ? 1 : 0
}
`

const environment = `// A world of several turns. Everything to be remembered is in \`state\`; the next turn gets it back.
export default {
  reset({ row, random }) {
    const target = 1 + Math.floor(random() * 10)
    return { state: { target, turns: 0 }, observation: 'Guess a number from 1 to 10. Answer with the number only.' }
  },

  step({ state, action, log }) {
    const turns = state.turns + 1
    const isRight = Number(action.trim()) === state.target
    log.metric('turns', turns)
    if (isRight) return { state: { ...state, turns }, reward: 1, done: true }
    return { state: { ...state, turns }, observation: 'No. Guess again.', reward: 0, done: turns >= 5 }
  },
}
`

export const startCode: Readonly<Record<RewardKind, string>> = { reward, environment }

/** From code alone: what it seems to be. The sandbox decides when it loads it. */
export const guessKind = (code: string): RewardKind =>
  /\breset\s*[(:]/.test(code) && /\bstep\s*[(:]/.test(code) ? 'environment' : 'reward'
