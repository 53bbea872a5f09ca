/** Writes a run config as the settings of a tool: every value written out, and a list of what has no name there. */
import path from 'node:path'
import { codeReference } from '#shared/config/codeReference.ts'
import { judgeFunction } from '#shared/config/judge.ts'
import { rewardName, stagesOf, type RunConfig } from '#shared/runConfig.ts'
import { invalidConfig } from '#shared/errors.ts'
import { toolTitles } from '#shared/tools.ts'
import { algorithmById } from '#rl/algorithms/registry.ts'
import { groupSizeOf, requireFitting } from '#rl/training/conflicts.ts'
import { updatesOf } from '#rl/training/plan.ts'
import { isEqual, valueAt } from '#shared/config/paths.ts'
import { type SettingRow, groups } from './settingRow.ts'
import { initialConfig } from './importConfig.ts'
import type { Quantities } from './links.ts'
import { fixedFor, rowsFor } from './settingsTable.ts'
import { projectAlgorithm, projectAlgorithms, type ProjectTool } from './tools.ts'

export interface ExportedConfig {
  /** Names and values for the tool, in the order of the table. */
  readonly values: Readonly<Record<string, unknown>>
  /** Sentences on what the tool does differently from this run. */
  readonly unmapped: readonly string[]
  readonly quantities: Quantities
}

/** Facts about model and data that an export needs. */
export interface RunSize {
  /** Number of rows that are trained on. */
  readonly rows: number
  /** Tokens the model reads. */
  readonly contextLength: number
  /** Projections it has, by the names of its own files. */
  readonly modules: readonly string[]
}

/** The run as one training with every setting said. Errors: AppError 'config/invalid' where the tool has nothing like it. */
export function exportedRun(config: RunConfig, tool: ProjectTool): RunConfig {
  const [run, ...others] = stagesOf(config)
  if (others.length > 0) {
    throw invalidConfig(
      `The run has ${others.length + 1} stages; a project for ${toolTitles[tool]} can have only one.`,
      'Export a config of one stage, with the adapter of the previous stage as its initial adapter.',
    )
  }
  requireExportable(run, tool)
  projectAlgorithm(tool, run.algorithm.id)
  const algorithm = algorithmById(run.algorithm.id)
  requireFitting(run, algorithm.configure(run.algorithm.settings))
  const defaults = initialConfig(run.algorithm.id).algorithm.settings
  return { ...run, algorithm: { id: run.algorithm.id, settings: { ...defaults, ...run.algorithm.settings } } }
}

/** Refuses settings that decide what is learned and that no project has. Errors: AppError 'config/invalid'. */
function requireExportable(
  { algorithm: { id }, environment, rewards, rollout: { workflow } }: RunConfig,
  tool: ProjectTool,
): void {
  const refused = (learns: string, kind: string, hint: string) =>
    invalidConfig(`The run learns ${learns}, and ${kind} cannot be exported to ${toolTitles[tool]}.`, hint)
  if (codeReference(id) !== null) {
    const known = Object.keys(projectAlgorithms[tool]).join(', ')
    const hint = `Choose an algorithm that ${toolTitles[tool]} has: ${known}.`
    throw refused(`with the loss “${path.basename(id)}”`, 'losses of your own', hint)
  }
  const rewarded = 'Runs with rewards by code on completions can be; use such a run on the same rows.'
  if (workflow !== null)
    throw refused(`by the workflow “${path.basename(workflow.function)}”`, 'workflows', rewarded)
  if (environment !== null)
    throw refused(`in the environment “${environment.function}”`, 'environments', rewarded)
  const judge = rewards.find(({ function: reward }) => reward === judgeFunction)
  if (judge !== undefined) throw refused(`by the judge “${rewardName(judge)}”`, 'judges', rewarded)
}

