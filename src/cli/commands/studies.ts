/** Populations, sweeps and runs over seeds: started, followed, listed, gone on with. */
import path from 'node:path'
import { Command } from '@commander-js/extra-typings'
import type { StudyEntry, StudyTrial } from '#shared/api/studies.ts'
import { AppError } from '#shared/errors.ts'
import { plural } from '#shared/plural.ts'
import { meanEstimate } from '#shared/statistics.ts'
import { searchedKeys, type StudyKind } from '#shared/studies.ts'
import { createHost } from '#host/createHost.ts'
import type { Host } from '#host/host.ts'
import { checkStudy } from '#host/studies/studyConfig.ts'
import { readStudyFile } from '#host/studies/studyFile.ts'
import { whole, type CommandContext, type Context } from '../command.ts'
import { watchInterrupts } from '../interrupt.ts'
import { formatReward, tableLines } from '../output.ts'
import { createProgress, duration, type Progress } from '../progress.ts'

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
    .option('--check', 'say what it comes to and start nothing')
    .action(async (file, { parallel, check }) => {
      const here = context()
      const { dataDirectory, output } = here
      const given = readStudyFile(file, kind)
      const study = parallel === undefined ? given : { ...given, parallel }
      const base = path.dirname(path.resolve(file))
      await using host = createHost({ dataDirectory, servesQueue: false })
      const { askText } = host
      const {
        trials,
        totalSteps,
        steps,
        parallel: beside,
      } = await checkStudy(study, {
        ...{ dataDirectory, base, askText },
      })
      output.line(
        `${plural(trials, 'trial')} of ${plural(steps, 'step')} (${plural(totalSteps, 'step')} in all), ${beside} at a time.`,
      )
      if (check === true) {
        output.json({ trials, steps, totalSteps, parallel: beside })
        return
      }
      const { id } = await host.studies.start(study, base)
      output.line(`Study ${id}`)
      await followAndReport(host, id, here)
    })

export const population = starting('population')
export const sweep = starting('sweep')
export const seeds = starting('seeds')

export const studies = (context: Context) =>
  new Command('studies')
    .description('Look at populations, sweeps and runs over seeds, and resume them')
    .addCommand(list(context))
    .addCommand(show(context))
    .addCommand(resume(context))
    .addCommand(remove(context))

const header = ['study', 'name', 'kind', 'status', 'trials', 'best', 'made']

const list = (context: Context) =>
  new Command('list').description('List the studies of this data directory').action(async () => {
    const { dataDirectory, output } = context()
    await using host = createHost({ dataDirectory, servesQueue: false })
    const all = host.studies.list().toReversed()
    output.json({ studies: all })
    if (all.length === 0)
      output.line('No studies yet. turnwise sweep FILE and turnwise population FILE make one.')
    else for (const line of tableLines(header, all.map(row))) output.line(line)
  })

const row = ({ id, name, search, status, trials, best, createdAt }: StudyEntry): string[] => [
  ...[id, name ?? '–', search.kind, status, String(trials.length), formatReward(best?.fitness ?? null)],
  new Date(createdAt).toISOString().slice(0, 16).replace('T', ' '),
]

const studyArgument = ['<STUDY>', 'its id, or an unambiguous beginning or end of it'] as const

/** Errors: AppError 'run/not-found'. */
export function findStudy({ studies: all }: Host, part: string): StudyEntry {
  const found = all.list().filter(({ id }) => id.startsWith(part) || id.endsWith(part))
  const [entry, other] = found
  if (entry !== undefined && other === undefined) return entry
  throw new AppError(
    'run/not-found',
    entry === undefined ? `There is no study “${part}”.` : `“${part}” fits ${found.length} studies.`,
    entry === undefined
      ? { command: '`turnwise studies list` shows those there are.' }
      : 'Give more of the id.',
  )
}

