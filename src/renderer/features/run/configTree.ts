/** The settings of a run as rows: dotted name, value, default and what it means. */
import type { Setting } from '#shared/settings.ts'
import { hasWords } from '#renderer/features/newRun/fields.ts'
import { helpWords, labelOf } from '#renderer/features/newRun/fieldWords.ts'
import type { ToolNames } from '#renderer/features/newRun/toolNames.ts'

/** As much of JSON Schema as the schema of run configs uses. */
export interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly items?: SchemaNode
  readonly anyOf?: readonly SchemaNode[]
  readonly description?: string
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly type?: string
}

export interface AlgorithmSettings {
  readonly id: string
  readonly settings: Readonly<Record<string, Setting>>
}

export interface SettingRow {
  /** With dots between its levels, `[i]` for entries of a list. */
  readonly path: string
  readonly value: unknown
  /** undefined: there is none, so that it had to be said. */
  readonly usual: unknown
  readonly isChanged: boolean
  readonly description: string
  /** What it may be, where that is a list of words. */
  readonly options: readonly string[] | null
}

export interface KnownSettings {
  readonly toolNames: ToolNames
  readonly schema: SchemaNode
  readonly algorithms: readonly AlgorithmSettings[]
}

interface FlattenOptions {
  /** Entries of lists of objects get rows of their own; otherwise a list is one value. */
  readonly opensLists: boolean
}

/** Every setting in the order of the file; those of the algorithm with their defaults where the file leaves them out. */
export function settingRows(
  config: unknown,
  known: Pick<KnownSettings, 'schema' | 'algorithms'>,
  options: FlattenOptions = { opensLists: true },
): readonly SettingRow[] {
  const chosen = algorithmOf(config, known.algorithms)
  return leaves(config, '', options).flatMap(({ path, value }) => {
    if (path === 'algorithm.settings' || path.startsWith('algorithm.settings.')) return []
    const row = rowOf(path, value, nodeAt(known.schema, path))
    return path === 'algorithm.id' ? [row, ...algorithmRows(config, chosen)] : [row]
  })
}

interface Leaf {
  readonly path: string
  readonly value: unknown
}

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function leaves(value: unknown, path: string, options: FlattenOptions): readonly Leaf[] {
  const isOpen = options.opensLists && Array.isArray(value) && value.some(isObject)
  if (isOpen) return value.flatMap((item, i) => leaves(item, `${path}[${String(i)}]`, options))
  if (!isObject(value) || (path !== '' && Object.keys(value).length === 0)) return [{ path, value }]
  return Object.entries(value).flatMap(([name, inner]) =>
    leaves(inner, path === '' ? name : `${path}.${name}`, options),
  )
}

const rowOf = (path: string, value: unknown, node: SchemaNode | undefined): SettingRow => ({
  path,
  value,
  usual: node?.default,
  isChanged: node !== undefined && 'default' in node ? !isSame(value, node.default) : true,
  description: helpWords(node?.description),
  options: optionsOf(node),
})

/** The node of a path; of alternatives the one that has the next name. */
function nodeAt(schema: SchemaNode, path: string): SchemaNode | undefined {
  const names = path.replace(/\[\d+\]/g, '.[]').split('.')
  return names.reduce<SchemaNode | undefined>(
    (node, name) => (node ? childOf(node, name) : undefined),
    schema,
  )
}

function childOf(node: SchemaNode, name: string): SchemaNode | undefined {
  const own = name === '[]' ? node.items : node.properties?.[name]
  if (own !== undefined) return own
  return node.anyOf?.map((alternative) => childOf(alternative, name)).find((child) => child !== undefined)
}

function optionsOf(node: SchemaNode | undefined): readonly string[] | null {
  if (node === undefined) return null
  if (node.enum?.every((option) => typeof option === 'string') === true) return node.enum
  return node.type === 'boolean' ? ['true', 'false'] : null
}

const algorithmOf = (config: unknown, algorithms: readonly AlgorithmSettings[]) => {
  const algorithm = isObject(config) ? config['algorithm'] : null
  const id = isObject(algorithm) ? algorithm['id'] : null
  return algorithms.find((candidate) => candidate.id === id)
}

function algorithmRows(config: unknown, chosen: AlgorithmSettings | undefined): readonly SettingRow[] {
  const given = givenSettings(config)
  const names = [...new Set([...Object.keys(chosen?.settings ?? {}), ...Object.keys(given)])]
  return names.map((name) => {
    const path = `algorithm.settings.${name}`
    const setting = chosen?.settings[name]
    if (setting === undefined)
      return { path, value: given[name], usual: undefined, isChanged: true, description: '', options: null }
    const { default: usual } = setting
    const description = helpWords(setting.description)
    const value = name in given ? given[name] : usual
    return { path, value, usual, isChanged: !isSame(value, usual), description, options: choicesOf(setting) }
  })
}

function choicesOf(setting: Setting): readonly string[] | null {
  if (setting.kind === 'choice') return setting.options
  return setting.kind === 'flag' ? ['true', 'false'] : null
}

function givenSettings(config: unknown): Json {
  const algorithm = isObject(config) ? config['algorithm'] : null
  const settings = isObject(algorithm) ? algorithm['settings'] : null
  return isObject(settings) ? settings : {}
}

export const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** Rows whose label, key, value, meaning or name in another tool has all the words. */
export const searched = (
  rows: readonly SettingRow[],
  text: string,
  toolNames: ToolNames,
): readonly SettingRow[] =>
  rows.filter(({ path, value, description }) => {
    const names = (toolNames[path] ?? []).map(({ name }) => name)
    const own = [path, labelOf(path), spaced(path), JSON.stringify(value), description]
    return hasWords([...own, ...names].join(' '), text.trim())
  })

/** learningRate → learning rate, so that people find it by its words. */
const spaced = (path: string): string => path.replace(/([a-z])([A-Z])/g, '$1 $2').replaceAll('.', ' ')

/** Rows under the first part of their name, in order. */
export function sectionsOf(
  rows: readonly SettingRow[],
): readonly { readonly name: string; readonly rows: readonly SettingRow[] }[] {
  const bySection = Map.groupBy(rows, ({ path }) => /^[^.[]+[.[]/.exec(path)?.[0].slice(0, -1) ?? 'general')
  return [...bySection].map(([name, inside]) => ({ name, rows: inside }))
}

/** A value as the file has it, text without quotes. */
export const valueText = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
