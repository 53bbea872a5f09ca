import { plural } from '#shared/plural.ts'
import { exportPeft } from '#host/export/exportAdapter.ts'
import { runPaths } from '#host/runs/runFolder.ts'
import { createHost } from '#host/createHost.ts'
import { readDemoConfig } from '#host/runs/demoConfig.ts'
import { createRun } from '#host/runs/runLifecycle.ts'
import { requireKnownParts } from '#host/runs/runConfigFile.ts'
import { AppError } from '#shared/errors.ts'
import { stagesOf, type RunConfig } from '#shared/runConfig.ts'
import { defineCommand } from '../command.ts'
import { integer, text } from '../options.ts'
import { duration } from '../progress.ts'
import { followTraining } from '../training.ts'
import { formatReward } from '../output.ts'

export const demo = defineCommand({
  name: 'demo',
  summary: 'Train the starter model on the demo data set, offline',
  positionals: [],
  options: {
    algorithm: text('NAME', 'algorithm to train with (default grpo), or chain: sft, dpo and grpo in one run'),
    steps: integer('N', 'training steps', { minimum: 1 }),
    seed: integer('S', 'seed of the run', { minimum: 0 }),
  },
  async run({ options }, context) {
    const { output, dataDirectory } = context
    const config = changed(readDemoConfig(dataDirectory, options.algorithm), options)
    requireKnownParts(config)
    await using host = createHost({ dataDirectory, servesQueue: false })
    const run = createRun(host, config)
    const trainings = stagesOf(config).map((stage) => stage.algorithm.id)
    output.line(
      `Training the starter model with ${trainings.join(', then ')}, seed ${config.seed}. Run ${run.id}`,
    )
    output.line('Task: short exercises (sort, reverse, largest, add, count), answered with the bare result.')
    const outcome = await followTraining({ host, run, resumeFrom: null, streamEvents: false }, context)
    if (!outcome.isFinished || outcome.checkpoint === null) {
      throw new AppError(
        'run/stopped',
        `The demo was stopped after ${plural(outcome.steps, 'step')}.`,
        `Go on with: turnwise resume ${run.id}`,
      )
    }
    const { directory: adapterDir } = await exportPeft(outcome.checkpoint, runPaths(run.directory).adapter)
    const { rewardBefore, rewardAfter, steps, seconds } = outcome
    const { seed } = config
    output.json({
      algorithm: trainings.join('+'),
      seed,
      steps,
      rewardBefore,
      rewardAfter,
      seconds,
      adapterDir,
      runId: run.id,
    })
    output.line(
      `Eval reward ${formatReward(rewardBefore)} → ${formatReward(rewardAfter)} in ${plural(steps, 'step')}, ${duration(seconds)}.`,
    )
    output.line(`Adapter: ${adapterDir}`)
  },
})

interface DemoChanges {
  readonly algorithm: string | undefined
  readonly steps: number | undefined
  readonly seed: number | undefined
}

/** Another algorithm starts from its own default settings. */
function changed(
  config: RunConfig,
  { algorithm = config.algorithm.id, steps, seed }: DemoChanges,
): RunConfig {
  if (config.stages.length > 0) return { ...config, seed: seed ?? config.seed }
  return {
    ...config,
    algorithm: algorithm === config.algorithm.id ? config.algorithm : { id: algorithm, settings: {} },
    steps: steps ?? config.steps,
    seed: seed ?? config.seed,
  }
}
