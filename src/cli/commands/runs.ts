/** Commands that list, show, delete and recover runs. */
import { existsSync, renameSync } from 'node:fs'
import { Command } from '@commander-js/extra-typings'
import { AppError } from '#shared/errors.ts'
import { changeWords } from '#shared/config/changes.ts'
import { plural } from '#shared/plural.ts'
import type { RunEntry } from '#shared/runs.ts'
import { seedFamilies, type SeedFamily } from '#shared/seedFamilies.ts'
import { createHost, historyFile } from '#host/createHost.ts'
import { writing } from '#host/files/fileErrors.ts'
import { surveyCheckpoints } from '#host/models/checkpoints.ts'
import { deleteRun, runFiles, emptyTrash, restoreRun, trashedRuns } from '#host/runs/trash.ts'
import { openRunFolder } from '#host/workFolder/runFolder.ts'
import { recoverStore } from '#host/store/recover.ts'
import { type Context, group } from '../command.ts'
import { evalRewardWords, formatEstimate, formatReward, megabytes, tableLines } from '../output.ts'
import { exportNumbers, importRun, writeRunProject } from './exchange.ts'
import { compare, diagnose, report } from './runReports.ts'
import { findStudy } from './studies.ts'

export const runs = (context: Context) =>
  group(context, 'runs', 'Manage runs', [
    list,
    show,
    diagnose,
    compare,
    report,
    exportNumbers,
    importRun,
    writeRunProject,
    remove,
    restore,
    trash,
    recover,
  ])

const header = [
  ...['run', 'name', 'status', 'diagnosis', 'step', 'algorithm', 'reward', 'eval before', 'after', 'started'],
]

const list = (context: Context) =>
  new Command('list')
    .description('List the runs of this data directory')
    .option('--of <STUDY>', 'only the trials of this study')
    .action(async ({ of }) => {
      const { dataDirectory, output } = context()
      await using host = createHost({ dataDirectory, servesQueue: false })
      const filter = of === undefined ? {} : { studyId: findStudy(host, of).id }
      const entries = host.store.runs.list(filter).toReversed()
      const unreadable = host.history.unreadable.map(({ directory, error: { message, hint = null } }) => ({
        directory,
        message,
        hint,
      }))
      const families = seedFamilies(entries, ({ id }) => host.store.runs.settingsButSeed(id))
      output.json({ runs: entries, families, unreadable })
      if (entries.length === 0) output.line('No runs yet. turnwise demo trains one.')
      else for (const line of tableLines(header, entries.map(row))) output.line(line)
      for (const family of families) output.line(familyLine(family))
      if (entries.some(({ finding }) => finding !== null))
        output.line('For causes and fixes: turnwise runs diagnose RUN')
      if (unreadable.length > 0) output.note('Not listed:')
      for (const { message, hint } of unreadable)
        output.note(`  ${message}${hint === null ? '' : ` ${hint}`}`)
    })

const row = (run: RunEntry): string[] => [
  run.id,
  run.name ?? '–',
  run.status,
  run.finding?.severity ?? '–',
  run.steps === null ? `${run.step}` : `${run.step}/${run.steps}`,
  run.algorithmTitle,
  ...[run.reward, run.rewardBefore, run.rewardAfter].map(formatReward),
  formatTime(run.createdAt),
]

const familyLine = ({ name, count, step, reward, rewardAfter }: SeedFamily): string => {
  const after = rewardAfter === null ? '' : `, eval after ${formatEstimate(rewardAfter)}`
  return `Mean with 95 % interval over ${plural(count, 'seed')} of ${name} at step ${step}: reward ${formatEstimate(reward)}${after}`
}

/** Formats `2026-03-01 14:05`, local time. */
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
  const { parentRunId, parentCheckpointStep, settingChanges, tags, error } = run
  return [
    `Run         ${run.id}${run.name === null ? '' : ` (${run.name})`}`,
    `Status      ${run.status}, step ${run.step}${run.steps === null ? '' : ` of ${run.steps}`}`,
    ...(error === null ? [] : [`Problem     ${error.message}`]),
    `Started     ${formatTime(run.createdAt)}`,
    ...(parentRunId === null ? [] : [`Forked      from step ${parentCheckpointStep ?? 0} of ${parentRunId}`]),
    ...settingChanges.map((change) => `Changed     ${changeWords(change)}`),
    ...(tags.length === 0 ? [] : [`Tags        ${tags.join(', ')}`]),
    `Model       ${run.model}`,
    `Algorithm   ${run.algorithmTitle}, seed ${run.seed}`,
    `Reward      ${formatReward(run.reward)} in the last step`,
    `Eval reward ${evalRewardWords(run)}`,
    `Folder      ${run.directory}`,
  ]
}

