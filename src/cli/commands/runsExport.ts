import { writeFileAtomic } from '#host/artifacts/atomic.ts'
import { openRunFolder } from '#host/artifacts/runFolder.ts'
import { createHost } from '#host/createHost.ts'
import { exportBundle } from '#host/services/runBundle.ts'
import type { Store } from '#host/store/store.ts'
import { defineCommand } from '../command.ts'
import { choice, requiredText } from '../options.ts'

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
  },
  async run({ options, positionals: [name = ''] }, { dataDirectory, output }) {
    const { id } = openRunFolder(dataDirectory, name)
    await using host = createHost({ dataDirectory, servesQueue: false })
    if (options.format === 'csv') writeFileAtomic(options.out, metricsTable(host.store, id))
    else exportBundle(host.store, id, options.out)
    output.json({ run: id, format: options.format, file: options.out })
    output.line(`Wrote ${options.out}.`)
  },
})

/** Names of metrics hold no commas or quotes; a number that is not there is an empty cell. */
function metricsTable(store: Store, runId: string): string {
  const { metrics, rows } = store.metrics.table(runId)
  const lines = rows.map(({ step, values }) => [step, ...values.map((value) => value ?? '')].join(','))
  return `${[['step', ...metrics].join(','), ...lines].join('\n')}\n`
}
