/** Settings of several runs side by side: only what differs. */

/** A setting as text; undefined: the run has no such setting. */
export type Settings = ReadonlyMap<string, SettingValue>
export type SettingValue = string | number | boolean | null

/** Dotted names of a config's leaves; entries of lists by their `name`, `function` or place. */
export function flatSettings(config: unknown): Settings {
  const found = new Map<string, SettingValue>()
  collect(config, '', found)
  return found
}

function collect(value: unknown, name: string, into: Map<string, SettingValue>): void {
  if (typeof value !== 'object' || value === null) {
    if (value !== undefined) into.set(name, value as SettingValue)
    return
  }
  const entries: readonly (readonly [string, unknown])[] = Array.isArray(value)
    ? value.map((item: unknown, i) => [entryName(item, i), item] as const)
    : Object.entries(value)
  if (entries.length === 0 && Array.isArray(value)) into.set(name, 'none')
  for (const [key, item] of entries) collect(item, name === '' ? key : `${name}.${key}`, into)
}

function entryName(item: unknown, place: number): string {
  if (typeof item !== 'object' || item === null) return String(place + 1)
  const named = item as { readonly name?: unknown; readonly function?: unknown }
  if (typeof named.name === 'string') return named.name
  return typeof named.function === 'string' ? named.function : String(place + 1)
}

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
