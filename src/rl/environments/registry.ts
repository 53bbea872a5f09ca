/**
 * The built-in reward functions. Reading guide: the functions are in `textRewards.ts` and `answerRewards.ts`, each made with `defineReward` of
 * `common.ts`, and listed here; `../rewards.ts` adds several into one reward.
 */
import { invalidConfig } from '#shared/errors.ts'
import { eachSample, type RewardFunction } from '../rewards.ts'
import { requireSettings, type BuiltInReward, type RewardSettings } from './common.ts'
import { mathEquality, numericEquality } from './answerRewards.ts'
import { contains, exactMatch, format, lengthPenalty, starterCorrect, starterFormat } from './textRewards.ts'

/** A built-in whose settings' types are known to its own file only. */
const listed = <Settings extends RewardSettings>({
  id,
  description,
  settings,
  code,
  create,
  doubts,
}: BuiltInReward<Settings>) => ({
  id,
  description,
  settings: settings as RewardSettings,
  code: code ?? null,
  create(changed: RewardSettings): RewardFunction {
    requireSettings(`reward function “${id}”`, settings, changed)
    return { id, description, score: eachSample(create({ ...settings, ...changed })) }
  },
  doubts: (changed: RewardSettings) => doubts?.({ ...settings, ...changed }) ?? [],
})

/** Built-in rewards, in the order of a picker. */
export const builtInRewards = [
  listed(exactMatch),
  listed(contains),
  listed(numericEquality),
  listed(mathEquality),
  listed(format),
  listed(lengthPenalty),
  listed(starterCorrect),
  listed(starterFormat),
] as const

/** The code of a built-in that scores in the sandbox; null for others, and where there is none. */
export const builtInCode = (id: string): string | null =>
  builtInRewards.find((reward) => reward.id === id)?.code ?? null

/** The reward function called `id`, its defaults replaced by `settings`. Errors: `config/invalid`. */
export function builtInReward(id: string, settings: RewardSettings = {}): RewardFunction {
  const found = builtInRewards.find((reward) => reward.id === id)
  if (found !== undefined) return found.create(settings)
  const known = builtInRewards.map((reward) => reward.id).join(', ')
  throw invalidConfig(`There is no reward function called “${id}”.`, `Choose one of: ${known}.`)
}
