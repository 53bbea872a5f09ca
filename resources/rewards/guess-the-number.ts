// An environment of several turns: the policy guesses a number from 1 to 100 and is told higher or lower.
// Everything to remember is in `state`, which the next turn receives.
export default {
  reset({ row, random }) {
    const target = row.target ?? 1 + Math.floor(random() * 100)
    return { state: { target, turns: 0 }, observation: 'Guess a number from 1 to 100. Answer with the number only.' }
  },

  step({ state, action, log }) {
    const turns = state.turns + 1
    const guess = /^\s*(\d+)\s*$/.exec(action)
    log.metric('turns', turns)
    const next = { ...state, turns }
    if (guess === null) return { state: next, observation: 'That is not a number.', reward: -0.1, terminated: turns >= 10 }
    const number = Number(guess[1])
    if (number === state.target) return { state: next, reward: 1, terminated: true }
    const hint = number < state.target ? 'Higher.' : 'Lower.'
    return { state: next, observation: hint, reward: 0, terminated: turns >= 10 }
  },
}
