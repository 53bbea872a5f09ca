import { AppError } from '#shared/errors.ts'
import { defineReward } from './common.ts'

/** 1 when the whole completion, without surrounding white space, has the form of a regular expression. */
export const format = defineReward({
  id: 'format',
  description: '1 if the whole completion matches a regular expression, else 0.',
  settings: { pattern: '<think>.*</think>\\s*<answer>.*</answer>', ignoreCase: false },
  create({ pattern, ignoreCase }) {
    const expression = compile(pattern, ignoreCase)
    return ({ completion }) => (expression.test(completion.trim()) ? 1 : 0)
  },
})

function compile(pattern: string, ignoreCase: boolean): RegExp {
  try {
    return new RegExp(`^(?:${pattern})$`, ignoreCase ? 'isu' : 'su')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new AppError(
      'config/invalid',
      `The pattern of the format reward is not valid: ${reason}.`,
      undefined,
      error,
    )
  }
}
