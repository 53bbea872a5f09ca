/** Links for rows: where they are, which of them validate, and how a row becomes a prompt. */
import { isObject, type JsonObject } from '#shared/config/paths.ts'
import { asNumber, asText, one, tidy, type Given, type Link, type Remark, type Unit } from './links.ts'

/** Reads a path, or the first one of a list. */
export const filesOf = (name: string): Link => one(name, null, firstOf(name))

const firstOf = (name: string): Unit => ({
  read: (value, remark) => firstFile(name, Array.isArray(value) ? (value as unknown[]) : [value], remark),
  write: (value) => value,
})

function firstFile(name: string, all: readonly unknown[], remark: Remark): string | undefined {
  const [first, ...others] = all
  if (others.length > 0)
    remark(
      `${name}: only ${asText(first)} was taken, the first of ${others.length + 1}; left aside: ${others.map(asText).join(', ')}.`,
    )
  return typeof first === 'string' && first.trim() !== '' ? first.trim() : undefined
}

/** Entries of a list of data sets that call the same thing by these names. */
function listedFile(name: string, keys: readonly string[], given: Given, remark: Remark): string | undefined {
  const list = given(name)
  if (!Array.isArray(list)) return undefined
  const files = (list as unknown[]).map((entry) =>
    isObject(entry) ? keys.map((key) => entry[key]).find(Boolean) : entry,
  )
  return firstFile(name, [...new Set(files)], remark)
}

/** Names of data sets with their weights. */
const weighedFile = (value: unknown, remark: Remark): string | undefined =>
  isObject(value) ? firstFile('dataset_mixer', Object.keys(value), remark) : undefined

const mixture = 'dataset_mixture.datasets'

/** TRL’s data set by name, or the first of a mixture. */
export const trlFiles: Link = {
  keys: { dataset_name: null, [mixture]: null, datasets: null, dataset_mixer: null },
  read: (given, remark) =>
    filesOf('dataset_name').read?.(given, remark) ??
    listedFile(mixture, ['id', 'path'], given, remark) ??
    listedFile('datasets', ['path', 'id'], given, remark) ??
    weighedFile(given('dataset_mixer'), remark),
}

/** Names of LLaMA-Factory’s own list, separated by commas. */
export const llamafactoryFiles = (name: string): Link => ({
  keys: { [name]: null },
  read(given, remark) {
    const value = given(name)
    if (typeof value !== 'string') return undefined
    remark(
      `${name} names entries of LLaMA-Factory’s dataset_info.json: choose the file that the entry stands for.`,
    )
    return firstFile(name, value.split(','), remark)
  },
})

export const axolotlFiles = (name: string): Link => ({
  keys: { [name]: null },
  read(given, remark) {
    const left = Object.keys(firstOfList(given(name)) ?? {}).filter((key) => !axolotlKeys.includes(key))
    if (left.length > 0)
      remark(`${name}: ${left.join(', ')} left aside; the import of the rows looks for their columns itself.`)
    return listedFile(name, ['path'], given, remark)
  },
})

/** Keys of a data set that are read, and those that only concern opening its files. */
const axolotlKeys: readonly string[] = ['path', 'name', 'split', 'type', 'ds_type', 'data_files', 'revision']

const firstOfList = (list: unknown): JsonObject | null => {
  const [first] = Array.isArray(list) ? (list as unknown[]) : []
  return isObject(first) ? first : null
}

/** axolotl's own form of a row, where a data set spells it out: columns, and a text around them. */
function axolotlForm(given: Given): JsonObject | null {
  const type = firstOfList(given('datasets'))?.['type']
  return isObject(type) ? type : null
}

const textIn = (form: JsonObject, key: string, initial: string): string =>
  typeof form[key] === 'string' ? form[key] : initial

/** Prompt of Axolotl's first data set alone, with its rows as they are. */
export const axolotlPrompt: Link = {
  keys: { datasets: null },
  read(given, remark) {
    const form = axolotlForm(given)
    if (form === null) return undefined
    const columns: Readonly<Record<string, string>> = {
      instruction: textIn(form, 'field_instruction', 'instruction'),
      input: textIn(form, 'field_input', 'input'),
    }
    const usesInput = typeof form['field_input'] === 'string'
    if (usesInput)
      remark(
        'type.no_input_format was left aside: every row is written with type.format, also without an input.',
      )
    const format = usesInput
      ? textIn(form, 'format', '{instruction} {input} ')
      : textIn(form, 'no_input_format', textIn(form, 'format', '{instruction} '))
    const content = format.replaceAll(/\{(\w+)\}/g, (all, name: string) =>
      Object.hasOwn(columns, name) ? `{${columns[name]}}` : all,
    )
    const system = textIn(form, 'system_prompt', '')
    const field = form['field_system']
    if (typeof field === 'string') remark(`type.field_system (${field}) was left aside.`)
    return {
      messages: [
        ...(system === '' ? [] : [{ role: 'system', content: escaped(system) }]),
        { role: 'user', content },
      ],
    }
  },
}

