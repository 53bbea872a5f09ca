/** The study being set up: a section of the draft's config, and the settings its trials vary. */
import { labelOf, type SettingField, valueWords } from '#shared/config/fields.ts'
import { isObject, valueAt, withValue, type JsonObject } from '#shared/config/paths.ts'
import { fixedInClones, studyFields, studyKinds, type StudyKind } from '#shared/studies.ts'

export type DraftKind = 'run' | StudyKind

export const draftKinds: readonly DraftKind[] = ['run', ...studyKinds]

export const kindOf = (config: JsonObject): DraftKind =>
  studyKinds.find((kind) => isObject(config[kind])) ?? 'run'

/** Returns the run config that all trials start from. */
export const runPart = (config: JsonObject): JsonObject =>
  [...studyKinds, 'parallel'].reduce((rest, key) => withValue(rest, key, undefined), config)

/** Search ranges by setting key. */
export type Searched = Readonly<Record<string, JsonObject>>

const searchedAt = (kind: DraftKind): string | null => {
  if (kind === 'sweep') return 'sweep.parameters'
  return kind === 'population' ? 'population.mutation.parameters' : null
}

export function searchedIn(config: JsonObject): Searched {
  const at = searchedAt(kindOf(config))
  const found = at === null ? null : valueAt(config, at)
  return isObject(found) ? (found as Searched) : {}
}

/** Sets a search range, rewriting the whole record because keys contain dots; undefined removes the setting. */
export function withSearched(config: JsonObject, key: string, range: JsonObject | undefined): JsonObject {
  const at = searchedAt(kindOf(config))
  if (at === null) return config
  const { [key]: _, ...others } = searchedIn(config)
  const before = searchedIn(config)
  const next = range === undefined ? others : { ...before, [key]: range }
  return withValue(config, at, next)
}

const learningRate = 'optimization.learningRate'

/** Switches the kind; `kept`: sections of other kinds, restored unchanged. */
export function withKind(config: JsonObject, kind: DraftKind, kept: JsonObject): JsonObject {
  const { parallel } = config
  const run = runPart(config)
  if (kind === 'run') return run
  const section = kept[kind] ?? firstSection(config, kind)
  return { [kind]: section, ...(parallel === undefined ? {} : { parallel }), ...run }
}

/** Takes over ranges of another kind if this one can search them. */
function firstSection(config: JsonObject, kind: StudyKind): JsonObject {
  if (kind === 'seeds') return { values: 3 }
  const ranges = Object.entries(searchedIn(config)).flatMap(([key, given]) => {
    const { grow: _, shrink: _shrink, ...range } = given
    return kind === 'population' && ('values' in range || isFixed(key)) ? [] : [[key, range] as const]
  })
  const parameters =
    ranges.length > 0 ? Object.fromEntries(ranges) : { [learningRate]: { min: 1e-5, max: 1e-2 } }
  if (kind === 'sweep') return { parameters }
  const steps = typeof config['steps'] === 'number' ? config['steps'] : 60
  return { every: Math.max(1, Math.round(steps / 6)), mutation: { parameters } }
}

const isFixed = (key: string): boolean => fixedInClones.includes(key.split('.')[0] ?? '')

/**
 * True if a kind can search a setting. Clones keep what their parent learned, so populations mutate only numbers; a
 * sweep may vary anything.
 */
export function canSearch(kind: DraftKind, { key, control }: SettingField): boolean {
  if (kind === 'sweep') return control.kind !== 'section' && key !== 'seed'
  return kind === 'population' && control.kind === 'number' && !isFixed(key)
}

/** Returns an initial range around the value, within the setting's limits, or all choices. */
export function firstRange(kind: DraftKind, { control }: SettingField, value: unknown): JsonObject {
  if (control.kind === 'number') return rangeAround(value, control, kind === 'population' ? 2 : 10)
  if (control.kind === 'choice') return { values: control.options.map((option) => option.value) }
  if (control.kind === 'flag') return { values: [false, true] }
  return { values: value === undefined || value === null ? [] : [value] }
}

type NumberControl = Extract<SettingField['control'], { readonly kind: 'number' }>

/** Returns a range by the same factor below and above the value; if that is not positive, from the least allowed to 1. */
function rangeAround(value: unknown, control: NumberControl, decade: number): JsonObject {
  const { isInteger } = control
  const [low, high] = [limitOf(control.from, 1) ?? -Infinity, limitOf(control.to, -1) ?? Infinity]
  const factor = isInteger ? 2 : decade
  const exact = (limit: number) => (isInteger ? Math.round(limit) : Number(limit.toPrecision(2)))
  const isPositive = typeof value === 'number' && value > 0
  const [least, most] = isPositive ? [value / factor, value * factor] : [Math.max(low, 0), 1]
  const min = Math.max(exact(least), low)
  return { min, max: Math.min(Math.max(exact(most), min + (isInteger ? 1 : 0)), high) }
}

/** Returns the first valid number inside a bound, which may itself be excluded. */
const limitOf = (bound: NumberControl['from'], side: 1 | -1): number | null =>
  bound === null ? null : bound.value + (bound.isExclusive ? side * 1e-6 : 0)

/** True for paths of the study itself rather than of its runs. */
export const isOfStudy = (path: string): boolean =>
  ['parallel', ...studyKinds].some((own) => path === own || path.startsWith(`${own}.`))

/** Labels a setting; the uninformative `id` of an algorithm's key is dropped. */
const settingLabel = (key: string): string => labelOf(key.replace(/^algorithm[.]id$/, 'algorithm'))

export function studyLabel(path: string): string {
  const known = studyKinds.flatMap((kind) => studyFields[kind]).find(({ key }) => key === path)
  return known?.label ?? settingLabel(searchedKeyOf(path) ?? path)
}

/** Returns the searched setting that a problem is about, or null. */
export const searchedKeyOf = (path: string): string | null =>
  /^(?:sweep|population[.]mutation)[.]parameters[.](.+)$/.exec(path)?.[1] ?? null

/** Formats “6 members”, as the summary of the folded step. */
export function studyWords(config: JsonObject): string | null {
  const kind = kindOf(config)
  if (kind === 'run') return null
  const keys = Object.keys(searchedIn(config)).map(settingLabel)
  const over = keys.length === 0 ? 'nothing searched yet' : keys.join(', ')
  const section = config[kind]
  const of = (name: string): string => valueWords(valueAt(section, name))
  const sizeOf = (name: string, initial: number): string => valueWords(valueAt(section, name) ?? initial)
  if (kind === 'population')
    return `${sizeOf('size', 6)} members · generations of ${of('every')} ${of('every') === '1' ? 'step' : 'steps'} · ${over}`
  if (kind === 'seeds')
    return Array.isArray(valueAt(section, 'values')) ? `seeds ${of('values')}` : `${of('values')} seeds`
  const isEarly = valueAt(section, 'early.method') !== undefined
  const method = methodTitles[of('method')] ?? 'Bayesian'
  return [method, over, ...(isEarly ? ['early stopping'] : [])].join(' · ')
}

const methodTitles: Readonly<Record<string, string>> = { grid: 'Grid', random: 'Random' }
