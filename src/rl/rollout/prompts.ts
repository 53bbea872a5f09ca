/** Turns rows of a data set into prompts: the text and tokens that the policy reads, and which of them come next. */
import type { ChatTemplate, RenderOptions } from '#engine/text/chatTemplate.ts'
import type { Tokenizer } from '#engine/text/tokenizer.ts'
import { isObject } from '#shared/config/paths.ts'
import { AppError, type Hint } from '#shared/errors.ts'
import { parsedJson } from '#shared/parsedJson.ts'
import { chatInText, isNoChat, readChat, templateColumn, type ChatMessage } from '#shared/messages.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { conversationText } from './conversationText.ts'

/** A row of a data set: column → value. */
export type DataRow = Readonly<Record<string, unknown>>
export type PromptForm = RunConfig['data']['prompt']

/** A row of the data set. */
export interface PromptRow {
  /** Index in the data set. */
  readonly row: number
  readonly columns: DataRow
}

/** A row with its prompt as text and token ids. */
export interface Prompt extends PromptRow {
  /** Text that the policy reads, including chat markup. */
  readonly text: string
  readonly ids: Int32Array
}

export interface PromptEncoder {
  readonly form: PromptForm
  /** Descriptions of functions that the model may call, or their column; null or absent: none are offered. */
  readonly tools?: string | readonly unknown[] | null
  readonly tokenizer: Pick<Tokenizer, 'encode'>
  /** null if the model has none; then only text prompts work. */
  readonly chatTemplate: Pick<ChatTemplate, 'render'> | null
  /** Index of each row in the original data set, from 0; absent: as given. For error messages only. */
  readonly places?: readonly number[] | undefined
}

export interface EncodedPrompts {
  readonly prompts: readonly Prompt[]
  /** Rows left out because their prompt is longer than the limit. */
  readonly tooLong: readonly number[]
}

/** Encodes every row. Errors: `data/invalid` naming the row, or when no row is short enough. */
export function encodePrompts(
  rows: readonly DataRow[],
  encoder: PromptEncoder,
  maxPromptTokens: number,
): EncodedPrompts {
  const all = rows.map((columns, row) => encodePrompt(columns, row, encoder))
  const prompts = all.filter(({ ids }) => ids.length <= maxPromptTokens)
  const tooLong = all.filter(({ ids }) => ids.length > maxPromptTokens).map(({ row }) => row)
  if (prompts.length === 0) {
    throw new AppError(
      'data/invalid',
      rows.length === 0
        ? 'The data set has no rows.'
        : `Every prompt is longer than ${maxPromptTokens} tokens.`,
      rows.length === 0
        ? undefined
        : 'Raise data.maxPromptTokens or shorten the prompts; where the context is full, lower rollout.maxNewTokens.',
    )
  }
  return { prompts, tooLong }
}

/** One row as a prompt of any length. Errors: `data/invalid` naming the row (0 is the first). */
export function encodePrompt(columns: DataRow, row: number, encoder: PromptEncoder): Prompt {
  const place = encoder.places?.[row] ?? row
  const { text, isMarkedUp } = promptText(columns, place, encoder)
  const ids = encoder.tokenizer.encode(text, { addSpecialTokens: !isMarkedUp })
  if (ids.length === 0) throw invalidRow(place, 'its prompt has no tokens')
  return { row, columns, text, ids }
}

/**
 * The text that the policy will read for a row, marked up by the chat template if the prompt is messages. Errors: as
 * `encodePrompt`.
 */
export function promptText(
  columns: DataRow,
  row: number,
  encoder: Pick<PromptEncoder, 'form' | 'chatTemplate' | 'tools'>,
): { readonly text: string; readonly isMarkedUp: boolean } {
  const content = promptContent(columns, row, encoder.form)
  if (typeof content === 'string') return { text: content, isMarkedUp: false }
  return { text: renderMessages(content, encoder, givenBy(columns, row, encoder)), isMarkedUp: true }
}

/** Text, or messages for the chat template. */
export function promptContent(columns: DataRow, row: number, form: PromptForm): string | ChatMessage[] {
  if ('template' in form) return fillTemplate(form.template, columns, row)
  if ('messages' in form) {
    return form.messages.map(({ role, content }) => ({ role, content: fillTemplate(content, columns, row) }))
  }
  return columnContent(columns, row, form.column)
}

