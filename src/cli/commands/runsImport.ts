import { createHost } from '#host/createHost.ts'
import { importBundle } from '#host/runs/runBundle.ts'
import { defineCommand } from '../command.ts'

export const runsImport = defineCommand({
  name: 'runs import',
  summary: 'Take an exported run into the history, to look at and to compare',
  positionals: [{ name: 'FILE', description: 'What `runs export` wrote as json' }],
  options: {},
  async run({ positionals: [file = ''] }, { dataDirectory, output }) {
    await using host = createHost({ dataDirectory, servesQueue: false })
    const { runId } = await importBundle(host, { path: file })
    output.json({ run: runId })
    output.line(`Imported ${runId}. Its checkpoints and samples stayed where it was trained.`)
  },
})
