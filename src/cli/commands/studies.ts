/** Commands that start, follow, list and resume populations, sweeps and runs over seeds. */
import path from 'node:path'
import { Command, Option } from '@commander-js/extra-typings'
import { yamlText } from '#host/exchange/project/yamlText.ts'
import type { StudyEntry } from '#shared/api/studies.ts'
import { AppError, usageError } from '#shared/errors.ts'
import { plural } from '#shared/plural.ts'
import { rangeWords } from '#shared/remaining.ts'
import type { StudyKind } from '#shared/studies.ts'
import { commandWord } from '#shared/shownText.ts'
import { terminalJson } from '#shared/terminalText.ts'
import { createHost } from '#host/createHost.ts'
import { exportProject } from '#host/exchange/project/project.ts'
import { projectTools } from '#host/exchange/tools.ts'
import { wandbFile } from '#host/exchange/wandbSweep.ts'
import { writeUserFile } from '#host/files/atomic.ts'
import type { Host } from '#host/host.ts'
import { sizeWords } from '#host/jobs/calibration.ts'
import type { StudyEstimate } from '#host/studies/studyEstimate.ts'
import { readStudyFile } from '#host/studies/studyFile.ts'
import { chosenTrial, configOfTrial, promoteTrial } from '#host/studies/winner.ts'
import { followCheck } from '../checking.ts'
import { force, whole, type CommandContext, type Context, group } from '../command.ts'
import { watchInterrupts } from '../interrupt.ts'
import { formatReward, tableLines } from '../output.ts'
import { createProgress, type Progress } from '../progress.ts'
import { importanceLines, resultLine, studyLines } from '../studyReport.ts'

const summaries: Readonly<Record<StudyKind, string>> = {
  population:
    'Train a population whose best members are cloned and mutated.\n\nThe file is a run config (JSON or YAML) with a section population. Ctrl-C keeps what is done.',
  sweep:
    'Search over settings: a grid, at random or Bayesian, with weak trials ended early.\n\nThe file is a run config (JSON or YAML) with a section sweep. Ctrl-C keeps what is done.',
  seeds:
    'Train the same config under several seeds.\n\nThe file is a run config (JSON or YAML) with a section seeds. Ctrl-C keeps what is done.',
}

const starting = (kind: StudyKind) => (context: Context) =>
  new Command(kind)
    .description(summaries[kind])
    .argument('<FILE>', 'paths in it are relative to it')
    .option('--parallel <N>', 'trials at the same time; the result does not depend on it', whole(1, 256))
    .option('--check', 'try one step, say what it will take, and start nothing')
    .action(async (file, { parallel, check }) => {
      const here = context()
      const { dataDirectory, output } = here
      const given = readStudyFile(file, kind)
      const study = parallel === undefined ? given : { ...given, parallel }
      const base = path.dirname(path.resolve(file))
      await using host = createHost({ dataDirectory, servesQueue: false })
      if (check === true) {
        const estimate = await followCheck((signal) => host.studies.calibrate(study, base, signal), here)
        output.json(estimate)
        for (const line of estimateLines(estimate)) output.line(line)
        return
      }
      const { id, trials, parallel: beside } = await host.studies.start(study, base)
      output.line(`Study ${id}`)
      output.line(`${plural(trials.length, 'trial')} to begin with, ${beside} at a time.`)
      await followAndReport(host, id, here)
    })

function estimateLines({
  trials,
  steps,
  totalSteps,
  sharing,
  seconds,
  disk,
  warnings,
}: StudyEstimate): string[] {
  const whole = trials * steps
  const early = totalSteps === whole ? '' : ` instead of ${whole}`
  return [
    `Trials   ${plural(trials, 'trial')} of ${plural(steps, 'step')}: ${plural(totalSteps, 'step')} in all${early}`,
    `Sharing  ${sharing}`,
    `Time     ${rangeWords(seconds)}`,
    `Disk     ${sizeWords(disk.neededBytes)} of ${sizeWords(disk.freeBytes)} free`,
    ...warnings.map((warning) => `Warning  ${warning}`),
  ]
}

export const population = starting('population')
export const sweep = starting('sweep')
export const seeds = starting('seeds')

export const studies = (context: Context) =>
  group(
    context,
    'studies',
    'Look at populations, sweeps and runs over seeds, resume them, and take out what is best',
    [list, show, resume, promote, exportTrial, remove],
  )

const header = ['study', 'name', 'kind', 'status', 'trials', 'best', 'made']

