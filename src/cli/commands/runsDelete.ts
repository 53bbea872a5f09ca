import { plural } from '#shared/plural.ts'
import { createHost } from '#host/createHost.ts'
import { deleteRun, runFiles, emptyTrash, trashedRuns } from '#host/runs/trash.ts'
import { AppError } from '#shared/errors.ts'
import { defineCommand } from '../command.ts'
import { flag } from '../options.ts'

export const runsDelete = defineCommand({
  name: 'runs delete',
  summary: 'Delete a run: it is kept in the trash for a week',
  positionals: [{ name: 'RUN', description: 'Run id or an unambiguous part of it' }],
  options: {
    list: flag('only list the files that would be deleted'),
    forGood: flag('remove it at once, so that it cannot be restored'),
  },
  async run({ options, positionals: [part = ''] }, { dataDirectory, output }) {
    await using host = createHost({ dataDirectory, servesQueue: false })
    // From the history: a run whose folder is gone already can be deleted too.
    const run = oneRun(
      host.store.runs.list().map(({ id, name, directory }) => ({ id, name, directory })),
      part,
    )
    const files = runFiles(run.directory)
    const sizeBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0)
    if (!options.list) deleteRun(host, run.id)
    if (!options.list && options.forGood) emptyTrash(dataDirectory, [run.id])
    output.json({ run: run.id, deleted: !options.list, forGood: options.forGood, files, sizeBytes })
    if (options.list) for (const file of files) output.line(file.path)
    const what = `${run.name ?? run.id}: ${plural(files.length, 'file')}, ${(sizeBytes / 1e6).toFixed(1)} MB`
    output.line(options.list ? `Would delete ${what}.` : `Deleted ${what}.`)
    if (trashedRuns(dataDirectory).some(({ runId }) => runId === run.id))
      output.line(`It is kept for a week: turnwise runs restore ${run.id} brings it back.`)
  },
})

/** The one run whose id begins or ends so. Errors: AppError 'run/not-found'. */
export function oneRun<Run extends { readonly id: string }>(runs: readonly Run[], part: string): Run {
  const found = runs.filter(({ id }) => id.startsWith(part) || id.endsWith(part))
  const [run, other] = found
  if (run !== undefined && other === undefined) return run
  throw new AppError(
    'run/not-found',
    run === undefined ? `There is no run “${part}”.` : `“${part}” fits ${found.length} runs.`,
    run === undefined ? 'turnwise runs list shows the runs there are.' : 'Give more of the run id.',
  )
}
