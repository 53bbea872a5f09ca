import { emptyTrash, trashedRuns } from '#host/runs/trash.ts'
import { defineCommand } from '../command.ts'
import { flag } from '../options.ts'

export const runsTrash = defineCommand({
  name: 'runs trash',
  summary: 'List deleted runs, which are kept for a week, or remove them for good',
  positionals: [],
  options: { empty: flag('remove all of them for good') },
  notes: () => ['turnwise runs restore RUN brings one back.'],
  run({ options }, { dataDirectory, output }) {
    const runs = trashedRuns(dataDirectory)
    const freedBytes = options.empty ? emptyTrash(dataDirectory) : 0
    output.json({ runs, freedBytes })
    for (const { runId, name, until, sizeBytes } of runs)
      output.line(
        `${runId}  ${megabytes(sizeBytes)}  until ${new Date(until).toISOString().slice(0, 10)}  ${name ?? ''}`,
      )
    if (options.empty) output.line(`Removed ${runs.length} runs for good: ${megabytes(freedBytes)} freed.`)
    else if (runs.length === 0) output.line('The trash is empty.')
  },
})

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`