/** Errors: AppError 'config/invalid'. */
export function exportConfig(config: RunConfig, tool: ProjectTool, size: RunSize): ExportedConfig {
  const run = exportedRun(config, tool)
  const quantities = quantitiesOf(run, size)
  const full: RunConfig = {
    ...run,
    rollout: { ...run.rollout, groupSize: quantities.groupSize },
  }
  const values: Record<string, unknown> = {}
  const unmapped: string[] = []
  for (const row of rowsFor(run.algorithm.id)) {
    const value = valueAt(full, row.ours)
    const written = row[tool]?.write?.(value, quantities)
    if (written === undefined) unmapped.push(...lost(row, value, full, tool))
    else assign(values, written, { row, value, unmapped, tool })
  }
  for (const fixed of fixedFor(tool, run.algorithm.id)) {
    // A name with a point lies inside a value that the table writes as a whole.
    const isWritten = Object.hasOwn(values, fixed.name) || fixed.name.includes('.')
    if ('value' in fixed && !isWritten) values[fixed.name] = fixed.value
  }
  return { values, unmapped: [...unmapped, ...losses(full, tool)], quantities }
}

interface Assigned {
  readonly row: SettingRow
  readonly value: unknown
  readonly unmapped: string[]
  readonly tool: ProjectTool
}

function assign(
  values: Record<string, unknown>,
  written: Readonly<Record<string, unknown>>,
  context: Assigned,
): void {
  const { row, value, unmapped, tool } = context
  for (const [name, theirs] of Object.entries(written)) {
    if (theirs !== undefined) values[name] = theirs
    else
      unmapped.push(
        `${row.ours} is ${JSON.stringify(value)}, which ${toolTitles[tool]}'s ${name} cannot express.`,
      )
  }
}

function lost(row: SettingRow, value: unknown, config: RunConfig, tool: ProjectTool): string[] {
  if (row.isCarried === true || (row.needs !== undefined && isOff(valueAt(config, row.needs)))) return []
  const off = 'off' in row ? row.off : valueAt(initialConfig(config.algorithm.id), row.ours)
  if (value === undefined || isEqual(value, off)) return []
  return [`${row.ours} is ${JSON.stringify(value)}; ${toolTitles[tool]} has no such setting.`]
}

const isOff = (value: unknown): boolean => value === 0 || value === false || value === null

/** Largest number of sequences at once that is tried: larger ones would seldom fit beside a model worth exporting. */
const maxPerDevice = 16

function quantitiesOf(run: RunConfig, { rows, contextLength, modules }: RunSize): Quantities {
  const algorithm = algorithmById(run.algorithm.id).configure(run.algorithm.settings)
  const isGenerating = algorithm.experience === 'rollout'
  const groupSize = isGenerating ? groupSizeOf(run, algorithm) : 1
  const unit = algorithm.needs.unit
  const perStep = run.rollout.promptsPerStep * groupSize
  const perUpdate = (run.optimization.minibatchSize ?? perStep * unit) / unit
  return {
    algorithm: run.algorithm.id,
    groupSize,
    perStep,
    perUpdate,
    updatesPerStep: updatesOf(run, perStep * unit, unit),
    steps: run.steps ?? Math.ceil((run.passes * rows) / run.rollout.promptsPerStep),
    perDevice: largestDivisor(perUpdate, maxPerDevice),
    contextLength,
    modules,
    warmup: run.optimization.warmupProportion,
    preferenceLoss: run.algorithm.id === 'dpo' ? String(run.algorithm.settings['loss']) : '',
  }
}

function largestDivisor(count: number, limit: number): number {
  for (let divisor = Math.min(limit, count); divisor > 1; divisor -= 1)
    if (count % divisor === 0) return divisor
  return 1
}

/* What a tool does otherwise than a run, where no single setting tells. */

/** A difference that no single setting tells: its condition and its sentence. */
interface Loss {
  readonly isSo: boolean
  readonly sentence: string
}

const losses = (run: RunConfig, tool: ProjectTool): string[] =>
  (tool === 'trl' ? trlLosses(run) : agilerlLosses(run))
    .filter(({ isSo }) => isSo)
    .map(({ sentence }) => sentence)

