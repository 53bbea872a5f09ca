/**
 * The settings of a run as a form. Reading guide of this folder: fields.ts (here) makes fields from the published schema
 * of the config file, algorithmFields.ts from an algorithm's own table, fieldWords.ts names them; json.ts reads and
 * writes a config, draft.ts is the run being set up, presets.ts fills it, stages.ts divides it, problems.ts says where
 * the host found something wrong. The components show them; useNewRun.ts asks the host.
 */
import type { ToolId } from '#shared/tools.ts'
import { emptyWordsOf, helpWords, labelOf, sectionTitle } from './fieldWords.ts'
import { isObject, valueAt, type JsonObject } from './json.ts'

/** A limit; exclusive: the number itself is not allowed. */
export interface Bound {
  readonly value: number
  readonly isExclusive: boolean
}

export type Control =
  | {
      readonly kind: 'number'
      readonly isInteger: boolean
      readonly from: Bound | null
      readonly to: Bound | null
    }
  | { readonly kind: 'text' }
  | { readonly kind: 'flag' }
  | { readonly kind: 'choice'; readonly options: readonly string[] }
  /** A list of texts. */
  | { readonly kind: 'texts' }
  | { readonly kind: 'choices'; readonly options: readonly string[] }
  /** One word that stands for all, or some of the options. */
  | { readonly kind: 'all-or-choices'; readonly all: string; readonly options: readonly string[] }
  | { readonly kind: 'number-or-pair' }
  /** A section that may be left out. `by`: a choice in it that has no default, and so brings it in. */
  | { readonly kind: 'section'; readonly by: SectionChoice | null }
  /** Names of one's own, each with a text, a number or a flag. */
  | { readonly kind: 'variables' }
  /** Anything else, as JSON. */
  | { readonly kind: 'json' }

export interface SectionChoice {
  readonly name: string
  readonly options: readonly string[]
}

export interface SettingField {
  /** Place in the config, such as `optimization.learningRate`. */
  readonly key: string
  readonly label: string
  readonly help: string
  readonly control: Control
  /** undefined: there is none. */
  readonly default: unknown
  readonly isNullable: boolean
  /** What null or nothing means, in a few words. */
  readonly emptyWords: string
  /** The section it is in, where that may be left out: without it, there is no such setting. */
  readonly within?: string
  /** What other tools call it. */
  readonly toolNames?: readonly { readonly tool: ToolId; readonly name: string }[]
}

export interface FieldSection {
  readonly id: string
  readonly title: string
  readonly help: string
  readonly fields: readonly SettingField[]
}

