/** Runs that were made: listed, looked at, deleted and saved. */
import { renameSync } from 'node:fs'
import { Command } from '@commander-js/extra-typings'
import { AppError } from '#shared/errors.ts'
import { plural } from '#shared/plural.ts'
import type { RunEntry } from '#shared/runs.ts'
import { createHost, historyFile } from '#host/createHost.ts'
import { writeError } from '#host/files/fileErrors.ts'
import { surveyCheckpoints } from '#host/runs/checkpoints.ts'
import { deleteRun, runFiles } from '#host/runs/trash.ts'
import { openRunFolder } from '#host/runs/runFolder.ts'
import { emptyTrash, restoreRun, trashedRuns } from '#host/runs/trash.ts'
import { recoverStore } from '#host/store/recover.ts'
import type { Context } from '../command.ts'
import { formatReward, megabytes, tableLines } from '../output.ts'
import { exportNumbers, importRun, writeRunProject } from './exchange.ts'
import { compare, diagnose } from './runReports.ts'

export const runs = (context: Context) =>
  new Command('runs')
    .description('Look after runs')
    .addCommand(list(context))
    .addCommand(show(context))
    .addCommand(diagnose(context))
    .addCommand(compare(context))
    .addCommand(exportNumbers(context))
    .addCommand(importRun(context))
    .addCommand(writeRunProject(context))
    .addCommand(remove(context))
    .addCommand(restore(context))
    .addCommand(trash(context))
    .addCommand(recover(context))

const header = [
  ...['run', 'name', 'status', 'diagnosis', 'step', 'algorithm', 'reward', 'eval before', 'after', 'started'],
]

const list = (context: Context) =>
  new Command('list').description('List the runs of this data directory').action(async () => {
    const { dataDirectory, output } = context()
    await using host = createHost({ dataDirectory, servesQueue: false })
    const entries = host.store.runs.list().toReversed()
    const unreadable = host.history.unreadable.map(({ directory, error: { message, hint = null } }) => ({
      directory,
      message,
      hint,
    }))
    output.json({ runs: entries, unreadable })
    if (entries.length === 0) output.line('No runs yet. turnwise demo makes one.')
    else for (const line of tableLines(header, entries.map(row))) output.line(line)
    if (entries.some(({ finding }) => finding !== null))
      output.line('What is wrong, and what to change: turnwise runs diagnose RUN')
    if (unreadable.length > 0) output.note('Not listed:')
    for (const { message, hint } of unreadable) output.note(`  ${message}${hint === null ? '' : ` ${hint}`}`)
  })

const row = (run: RunEntry): string[] => [
  run.id,
  run.name ?? '–',
  run.status,
  run.finding?.severity ?? '–',
  run.steps === null ? `${run.step}` : `${run.step}/${run.steps}`,
  run.algorithm,
  ...[run.reward, run.rewardBefore, run.rewardAfter].map(formatReward),
  formatTime(run.createdAt),
]

/** `2026-03-01 14:05`, local time. */
function formatTime(at: number): string {
  const local = new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString()
  return `${local.slice(0, 10)} ${local.slice(11, 16)}`
}

