import { plural } from '#shared/plural.ts'
import { createHost } from '#host/createHost.ts'
import { deleteRun, runFiles } from '#host/services/runFiles.ts'
import { AppError } from '#shared/errors.ts'
import { defineCommand } from '../command.ts'
import { flag } from '../options.ts'

export const runsDelete = defineCommand({
  name: 'runs delete',
  summary: 'Delete a run: its folder and its history',
  positionals: [{ name: 'RUN', description: 'Run id or an unambiguous part of it' }],
  options: { list: flag('only list the files that would be deleted') },
  async run({ options, positionals: [name = ''] }, { dataDirectory, output }) {
    await using host = createHost({ dataDirectory, servesQueue: false })
    // From the history: a run whose folder is gone already can be deleted too.
    const runs = host.store.runs.list().filter(({ id }) => id.startsWith(name) || id.endsWith(name))
    const [run, other] = runs
    if (run === undefined || other !== undefined) throw notOne(name, runs.length)
    const files = runFiles(run.directory)
    const sizeBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0)
    if (!options.list) deleteRun(host, run.id)
    output.json({ run: run.id, deleted: !options.list, files, sizeBytes })
    const what = `${plural(files.length, 'file')}, ${(sizeBytes / 1e6).toFixed(1)} MB, in ${run.directory}`
    if (options.list) for (const file of files) output.line(file.path)
    output.line(options.list ? `Would delete ${what}.` : `Deleted ${what}.`)
  },
})

const notOne = (name: string, count: number): AppError =>
  new AppError(
    'run/not-found',
    count === 0 ? `There is no run “${name}”.` : `“${name}” fits ${count} runs.`,
    count === 0 ? 'turnwise runs list shows the runs there are.' : 'Give more of the run id.',
  )
