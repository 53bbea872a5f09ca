import { createHost } from '#host/createHost.ts'
import { restoreRun, trashedRuns } from '#host/runs/trash.ts'
import { defineCommand } from '../command.ts'
import { oneRun } from './runsDelete.ts'

export const runsRestore = defineCommand({
  name: 'runs restore',
  summary: 'Bring a deleted run back from the trash',
  positionals: [{ name: 'RUN', description: 'Run id or an unambiguous part of it' }],
  options: {},
  notes: () => ['turnwise runs trash shows what can be restored.'],
  async run({ positionals: [part = ''] }, { dataDirectory, output }) {
    await using host = createHost({ dataDirectory, servesQueue: false })
    const { id, name } = oneRun(
      trashedRuns(dataDirectory).map((run) => ({ ...run, id: run.runId })),
      part,
    )
    restoreRun(host, id)
    output.json({ run: id, restored: true })
    output.line(`Restored ${name ?? id}.`)
  },
})