const list = (context: Context) =>
  new Command('list').description('List the studies of this data directory').action(async () => {
    const { dataDirectory, output } = context()
    await using host = createHost({ dataDirectory, servesQueue: false })
    const { studies: found, unreadable } = host.studies.list()
    const all = found.toReversed()
    output.json({ studies: all, unreadable })
    if (all.length === 0)
      output.line('No studies yet. turnwise sweep FILE and turnwise population FILE make one.')
    else for (const line of tableLines(header, all.map(row))) output.line(line)
    if (unreadable.length > 0) output.note('Not listed:')
    for (const { error } of unreadable)
      output.note(`  ${error.message}${error.hint === null ? '' : ` ${error.hint}`}`)
  })

const row = ({ id, name, search, status, trials, best, createdAt }: StudyEntry): string[] => [
  ...[id, name ?? '–', search.kind, status, String(trials.length), formatReward(best?.fitness ?? null)],
  new Date(createdAt).toISOString().slice(0, 16).replace('T', ' '),
]

const studyArgument = ['<STUDY>', 'its id, or an unambiguous beginning or end of it'] as const

/** Errors: AppError 'run/not-found'. */
export const findStudy = ({ studies: all }: Host, part: string): StudyEntry =>
  findEntry(all.list().studies, part, ['study', 'studies'])

/** Finds the one whose id begins or ends with `part`. `nouns`: for one and several. Errors: AppError 'run/not-found'. */
export function findEntry<Entry extends { readonly id: string }>(
  entries: readonly Entry[],
  part: string,
  [noun, nouns]: readonly [one: string, several: string],
): Entry {
  const found = entries.filter(({ id }) => id.startsWith(part) || id.endsWith(part))
  const [entry, other] = found
  if (entry !== undefined && other === undefined) return entry
  throw new AppError(
    'run/not-found',
    entry === undefined ? `There is no ${noun} “${part}”.` : `“${part}” fits ${found.length} ${nouns}.`,
    entry === undefined
      ? { command: `\`turnwise ${nouns} list\` shows those there are.` }
      : 'Give more of the id.',
  )
}

const show = (context: Context) =>
  new Command('show')
    .description(
      'Show one study: its trials with their settings, what they came to, the best, and how much each setting matters',
    )
    .argument(...studyArgument)
    .action(async (part) => {
      const { dataDirectory, output } = context()
      await using host = createHost({ dataDirectory, servesQueue: false })
      const entry = findStudy(host, part)
      const importance = host.studies.importance(entry.id)
      output.json({ ...entry, importance })
      for (const line of [...studyLines(entry), ...importanceLines(entry, importance)]) output.line(line)
    })

const resume = (context: Context) =>
  new Command('resume')
    .description('Resume a study that was stopped, failed or interrupted')
    .argument(...studyArgument)
    .action(async (part) => {
      const here = context()
      await using host = createHost({ dataDirectory: here.dataDirectory, servesQueue: false })
      const { id } = findStudy(host, part)
      host.studies.resume(id)
      await followAndReport(host, id, here)
    })

const trialOption = ['--trial <N>', 'another trial than the best, by its number in the table'] as const

const promote = (context: Context) =>
  new Command('promote')
    .description(
      'Make the best trial an adapter with a name.\n\nIts checkpoint is copied from the step where it was compared last, so the adapter stays when checkpoints, runs or the study are deleted. Export it, continue it (adapter.initial) or compare it by its name.',
    )
    .argument(...studyArgument)
    .option(...trialOption, whole(1))
    .option('--name <NAME>', 'name of the adapter (default: after study, trial and step)')
    .action(async (part, { trial, name = null }) => {
      const { dataDirectory, output } = context()
      await using host = createHost({ dataDirectory, servesQueue: false })
      const entry = host.studies.get(findStudy(host, part).id)
      const index = trial === undefined ? null : trial - 1
      const adapter = await promoteTrial(host, entry, { trial: index, name })
      output.json(adapter)
      const { step, fitness, metric, trial: promoted } = adapter.origin
      output.line(
        `Promoted trial ${promoted + 1} at step ${step} (${metric} ${formatReward(fitness)}) to the adapter ${adapter.name}.`,
      )
      output.line(`To export it: turnwise export ${commandWord(adapter.name)} --format merged --out DIR`)
    })

