/**
 * Settings in the form shown by the window, lists and the help: read from the zod schemas, the single place that
 * describes each of them. A key that the schema does not have (`algorithm.settings.…`) belongs to a plug-in, whose
 * fields are made from its own schema by `fieldsOf`.
 */
import { z } from 'zod'
import { runConfigSchema } from '../runConfig.ts'
import type { SettingsTable } from './settings.ts'

/** Limit; exclusive: the number itself is not allowed. */
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
  | { readonly kind: 'choice'; readonly options: readonly ChoiceOption[] }
  /** List of texts; a single one may be given without a list. */
  | { readonly kind: 'texts' }
  | { readonly kind: 'choices'; readonly options: readonly string[] }
  /** Word that stands for all, or some of the options. */
  | { readonly kind: 'all-or-choices'; readonly all: string; readonly options: readonly string[] }
  | { readonly kind: 'number-or-pair' }
  /** Optional section. `by`: choice in it without a default, which therefore switches it on. */
  | { readonly kind: 'section'; readonly by: SectionChoice | null }
  /** Custom names, each with a text, a number or a flag. */
  | { readonly kind: 'variables' }
  /** Any other value, as JSON. */
  | { readonly kind: 'json' }

export interface ChoiceOption {
  readonly value: string
  readonly label: string
}

export interface SectionChoice {
  readonly name: string
  readonly options: readonly ChoiceOption[]
}

export interface SettingField {
  /** Key in the config, such as `optimization.learningRate`. */
  readonly key: string
  readonly label: string
  readonly help: string
  readonly control: Control
  readonly default: unknown
  readonly isNullable: boolean
  /** Short description of null or a missing value. */
  readonly empty: string
  /** Optional section that contains it: without the section, the setting does not exist. */
  readonly within?: string
}

export interface FieldSection {
  readonly id: string
  readonly title: string
  readonly help: string
  readonly fields: readonly SettingField[]
}

/** Schema without its wrappers. */
interface Bare {
  readonly inner: z.ZodType
  readonly default: unknown
  readonly isNullable: boolean
}

export function bare(schema: z.ZodType): Bare {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return { ...bare(schema.unwrap() as z.ZodType), default: schema.def.defaultValue }
  if (schema instanceof z.ZodNullable) return { ...bare(schema.unwrap() as z.ZodType), isNullable: true }
  if (schema instanceof z.ZodOptional) return bare(schema.unwrap() as z.ZodType)
  return { inner: schema, default: undefined, isNullable: false }
}

const shapeOf = (schema: z.ZodType): readonly (readonly [string, z.ZodType])[] =>
  schema instanceof z.ZodObject ? (Object.entries(schema.shape) as [string, z.ZodType][]) : []

/** Settings chosen in wizard steps of their own. */
const chosenElsewhere: ReadonlySet<string> = new Set([
  'name',
  'model',
  'data.train',
  'data.heldOut',
  'data.prompt',
  'data.tools',
  'rewards',
  'environment.function',
  'environment.settings',
  'algorithm',
  'stages',
])

/** Sections in the order in which people look for them; others come last. */
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

export function sectionsOf(schema: z.ZodObject): FieldSection[] {
  const own = shapeOf(schema).filter(([name]) => !chosenElsewhere.has(name))
  const isSection = ([, each]: readonly [string, z.ZodType]) => bare(each).inner instanceof z.ZodObject
  const sections = own.filter(isSection).map(([name, section]): FieldSection => {
    const { inner, isNullable } = bare(section)
    const { label = sentenceCase(name), description = '' } = section.meta() ?? {}
    const fields = fieldsIn(inner, name, isNullable ? name : undefined)
    return { id: name, title: label, help: helpWords(description), fields }
  })
  const single = own.filter((entry) => !isSection(entry)).map(([name, each]) => fieldOf(name, each))
  const run = {
    id: 'run',
    title: 'Run',
    help: 'Length of the run and what it reports.',
    fields: single,
  }
  return [run, ...sections].sort((a, b) => rank(a.id) - rank(b.id))
}

const rank = (id: string): number => {
  const place = order.indexOf(id)
  return place === -1 ? order.length : place
}

