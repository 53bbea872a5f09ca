import { invalidConfig } from '#shared/errors.ts'
import { doubt } from '../common.ts'
import { defineTask, isTurns, lastInteger } from './common.ts'

/** Find a secret number by guessing; a column `secret` of a row is taken instead of a drawn one. */
export const numberGuessing = defineTask({
  id: 'number-guessing',
  description:
    'Several turns: guess a number and be told "higher" or "lower". 1 when found, a penalty for a turn without a valid guess.',
  settings: { lowest: 1, highest: 100, guesses: 8, invalidPenalty: 0.1 },
  create({ lowest, highest, guesses, invalidPenalty }) {
    if (!(Number.isInteger(lowest) && Number.isInteger(highest) && lowest < highest) || !isTurns(guesses)) {
      throw invalidConfig(
        'The environment “number-guessing” needs whole numbers lowest < highest and 1 to 1000 guesses.',
      )
    }
    const isGuess = (guess: number | null): guess is number =>
      guess !== null && guess >= lowest && guess <= highest
    return {
      maxTurns: guesses,
      reset({ row, random }) {
        const drawn = lowest + random.integer(highest - lowest + 1)
        const secret = typeof row['secret'] === 'number' ? row['secret'] : drawn
        return {
          state: { secret, guesses: 0 } satisfies { readonly secret: number; readonly guesses: number },
          observation:
            `I am thinking of a whole number from ${lowest} to ${highest}. You have ${guesses} guesses; ` +
            'after each I say whether my number is higher or lower. Answer with a number alone.',
        }
      },
      step({ state, action }) {
        const guess = lastInteger(action)
        if (guess === state.secret) return { reward: 1, terminated: true, metrics: { correct: 1 } }
        const next = { ...state, guesses: state.guesses + 1 }
        const reward = isGuess(guess) ? 0 : -invalidPenalty
        if (next.guesses >= guesses) return { state: next, reward, terminated: true, metrics: { correct: 0 } }
        return { state: next, reward, observation: hint(guess, state.secret, isGuess(guess)) }
      },
    }
  },
  doubts: ({ invalidPenalty, guesses }) => [
    ...(invalidPenalty < 0
      ? [doubt('invalidPenalty', `${invalidPenalty}; a turn without a valid guess is rewarded by that.`)]
      : []),
    ...(invalidPenalty > 10
      ? [
          doubt(
            'invalidPenalty',
            `${invalidPenalty}; finding the number, which earns 1, hardly counts beside it.`,
          ),
        ]
      : []),
    ...(guesses > 50 ? [doubt('guesses', `${guesses}; an episode takes as many turns.`)] : []),
  ],
})

function hint(guess: number | null, secret: number, isValid: boolean): string {
  if (guess === null || !isValid) return 'That is not a number in the range. Guess again.'
  return secret > guess ? 'Higher.' : 'Lower.'
}
