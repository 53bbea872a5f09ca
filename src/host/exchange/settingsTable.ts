/**
 * The table of settings: ours, and what TRL, AgileRL, verl and AReaL call the same thing, with the value each takes where
 * a file says nothing. Importing and exporting read nothing else. A row with `for` belongs to those algorithms only; a
 * tool without an entry has no such setting, and what `off` says loses nothing there.
 */
import { algorithmById } from '#rl/algorithms/registry.ts'
import { algorithmSettings } from './algorithmSettings.ts'
import { commonSettings } from './commonSettings.ts'
import type { SettingRow } from './settingRow.ts'

export const settingsTable: readonly SettingRow[] = [...commonSettings, ...algorithmSettings]

/** Those of one algorithm; no tool has a setting of its own that the table does not name. */
export function rowsFor(algorithm: string): SettingRow[] {
  const rows = settingsTable.filter((row) => row.for === undefined || row.for.includes(algorithm))
  const named = new Set(rows.map(({ ours }) => ours))
  const own = Object.keys(algorithmById(algorithm).settings).map((name) => `algorithm.settings.${name}`)
  return [...rows, ...own.filter((ours) => !named.has(ours)).map((ours) => ({ ours }))]
}
