/** Settings of runs for display: fields of the config and of its algorithm, and their names in other tools. */
import { useMemo } from 'react'
import type { SettingChange } from '#shared/config/changes.ts'
import {
  configSections,
  fieldAt,
  labelOf,
  type FieldSection,
  type SettingField,
  valueWords,
} from '#shared/config/fields.ts'
import { byPlace, isEqual, isObject, leaves, valueAt, type JsonObject } from '#shared/config/paths.ts'
import { toolTitles } from '#shared/tools.ts'
import { useAnswer, type Answer } from './api.tsx'
import { lastPart } from './format.ts'

export type AlgorithmEntry = Answer<'settings.algorithms'>[number]

export type ToolNames = Answer<'settings.toolNames'>

export interface RunSettings {
  readonly algorithms: readonly AlgorithmEntry[]
  readonly toolNames: ToolNames
}

/** Null before the host has answered. */
export function useRunSettings(): RunSettings | null {
  const algorithms = useAnswer('settings.algorithms', undefined).data
  const toolNames = useAnswer('settings.toolNames', undefined).data
  return useMemo(
    () => (algorithms === undefined ? null : { algorithms, toolNames: toolNames ?? {} }),
    [algorithms, toolNames],
  )
}

/** Returns the entry of a config's algorithm; for another version of a custom loss, that of the newest. */
export const algorithmEntry = <Entry extends Pick<AlgorithmEntry, 'id'>>(
  id: unknown,
  algorithms: readonly Entry[],
): Entry | undefined => {
  const folder = typeof id === 'string' ? libraryFolder.exec(id)?.[0] : undefined
  return algorithms.find(
    (each) => each.id === id || (folder !== undefined && libraryFolder.exec(each.id)?.[0] === folder),
  )
}

/** True for a custom loss, false for the id of a built-in algorithm. */
export const isFile = (id: string): boolean => /[\\/]/.test(id)

/** Title of a built-in algorithm, or file name of a custom one. */
export const algorithmTitle = (
  id: string,
  algorithms: readonly Pick<AlgorithmEntry, 'id' | 'title'>[],
): string => algorithmEntry(id, algorithms)?.title ?? lastPart(id)

/** Same as `valueText`, but shows an algorithm by its title. */
export const settingWords = (key: string, value: unknown, algorithms: readonly AlgorithmEntry[]): string =>
  typeof value === 'string' && /(^|\.)algorithm\.id$/.test(key)
    ? algorithmTitle(value, algorithms)
    : valueText(value)

const libraryFolder = /[\\/]rw_[0-9a-f-]{36}(?=[\\/])/

/** Sections of the algorithm first, then those of every run. */
export const sectionsFor = (algorithm: AlgorithmEntry | undefined): readonly FieldSection[] =>
  algorithm === undefined
    ? configSections
    : [
        { id: 'algorithm', title: algorithm.title, help: algorithm.description, fields: algorithm.settings },
        ...configSections,
      ]

/** True if the section that contains the field is present. */
export const isReachable = (config: JsonObject, { within }: Pick<SettingField, 'within'>): boolean =>
  within === undefined || isObject(valueAt(config, within))

export interface RunSetting {
  /** Field whose key has `[i]` for list entries. */
  readonly field: SettingField
  readonly value: unknown
  readonly isChanged: boolean
}

interface RowOptions {
  /** Gives entries of object lists rows of their own; otherwise a list is one value. */
  readonly opensLists: boolean
}

/** Returns every setting in the order of the file; those of the algorithm with defaults where the file omits them. */
export function settingRows(
  config: unknown,
  algorithms: readonly AlgorithmEntry[],
  { opensLists }: RowOptions = { opensLists: true },
): readonly RunSetting[] {
  const known = algorithmEntry(valueAt(config, 'algorithm.id'), algorithms)?.settings ?? []
  return [...leaves(config, opensLists ? byPlace : undefined)].flatMap(([key, value]) => {
    if (key === 'algorithm.settings' || key.startsWith('algorithm.settings.')) return []
    const row = rowOf(fieldAt(key) ?? unknownField(key), value)
    return key === 'algorithm.id' ? [row, ...algorithmRows(config, known)] : [row]
  })
}

function algorithmRows(config: unknown, known: readonly SettingField[]): readonly RunSetting[] {
  const given = valueAt(config, 'algorithm.settings')
  const others = Object.keys(isObject(given) ? given : {})
    .map((name) => `algorithm.settings.${name}`)
    .filter((key) => !known.some((field) => field.key === key))
  return [...known, ...others.map(unknownField)].map((field) => {
    const value = valueAt(config, field.key)
    return rowOf(field, value === undefined ? field.default : value)
  })
}

const rowOf = (field: SettingField, value: unknown): RunSetting => ({
  field,
  value,
  isChanged: field.default === undefined || !isEqual(value, field.default),
})

export const unknownField = (key: string): SettingField => ({
  key,
  label: key,
  help: '',
  control: { kind: 'json' },
  default: undefined,
  isNullable: false,
  empty: '',
})

/** True if every word of the search occurs in the label, key, explanation or another tool's name of the setting. */
export const matchesSearch = (
  { label, key, help }: SettingField,
  search: string,
  toolNames: ToolNames,
  ...more: readonly string[]
): boolean => {
  const names = (toolNames[key] ?? []).map(({ name }) => name)
  return hasWords([label, key, spaced(key), help, ...names, ...more].join(' '), search.trim())
}

/** Matches also words in command-line form: --num-generations. */
function hasWords(text: string, search: string): boolean {
  const found = text.toLowerCase()
  const words = search.toLowerCase().split(/\s+/)
  return words.every((word) => found.includes(word) || found.includes(optionName(word)))
}

const optionName = (word: string): string => word.replace(/^-+/, '').replaceAll('-', '_')

/** Splits learningRate into learning rate, so that it is found by its words. */
const spaced = (key: string): string => key.replace(/([a-z])([A-Z])/g, '$1 $2').replaceAll('.', ' ')

export const searched = (
  rows: readonly RunSetting[],
  text: string,
  toolNames: ToolNames,
): readonly RunSetting[] =>
  rows.filter(({ field, value }) => matchesSearch(field, text, toolNames, JSON.stringify(value)))

/** Formats “TRL: epsilon, epsilon_high · AgileRL: clip_coef”; empty if no tool has the setting. */
export const toolNameWords = (names: ToolNames[string] = []): string =>
  [...Map.groupBy(names, ({ tool }) => tool)]
    .map(([tool, own]) => `${toolTitles[tool]}: ${own.map(({ name }) => name).join(', ')}`)
    .join(' · ')

/** Formats `Learning rate 0.001 → 0.0001, Temperature 1 → 0.8`. */
export const madeWords = (changes: readonly SettingChange[]): string =>
  changes.map(({ key, from, to }) => `${labelOf(key)} ${valueWords(from)} → ${valueWords(to)}`).join(', ')

/** Formats a value as in the file, strings without quotes. */
export const valueText = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
