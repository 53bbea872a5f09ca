/**
 * The table of settings: ours, and what TRL, AgileRL, verl and AReaL call the same thing, with the value each takes where
 * a file says nothing. Importing and exporting read nothing else. A row with `for` belongs to those algorithms only; a
 * tool without an entry has no such setting, and what `off` says loses nothing there.
 */
import { algorithmSettings } from './algorithmSettings.ts'
import { commonSettings } from './commonSettings.ts'
import type { SettingRow } from './settingRow.ts'

export const settingsTable: readonly SettingRow[] = [...commonSettings, ...algorithmSettings]

/** Those of one algorithm. */
export const rowsFor = (algorithm: string): SettingRow[] =>
  settingsTable.filter((row) => row.for === undefined || row.for.includes(algorithm))
