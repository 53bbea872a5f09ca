import { AppError } from '#shared/errors.ts'
import type { Environment, EnvironmentAnswer } from '#rl/environment.ts'
import type { EnvironmentAnswer as SandboxAnswer } from '#host/sandbox/answers.ts'
import type { Sandbox } from '#host/sandbox/sandbox.ts'
import { faultOf, requireSettings } from '#host/rewards/sandboxedReward.ts'

type EnvironmentSettings = Readonly<Record<string, string | number | boolean>>

/** Where neither the code's `maxTurns` setting nor the run says how many turns an episode may have. */
const usualTurns = 8

/**
 * An environment of user code as the environment that learning knows. A setting `maxTurns` of the code is its suggestion.
 * Errors: AppError 'config/invalid' for a reward function, or for settings it does not have.
 */
export function sandboxedEnvironment(
  sandbox: Sandbox,
  { function: id, settings }: { readonly function: string; readonly settings: EnvironmentSettings },
): Environment {
  if (sandbox.kind !== 'environment') {
    throw new AppError(
      'config/invalid',
      'The code is a reward function, not an environment.',
      'An environment exports { reset, step } as default.',
    )
  }
  requireSettings(sandbox, settings)
  const suggested = settings['maxTurns'] ?? sandbox.settings['maxTurns']
  return {
    id,
    description: 'Environment code.',
    maxTurns: typeof suggested === 'number' && suggested >= 1 ? Math.floor(suggested) : usualTurns,
    async reset(starts) {
      const answers = await sandbox.reset(starts.map((start) => ({ ...start, settings })))
      return answers.map(asEnvironmentAnswer)
    },
    async step(actions) {
      const answers = await sandbox.step(actions.map((action) => ({ ...action, settings })))
      return answers.map(asEnvironmentAnswer)
    },
  }
}

function asEnvironmentAnswer(answer: SandboxAnswer): EnvironmentAnswer {
  if ('failure' in answer) return faultOf(answer.failure)
  const { state, observation, reward, done, truncated, columns, metrics } = answer
  return { state, observation, reward, done, truncated, columns, metrics }
}