function trlLosses(run: RunConfig): Loss[] {
  const { algorithm, optimization } = run
  const settings = algorithm.settings
  const lower = lowerBound(algorithm)
  return [
    ...generatingLosses(run, 'trl'),
    ...(isGroup(run) ? trlGroupLosses(settings) : []),
    {
      isSo: algorithm.id === 'cispo' && lower > 0,
      sentence: `TRL's CISPO has no lower bound of the ratio; in this run it is ${lower}.`,
    },
    {
      isSo: (isGroup(run) || algorithm.id === 'rloo') && isStandardized(settings),
      sentence:
        'TRL adds 1e-4 to the standard deviation that advantages are divided by, this run 1e-8: groups whose rewards hardly differ count less in TRL.',
    },
    {
      isSo: algorithm.id === 'dpo' && settings['loss'] === 'conservative',
      sentence: 'TRL has no conservative pair loss: sigmoid without label smoothing was written.',
    },
    {
      isSo: algorithm.id === 'dpo' && settings['nllAlpha'] !== 0,
      sentence:
        'The likelihood of chosen answers is a mean over the tokens of each device’s batch in TRL, over those of the whole update in Turnwise.',
    },
    {
      isSo: isGroup(run) && settings['lossNorm'] === 'token-mean' && optimization.minibatchSize !== null,
      sentence:
        'With several updates per step, TRL divides by the mean number of tokens per update, this run by each update’s own.',
    },
    {
      isSo: settings['importanceSamplingLevel'] === 'turn',
      sentence: 'A completion is one turn, so the importance ratio of turns became that of the sequence.',
    },
  ]
}

const trlGroupLosses = (settings: RunConfig['algorithm']['settings']): Loss[] => [
  {
    isSo: settings['entropyCoefficient'] !== 0,
    sentence:
      'The entropy bonus is a mean over the tokens of each device’s batch in TRL, over those of the whole update in Turnwise.',
  },
  {
    isSo: settings['topEntropyShare'] !== 1,
    sentence:
      'TRL selects the tokens of highest entropy under the current policy, within each device’s batch; Turnwise under the behaviour policy, within the whole update.',
  },
  {
    isSo: settings['maskTruncated'] === true && settings['lossNorm'] === 'trajectory-mean',
    sentence: 'TRL’s mean counts masked truncated completions; Turnwise’s does not.',
  },
]

function agilerlLosses(run: RunConfig): Loss[] {
  const { algorithm, optimization } = run
  const settings = algorithm.settings
  const lower = lowerBound(algorithm)
  return [
    ...generatingLosses(run, 'agilerl'),
    {
      isSo: optimization.schedule === 'cosine',
      sentence:
        'The cosine schedule ends at half the learning rate, as in Turnwise, but along a different curve.',
    },
    {
      isSo: optimization.schedule !== 'cosine' && optimization.warmupProportion > 0,
      sentence: `optimization.warmupProportion is ${optimization.warmupProportion}; AgileRL only warms up with its cosine schedule.`,
    },
    {
      isSo: isGroup(run) && algorithm.id !== 'cispo' && Array.isArray(settings['clipCoefficient']),
      sentence:
        'AgileRL’s manifest takes one clip_coef for both sides; the wider of the two bounds was written.',
    },
    {
      isSo: algorithm.id === 'cispo' && lower > 0,
      sentence: `AgileRL's CISPO has no lower bound of the ratio; in this run it is ${lower}.`,
    },
    {
      isSo: isGroup(run) && settings['offPolicyThreshold'] !== null && settings['klCoefficient'] !== 0,
      sentence:
        'AgileRL also drops the KL term of trajectories beyond offPolicyThreshold; Turnwise, like TRL, keeps it.',
    },
    {
      isSo: isGenerating(run),
      sentence:
        'A completion to which no reward applies counts as 0 in AgileRL; Turnwise does not learn from it.',
    },
    {
      isSo: isGenerating(run) && run.rewards.length > 1,
      sentence: 'AgileRL charts the sum of the rewards, not its components.',
    },
  ]
}

const generatingLosses = (run: RunConfig, tool: ProjectTool): Loss[] => [
  {
    isSo: isGenerating(run) && run.evaluation.every > 0,
    sentence: `Turnwise answers validation prompts greedily; ${toolTitles[tool]} samples.`,
  },
]

const isGenerating = ({ algorithm }: RunConfig): boolean =>
  algorithmById(algorithm.id).experience === 'rollout'

const isGroup = ({ algorithm }: RunConfig): boolean => groups.some((id) => id === algorithm.id)

const isStandardized = ({
  advantageNorm,
  normalizeAdvantages,
}: RunConfig['algorithm']['settings']): boolean =>
  advantageNorm === undefined ? normalizeAdvantages === true : advantageNorm !== 'mean-only'

/** CISPO has one where a pair says so. */
const lowerBound = ({ settings }: RunConfig['algorithm']): number => {
  const coefficient = settings['clipCoefficient']
  return Array.isArray(coefficient) ? Number(coefficient[0]) : 0
}
