/** Display names of studies and trials. */
import type { StudyEntry, StudySummary, StudyTrial } from '#shared/api/studies.ts'
import { labelOf, valueWords } from '#shared/config/fields.ts'
import type { StudyKind } from '#shared/studies.ts'
import { formatNumber, noNumber, plural } from '#renderer/client/format.ts'
import type { Tone } from '#renderer/kit/Badge.tsx'
import type { TrialState } from './lineage.ts'

/** Kinds of what can be started, and one sentence on each. */
export const kindTitles: Readonly<Record<'run' | StudyKind, string>> = {
  run: 'Run',
  sweep: 'Sweep',
  population: 'Population',
  seeds: 'Seeds',
}

export const kindWords: Readonly<Record<StudyKind, string>> = {
  sweep:
    'Trials with settings from a grid, at random, or where earlier trials promise most; weak trials can end early.',
  population:
    'Members train side by side. After every generation the best are cloned and some of their settings mutated.',
  seeds:
    'The same settings under several seeds, for a mean with its interval: how much of a result is chance?',
}

/** Title of a study; without a name, its kind and id. */
export const studyTitle = ({ name, kind, id }: Pick<StudySummary, 'name' | 'kind' | 'id'>): string =>
  name ?? `${kindTitles[kind]} ${id.slice(-4)}`

/** Formats «Member 3», «Trial 12», «Seed 42». */
export function trialTitle({ search }: Pick<StudyEntry, 'search'>, trial: StudyTrial): string {
  if (search.kind === 'population') return `Member ${String(trial.member + 1)}`
  if (search.kind === 'seeds') return `Seed ${trialValue(trial.settings['seed'])}`
  return `Trial ${String(trial.index + 1)}`
}

/** Formats «2 of 4 trials», or «2 trials» where early stopping decides how many there will be. */
export function trialsWords({ search, steps, plannedSteps, trials }: StudyEntry): string {
  const isOpen = search.kind === 'sweep' && search.early !== null
  const planned = isOpen ? trials.length : Math.max(trials.length, Math.round(plannedSteps / steps))
  const begun = planned > trials.length ? `${String(trials.length)} of ` : ''
  return `${begun}${plural(planned, search.kind === 'seeds' ? 'seed' : 'trial')}`
}

/** Formats a setting of a trial; numbers that a search drew are rounded. */
export function trialValue(value: unknown): string {
  if (value === undefined) return noNumber
  return typeof value === 'number' && !Number.isInteger(value) ? formatNumber(value) : valueWords(value)
}

export const changeWords = ({ key, from, to }: NonNullable<StudyTrial['mutation']>): string =>
  `${labelOf(key)} ${trialValue(from)} → ${trialValue(to)}`

export const stateLooks: Readonly<Record<TrialState, { readonly tone: Tone; readonly words: string }>> = {
  waiting: { tone: 'plain', words: 'Waiting' },
  training: { tone: 'accent', words: 'Training' },
  failed: { tone: 'bad', words: 'Failed' },
  finished: { tone: 'good', words: 'Finished' },
  ended: { tone: 'plain', words: 'Ended' },
  left: { tone: 'plain', words: 'Not finished' },
}