function fieldsIn(schema: z.ZodType, prefix: string, within?: string): SettingField[] {
  return shapeOf(schema).flatMap(([name, own]) => {
    const key = `${prefix}.${name}`
    if (chosenElsewhere.has(key)) return []
    const { inner, isNullable } = bare(own)
    if (!(inner instanceof z.ZodObject)) return [inSection(fieldOf(key, own), within)]
    if (!isNullable) return fieldsIn(inner, key, within)
    const by = choiceIn(inner)
    const head = { ...fieldOf(key, own), control: { kind: 'section', by } } as const
    const fields = fieldsIn(inner, key, key).filter((field) => field.key !== `${key}.${by?.name ?? ''}`)
    return [inSection(head, within), ...fields]
  })
}

const inSection = (field: SettingField, within: string | undefined): SettingField =>
  within === undefined ? field : { ...field, within }

function choiceIn(schema: z.ZodType): SectionChoice | null {
  const found = shapeOf(schema).find(([, each]) => each instanceof z.ZodEnum)
  const control = found && controlOf(found[1], found[1].meta()?.options)
  return found !== undefined && control?.kind === 'choice'
    ? { name: found[0], options: control.options }
    : null
}

/** Returns the settings of a plug-in, which are at `prefix` in the config. */
export const fieldsOf = (settings: SettingsTable, prefix: string): SettingField[] =>
  Object.entries(settings).map(([name, schema]) => fieldOf(`${prefix}.${name}`, schema))

/** Schema of a request's settings, or of some of them. */
export type RequestSchema = z.ZodObject
export type RequestSettings<S extends RequestSchema> = z.output<S>

/** Setting of a request, with its place on a command line. */
export interface RequestField extends SettingField {
  readonly flags: string | null
  readonly phrase: string
}

export const requestFields = (schema: RequestSchema): RequestField[] =>
  shapeOf(schema).map(([name, each]) => {
    const field = fieldOf(name, each)
    const { flags = null, phrase = field.help } = each.meta() ?? {}
    return { ...field, flags, phrase }
  })

function fieldOf(key: string, schema: z.ZodType): SettingField {
  const { inner, isNullable, default: initial } = bare(schema)
  const { label = defaultLabel(key), description = '', empty, options } = schema.meta() ?? {}
  return {
    key,
    label,
    help: helpWords(description, empty),
    default: initial,
    isNullable,
    control: controlOf(inner, options),
    empty: isNullable ? (empty ?? 'none') : '',
  }
}

/** Returns the field of an existing key, list entries by number; null if the schema does not describe it. */
export function fieldAt(key: string): SettingField | null {
  const names = key.replaceAll(/\[\d+\]/g, '.[]').split('.')
  const found = names.reduce<z.ZodType | undefined>(
    (schema, name) => schema && childOf(bare(schema).inner, name),
    runConfigSchema,
  )
  return found === undefined ? null : fieldOf(key, found)
}

function childOf(schema: z.ZodType, name: string): z.ZodType | undefined {
  if (schema instanceof z.ZodArray) return name === '[]' ? (schema.element as z.ZodType) : undefined
  if (schema instanceof z.ZodUnion)
    return (schema.options as z.ZodType[])
      .map((each) => childOf(each, name))
      .find((child) => child !== undefined)
  return shapeOf(schema).find(([own]) => own === name)?.[1]
}

function controlOf(schema: z.ZodType, words: Readonly<Record<string, string>> = {}): Control {
  if (schema instanceof z.ZodEnum)
    return {
      kind: 'choice',
      options: schema.options.map((value) => ({
        value: String(value),
        label: words[value] ?? String(value),
      })),
    }
  if (schema instanceof z.ZodNumber) return numberOf(schema)
  if (schema instanceof z.ZodBoolean) return { kind: 'flag' }
  if (schema instanceof z.ZodString) return { kind: 'text' }
  if (schema instanceof z.ZodArray) return listOf(schema.element as z.ZodType)
  if (schema instanceof z.ZodRecord)
    return { kind: isPlain(schema.valueType as z.ZodType) ? 'variables' : 'json' }
  return schema instanceof z.ZodUnion ? unionOf(schema.options as z.ZodType[]) : { kind: 'json' }
}

const isPlain = (schema: z.ZodType): boolean =>
  schema instanceof z.ZodUnion
    ? (schema.options as z.ZodType[]).every(isPlain)
    : [z.ZodString, z.ZodNumber, z.ZodBoolean].some((type) => schema instanceof type)

interface LimitCheck {
  readonly check: string
  readonly value: unknown
  readonly inclusive: boolean
}

