import { AppError } from '#shared/errors.ts'
import type { Environment } from '#rl/environment.ts'
import { requireSettings, type Sandbox } from '#host/sandbox/sandbox.ts'

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
    reset: (starts) => sandbox.reset(starts.map((start) => ({ ...start, settings }))),
    step: (actions) => sandbox.step(actions.map((action) => ({ ...action, settings }))),
  }
}
