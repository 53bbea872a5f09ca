/** Maps a file's columns to the columns that a run reads, as a list of small steps stored with the data set. */
import { z } from 'zod'
import { isJsonObject } from '#host/files/strictJson.ts'
import type { DataRow, ReadItem, ReadRow } from './dataFile.ts'

const name = z.string().min(1)

export const mappingSchema = z.array(
  z.discriminatedUnion('kind', [
    /** A dotted path (`reward_model.ground_truth`) copies from inside a column; a plain name renames it. */
    z.strictObject({ kind: z.literal('column'), from: name, to: name }),
    /** A chat of {from, value} becomes one of {role, content}. */
    z.strictObject({ kind: z.literal('chat'), column: name }),
    /** Takes the assistant's last message off a chat: `prompt` is what is before it, `completion` its text. */
    z.strictObject({ kind: z.literal('last-message'), column: name }),
    /** `chosen` and `rejected` lose what they begin with alike, which becomes `prompt`. */
    z.strictObject({ kind: z.literal('shared-prompt') }),
    z.strictObject({ kind: z.literal('drop'), column: name }),
  ]),
)

export type Mapping = z.output<typeof mappingSchema>
type MappingStep = Mapping[number]
type Columns = Record<string, unknown>

/** A row that does not fit a step: what is wrong, without the row's place. */
class MappingError extends Error {}

/** The row with every step done; a problem where it does not fit. */
export function mapItem(item: ReadRow, mapping: Mapping): ReadItem {
  if (mapping.length === 0) return item
  const columns = Object.assign(Object.create(null) as Columns, item.row)
  try {
    for (const step of mapping) applyStep(columns, step)
    return { number: item.number, line: item.line, row: columns }
  } catch (error) {
    if (!(error instanceof MappingError)) throw error
    return { number: item.number, line: item.line, sentence: error.message }
  }
}

function applyStep(columns: Columns, step: MappingStep): void {
  switch (step.kind) {
    case 'column':
      moveColumn(columns, step.from, step.to)
      return
    case 'chat':
      columns[step.column] = roleChat(columns[step.column], step.column)
      return
    case 'last-message':
      takeLastMessage(columns, step.column)
      return
    case 'shared-prompt':
      takeSharedPrompt(columns)
      return
    case 'drop':
      Reflect.deleteProperty(columns, step.column)
  }
}

function moveColumn(columns: Columns, from: string, to: string): void {
  const value = valueAt(columns, from)
  if (value === undefined) throw new MappingError(`it has no column “${from}”`)
  if (Object.hasOwn(columns, from)) Reflect.deleteProperty(columns, from)
  columns[to] = value
}

/** A column's value, or what a dotted path leads to; undefined where there is none. */
function valueAt(columns: DataRow, path: string): unknown {
  if (Object.hasOwn(columns, path)) return columns[path]
  let value: unknown = columns
  for (const part of path.split('.')) {
    if (!isJsonObject(value) || !Object.hasOwn(value, part)) return undefined
    value = value[part]
  }
  return value
}

const roles: Readonly<Record<string, string>> = {
  human: 'user',
  user: 'user',
  gpt: 'assistant',
  chatgpt: 'assistant',
  model: 'assistant',
  bot: 'assistant',
  assistant: 'assistant',
  system: 'system',
  tool: 'tool',
  observation: 'tool',
  function_response: 'tool',
}

function roleChat(value: unknown, column: string): unknown[] {
  if (!Array.isArray(value)) throw new MappingError(`its column “${column}” is not a list of messages`)
  return value.map((message: unknown, index) => {
    if (
      !isJsonObject(message) ||
      typeof message['from'] !== 'string' ||
      typeof message['value'] !== 'string'
    ) {
      throw new MappingError(`message ${index + 1} of “${column}” has no {from, value} texts`)
    }
    const { from, value: content, ...rest } = message
    return { role: roles[from.toLowerCase()] ?? from, content, ...rest }
  })
}

/** Whether a chat ends with a message of the assistant, in either form. */
export function isAnswered(chat: unknown): boolean {
  const last: unknown = Array.isArray(chat) ? chat.at(-1) : undefined
  if (!isJsonObject(last)) return false
  const { role, from } = last
  return role === 'assistant' || (typeof from === 'string' && roles[from.toLowerCase()] === 'assistant')
}

function takeLastMessage(columns: Columns, column: string): void {
  const messages: unknown = columns[column]
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined
  if (!Array.isArray(messages) || !isJsonObject(last) || last['role'] !== 'assistant') {
    throw new MappingError(`its column “${column}” does not end with an assistant message`)
  }
  if (messages.length === 1) throw new MappingError(`its column “${column}” has nothing before the answer`)
  Reflect.deleteProperty(columns, column)
  columns['prompt'] = messages.slice(0, -1)
  columns['completion'] = last['content']
}

function takeSharedPrompt(columns: Columns): void {
  const { chosen, rejected } = columns
  if (!Array.isArray(chosen) || !Array.isArray(rejected)) {
    throw new MappingError('its columns “chosen” and “rejected” are not lists of messages')
  }
  const differs = chosen.findIndex((message, at) => JSON.stringify(message) !== JSON.stringify(rejected[at]))
  const shared = differs < 0 ? Math.min(chosen.length, rejected.length) - 1 : differs
  if (shared < 1) throw new MappingError('“chosen” and “rejected” begin with different messages')
  columns['prompt'] = chosen.slice(0, shared)
  columns['chosen'] = chosen.slice(shared)
  columns['rejected'] = rejected.slice(shared)
}
