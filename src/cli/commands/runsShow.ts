import { listCheckpoints, type CheckpointEntry } from '#host/artifacts/checkpoints.ts'
import { openRunFolder } from '#host/artifacts/runFolder.ts'
import { summarizeRun, type RunSummary } from '#host/artifacts/runSummary.ts'
import { defineCommand } from '../command.ts'
import { formatReward, formatTime } from './runsList.ts'

export const runsShow = defineCommand({
  name: 'runs show',
  summary: 'Show one run: its progress, rewards and checkpoints',
  positionals: [{ name: 'RUN', description: 'Run id, an unambiguous part of it, or the folder of the run' }],
  options: {},
  run({ positionals: [name = ''] }, { dataDirectory, output }) {
    const run = openRunFolder(dataDirectory, name)
    const summary = summarizeRun(run)
    const checkpoints = listCheckpoints(run.directory)
    output.json({ ...summary, checkpoints })
    for (const line of showLines(summary, checkpoints)) output.line(line)
  },
})

function showLines(run: RunSummary, checkpoints: readonly CheckpointEntry[]): string[] {
  return [
    `Run         ${run.id}${run.name === null ? '' : ` (${run.name})`}`,
    `Status      ${run.status}, step ${run.step}${run.steps === null ? '' : ` of ${run.steps}`}`,
    `Started     ${formatTime(run.createdAt)}`,
    `Model       ${run.model}`,
    `Algorithm   ${run.algorithm}, seed ${run.seed}`,
    `Reward      ${formatReward(run.reward)} in the last step`,
    `Held out    ${formatReward(run.rewardBefore)} → ${formatReward(run.rewardAfter)}`,
    `Folder      ${run.directory}`,
    ...checkpoints.map(
      ({ step, reward, directory }) =>
        `Checkpoint  step ${step}, held-out reward ${formatReward(reward)}, ${directory}`,
    ),
  ]
}
