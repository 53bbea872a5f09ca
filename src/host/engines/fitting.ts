/** Whether another trainer can train a run. */
import { blaming, conflict, refuse } from '#shared/config/problems.ts'
import type { Problem } from '#shared/errors.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { toolTitles } from '#shared/tools.ts'
import { exportedRun } from '#host/exchange/exportConfig.ts'
import { codeReference } from '#host/rewards/rewardCode.ts'
import { askedProcesses, type EngineConfig, engines } from './launch.ts'

/** Errors: ConfigError; AppError 'config/invalid' for what the trainer has nothing like. */
export function requireFittingEngine(config: RunConfig): void {
  const { engine } = config
  if (engine.kind === 'local') return
  const { tool } = engines[engine.kind]
  blaming('engine.kind', null, () => exportedRun(config, tool))
  refuse([...rewardConflicts(config, toolTitles[tool]), ...launcherConflicts(engine)])
  askedProcesses(engine)
}

const rewardConflicts = ({ rewards }: RunConfig, title: string): Problem[] =>
  rewards.some(({ function: id }) => codeReference(id)?.language === 'py')
    ? [
        conflict(
          'rewards',
          `one is in Python; only TypeScript or JavaScript goes with a project for ${title}.`,
        ),
      ]
    : []

function launcherConflicts(engine: EngineConfig): Problem[] {
  if (engine.launcher === 'command' && engine.command === null)
    return [conflict('engine.command', 'the launcher is a command, but there is none.')]
  return settingsOfOne.flatMap(([key, launcher]) =>
    engine[key] === null || engine.launcher === launcher
      ? []
      : [conflict(`engine.${key}`, `only the launcher ${launcher} reads it; it is ${engine.launcher}.`)],
  )
}

const settingsOfOne = [
  ['accelerateConfig', 'accelerate'],
  ['address', 'ray'],
  ['runtimeEnv', 'ray'],
] as const
