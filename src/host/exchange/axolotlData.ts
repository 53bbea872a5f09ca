/** Links for axolotl’s data sets: their files, the columns of a row, and what their entries say beside that. */
import { isObject, type JsonObject } from '#shared/config/paths.ts'
import { escaped, firstOfList, listedFile, remarkKeys, type LeftKeys } from './dataLinks.ts'
import type { Given, Link } from './links.ts'
import { reasons } from './settingRow.ts'

const columns = 'the import of the rows looks for these columns and roles itself'
const share = 'Turnwise takes all rows of the data set'
const lastAnswer = 'Turnwise learns only the last answer of a conversation, as its chat template writes it'

/** Keys of an entry that are not taken over. */
const leftKeys: LeftKeys = {
  field_messages: columns,
  field_tools: columns,
  field_system: columns,
  field_thinking: columns,
  message_field_role: columns,
  message_field_content: columns,
  message_property_mappings: columns,
  field: columns,
  field_human: columns,
  field_model: columns,
  roles: columns,
  template_thinking_key: columns,
  roles_to_train: lastAnswer,
  train_on_eos: lastAnswer,
  train_on_eot: lastAnswer,
  message_field_training: lastAnswer,
  message_field_training_detail: lastAnswer,
  split_thinking: lastAnswer,
  train_on_inputs: reasons.answers,
  chat_template: reasons.template,
  chat_template_jinja: reasons.template,
  conversation: reasons.template,
  drop_system_message: reasons.template,
  eot_tokens: reasons.template,
  shards: share,
  shards_idx: share,
  preprocess_shards: share,
  weight: share,
  trust_remote_code: reasons.code,
  revision: 'name it when the data set is imported (`turnwise dataset import owner/name@revision`)',
  data_files: 'it says which files of the data set are meant: choose them among what is imported',
}

/** Keys of an entry that are read: columns of pairs where pairs are learned, from beside the form or inside of it. */
const readKeys: readonly string[] = ['path', 'name', 'split', 'type', 'ds_type']
const pairKeys: readonly string[] = ['field_prompt', 'field_chosen', 'field_rejected', 'prompt_format']

export const axolotlFiles = (name: string): Link => ({
  keys: { [name]: null },
  read(given, remark) {
    const entry = firstOfList(given(name))
    const file = listedFile(name, ['path'], given, remark)
    if (entry === null) return file
    const isOpened = file !== undefined && file !== entry['path']
    const read = [...readKeys, ...(isOpened ? ['data_files'] : []), ...pairsIn(given, entry)]
    remarkKeys(name, entry, { read, left: leftKeys }, remark)
    if (typeof entry['type'] === 'string' && !isConversation.test(entry['type']))
      remark(
        `${name}.type (${entry['type']}): axolotl writes such rows in a text of its own, without the chat template; Turnwise writes them in the chat template of the model, and the import of the rows looks for their columns itself.`,
      )
    return file
  },
})

const isConversation = /^(chat_template|sharegpt|user_defined)(\.|$)/

/** Keys of pairs where the algorithm learns them. */
const pairsIn = (given: Given, entry: JsonObject): readonly string[] =>
  isOfPairs(given) ? [...pairKeys, ...(isTemplated(entry) ? ['field_messages'] : [])] : []

const isOfPairs = (given: Given): boolean => typeof given('rl') === 'string' && given('rl') !== 'kto'

/** Pairs whose prompt is a conversation in a column. */
const isTemplated = ({ type }: JsonObject): boolean =>
  typeof type === 'string' && type.startsWith('chat_template')

/** axolotl's own form of a row, where a data set spells it out: columns, and a text around them. */
function axolotlForm(given: Given): JsonObject | null {
  const type = firstOfList(given('datasets'))?.['type']
  return isObject(type) ? type : null
}

const textIn = (form: JsonObject, key: string, initial: string): string =>
  typeof form[key] === 'string' ? form[key] : initial

/** A text with the columns that its names stand for. */
const withColumns = (format: string, names: Readonly<Record<string, string>>): string =>
  format.replaceAll(/\{(\w+)\}/g, (all, name: string) =>
    Object.hasOwn(names, name) ? `{${names[name]}}` : all,
  )

const asWritten = (name: string): string =>
  `${name}: axolotl gives the model such a text as it is; here it is a message in the chat template of the model.`

/** Keys of the form of an answer that are read. */
const formKeys: readonly string[] = [
  ...['system_prompt', 'field_instruction', 'field_input', 'field_output', 'format', 'no_input_format'],
]
const formLeft: LeftKeys = {
  field_system: 'the system prompt of a run is the same for all rows',
  system_format: 'the chat template of the model writes the system prompt',
}

/** Prompt of the first data set alone, with its rows as they are. */
export const axolotlPrompt: Link = {
  keys: { datasets: null },
  read(given, remark) {
    const form = axolotlForm(given)
    if (form === null) return undefined
    remarkKeys('datasets.type', form, { read: formKeys, left: formLeft }, remark)
    const names = {
      instruction: textIn(form, 'field_instruction', 'instruction'),
      input: textIn(form, 'field_input', 'input'),
    }
    const usesInput = typeof form['field_input'] === 'string'
    if (usesInput)
      remark(
        'datasets.type.no_input_format was left aside: every row is written with type.format, also without an input.',
      )
    const format = usesInput
      ? textIn(form, 'format', '{instruction} {input} ')
      : textIn(form, 'no_input_format', textIn(form, 'format', '{instruction} '))
    remark(asWritten('datasets.type.format'))
    const system = textIn(form, 'system_prompt', '')
    return {
      messages: [
        ...(system === '' ? [] : [{ role: 'system', content: escaped(system) }]),
        { role: 'user', content: withColumns(format, names) },
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

/** Returns what names the columns of pairs: the form of a data set, or its entry itself. */
function pairForm(given: Given): JsonObject {
  const entry = firstOfList(given('datasets')) ?? {}
  return isObject(entry['type']) ? entry['type'] : entry
}

const pairLeft: LeftKeys = {
  field_system: formLeft['field_system'] ?? '',
  chosen_format: 'answers are taken as their columns have them',
  rejected_format: 'answers are taken as their columns have them',
}

/** The prompt of pairs: a column, with a text around it where the form has one. */
export const axolotlPairPrompt: Link = {
  keys: { datasets: null },
  read(given, remark) {
    const form = pairForm(given)
    const isForm = axolotlForm(given) !== null
    if (isForm) {
      remarkKeys('datasets.type', form, { read: pairKeys, left: pairLeft }, remark)
      remark(asWritten('datasets.type.prompt_format'))
    }
    const named = isForm || !isTemplated(form) ? 'field_prompt' : 'field_messages'
    const initial = isForm ? 'prompt' : ''
    const column = textIn(form, named, initial)
    const format = textIn(form, 'prompt_format', '{prompt}')
    if (column === '' && format === '{prompt}') return undefined
    if (format.trim() === '{prompt}' || format.trim() === `{${column}}`) return { column }
    return { messages: [{ role: 'user', content: withColumns(format, { prompt: column || 'prompt' }) }] }
  },
}

/** The column of an answer of pairs, where the file names one. */
export const axolotlPairAnswer = (field: 'field_chosen' | 'field_rejected'): Link => ({
  keys: { datasets: null },
  read: (given) => pairForm(given)[field] ?? undefined,
})
