import type { SampleScore } from '../rewards.ts'

/** A setting of a built-in reward function: flat, so that a form and a config file can hold it. */
export type RewardSettings = Readonly<Record<string, string | number | boolean>>

/** A built-in reward function: a name, words for the picker, and defaults that a run may change one by one. */
export interface BuiltInReward<Settings extends RewardSettings = RewardSettings> {
  readonly id: string
  readonly description: string
  readonly settings: Settings
  readonly create: (settings: Settings) => SampleScore
}

/** Keeps the settings' types while the file defines its function. */
export const defineReward = <Settings extends RewardSettings>(reward: BuiltInReward<Settings>) => reward

/** The expected answer of a row as trimmed text; `null` where the column is missing or holds no text or number. */
export function expectedText(row: Readonly<Record<string, unknown>>, column: string): string | null {
  const value = row[column]
  if (typeof value === 'string') return value.trim()
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null
}

/** Equal spellings of a text: Unicode composed, runs of white space as one space, case folded if asked. */
export function normalized(text: string, ignoreCase: boolean): string {
  const tidy = text.normalize('NFC').trim().replaceAll(/\s+/g, ' ')
  return ignoreCase ? tidy.toLowerCase() : tidy
}