const exportTrial = (context: Context) =>
  new Command('export')
    .description(
      'Write the config of the best trial as that of an ordinary run, or as a project for TRL or AgileRL.',
    )
    .argument(...studyArgument)
    .option(...trialOption, whole(1))
    .addOption(
      new Option(
        '--format <FORMAT>',
        'turnwise: a run config; trl, agilerl: a project folder; wandb: the sweep itself, not its best trial',
      )
        .choices(['turnwise', ...projectTools, 'wandb'])
        .default('turnwise' as const),
    )
    .option('--out <PATH>', 'file to write (default: standard output), or folder of the project')
    .option(...force, false)
    .action(async (part, { trial, format, out, force: overwrite }) => {
      const { dataDirectory, output } = context()
      await using host = createHost({ dataDirectory, servesQueue: false })
      const entry = host.studies.get(findStudy(host, part).id)
      if (format === 'wandb') {
        writeSweep(entry, { out, overwrite, output })
        return
      }
      const chosen = chosenTrial(entry, trial === undefined ? null : trial - 1)
      const config = configOfTrial(entry, chosen.trial)
      if (format === 'turnwise') {
        const written = `${terminalJson(config, 2)}\n`
        if (out !== undefined) writeUserFile(out, written, { overwrite })
        output.json({ ...chosen, format, config, file: out ?? null })
        if (out === undefined) output.write(written)
        else output.line(`Wrote ${out}. To train it: turnwise train ${commandWord(out)}`)
        return
      }
      if (out === undefined) throw usageError('A project is a folder: say where with --out.')
      const report = await exportProject({ config, tool: format, out, checkpoint: null, runDirectory: null })
      output.json({ ...chosen, format, ...report })
      output.line(
        `Wrote ${plural(report.files.length, 'file')} for ${report.version} to ${report.directory}.`,
      )
      for (const note of report.notes) output.line(`Otherwise there: ${note}`)
    })

interface SweepTarget {
  readonly out: string | undefined
  readonly overwrite: boolean
  readonly output: CommandContext['output']
}

/** Writes the study as a W&B sweep file. */
function writeSweep({ name, search }: StudyEntry, { out, overwrite, output }: SweepTarget): void {
  const { document, lost } = wandbFile({ name, search })
  const written = yamlText(document)
  if (out !== undefined) writeUserFile(out, written, { overwrite })
  output.json({ format: 'wandb', document, lost, file: out ?? null })
  if (out === undefined) output.write(written)
  else output.line(`Wrote ${out}.`)
  for (const sentence of lost) output.note(`Not in the file: ${sentence}`)
}

const remove = (context: Context) =>
  new Command('delete')
    .description('Delete a study; its runs stay, as runs of their own')
    .argument(...studyArgument)
    .action(async (part) => {
      const { dataDirectory, output } = context()
      await using host = createHost({ dataDirectory, servesQueue: false })
      const { id } = findStudy(host, part)
      host.studies.remove(id)
      output.json({ study: id, deleted: true })
      output.line(`Deleted the study ${id}; its runs are kept.`)
    })

/** Follows to the end, or to a Ctrl-C. Errors: the study's own; AppError 'run/stopped'. */
async function followAndReport(host: Host, id: string, { json, output }: CommandContext): Promise<void> {
  const progress = createProgress(output, json)
  const entry = await followed(host, id, progress)
  output.json(entry)
  for (const line of studyLines(entry)) output.line(line)
  const command = `To resume: turnwise studies resume ${id}`
  if (entry.status === 'stopped')
    throw new AppError('run/stopped', 'The study was stopped; what was done is kept.', { command })
  if (entry.error !== null)
    throw new AppError(entry.error.code ?? 'runtime/failed', entry.error.message, { command })
}

async function followed(
  { studies: all, notifier }: Host,
  id: string,
  progress: Progress,
): Promise<StudyEntry> {
  const stopping = () => {
    progress.note('Stopping after the current step of every trial that trains; what is done is kept.')
    void all.stop(id)
  }
  using _interrupt = watchInterrupts(stopping, () => undefined)
  const never = new AbortController().signal
  const told = new Set<string>()
  const tellNew = (entry: StudyEntry) => {
    const results = entry.trials.flatMap((trial) => trial.results.map((result) => ({ trial, result })))
    for (const { trial, result } of results) {
      const key = `${result.trial} ${result.step}`
      if (!told.has(key)) progress.note(resultLine(entry, trial, result))
      told.add(key)
    }
  }
  try {
    for (;;) {
      const { notifications } = notifier
      const entry = all.get(id)
      tellNew(entry)
      if (entry.status !== 'running' && entry.status !== 'waiting') return entry
      await notifier.after(notifications, never)
    }
  } finally {
    progress.end()
  }
}
