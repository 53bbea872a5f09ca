/** Settings of several runs side by side, reduced to those that differ. */
import { historyWords, type SettingChange } from '#shared/config/changes.ts'
import { byName, isObject, leaves } from '#shared/config/paths.ts'
import { lastPart } from '#renderer/client/format.ts'

/** Settings as text by dotted name; undefined: the run has no such setting. */
export type Settings = ReadonlyMap<string, SettingValue>
export type SettingValue = string | number | boolean | null

/** Flattens a config to dotted names; list entries are named by their `name`, `function` or position. */
export const flatSettings = (config: unknown): Settings =>
  new Map(
    [...leaves(config, byName)].flatMap(([key, value]) =>
      isObject(value) ? [] : [[key, Array.isArray(value) ? 'none' : (value as SettingValue)] as const],
    ),
  )

/**
 * Replaces folders of data sets and files of rewards, which are called by the digest of what they hold, by names.
 * `names`: by the digest of a data set and the id of a reward.
 */
export const withLibraryNames = (settings: Settings, names: ReadonlyMap<string, string>): Settings =>
  new Map(
    [...settings].map(([key, value]) => [key, typeof value === 'string' ? libraryName(value, names) : value]),
  )

const rewardFile = /[\\/](rw_[\w-]+)[\\/]([0-9a-f]{8})[0-9a-f]{56}\.[jt]s(#.+)?$/

function libraryName(value: string, names: ReadonlyMap<string, string>): string {
  const [, id = '', digest = '', part = ''] = rewardFile.exec(value) ?? []
  const reward = names.get(id)
  if (reward !== undefined) return `${reward}${part} (${digest})`
  return names.get(lastPart(value)) ?? value
}

/** Lists all values of a setting that changed during the run. */
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

/** Keys left out because they do not affect training. */
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

/** Shortens paths to their last part: what precedes it is the same machine. */
export const shortSetting = (value: SettingValue | undefined): string => {
  const text = settingText(value)
  return /^(?:\/|[A-Za-z]:\\)/.test(text) ? `…/${text.split(/[\\/]/).slice(-2).join('/')}` : text
}
