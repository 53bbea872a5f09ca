import { AppError } from '#shared/errors.ts'
import type { RewardAnswer, RewardFunction } from '#rl/rewards.ts'
import type { SandboxFailure, ScoreAnswer } from '../sandbox/answers.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'

type RewardSettings = Readonly<Record<string, string | number | boolean>>

/** A function of user code as a reward function. Errors: AppError 'config/invalid' for settings it does not have. */
export function sandboxedReward(sandbox: Sandbox, name: string, settings: RewardSettings): RewardFunction {
  requireSettings(sandbox, settings)
  return {
    id: name,
    description: `${name} in reward code.`,
    score: async (inputs) => {
      const answers = await sandbox.score(
        inputs.map((input) => ({ ...input, settings })),
        name,
      )
      return answers.map(asRewardAnswer)
    },
  }
}

/** The named function, else the default one, else all. Errors: AppError 'config/invalid'. */
export function chosenFunctions(sandbox: Sandbox, name: string | null): readonly string[] {
  const { functions, kind } = sandbox
  if (kind === 'environment') {
    throw new AppError('config/invalid', 'The code is an environment, not a reward function.')
  }
  if (name === null) return functions.includes('default') ? ['default'] : functions
  if (functions.includes(name)) return [name]
  throw new AppError(
    'config/invalid',
    `The reward code has no function called “${name}”.`,
    `It has: ${functions.join(', ')}.`,
  )
}

/** Code that names no settings takes any. Errors: AppError 'config/invalid'. */
export function requireSettings({ settings: known }: Pick<Sandbox, 'settings'>, given: RewardSettings): void {
  const names = Object.keys(known)
  if (names.length === 0) return
  for (const [name, value] of Object.entries(given)) {
    const expected = Object.hasOwn(known, name) ? typeof known[name] : null
    if (expected === typeof value) continue
    const fault = expected === null ? `has no setting “${name}”` : `needs a ${expected} for “${name}”`
    throw new AppError('config/invalid', `The reward code ${fault}.`, `Its settings: ${names.join(', ')}.`)
  }
}

function asRewardAnswer(answer: ScoreAnswer): RewardAnswer {
  if ('failure' in answer) return faultOf(answer.failure)
  const { value, columns, metrics } = answer
  return { value, columns, metrics }
}

/** What went wrong, as the sample's answer. */
export const faultOf = ({ message, line, column }: SandboxFailure) => ({
  failure: message,
  ...(line === null ? {} : { line }),
  ...(column === null ? {} : { column }),
})
