import { csvOf } from '#shared/csv.ts'
import { openRunFolder } from '#host/runs/runFolder.ts'
import { writeUserFile } from '#host/files/atomic.ts'
import { createHost } from '#host/createHost.ts'
import { exportBundle } from '#host/runs/runBundle.ts'
import type { Store } from '#host/store/store.ts'
import { defineCommand } from '../command.ts'
import { choice, force, requiredText } from '../options.ts'

export const runsExport = defineCommand({
  name: 'runs export',
  summary: 'Write everything known of a run, or its numbers, into one file',
  positionals: [{ name: 'RUN', description: 'Run id, an unambiguous part of it, or the folder of the run' }],
  options: {
    out: requiredText('FILE', 'where to write it'),
    format: choice(
      ['json', 'csv'],
      'json holds config, numbers and events; csv one line of numbers per step',
      'json',
    ),
    force,
  },
  async run({ options, positionals: [name = ''] }, { dataDirectory, output }) {
    const { id } = openRunFolder(dataDirectory, name)
    await using host = createHost({ dataDirectory, servesQueue: false })
    const { out, force: overwrite } = options
    if (options.format === 'csv') writeUserFile(out, metricsTable(host.store, id), { overwrite })
    else exportBundle(host.store, id, out, { overwrite })
    output.json({ run: id, format: options.format, file: options.out })
    output.line(`Wrote ${options.out}.`)
  },
})

/** A number that is not there is an empty cell. */
function metricsTable(store: Store, runId: string): string {
  const { metrics, rows } = store.metrics.table(runId)
  return csvOf(
    ['step', ...metrics],
    rows.map(({ step, values }) => [step, ...values]),
  )
}
