/** A run config as the settings of a tool: every value written out, and a list of what has no name there. */
import { stagesOf, type RunConfig } from '#shared/runConfig.ts'
import { AppError } from '#shared/errors.ts'
import { algorithmById } from '#rl/algorithms/registry.ts'
import { groupSizeOf, requireFitting } from '#rl/training/conflicts.ts'
import { updatesOf } from '#rl/training/plan.ts'
import { atPath } from './configPaths.ts'
import { fixedFor, initialConfig, isSame } from './importConfig.ts'
import type { Quantities } from './links.ts'
import { losses } from './exportLosses.ts'
import type { SettingRow } from './settingRow.ts'
import { rowsFor } from './settingsTable.ts'
import { toolTitles } from '#shared/tools.ts'
import { projectAlgorithm, type ProjectTool } from './tools.ts'

export interface ExportedConfig {
  /** Names and values for the tool, in the order of the table. */
  readonly values: Readonly<Record<string, unknown>>
  /** What the tool does otherwise than this run, a sentence each. */
  readonly unmapped: readonly string[]
  readonly quantities: Quantities
}

/** What must be known of model and data. */
export interface RunSize {
  /** Rows that are trained on. */
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
    throw new AppError(
      'config/invalid',
      `The run has ${others.length + 1} stages; a project for ${toolTitles[tool]} holds one training.`,
      'Hand over a config of one stage, with the adapter of the stage before it as its start.',
    )
  }
  projectAlgorithm(tool, run.algorithm.id)
  if (run.environment !== null) {
    throw new AppError(
      'config/invalid',
      `The run learns in the environment “${run.environment.function}”, and environments cannot be handed over to ${toolTitles[tool]}.`,
      'Runs with rewards on completions can; the nearest is such a run on the same rows.',
    )
  }
  const algorithm = algorithmById(run.algorithm.id)
  requireFitting(run, algorithm.configure(run.algorithm.settings))
  const defaults = initialConfig(run.algorithm.id).algorithm.settings
  return { ...run, algorithm: { id: run.algorithm.id, settings: { ...defaults, ...run.algorithm.settings } } }
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
    const value = atPath(full, row.ours)
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
        `${row.ours} is ${JSON.stringify(value)}, which ${toolTitles[tool]}'s ${name} cannot say.`,
      )
  }
}

function lost(row: SettingRow, value: unknown, config: RunConfig, tool: ProjectTool): string[] {
  if (row.isCarried === true || (row.needs !== undefined && isOff(atPath(config, row.needs)))) return []
  const off = 'off' in row ? row.off : atPath(initialConfig(config.algorithm.id), row.ours)
  if (value === undefined || isSame(value, off)) return []
  return [`${row.ours} is ${JSON.stringify(value)}; ${toolTitles[tool]} has no such setting.`]
}

const isOff = (value: unknown): boolean => value === 0 || value === false || value === null

/** Larger numbers of sequences at once would seldom fit beside a model worth handing over. */
const mostPerDevice = 16

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
    perDevice: largestDivisor(perUpdate, mostPerDevice),
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
