/** Output of the command line about a study. */
import type { StudyEntry, StudyImportance, StudyTrial } from '#shared/api/studies.ts'
import { plural } from '#shared/plural.ts'
import { meanEstimate, type Interval } from '#shared/statistics.ts'
import { searchedKeys } from '#shared/studies.ts'
import { formatEstimate, formatReward, tableLines } from './output.ts'
import { duration } from './progress.ts'

const titleOf = ({ search }: StudyEntry, { index, member }: StudyTrial): string =>
  search.kind === 'population' ? `Member ${member + 1} (trial ${index + 1})` : `Trial ${index + 1}`

export function resultLine(
  entry: StudyEntry,
  trial: StudyTrial,
  { step, fitness, error, seconds }: StudyTrial['results'][number],
): string {
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

export function studyLines(entry: StudyEntry): string[] {
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

/** Empty for runs over seeds, which search nothing. */
export function importanceLines({ search }: StudyEntry, importance: StudyImportance): string[] {
  const { results, needed, step, explained, settings } = importance
  if (search.kind === 'seeds') return []
  if (explained === null)
    return results < needed
      ? ['', `Importance of settings: ${plural(results, 'result')}, which are too few; it takes ${needed}.`]
      : ['', 'Importance of settings: all results are the same.']
  const of = step === null ? 'what generations added to' : `the results at step ${step} of`
  const rows = settings.map(({ key, share, interval, better }) => [
    ...[key, share.toFixed(2), interval === null ? '–' : intervalWords(interval, 2)],
    better ?? '–',
  ])
  return [
    '',
    `Importance of settings: shares of the variance of ${of} ${search.fitness.metric}`,
    `(${plural(results, 'result')}; all settings together account for ${Math.round(100 * Math.max(0, explained))} %)`,
    ...tableLines(['setting', 'share', '95 % interval', 'better'], rows),
  ]
}

const intervalWords = ({ low, high }: Interval, digits: number): string =>
  `${low.toFixed(digits)} to ${high.toFixed(digits)}`

/** Mean over the seeds that finished. */
function meanLines({ trials, steps }: StudyEntry): string[] {
  const values = trials.flatMap(({ results }) => {
    const last = results.at(-1)
    return last?.step === steps && last.fitness !== null ? [last.fitness] : []
  })
  const mean = meanEstimate(values)
  return mean === null
    ? []
    : [`Mean     ${formatEstimate(mean)}  (with 95 % interval over ${plural(values.length, 'seed')})`]
}
