/**
 * The built-in reward functions. Reading guide: one file per function or task, each made with `defineReward` of
 * `common.ts` and listed here; `../rewards.ts` adds several into one reward.
 */
import { AppError } from '#shared/errors.ts'
import { eachSample, type RewardFunction } from '../rewards.ts'
import type { BuiltInReward, RewardSettings } from './common.ts'
import { contains } from './contains.ts'
import { exactMatch } from './exactMatch.ts'
import { format } from './format.ts'
import { lengthPenalty } from './lengthPenalty.ts'
import { numericEquality } from './numericEquality.ts'
import { starterCorrect, starterFormat } from './starter.ts'

/** A built-in whose settings' types are known to its own file only. */
const listed = <Settings extends RewardSettings>({
  id,
  description,
  settings,
  create,
}: BuiltInReward<Settings>) => ({
  id,
  description,
  settings: settings as RewardSettings,
  create: (changed: RewardSettings): RewardFunction => ({
    id,
    description,
    score: eachSample(create({ ...settings, ...checkedSettings(id, settings, changed) })),
  }),
})

/** Everything a picker needs, in its order. */
export const builtInRewards = [
  listed(exactMatch),
  listed(contains),
  listed(numericEquality),
  listed(format),
  listed(lengthPenalty),
  listed(starterCorrect),
  listed(starterFormat),
] as const

/** The reward function called `id`, its defaults replaced by `settings`. Errors: `config/invalid`. */
export function builtInReward(id: string, settings: RewardSettings = {}): RewardFunction {
  const found = builtInRewards.find((reward) => reward.id === id)
  if (found !== undefined) return found.create(settings)
  const known = builtInRewards.map((reward) => reward.id).join(', ')
  throw new AppError(
    'config/invalid',
    `There is no reward function called "${id}".`,
    `Choose one of: ${known}.`,
  )
}

/** Only settings the function has, each of its default's type. */
function checkedSettings<Settings extends RewardSettings>(
  id: string,
  defaults: Settings,
  changed: RewardSettings,
): Partial<Settings> {
  for (const [name, value] of Object.entries(changed)) {
    const expected = Object.hasOwn(defaults, name) ? typeof defaults[name] : null
    if (expected === typeof value && !Number.isNaN(value)) continue
    const names = Object.keys(defaults).join(', ') || 'none'
    const fault = expected === null ? `has no setting "${name}"` : `needs a ${expected} for "${name}"`
    throw new AppError('config/invalid', `The reward function "${id}" ${fault}.`, `Its settings: ${names}.`)
  }
  return changed as Partial<Settings>
}
