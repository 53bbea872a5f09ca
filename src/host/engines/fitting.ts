/** Checks if another trainer can train a run. */
import path from 'node:path'
import { codeReference } from '#shared/config/codeReference.ts'
import { launcherKinds } from '#shared/config/engine.ts'
import { blaming } from '#shared/config/blame.ts'
import { conflict, refuse } from '#shared/config/problems.ts'
import type { Problem } from '#shared/errors.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { toolTitles } from '#shared/tools.ts'
import { algorithmById } from '#rl/algorithms/registry.ts'
import { exportedRun } from '#host/exchange/exportConfig.ts'
import {
  askedProcesses,
  type Engine,
  type EngineConfig,
  engines,
  type OtherEngine,
  readAccelerateFile,
  splittingTypes,
} from './launch.ts'

/** Errors: ConfigError; AppError 'config/invalid' for what the trainer has nothing like. */
export function requireFittingEngine(config: RunConfig): void {
  const { engine } = config
  if (engine.kind === 'local') return
  const { tool } = engines[engine.kind]
  blaming('engine.kind', null, () => exportedRun(config, tool))
  refuse([
    ...answerConflicts(config, engine.kind),
    ...rewardConflicts(config, toolTitles[tool]),
    ...launcherConflicts(engine, engine.kind),
  ])
  const processes = askedProcesses(engine) ?? 1
  refuse([
    ...sharingConflicts(config, engines[engine.kind], processes),
    ...splittingConflicts(engine, engines[engine.kind]),
  ])
}

/** Lists settings of an accelerate config that a trainer would ignore in silence. */
function splittingConflicts(
  { launcher, accelerateConfig }: EngineConfig,
  { usesAccelerate, tool }: Engine,
): Problem[] {
  if (usesAccelerate || launcher !== 'accelerate' || accelerateConfig === null) return []
  const { distributed_type: type = '' } = readAccelerateFile(accelerateConfig) ?? {}
  if (!splittingTypes.includes(type)) return []
  const words = `${path.basename(accelerateConfig)} asks for ${type}, but ${toolTitles[tool]} takes from accelerate only how many processes there are.`
  return [conflict('engine.accelerateConfig', words)]
}

const sharingConflicts = (
  { rollout: { promptsPerStep } }: RunConfig,
  { sharesPrompts, tool }: Engine,
  processes: number,
): Problem[] =>
  sharesPrompts && promptsPerStep % processes !== 0
    ? [
        conflict(
          'engine.processes',
          `${processes} processes of ${toolTitles[tool]} cannot share ${promptsPerStep} prompts per step evenly.`,
        ),
      ]
    : []

/** Refuses training on given answers in a trainer whose loop for them cannot be watched; an export exists for that. */
const answerConflicts = ({ algorithm: { id } }: RunConfig, kind: OtherEngine): Problem[] =>
  engines[kind].learnsAnswers || algorithmById(id).experience === 'rollout'
    ? []
    : [
        conflict(
          'algorithm.id',
          `${id} learns from given answers, and ${toolTitles[engines[kind].tool]} is started here for algorithms that learn from completions alone.`,
        ),
      ]

const rewardConflicts = ({ rewards }: RunConfig, title: string): Problem[] =>
  rewards.some(({ function: id }) => codeReference(id)?.language === 'py')
    ? [
        conflict(
          'rewards',
          `one is in Python; only TypeScript or JavaScript goes with a project for ${title}.`,
        ),
      ]
    : []

function launcherConflicts(engine: EngineConfig, kind: OtherEngine): Problem[] {
  const { tool, refused } = engines[kind]
  const reason = refused[engine.launcher]
  if (reason !== undefined)
    return [
      conflict(
        'engine.launcher',
        `${toolTitles[tool]} is not started by ${engine.launcher}: ${reason}. It is started by ${startedBy(kind)}.`,
      ),
    ]
  if (engine.launcher === 'command' && engine.command === null)
    return [conflict('engine.command', 'the launcher is a command, but there is none.')]
  return settingsOfOne.flatMap(([key, launcher]) =>
    engine[key] === null || engine.launcher === launcher
      ? []
      : [conflict(`engine.${key}`, `only the launcher ${launcher} reads it; it is ${engine.launcher}.`)],
  )
}

const startedBy = (kind: OtherEngine): string =>
  launcherKinds.filter((launcher) => engines[kind].refused[launcher] === undefined).join(', ')

const settingsOfOne = [
  ['accelerateConfig', 'accelerate'],
  ['address', 'ray'],
  ['runtimeEnv', 'ray'],
] as const
