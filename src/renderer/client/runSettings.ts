/** The settings of runs as the window shows them: fields of the config and of its algorithm, and the names other tools have. */
import { useMemo } from 'react'
import type { SettingChange } from '#shared/config/changes.ts'
import {
  configSections,
  fieldAt,
  labelOf,
  type FieldSection,
  type SettingField,
} from '#shared/config/fields.ts'
import { byPlace, isEqual, isObject, leaves, valueAt, type JsonObject } from '#shared/config/paths.ts'
import { toolTitles } from '#shared/tools.ts'
import { useAnswer, type Answer } from './api.tsx'
import { lastPart } from './format.ts'

export type AlgorithmEntry = Answer<'settings.algorithms'>[number]

/** By the key of our setting. */
export type ToolNames = Answer<'settings.toolNames'>

export interface RunSettings {
  readonly algorithms: readonly AlgorithmEntry[]
  readonly toolNames: ToolNames
}

/** null: the host has not answered yet. */
export function useRunSettings(): RunSettings | null {
  const algorithms = useAnswer('settings.algorithms', undefined).data
  const toolNames = useAnswer('settings.toolNames', undefined).data
  return useMemo(
    () => (algorithms === undefined ? null : { algorithms, toolNames: toolNames ?? {} }),
    [algorithms, toolNames],
  )
}

/** Of a config's algorithm; of another version of a loss of one's own, what is known of the newest. */
export const algorithmEntry = (
  id: unknown,
  algorithms: readonly AlgorithmEntry[],
): AlgorithmEntry | undefined => {
  const folder = typeof id === 'string' ? libraryFolder.exec(id)?.[0] : undefined
  return algorithms.find(
    (each) => each.id === id || (folder !== undefined && libraryFolder.exec(each.id)?.[0] === folder),
  )
}

/** A loss of one's own, rather than the id of a built-in algorithm. */
export const isFile = (id: string): boolean => /[\\/]/.test(id)

/** Its title, or the name of its file. */
export const algorithmTitle = (id: string, algorithms: readonly AlgorithmEntry[]): string =>
  algorithmEntry(id, algorithms)?.title ?? lastPart(id)

/** As `valueText`, but an algorithm by its title. */
export const settingWords = (key: string, value: unknown, algorithms: readonly AlgorithmEntry[]): string =>
  typeof value === 'string' && /(^|\.)algorithm\.id$/.test(key)
    ? algorithmTitle(value, algorithms)
    : valueText(value)

const libraryFolder = /[\\/]rw_[0-9a-f-]{36}(?=[\\/])/

/** Settings of the algorithm first, then those of every run. */
export const sectionsFor = (algorithm: AlgorithmEntry | undefined): readonly FieldSection[] =>
  algorithm === undefined
    ? configSections
    : [
        {
          ...{ id: 'algorithm', title: algorithm.title, help: algorithm.description },
          fields: algorithm.settings,
        },
        ...configSections,
      ]

/** Whether the section it is in is there. */
export const isReachable = (config: JsonObject, { within }: Pick<SettingField, 'within'>): boolean =>
  within === undefined || isObject(valueAt(config, within))

/** A setting of a run that there is. */
export interface RunSetting {
  /** Its key has `[i]` for entries of lists. */
  readonly field: SettingField
  readonly value: unknown
  readonly isChanged: boolean
}

interface RowOptions {
  /** Entries of lists of objects get rows of their own; otherwise a list is one value. */
  readonly opensLists: boolean
}

/** Every setting in the order of the file; those of the algorithm with their defaults where the file leaves them out. */
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
  ...{ field, value },
  isChanged: field.default === undefined || !isEqual(value, field.default),
})

export const unknownField = (key: string): SettingField => ({
  ...{
    key,
    label: key,
    help: '',
    control: { kind: 'json' },
    default: undefined,
    isNullable: false,
    empty: '',
  },
})

/** Whether every word of the search stands in its label, key, explanation or a name that another tool has for it. */
export const matchesSearch = (
  { label, key, help }: SettingField,
  search: string,
  toolNames: ToolNames,
  ...more: readonly string[]
): boolean => {
  const names = (toolNames[key] ?? []).map(({ name }) => name)
  return hasWords([label, key, spaced(key), help, ...names, ...more].join(' '), search.trim())
}

/** Also as words of a command: --num-generations. */
function hasWords(text: string, search: string): boolean {
  const found = text.toLowerCase()
  const words = search.toLowerCase().split(/\s+/)
  return words.every((word) => found.includes(word) || found.includes(optionName(word)))
}

const optionName = (word: string): string => word.replace(/^-+/, '').replaceAll('-', '_')

/** learningRate → learning rate, so that people find it by its words. */
const spaced = (key: string): string => key.replace(/([a-z])([A-Z])/g, '$1 $2').replaceAll('.', ' ')

export const searched = (
  rows: readonly RunSetting[],
  text: string,
  toolNames: ToolNames,
): readonly RunSetting[] =>
  rows.filter(({ field, value }) => matchesSearch(field, text, toolNames, JSON.stringify(value)))

/** “TRL: epsilon, epsilon_high · AgileRL: clip_coef”; empty where no tool has it. */
export const toolNameWords = (names: ToolNames[string] = []): string =>
  [...Map.groupBy(names, ({ tool }) => tool)]
    .map(([tool, own]) => `${toolTitles[tool]}: ${own.map(({ name }) => name).join(', ')}`)
    .join(' · ')

/** A value as a person reads it. */
export function valueWords(value: unknown): string {
  if (value === undefined || value === null) return 'none'
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  if (typeof value === 'string') return value
  if (typeof value === 'number') return String(value).replace(/^-/, '−')
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(valueWords).join(', ')
  return JSON.stringify(value)
}

/** `Learning rate 0.001 → 0.0001, Temperature 1 → 0.8`. */
export const madeWords = (changes: readonly SettingChange[]): string =>
  changes.map(({ key, from, to }) => `${labelOf(key)} ${valueWords(from)} → ${valueWords(to)}`).join(', ')

/** A value as the file has it, text without quotes. */
export const valueText = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