function columnContent(columns: DataRow, row: number, column: string): string | ChatMessage[] {
  const value = columns[column]
  const place = `column “${column}”`
  if (typeof value === 'string') {
    if (chatInText(value) === null) return value
    throw invalidRow(row, `${place} holds a conversation as JSON text`, importing)
  }
  if (!Object.hasOwn(columns, column)) throw invalidRow(row, noColumn(columns, column), orImported)
  if (value === null) throw invalidRow(row, `its ${place} is empty (null)`)
  const read = Array.isArray(value) ? readChat(value) : { fault: 'it is not a list' }
  if (!isNoChat(read)) return [...read]
  throw invalidRow(row, `${place} holds neither text nor a list of {role, content} messages: ${read.fault}`)
}

const importing = {
  text: 'Import the data set with the columns mapped, which reads such texts as messages.',
  command: '`turnwise dataset import FILE --remap` does so.',
}

const orImported = {
  text: 'Check data.prompt, or import the data set with the columns mapped.',
  command: '`turnwise dataset import FILE --remap` does so.',
}

/** it has no column “x”; its columns are “a”, “b” */
export function noColumn(columns: DataRow, column: string): string {
  const names = Object.keys(columns).slice(0, 20)
  return `it has no column “${column}”; its columns are ${names.map((name) => `“${name}”`).join(', ')}`
}

/** Replaces {column}; {{ and }} stand for literal braces. */
function fillTemplate(template: string, columns: DataRow, row: number): string {
  return template.replace(/\{\{|\}\}|\{([^{}]+)\}/g, (match, column: string | undefined) => {
    if (column === undefined) return match[0] ?? ''
    const value = columns[column]
    if (value === undefined) throw invalidRow(row, noColumn(columns, column), orImported)
    if (value === null) throw invalidRow(row, `its column “${column}” is empty (null)`)
    return typeof value === 'string' ? value : JSON.stringify(value)
  })
}

/** Tools and variables that a row gives the chat template beside its messages. */
export type RowOptions = Pick<RenderOptions, 'tools' | 'variables'>

/** The functions that a row offers, and its own variables of the template, which win over the run's. Errors: `data/invalid`. */
export const givenBy = (
  columns: DataRow,
  row: number,
  encoder: Pick<PromptEncoder, 'tools'>,
): RowOptions => ({
  ...toolsOf(columns, row, encoder),
  ...variablesOf(columns, row),
})

/** Variables of the template, as an object or as JSON text; Parquet writes null where a row has none of a name. */
function variablesOf(columns: DataRow, row: number): RowOptions {
  const value = columns[templateColumn] ?? null
  if (value === null || value === '') return {}
  const read = typeof value === 'string' ? parsedJson(value) : value
  if (!isObject(read)) throw invalidRow(row, `column “${templateColumn}” does not hold an object`)
  const set = Object.entries(read).filter(([, each]) => each !== null)
  return set.length === 0 ? {} : { variables: Object.fromEntries(set) }
}

/** Descriptions of functions, as a list or as JSON text; undefined if the row has none. Errors: `data/invalid`. */
function toolsOf(columns: DataRow, row: number, { tools: column }: Pick<PromptEncoder, 'tools'>): RowOptions {
  if (typeof column !== 'string') return column === null || column === undefined ? {} : { tools: column }
  const value = columns[column] ?? null
  if (value === null || value === '') return {}
  const tools: unknown = typeof value === 'string' ? parsedJson(value) : value
  if (!Array.isArray(tools)) throw invalidRow(row, `column “${column}” does not hold a list of tools`)
  return tools.length === 0 ? {} : { tools }
}

function renderMessages(
  messages: readonly ChatMessage[],
  { chatTemplate }: Pick<PromptEncoder, 'chatTemplate'>,
  given: RowOptions,
): string {
  if (chatTemplate === null) {
    throw new AppError(
      'data/invalid',
      'The prompts are chat messages, but the model has no chat template.',
      'Use a model with a chat template, or a text prompt with data.prompt.template.',
    )
  }
  return conversationText(messages, chatTemplate, given)
}

const invalidRow = (row: number, what: string, hint: string | Hint = 'Check data.prompt.'): AppError =>
  new AppError('data/invalid', `Row ${row + 1} of the data cannot be turned into a prompt: ${what}.`, hint)

type Renderer = Pick<ChatTemplate, 'render' | 'toolForm'>

/** The chat template with the run's own variables set in every rendering; null stays null. */
export function withSwitches(
  chatTemplate: Renderer | null,
  variables: Readonly<Record<string, string | number | boolean>>,
): Renderer | null {
  if (chatTemplate === null || Object.keys(variables).length === 0) return chatTemplate
  return {
    ...chatTemplate,
    render: (messages, options) =>
      chatTemplate.render(messages, { ...options, variables: { ...variables, ...options.variables } }),
  }
}