export const axolotlCompletion: Link = {
  keys: { datasets: null },
  read(given) {
    const form = axolotlForm(given)
    return form === null ? undefined : textIn(form, 'field_output', 'output')
  },
}

/** The part of a data set on a hub that a file trains on, and the split that it validates on. */
export interface HubPart {
  readonly config: string | null
  readonly split: string | null
  readonly test: string | null
}

const firstWord = (...values: readonly unknown[]): string | null =>
  values.find((value): value is string => typeof value === 'string' && value !== '') ?? null

export function hubPart(given: Given): HubPart {
  const entry = firstOfList(given(mixture)) ?? firstOfList(given('datasets')) ?? {}
  const splits = [given('dataset_splits')].flat()
  const isTest = (split: unknown) => /test|val|eval/i.test(String(split))
  return {
    config: firstWord(
      ...[given('dataset_config'), entry['config'], entry['name']],
      [given('dataset_configs')].flat()[0],
    ),
    split: firstWord(
      ...[given('dataset_train_split'), entry['split']],
      splits.find((split) => !isTest(split)),
    ),
    test: firstWord(
      ...[given('dataset_test_split'), firstOfList(given('test_datasets'))?.['split']],
      splits.find(isTest),
    ),
  }
}

/** Reads a share below 1 or a number of rows, drawn from the training rows; 0 counts as none. */
function splitOf(size: unknown): object | undefined {
  const value = asNumber(size)
  if (value === null || value <= 0) return undefined
  return value < 1 ? { share: tidy(value), seed: 42 } : { rows: Math.round(value), seed: 42 }
}

/** Validation rows of their own, or a part of the training rows. */
export const heldOutOf = (size: string, files?: Link): Link => ({
  keys: { ...files?.keys, [size]: null },
  read: (given, remark) => files?.read?.(given, remark) ?? splitOf(given(size)),
})

/** AgileRL gives the share that is trained on. */
export const agilerlSplit: Link = {
  keys: { train_test_split: null },
  read(given) {
    const trained = asNumber(given('train_test_split'))
    return trained === null ? undefined : splitOf(1 - trained)
  },
}

const escaped = (text: string): string => text.replaceAll(/[{}]/g, (brace) => brace + brace)

/** open-r1: a column, with a system prompt before it. */
export const trlPrompt: Link = {
  keys: { dataset_prompt_column: 'prompt', system_prompt: null },
  read(given) {
    const [column, system] = [String(given('dataset_prompt_column')), given('system_prompt')]
    if (typeof system !== 'string' || system === '') return { column }
    return {
      messages: [
        { role: 'system', content: escaped(system) },
        { role: 'user', content: `{${column}}` },
      ],
    }
  },
}

/** AgileRL: messages as `role_place` with placeholders, and the columns that those stand for. */
export const agilerlPrompt: Link = {
  keys: { prompt_template: null, columns: null },
  read(given) {
    const [template, columns] = [given('prompt_template'), given('columns')]
    const renamed = new Map(
      isObject(columns) ? Object.entries(columns).map(([column, name]) => [String(name), column]) : [],
    )
    const messages = messagesOf(template).map(({ role, content }) => ({
      role,
      content: content.replaceAll(/\{(\w+)\}/g, (all, name: string) =>
        renamed.has(name) ? `{${renamed.get(name)}}` : all,
      ),
    }))
    if (messages.length > 0) return { messages }
    const question = renamed.get('question') ?? renamed.get('prompt')
    return question === undefined ? undefined : { column: question }
  },
}

interface Message {
  readonly role: string
  readonly content: string
}

function messagesOf(template: unknown): readonly Message[] {
  const entries = Array.isArray(template)
    ? (template as unknown[]).flatMap((each) =>
        isObject(each) ? [[each['role'], each['content']] as const] : [],
      )
    : isObject(template)
      ? Object.entries(template).map(([role, content]) => [role.replace(/_\d+$/, ''), content] as const)
      : []
  return entries.flatMap(([role, content]) =>
    typeof role === 'string' && typeof content === 'string' ? [{ role, content }] : [],
  )
}

/** Tokens of a whole row; longer ones are cut there and left out here. */
export const contextOf = (...names: readonly [string, ...string[]]): Link => ({
  keys: Object.fromEntries(names.map((name) => [name, null])),
  read(given, remark) {
    const name = names.find((each) => asNumber(given(each)) !== null)
    if (name === undefined) return undefined
    remark(`${name} truncates longer rows; Turnwise skips them.`)
    return given(name)
  },
})

export const rowLength = (name: string, initial: number): Link => ({
  ...contextOf(name),
  keys: { [name]: initial },
})
