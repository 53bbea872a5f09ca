import type { RunEntry } from '#shared/runs.ts'
import { surveyCheckpoints } from '#host/runs/checkpoints.ts'
import { openRunFolder } from '#host/runs/runFolder.ts'
import { createHost } from '#host/createHost.ts'
import { defineCommand } from '../command.ts'
import { formatTime } from './runsList.ts'
import { formatReward } from '../output.ts'

export const runsShow = defineCommand({
  name: 'runs show',
  summary: 'Show one run: its progress, rewards and checkpoints',
  positionals: [{ name: 'RUN', description: 'Run id, an unambiguous part of it, or the folder of the run' }],
  options: {},
  async run({ positionals: [name = ''] }, { dataDirectory, output }) {
    const { id, directory } = openRunFolder(dataDirectory, name)
    await using host = createHost({ dataDirectory, servesQueue: false })
    const { config, ...run } = host.store.runs.get(id)
    const { entries: checkpoints, damaged } = surveyCheckpoints(directory)
    output.json({ ...run, config: JSON.parse(config) as unknown, checkpoints, damagedCheckpoints: damaged })
    for (const line of runLines(run)) output.line(line)
    for (const checkpoint of checkpoints) {
      const reward = formatReward(checkpoint.reward)
      output.line(`Checkpoint  step ${checkpoint.step}, eval reward ${reward}, ${checkpoint.directory}`)
    }
    for (const { problem } of damaged) output.line(`Damaged     ${problem}`)
  },
})

function runLines(run: RunEntry): string[] {
  const { parentRunId, parentCheckpointStep, tags, error } = run
  return [
    `Run         ${run.id}${run.name === null ? '' : ` (${run.name})`}`,
    `Status      ${run.status}, step ${run.step}${run.steps === null ? '' : ` of ${run.steps}`}`,
    ...(error === null ? [] : [`Problem     ${error.message}`]),
    `Started     ${formatTime(run.createdAt)}`,
    ...(parentRunId === null ? [] : [`Forked      from step ${parentCheckpointStep ?? 0} of ${parentRunId}`]),
    ...(tags.length === 0 ? [] : [`Tags        ${tags.join(', ')}`]),
    `Model       ${run.model}`,
    `Algorithm   ${run.algorithm}, seed ${run.seed}`,
    `Reward      ${formatReward(run.reward)} in the last step`,
    `Eval reward ${formatReward(run.rewardBefore)} → ${formatReward(run.rewardAfter)}`,
    `Folder      ${run.directory}`,
  ]
}
