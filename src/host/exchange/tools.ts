/** Which of our algorithms each tool has, and which versions of them were read. */
import { AppError } from '#shared/errors.ts'
import { toolTitles, type ToolId } from '#shared/tools.ts'

/** Tools a whole run is handed over to. */
export const projectTools = ['trl', 'agilerl'] as const
export type ProjectTool = (typeof projectTools)[number]

/** The versions whose names, defaults and losses were read for the tables in this folder. */
export const toolVersions: Readonly<Record<ToolId, string>> = {
  trl: '1.16.0',
  agilerl: '2.58.0',
  verl: 'main of August 2026',
  areal: '1.0.4',
}

/** Our algorithm → what the tool calls the same one. */
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

/** What comes closest to an algorithm the tool does not have. */
const nearest: Readonly<Record<ProjectTool, Readonly<Record<string, string>>>> = {
  trl: {
    ppo: 'rloo, which needs no critic',
    reinforce: 'rloo, which also learns from whole completions',
    remax: 'rloo, whose baseline is the other completions instead of a greedy one',
    'reinforce-plus-plus': 'grpo with advantageNorm “mean-batch-std”',
  },
  agilerl: {
    sapo: 'gspo',
    rloo: 'grpo with advantageNorm “mean-only”',
    remax: 'reinforce',
    'reinforce-plus-plus': 'grpo with whitenAdvantages',
  },
}

/** The tool's name of an algorithm. Errors: AppError 'config/invalid' naming the nearest one where it has none. */
export function projectAlgorithm(tool: ProjectTool, algorithm: string): string {
  const name = projectAlgorithms[tool][algorithm]
  if (name !== undefined) return name
  const other = nearest[tool][algorithm] ?? Object.keys(projectAlgorithms[tool]).join(', ')
  throw new AppError(
    'config/invalid',
    `${toolTitles[tool]} ${toolVersions[tool]} has no equivalent of ${algorithm}, so the run cannot be handed over to it.`,
    `The nearest it has is ${other}.`,
  )
}
