/** The Turnwise algorithms each tool has, and the versions of the tools this is based on. */
import { invalidConfig } from '#shared/errors.ts'
import { toolTitles, type ToolId, toolIds } from '#shared/tools.ts'
import { algorithms } from '#rl/algorithms/registry.ts'
import { fixedFor, rowsFor, settingsOf } from './settingsTable.ts'

/** Tools a whole run is handed over to. */
export const projectTools = ['trl', 'agilerl'] as const
export type ProjectTool = (typeof projectTools)[number]

/** The versions whose names, defaults and losses were read for the tables in this folder. */
export const toolVersions: Readonly<Record<ToolId, string>> = {
  trl: '1.16.0',
  agilerl: '2.58.0',
  areal: '1.0.4',
  llamafactory: 'main of August 2026',
  axolotl: 'main of July 2026',
}

/** Algorithm here → the tool's name of the same one. */
export const projectAlgorithms: Readonly<Record<ProjectTool, Readonly<Record<string, string>>>> = {
  trl: { grpo: 'GRPO', gspo: 'GRPO', cispo: 'GRPO', sapo: 'GRPO', rloo: 'RLOO', dpo: 'DPO', sft: 'SFT' },
  agilerl: {
    grpo: 'GRPO',
    gspo: 'GSPO',
    cispo: 'CISPO',
    ppo: 'LLMPPO',
    reinforce: 'LLMREINFORCE',
    dpo: 'DPO',
    sft: 'SFT',
  },
}

/** Algorithms of TRL that are read and not written. */
const unwritten = ['orpo', 'simpo', 'kto']

/** Closest equivalent of an algorithm that the tool does not have. */
const nearest: Readonly<Record<ProjectTool, Readonly<Record<string, string>>>> = {
  trl: {
    orpo: 'dpo with nllAlpha',
    simpo: 'dpo',
    kto: 'dpo, which takes pairs',
    ppo: 'rloo, which needs no critic',
    reinforce: 'rloo, which also learns from whole completions',
    remax: 'rloo, whose baseline is the other completions instead of a greedy one',
    'reinforce-plus-plus': 'grpo with advantageNorm “mean-batch-std”',
  },
  agilerl: {
    sapo: 'gspo',
    rloo: 'grpo with advantageNorm “mean-only”',
    remax: 'reinforce',
    orpo: 'dpo with nllAlpha',
    simpo: 'dpo',
    kto: 'dpo, which takes pairs',
    'reinforce-plus-plus': 'grpo with whitenAdvantages',
  },
}

/** The tool's name of an algorithm. Errors: AppError 'config/invalid' naming the nearest one where it has none. */
export function projectAlgorithm(tool: ProjectTool, algorithm: string): string {
  const name = projectAlgorithms[tool][algorithm]
  if (name !== undefined) return name
  const known = Object.keys(projectAlgorithms[tool]).join(', ')
  const other = nearest[tool][algorithm] ?? known
  if (tool === 'trl' && unwritten.includes(algorithm))
    throw invalidConfig(
      `Projects for TRL are not written for ${algorithm}, only for ${known}.`,
      `The closest is ${other}.`,
    )
  throw invalidConfig(
    `${toolTitles[tool]} ${toolVersions[tool]} has no equivalent of ${algorithm}, so the run cannot be exported to it.`,
    `The closest is ${other}.`,
  )
}

/* What other tools call our settings, for people who look for a name they know. */

interface ToolName {
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
  const entries = rowsFor(algorithm).map((row) => ({
    ours: row.ours,
    keys: Object.keys(row[tool]?.keys ?? {}),
  }))
  const heads = new Set(settingsOf[tool].map(({ link }) => Object.keys(link.keys)[0]))
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
