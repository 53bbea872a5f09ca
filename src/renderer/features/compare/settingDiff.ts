/** Settings of several runs side by side: only what differs. */
import { historyWords, type SettingChange } from '#shared/config/changes.ts'
import { byName, isObject, leaves } from '#shared/config/paths.ts'

/** A setting as text; undefined: the run has no such setting. */
export type Settings = ReadonlyMap<string, SettingValue>
export type SettingValue = string | number | boolean | null

/** Dotted names of a config's leaves; entries of lists by their `name`, `function` or place. */
export const flatSettings = (config: unknown): Settings =>
  new Map(
    [...leaves(config, byName)].flatMap(([key, value]) =>
      isObject(value) ? [] : [[key, Array.isArray(value) ? 'none' : (value as SettingValue)] as const],
    ),
  )

/** What was changed within the run has all its values. */
export const withHistory = (settings: Settings, changes: readonly SettingChange[]): Settings =>
  new Map([
    ...settings,
    ...[...Map.groupBy(changes, ({ key }) => key)].map(([key, own]) => [key, historyWords(own)] as const),
  ])

export interface SettingRow {
  readonly key: string
  /** One per run; undefined: it has no such setting. */
  readonly values: readonly (SettingValue | undefined)[]
  readonly isDifferent: boolean
}

/** Names of runs say nothing about them. */
const ignored = new Set(['name'])

export function settingRows(runs: readonly Settings[]): readonly SettingRow[] {
  const keys = [...new Set(runs.flatMap((settings) => [...settings.keys()]))].filter(
    (key) => !ignored.has(key),
  )
  return keys.map((key) => {
    const values = runs.map((settings) => settings.get(key))
    return { key, values, isDifferent: values.some((value) => value !== values[0]) }
  })
}

export const differingKeys = (runs: readonly Settings[]): readonly string[] =>
  settingRows(runs)
    .filter(({ isDifferent }) => isDifferent)
    .map(({ key }) => key)

export const settingText = (value: SettingValue | undefined): string =>
  value === undefined ? '–' : value === null ? 'none' : value === '' ? '(empty)' : String(value)

/** Paths by their end: what stands before is the same machine. */
export const shortSetting = (value: SettingValue | undefined): string => {
  const text = settingText(value)
  return /^(?:\/|[A-Za-z]:\\)/.test(text) ? `…/${text.split(/[\\/]/).slice(-2).join('/')}` : text
}
