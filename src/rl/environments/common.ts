import { invalidConfig } from '#shared/errors.ts'
import { maxSetting } from '#shared/config/settings.ts'
import type { SampleScore } from '../rewards.ts'

/** A setting of a built-in reward function: flat, so that a form and a config file can hold it. */
export type RewardSettings = Readonly<Record<string, string | number | boolean>>

/**
 * A built-in reward function: a name, words for the picker, and defaults that a run may change one by one. These have no
 * schema, since the code is exported to other tools as plain JavaScript.
 */
export interface BuiltInReward<Settings extends RewardSettings = RewardSettings> {
  readonly id: string
  readonly description: string
  readonly settings: Settings
  readonly create: (settings: Settings) => SampleScore
  /**
   * Plain JavaScript that scores in the sandbox, where `create`, which then checks the settings alone, would run something of a
   * config's for as long as it likes. Its only export besides settings is a function called like the reward.
   */
  readonly code?: string
  /** Returns doubts about settings that work but are probably not meant. */
  readonly doubts?: (settings: Settings) => readonly Doubt[]
}

/** Doubt about a value that is allowed but unusual; the message goes on behind the setting’s name. */
export interface Doubt {
  readonly setting: string
  readonly message: string
}

export const doubt = (setting: string, message: string): Doubt => ({ setting, message })

/** Keeps the settings' types while the file defines its function. */
export const defineReward = <Settings extends RewardSettings>(reward: BuiltInReward<Settings>) => reward

/**
 * Refuses settings that `what` does not have, and values of another type than the default. Errors: AppError
 * 'config/invalid'.
 */
export function requireSettings(what: string, defaults: RewardSettings, changed: RewardSettings): void {
  for (const [name, value] of Object.entries(changed)) {
    const expected = Object.hasOwn(defaults, name) ? typeof defaults[name] : null
    const isWithin = typeof value !== 'number' || Math.abs(value) <= maxSetting
    if (expected === typeof value && isWithin) continue
    const names = Object.keys(defaults).join(', ') || 'none'
    const limits = expected === typeof value ? ` from ${-maxSetting} to ${maxSetting}` : ''
    const fault =
      expected === null
        ? `has no setting “${name}”`
        : `needs a ${expected}${limits} for “${name}”, got ${JSON.stringify(value)}`
    throw invalidConfig(`The ${what} ${fault}.`, `Its settings: ${names}.`)
  }
}

/** The expected answer of a row as trimmed text; `null` where the column is missing or holds no text or number. */
export function expectedText(row: Readonly<Record<string, unknown>>, column: string): string | null {
  const value = row[column]
  if (typeof value === 'string') return value.trim()
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null
}

/**
 * Returns the same text for equal spellings: Unicode composed, runs of white space as one space, case folded if asked.
 */
export function normalized(text: string, ignoreCase: boolean): string {
  const tidy = text.normalize('NFC').trim().replaceAll(/\s+/g, ' ')
  return ignoreCase ? tidy.toLowerCase() : tidy
}