/** What we read of a JSON Schema. */
interface SchemaNode {
  readonly type?: string | readonly string[]
  readonly anyOf?: readonly SchemaNode[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly required?: readonly string[]
  readonly additionalProperties?: SchemaNode | boolean
  readonly items?: SchemaNode
  readonly default?: unknown
  readonly description?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
}

/** Chosen in steps of their own. */
const chosenElsewhere: ReadonlySet<string> = new Set([
  'name',
  'model',
  'data.train',
  'data.heldOut',
  'data.prompt',
  'rewards',
  'environment.function',
  'environment.settings',
  'algorithm',
  'stages',
])

/** The order in which people look for them; sections that the schema gets later come last. */
const order = [
  'run',
  'rollout',
  'optimization',
  'adapter',
  'reference',
  'evaluation',
  'checkpoints',
  'diagnosis',
  'data',
]

/** Sections of the config file with the settings that have no step of their own. */
export function sectionsOf(schema: unknown): FieldSection[] {
  const properties = (schema as SchemaNode).properties ?? {}
  const single: SettingField[] = []
  const sections: FieldSection[] = []
  for (const [name, node] of Object.entries(properties)) {
    if (chosenElsewhere.has(name)) continue
    const { inner, isNullable } = withoutNull(node)
    if (inner.properties === undefined) single.push(fieldOf(name, node))
    else
      sections.push({
        id: name,
        title: sectionTitle(name),
        help: helpWords(node.description),
        fields: fieldsOf(inner, name, isNullable ? name : undefined),
      })
  }
  const run = { id: 'run', title: sectionTitle('run'), help: 'Length of the run and what is reported of it.' }
  return [{ ...run, fields: single }, ...sections].sort((a, b) => rank(a.id) - rank(b.id))
}

const rank = (id: string): number => {
  const place = order.indexOf(id)
  return place === -1 ? order.length : place
}

/** What one stage of a run may do otherwise, by the schema of an entry of `stages`. */
export function stageFieldsOf(schema: unknown): SettingField[] {
  const stage = (schema as SchemaNode).properties?.['stages']?.items
  return Object.entries(stage?.properties ?? {}).flatMap(([name, node]) => {
    if (chosenElsewhere.has(name)) return []
    return node.properties === undefined ? [fieldOf(name, node)] : fieldsOf(node, name)
  })
}

function fieldsOf(node: SchemaNode, prefix: string, within?: string): SettingField[] {
  return Object.entries(node.properties ?? {}).flatMap(([name, own]) => {
    const key = `${prefix}.${name}`
    if (chosenElsewhere.has(key)) return []
    const { inner, isNullable } = withoutNull(own)
    if (inner.properties === undefined) return [inSection(fieldOf(key, own), within)]
    if (!isNullable) return fieldsOf(inner, key, within)
    const by = choiceOf(inner)
    const head = { ...fieldOf(key, own), control: { kind: 'section', by } } as const
    const fields = fieldsOf(inner, key, key).filter((field) => field.key !== `${key}.${by?.name ?? ''}`)
    return [inSection(head, within), ...fields]
  })
}

const inSection = (field: SettingField, within: string | undefined): SettingField =>
  within === undefined ? field : { ...field, within }

function choiceOf({ properties = {}, required = [] }: SchemaNode): SectionChoice | null {
  const found = Object.entries(properties).find(([name, node]) => node.enum && required.includes(name))
  return found === undefined ? null : { name: found[0], options: found[1].enum?.map(String) ?? [] }
}

/** Whether the section it is in is there. */
export const isReachable = (config: JsonObject, { within }: Pick<SettingField, 'within'>): boolean =>
  within === undefined || isObject(valueAt(config, within))

function fieldOf(key: string, node: SchemaNode): SettingField {
  const { inner, isNullable } = withoutNull(node)
  return {
    key,
    label: labelOf(key),
    help: helpWords(node.description),
    control: controlOf(inner),
    default: node.default,
    isNullable,
    emptyWords: emptyWordsOf(node.description ?? '', isNullable),
  }
}

function withoutNull(node: SchemaNode): { readonly inner: SchemaNode; readonly isNullable: boolean } {
  const others = node.anyOf?.filter(({ type }) => type !== 'null') ?? []
  if (node.anyOf === undefined || others.length === node.anyOf.length)
    return { inner: node, isNullable: false }
  const [only] = others
  return { inner: others.length === 1 && only !== undefined ? only : { anyOf: others }, isNullable: true }
}

function controlOf(node: SchemaNode): Control {
  if (node.enum !== undefined) return { kind: 'choice', options: node.enum.map(String) }
  switch (node.type) {
    case 'number':
    case 'integer':
      return numberOf(node)
    case 'boolean':
      return { kind: 'flag' }
    case 'string':
      return { kind: 'text' }
    case 'array':
      return listOf(node.items ?? {})
    default:
      return holdsVariables(node) ? { kind: 'variables' } : unionOf(node.anyOf ?? [])
  }
}

const variableTypes: readonly unknown[] = ['string', 'number', 'boolean']

/** Values are texts, numbers and flags, whether the schema says it as a list of types or as alternatives. */
function holdsVariables({ additionalProperties: values }: SchemaNode): boolean {
  if (typeof values !== 'object') return false
  const types = values.anyOf?.map(({ type }) => type) ?? [values.type ?? []].flat()
  return types.length > 0 && types.every((type) => variableTypes.includes(type))
}

function numberOf(node: SchemaNode): Control {
  const bound = (value: number | undefined, exclusive: number | undefined): Bound | null => {
    if (exclusive !== undefined) return { value: exclusive, isExclusive: true }
    return value === undefined || Math.abs(value) >= Number.MAX_SAFE_INTEGER
      ? null
      : { value, isExclusive: false }
  }
  return {
    kind: 'number',
    isInteger: node.type === 'integer',
    from: bound(node.minimum, node.exclusiveMinimum),
    to: bound(node.maximum, node.exclusiveMaximum),
  }
}

function listOf({ type, enum: options }: SchemaNode): Control {
  if (options !== undefined) return { kind: 'choices', options: options.map(String) }
  return type === 'string' ? { kind: 'texts' } : { kind: 'json' }
}

function unionOf(alternatives: readonly SchemaNode[]): Control {
  const all = alternatives.find((each) => typeof each.const === 'string')
  const options = alternatives.find(({ type }) => type === 'array')?.items?.enum
  if (alternatives.length === 2 && all !== undefined && options !== undefined)
    return { kind: 'all-or-choices', all: String(all.const), options: options.map(String) }
  return { kind: 'json' }
}

/** What may be entered, in words; empty where anything may. */
export function rangeWords(control: Control): string {
  if (control.kind !== 'number') return ''
  const { isInteger, from, to } = control
  const noun = isInteger ? 'A whole number' : 'A number'
  const low =
    from === null ? '' : from.isExclusive ? `above ${String(from.value)}` : `from ${String(from.value)}`
  const high = to === null ? '' : to.isExclusive ? `below ${String(to.value)}` : `up to ${String(to.value)}`
  if (low === '' && high === '') return isInteger ? `${noun}.` : ''
  return `${[noun, low, high].filter(Boolean).join(' ')}.`
}

/** Whether every word of the search stands in its label, key, explanation or a name that another tool has for it. */
export const matchesSearch = ({ label, key, help, toolNames = [] }: SettingField, search: string): boolean =>
  hasWords([label, key, help, ...toolNames.map(({ name }) => name)].join(' '), search)

/** Also as words of a command: --num-generations. */
export function hasWords(text: string, search: string): boolean {
  const found = text.toLowerCase()
  const words = search.toLowerCase().split(/\s+/)
  return words.every((word) => found.includes(word) || found.includes(optionName(word)))
}

const optionName = (word: string): string => word.replace(/^-+/, '').replaceAll('-', '_')
