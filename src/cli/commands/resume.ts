import { createHost } from '#host/createHost.ts'
import { resumePoint } from '#host/runs/runLifecycle.ts'
import { defineCommand } from '../command.ts'
import { followTraining } from '../training.ts'
import { reportOutcome } from './train.ts'

export const resume = defineCommand({
  name: 'resume',
  summary: 'Go on with a run that was stopped or killed',
  positionals: [
    {
      name: 'RUN',
      description: 'Run id, an unambiguous part of it, the folder of a run or of one of its checkpoints',
    },
  ],
  options: {},
  notes: () => [
    'Goes on from the last whole checkpoint, exactly as if the run had never stopped.',
    'With --json every event is a line on standard output.',
  ],
  async run({ positionals: [target = ''] }, context) {
    const { dataDirectory, output } = context
    const { runId, resumeFrom, step, fallBack } = resumePoint(dataDirectory, target)
    if (fallBack !== null) output.note(fallBack)
    await using host = createHost({ dataDirectory, servesQueue: false })
    const run = host.store.runs.get(runId)
    output.json({ at: Date.now(), type: 'run', id: run.id, directory: run.directory })
    if (run.status === 'finished') {
      output.line(`Run ${run.id} is finished; there is nothing to go on with.`)
      return
    }
    const origin = resumeFrom === null ? 'the start; it has no checkpoint yet' : `step ${step}`
    output.line(`Run ${run.id} goes on from ${origin}.`)
    reportOutcome(
      run.id,
      await followTraining({ host, run, resumeFrom, streamEvents: true }, context),
      context,
    )
  },
})