function numberOf({ format, def }: z.ZodNumber): Control {
  const checks = (def.checks ?? []).map((each) => each._zod.def as unknown as LimitCheck)
  const bound = (side: string): Bound | null => {
    const found = checks.find(({ check }) => check === side)
    if (typeof found?.value !== 'number' || Math.abs(found.value) >= Number.MAX_SAFE_INTEGER) return null
    return { value: found.value, isExclusive: !found.inclusive }
  }
  return {
    kind: 'number',
    isInteger: format === 'safeint',
    from: bound('greater_than'),
    to: bound('less_than'),
  }
}

function listOf(element: z.ZodType): Control {
  if (element instanceof z.ZodEnum) return { kind: 'choices', options: element.options.map(String) }
  return element instanceof z.ZodString ? { kind: 'texts' } : { kind: 'json' }
}

function unionOf(alternatives: readonly z.ZodType[]): Control {
  const [first, second] = alternatives.map((each) => bare(each).inner)
  if (alternatives.length !== 2) return { kind: 'json' }
  if (first instanceof z.ZodNumber && second instanceof z.ZodTuple) return { kind: 'number-or-pair' }
  return second instanceof z.ZodArray
    ? oneOrList(first, listOf(second.element as z.ZodType))
    : { kind: 'json' }
}

function oneOrList(one: z.ZodType | undefined, list: Control): Control {
  if (one instanceof z.ZodString && list.kind === 'texts') return list
  return one instanceof z.ZodLiteral && list.kind === 'choices'
    ? { kind: 'all-or-choices', all: String(one.value), options: list.options }
    : { kind: 'json' }
}

/** Describes the allowed values in words; empty if there is no restriction. */
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

/** Strips backticks, which only the command line needs to set names apart. */
const helpWords = (description: string, empty = ''): string =>
  [description, empty === '' ? '' : `Empty: ${empty}.`].filter(Boolean).join(' ').replaceAll('`', '')

/** Labels of algorithm settings whose key would not read well: the same name means the same in all of them. */
const algorithmLabels: Readonly<Record<string, string>> = {
  klCoefficient: 'KL coefficient (β)',
  klAdvantageShaping: 'KL in the advantages',
  klEstimator: 'KL estimator',
  klImportanceWeighting: 'KL weighted by the ratio',
  klClamp: 'KL clamp',
  offPolicyThreshold: 'Off-policy sequence mask (nats)',
  positiveTemperature: 'Gate temperature, A > 0',
  negativeTemperature: 'Gate temperature, A < 0',
  clipCoefficient: 'Clip range',
  beta: 'KL coefficient (β)',
  compares: 'Compared tokens',
  jsdBeta: 'β of GKD',
  nllAlpha: 'NLL weight (α)',
}

function defaultLabel(key: string): string {
  const name = key.slice(key.lastIndexOf('.') + 1)
  return (key.startsWith('algorithm.settings.') ? algorithmLabels[name] : undefined) ?? sentenceCase(name)
}

/** Turns maxGradNorm into Max grad norm. */
function sentenceCase(name: string): string {
  const words = name.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** Label of a setting. List entries: `stages[0].steps` counts from 0; in comparisons, `stages.1.steps` from 1. */
export function labelOf(key: string): string {
  const [, owner, index, name = '', inner = ''] =
    /^(stages|rewards)(?:\[(\d+)\]|\.([^.]+))\.(.+)$/.exec(key) ?? []
  if (owner === undefined) return fieldAt(key)?.label ?? defaultLabel(key)
  const which = index === undefined ? name : String(Number(index) + 1)
  return `${owner === 'stages' ? 'Stage' : 'Reward'} ${which}: ${labelOf(inner)}`
}

export function valueWords(value: unknown): string {
  if (value === undefined || value === null) return 'none'
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  if (typeof value === 'string') return value
  if (typeof value === 'number') return String(value).replace(/^-/, '−')
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(valueWords).join(', ')
  const text = JSON.stringify(value)
  return text === '{}' ? 'none' : text
}

/** Sections of the config with the settings that have no wizard step of their own. */
export const configSections: readonly FieldSection[] = sectionsOf(runConfigSchema)

/** Settings that a stage of a run may override. They have no defaults: those of the run apply. */
export const stageFields: readonly SettingField[] = shapeOf(
  bare(runConfigSchema.shape.stages.unwrap().element).inner,
).flatMap(([name, schema]) => {
  if (chosenElsewhere.has(name)) return []
  const { inner } = bare(schema)
  return inner instanceof z.ZodObject ? fieldsIn(inner, name) : [fieldOf(name, schema)]
})