const show = (context: Context) =>
  new Command('show')
    .description('Show one run: its progress, rewards and checkpoints')
    .argument('<RUN>', 'run id, an unambiguous part of it, or the folder of the run')
    .action(async (name) => {
      const { dataDirectory, output } = context()
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

const remove = (context: Context) =>
  new Command('delete')
    .description('Delete a run: it is kept in the trash for a week')
    .argument('<RUN>', 'run id or an unambiguous part of it')
    .option('--list', 'only list the files that would be deleted', false)
    .option('--for-good', 'remove it at once, so that it cannot be restored', false)
    .action(async (part, { list: isTrial, forGood }) => {
      const { dataDirectory, output } = context()
      await using host = createHost({ dataDirectory, servesQueue: false })
      // From the history: a run whose folder is gone already can be deleted too.
      const run = oneRun(host.store.runs.list(), part)
      const files = runFiles(run.directory)
      const sizeBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0)
      if (!isTrial) {
        deleteRun(host, run.id)
        if (forGood) emptyTrash(dataDirectory, [run.id])
      }
      output.json({ run: run.id, deleted: !isTrial, forGood, files, sizeBytes })
      for (const file of isTrial ? files : []) output.line(file.path)
      const what = `${run.name ?? run.id}: ${plural(files.length, 'file')}, ${megabytes(sizeBytes)}`
      output.line(`${isTrial ? 'Would delete' : 'Deleted'} ${what}.`)
      if (trashedRuns(dataDirectory).some(({ runId }) => runId === run.id))
        output.line(`It is kept for a week: turnwise runs restore ${run.id} brings it back.`)
    })

/** The one run whose id begins or ends so. Errors: AppError 'run/not-found'. */
function oneRun<Run extends { readonly id: string }>(all: readonly Run[], part: string): Run {
  const found = all.filter(({ id }) => id.startsWith(part) || id.endsWith(part))
  const [run, other] = found
  if (run !== undefined && other === undefined) return run
  throw new AppError(
    'run/not-found',
    run === undefined ? `There is no run “${part}”.` : `“${part}” fits ${found.length} runs.`,
    run === undefined ? 'turnwise runs list shows the runs there are.' : 'Give more of the run id.',
  )
}

const restore = (context: Context) =>
  new Command('restore')
    .description(
      'Bring a deleted run back from the trash.\n\nturnwise runs trash shows what can be restored.',
    )
    .argument('<RUN>', 'run id or an unambiguous part of it')
    .action(async (part) => {
      const { dataDirectory, output } = context()
      await using host = createHost({ dataDirectory, servesQueue: false })
      const deleted = trashedRuns(dataDirectory).map(({ runId, name }) => ({ id: runId, name }))
      const { id, name } = oneRun(deleted, part)
      restoreRun(host, id)
      output.json({ run: id, restored: true })
      output.line(`Restored ${name ?? id}.`)
    })

const trash = (context: Context) =>
  new Command('trash')
    .description(
      'List deleted runs, which are kept for a week, or remove them for good.\n\nturnwise runs restore RUN brings one back.',
    )
    .option('--empty', 'remove all of them for good', false)
    .action(({ empty }) => {
      const { dataDirectory, output } = context()
      const deleted = trashedRuns(dataDirectory)
      const freedBytes = empty ? emptyTrash(dataDirectory) : 0
      output.json({ runs: deleted, freedBytes })
      for (const { runId, name, until, sizeBytes } of deleted) {
        const day = new Date(until).toISOString().slice(0, 10)
        output.line(`${runId}  ${megabytes(sizeBytes)}  until ${day}  ${name ?? ''}`)
      }
      if (empty) output.line(`Removed ${deleted.length} runs for good: ${megabytes(freedBytes)} freed.`)
      else if (deleted.length === 0) output.line('The trash is empty.')
    })

const recover = (context: Context) =>
  new Command('recover')
    .description(
      'Save what is readable of a damaged history into a new one.\n\nRuns themselves lie in folders of their own: whatever the history lost of them is read from there again. Close every other turnwise first.',
    )
    .option(
      '--use',
      'put the recovered history in the place of the damaged one, which is kept under another name',
      false,
    )
    .action(({ use }) => {
      const { dataDirectory, output } = context()
      const file = historyFile(dataDirectory)
      const { recoveredFile, rowsByTable, lost } = recoverStore(file)
      const damagedFile = use ? replace(file, recoveredFile) : file
      output.json({ recoveredFile: use ? file : recoveredFile, damagedFile, rowsByTable, lost })
      const rows = Object.values(rowsByTable).reduce((sum, count) => sum + count, 0)
      output.line(`Saved ${plural(rows, 'row')} into ${use ? file : recoveredFile}.`)
      for (const sentence of lost) output.line(sentence)
      if (use) output.line(`The damaged file is kept as ${damagedFile}.`)
      else output.line('turnwise runs recover --use puts it in the place of the damaged one.')
    })

/** Returns the name under which the damaged file is kept. */
function replace(file: string, recovered: string): string {
  const kept = `${file}.damaged-${Date.now()}`
  try {
    for (const end of ['-wal', '-shm']) moveIfThere(`${file}${end}`, `${kept}${end}`)
    renameSync(file, kept)
    renameSync(recovered, file)
  } catch (error) {
    throw writeError(file, error)
  }
  return kept
}

function moveIfThere(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return
    throw error
  }
}