const show = (context: Context) =>
  new Command('show')
    .description('Show one study: its trials with their settings, what they came to, and the best')
    .argument(...studyArgument)
    .action(async (part) => {
      const { dataDirectory, output } = context()
      await using host = createHost({ dataDirectory, servesQueue: false })
      const entry = findStudy(host, part)
      output.json(entry)
      for (const line of studyLines(entry)) output.line(line)
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

/** To its end, or to a Ctrl-C. Errors: what it failed with; AppError 'run/stopped'. */
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

type Result = StudyTrial['results'][number]

const titleOf = ({ search }: StudyEntry, { index, member }: StudyTrial): string =>
  search.kind === 'population' ? `Member ${member + 1} (trial ${index + 1})` : `Trial ${index + 1}`

function resultLine(entry: StudyEntry, trial: StudyTrial, { step, fitness, error, seconds }: Result): string {
  const { metric } = entry.search.fitness
  const came = error === undefined ? `${metric} ${formatReward(fitness)}` : `failed: ${error}`
  return `${titleOf(entry, trial)}, step ${step}: ${came}  (${settingWords(entry, trial)}; ${duration(seconds)})`
}

const settingWords = ({ search }: StudyEntry, { settings }: StudyTrial): string =>
  searchedKeys(search)
    .flatMap((key) => (settings[key] === undefined ? [] : [`${lastName(key)} ${valueWords(settings[key])}`]))
    .join(', ')

const lastName = (key: string): string => key.split('.').at(-1) ?? key
const valueWords = (value: unknown): string =>
  typeof value === 'number' ? String(Number(value.toPrecision(4))) : JSON.stringify(value)

function studyLines(entry: StudyEntry): string[] {
  const { id, name, search, status, trials, best, steps, error } = entry
  const keys = searchedKeys(search)
  const isPopulation = search.kind === 'population'
  const columns = [
    ...['trial', ...(isPopulation ? ['member', 'from'] : []), 'run', 'step', search.fitness.metric],
    ...keys.map(lastName),
  ]
  const rows = trials.map(({ index, member, parent, runId, results, settings }) => {
    const last = results.at(-1)
    return [
      ...[String(index + 1), ...(isPopulation ? [String(member + 1), parentWords(parent)] : [])],
      ...[runId ?? '–', `${last?.step ?? 0}/${steps}`, formatReward(last?.fitness ?? null)],
      ...keys.map((key) => (settings[key] === undefined ? '–' : valueWords(settings[key]))),
    ]
  })
  return [
    `Study    ${id}${name === null ? '' : ` (${name})`}`,
    `Status   ${status}`,
    ...(error === null ? [] : [`Problem  ${error.message}`]),
    ...(best === null || search.kind === 'seeds' ? [] : [bestLine(entry)]),
    ...(search.kind === 'seeds' ? meanLines(entry) : []),
    ...tableLines(columns, rows),
  ]
}

const parentWords = (parent: StudyTrial['parent']): string =>
  parent === null ? '–' : `${parent.index + 1} at ${parent.step}`

function bestLine(entry: StudyEntry): string {
  const { best, trials } = entry
  const trial = trials[best?.trial ?? -1]
  if (best === null || trial === undefined) return ''
  return `Best     trial ${trial.index + 1} at step ${best.step}: ${formatReward(best.fitness)}, ${settingWords(entry, trial)}`
}

/** Over the seeds that came to the end. */
function meanLines({ trials, steps }: StudyEntry): string[] {
  const values = trials.flatMap(({ results }) => {
    const last = results.at(-1)
    return last?.step === steps && last.fitness !== null ? [last.fitness] : []
  })
  const mean = meanEstimate(values)
  if (mean === null) return []
  const { value, interval } = mean
  const range =
    interval === null ? '' : `  95 % CI ${formatReward(interval.low)} to ${formatReward(interval.high)}`
  return [`Mean     ${formatReward(value)}${range}  (Student’s t over ${plural(values.length, 'seed')})`]
}