const remove = (context: Context) =>
  new Command('delete')
    .description('Move a run to the trash, where it is kept for a week')
    .argument('<RUN>', 'run id or an unambiguous part of it')
    .option('--list', 'only list the files that would be deleted', false)
    .option('--for-good', 'delete it permanently at once', false)
    .action(async (part, { list: isTrial, forGood }) => {
      const { dataDirectory, output } = context()
      await using host = createHost({ dataDirectory, servesQueue: false })
      // Taken from the history, so that a run whose folder is already gone can be deleted too.
      const run = oneRun(host.store.runs.list(), part, 'turnwise runs list shows all runs.')
      const isThere = existsSync(run.directory)
      const files = runFiles(run.directory)
      const sizeBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0)
      if (!isTrial) {
        deleteRun(host, run.id)
        if (forGood) emptyTrash(dataDirectory, [run.id])
      }
      output.json({ run: run.id, deleted: !isTrial, forGood, files, sizeBytes })
      for (const file of isTrial ? files : []) output.line(file.path)
      const found = isThere ? `${plural(files.length, 'file')}, ${megabytes(sizeBytes)}` : null
      output.line(deletedLine(run, found, isTrial))
      if (trashedRuns(dataDirectory).some(({ runId }) => runId === run.id))
        output.line(`It is kept for a week. To restore it: turnwise runs restore ${run.id}`)
    })

/** Describes a deletion, done or proposed. `found`: files and size; null: the run has no folder. */
function deletedLine(run: RunEntry, found: string | null, isTrial: boolean): string {
  const what = run.name ?? run.id
  if (found !== null) return `${isTrial ? 'Would delete' : 'Deleted'} ${what}: ${found}.`
  return `${isTrial ? 'Would remove' : 'Removed'} ${what} from the history alone: its folder ${run.directory} is not there.`
}

/** Returns the single run whose id begins or ends with the text. Errors: AppError 'run/not-found', with the hint if there is none. */
function oneRun<Run extends { readonly id: string }>(all: readonly Run[], part: string, hint: string): Run {
  const found = all.filter(({ id }) => id.startsWith(part) || id.endsWith(part))
  const [run, other] = found
  if (run !== undefined && other === undefined) return run
  throw new AppError(
    'run/not-found',
    run === undefined ? `There is no run “${part}”.` : `“${part}” matches ${found.length} runs.`,
    run === undefined ? hint : 'Give more of the run id.',
  )
}

const restore = (context: Context) =>
  new Command('restore')
    .description('Restore a deleted run from the trash.\n\nturnwise runs trash shows what can be restored.')
    .argument('<RUN>', 'run id or an unambiguous part of it')
    .action(async (part) => {
      const { dataDirectory, output } = context()
      await using host = createHost({ dataDirectory, servesQueue: false })
      const deleted = trashedRuns(dataDirectory).map(({ runId, name }) => ({ id: runId, name }))
      const { id, name } = oneRun(deleted, part, 'turnwise runs trash shows what can be restored.')
      restoreRun(host, id)
      output.json({ run: id, restored: true })
      output.line(`Restored ${name ?? id}.`)
    })

const trash = (context: Context) =>
  new Command('trash')
    .description(
      'List deleted runs, which are kept for a week, or delete them permanently.\n\nturnwise runs restore RUN restores one.',
    )
    .option('--empty', 'delete all of them permanently', false)
    .action(({ empty }) => {
      const { dataDirectory, output } = context()
      const deleted = trashedRuns(dataDirectory)
      const freedBytes = empty ? emptyTrash(dataDirectory) : 0
      output.json({ runs: deleted, freedBytes })
      for (const { runId, name, until, sizeBytes } of deleted) {
        const day = new Date(until).toISOString().slice(0, 10)
        output.line(`${runId}  ${megabytes(sizeBytes)}  until ${day}  ${name ?? ''}`)
      }
      if (empty)
        output.line(
          `Permanently deleted ${plural(deleted.length, 'run')} and freed ${megabytes(freedBytes)}.`,
        )
      else if (deleted.length === 0) output.line('The trash is empty.')
    })

const recover = (context: Context) =>
  new Command('recover')
    .description(
      'Recover what is readable of a damaged history into a new one.\n\nRuns are kept in folders of their own, from which whatever the history lost is read again. Close every other turnwise first.',
    )
    .option('--use', 'replace the damaged history with the recovered one; the damaged file is renamed', false)
    .action(({ use }) => {
      const { dataDirectory, output } = context()
      const file = historyFile(dataDirectory)
      const { recoveredFile, rowsByTable, lost } = recoverStore(file)
      const damagedFile = use ? replace(file, recoveredFile) : file
      output.json({ recoveredFile: use ? file : recoveredFile, damagedFile, rowsByTable, lost })
      const rows = Object.values(rowsByTable).reduce((sum, count) => sum + count, 0)
      output.line(`Recovered ${plural(rows, 'row')} into ${use ? file : recoveredFile}.`)
      for (const sentence of lost) output.line(sentence)
      if (use) output.line(`The damaged file is kept as ${damagedFile}.`)
      else output.line('To replace the damaged one with it: turnwise runs recover --use')
    })

/** Returns the name under which the damaged file is kept. */
function replace(file: string, recovered: string): string {
  const kept = `${file}.damaged-${Date.now()}`
  writing(file, () => {
    for (const end of ['-wal', '-shm']) moveIfThere(`${file}${end}`, `${kept}${end}`)
    renameSync(file, kept)
    renameSync(recovered, file)
  })
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
