/** Code of rewards, as a sandbox runs it and as Python does. */
import { invalidConfig } from '#shared/errors.ts'
import type { RewardFunction } from '#rl/rewards.ts'
import { kindTitles, type Sandbox } from './sandbox.ts'

type RewardSettings = Readonly<Record<string, string | number | boolean>>

/** Code with reward functions, as a sandbox runs it and as Python does. */
export type ScoringCode = Pick<
  Sandbox,
  'functions' | 'unnamed' | 'settings' | 'needsTokens' | 'kind' | 'score'
>

/** A function of user code as a reward function. Errors: AppError 'config/invalid' for settings it does not have. */
export function sandboxedReward(code: ScoringCode, name: string, settings: RewardSettings): RewardFunction {
  requireSettings(code, settings)
  return {
    id: name,
    description: `${name} in reward code.`,
    needsTokens: code.needsTokens,
    score: (inputs) =>
      code.score(
        inputs.map(({ prompt, completion, row, step, tokens }) => ({
          prompt,
          completion,
          row,
          step,
          tokens,
          settings,
        })),
        name,
      ),
  }
}

/** The named function, else the default one, else all. Errors: AppError 'config/invalid'. */
export function chosenFunctions(code: ScoringCode, name: string | null): readonly string[] {
  const { functions, unnamed, kind } = code
  if (kind !== 'reward') {
    throw invalidConfig(`The code is ${kindTitles[kind]}, not a reward function.`)
  }
  if (name === null && unnamed.length > 0) return unnamed
  if (name !== null && functions.includes(name)) return [name]
  throw invalidConfig(
    `The reward code has no function${name === null ? ' of its own' : ` called “${name}”`}.`,
    `It has: ${functions.join(', ') || 'none'}.`,
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
    throw invalidConfig(`The reward code ${fault}.`, `Its settings: ${names.join(', ')}.`)
  }
}
