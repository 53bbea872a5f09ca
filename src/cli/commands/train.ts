import { problemSentence } from '#shared/errors.ts'
import { plural } from '#shared/plural.ts'
import { createHost } from '#host/createHost.ts'
import { requireWorkingEnvironment } from '#host/environments/resolveEnvironment.ts'
import { requireKnownRewards } from '#host/rewards/resolveRewards.ts'
import { createRun } from '#host/runs/runLifecycle.ts'
import { readRunConfig } from '#host/runs/runConfigFile.ts'
import { verdictOf } from '#host/runs/runVerdict.ts'
import { defineCommand, type CommandContext } from '../command.ts'
import { configHelpLines } from '../configHelp.ts'
import { duration } from '../progress.ts'
import { followTraining, type TrainingOutcome } from '../training.ts'
import { formatReward } from '../output.ts'

export const train = defineCommand({
  name: 'train',
  summary: 'Train a model as a config file says',
  positionals: [{ name: 'CONFIG.json', description: 'Run config; paths in it are relative to it' }],
  options: {},
  notes: () => [
    'With --json every event of the run is a line on standard output. Ctrl-C keeps a checkpoint.',
    '',
    ...configHelpLines(),
  ],
  async run({ positionals: [file = ''] }, context) {
    const { dataDirectory } = context
    const config = readRunConfig(file, dataDirectory)
    await requireKnownRewards(config)
    await requireWorkingEnvironment(config)
    await using host = createHost({ dataDirectory, servesQueue: false })
    const { warnings } = await verdictOf(config, dataDirectory, host.askText)
    for (const warning of warnings) context.output.note(`Warning: ${problemSentence(warning)}`)
    const run = createRun(host, config)
    context.output.json({ at: run.createdAt, type: 'run', id: run.id, directory: run.directory })
    context.output.line(`Run ${run.id}`)
    const outcome = await followTraining({ host, run, resumeFrom: null, streamEvents: true }, context)
    reportOutcome(run.id, outcome, context)
  },
})

/** The last lines of a training command. */
export function reportOutcome(runId: string, outcome: TrainingOutcome, { output }: CommandContext): void {
  const { isFinished, steps, rewardBefore, rewardAfter, finding, seconds, checkpoint } = outcome
  if (rewardBefore !== null) {
    output.line(`Eval reward ${formatReward(rewardBefore)} → ${formatReward(rewardAfter)}`)
  }
  output.line(`${isFinished ? 'Finished' : 'Stopped'} after ${plural(steps, 'step')}, ${duration(seconds)}.`)
  if (checkpoint !== null) output.line(`Checkpoint: ${checkpoint}`)
  if (finding?.severity === 'problem')
    output.line(`${finding.words} What to change: turnwise runs diagnose ${runId}`)
  if (!isFinished) output.line(`Go on with: turnwise resume ${runId}`)
}
