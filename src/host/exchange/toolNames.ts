/** What TRL, AgileRL, verl and AReaL call our settings, for people who look for a name they know. */
import { algorithms } from '#rl/algorithms/registry.ts'
import { fixedFor } from './importConfig.ts'
import { rowsFor, settingsTable } from './settingsTable.ts'
import { toolIds, type ToolId } from '#shared/tools.ts'

export interface ToolName {
  readonly tool: ToolId
  readonly name: string
}

/** Dotted name of a setting of ours → its names in the tools, by the table that import and export read. */
export function toolNames(): Readonly<Record<string, readonly ToolName[]>> {
  const found = new Map<string, Map<string, ToolName>>()
  const add = (ours: string, { tool, name }: ToolName) => {
    const names = found.get(ours) ?? new Map<string, ToolName>()
    found.set(ours, names.set(`${tool} ${name}`, { tool, name }))
  }
  for (const tool of toolIds)
    for (const { id } of algorithms)
      for (const { name, settings } of namesOf(tool, id))
        settings.forEach((ours) => add(ours, { tool, name }))
  return Object.fromEntries([...found].map(([ours, names]) => [ours, [...names.values()]]))
}

/**
 * Names of the tool, and the settings of ours each stands for. Many entries of the table read names of others beside
 * their own, such as the sizes by which updates become steps: a name belongs to the entries that begin with it; one that
 * none begins with, to those that read the fewest.
 */
function namesOf(tool: ToolId, algorithm: string) {
  const keysIn = (rows: typeof settingsTable) =>
    rows.map((row) => ({ ours: row.ours, keys: Object.keys(row[tool]?.keys ?? {}) }))
  const entries = keysIn(rowsFor(algorithm))
  const heads = new Set(keysIn(settingsTable).map(({ keys }) => keys[0]))
  const fixed = new Set(fixedFor(tool, algorithm).map(({ name }) => name))
  const isSetting = (name: string) => !fixed.has(name) || entries.some(({ keys }) => keys[0] === name)
  const names = [...new Set(entries.flatMap(({ keys }) => keys))].filter(isSetting)
  return names.map((name) => {
    const reading = entries.filter(({ keys }) => keys.includes(name))
    const fewest = Math.min(...reading.map(({ keys }) => keys.length))
    const own = reading.filter(({ keys }) => (heads.has(name) ? keys[0] === name : keys.length === fewest))
    return { name, settings: own.map(({ ours }) => ours) }
  })
}
