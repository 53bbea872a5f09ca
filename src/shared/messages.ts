/**
 * Chat messages in every format of data sets: one table of roles and one reader. Imports, runs, `generate` and the
 * window all use it, so that they agree on what is a conversation.
 */

import { isObject, type JsonObject as Fields } from './config/paths.ts'
import { exactText, parsedWithMarks } from './exactNumbers.ts'
import { parsedLiteral } from './literals.ts'
import { parsedJson } from './parsedJson.ts'

/** Message in the form of chat templates. Further fields, such as `tool_calls`, are passed to the template. */
export interface ChatMessage {
  readonly role: string
  readonly content: string
  readonly [field: string]: unknown
}

/** Reason why a value is not a chat, as the end of a sentence about it. */
export interface NoChat {
  readonly fault: string
}

export const isNoChat = (read: readonly ChatMessage[] | NoChat): read is NoChat => 'fault' in read

/** The column with variables of the chat template that hold for its row alone, as TRL has it. */
export const templateColumn = 'chat_template_kwargs'

/** Names of roles in data sets, in small letters. Other roles stay as they are written. */
const roleNames: Readonly<Record<string, readonly string[]>> = {
  system: ['system'],
  user: ['user', 'human', 'prompter'],
  assistant: ['assistant', 'gpt', 'chatgpt', 'model', 'bot', 'ai'],
  tool: ['tool', 'observation', 'function', 'function_response', 'tool_response'],
}

const roles = new Map(
  Object.entries(roleNames).flatMap(([role, names]) => names.map((name) => [name, role] as const)),
)

/** Roles whose content is a tool call as JSON text. */
const callRoles: readonly string[] = ['function_call', 'tool_call', 'tool_calls']

/** Normalizes a role, ignoring case; an unknown one stays as it is written. */
export const roleOf = (written: string): string => roles.get(written.trim().toLowerCase()) ?? written

/** True if a conversation that ends with this role waits for an answer. */
export const waitsForAnswer = (role: string): boolean => ['user', 'system', 'tool'].includes(role)

/**
 * Reads a conversation: a list of {role, content}, {from, value} or a mixture of both; of turns such as {human, assistant};
 * a single message; an object with such a list as `messages`, or with a list of each field. Contents are texts or lists of
 * text parts; they may be null or absent if a message only calls tools. A list without messages is no chat.
 */
export function readChat(value: unknown): readonly ChatMessage[] | NoChat {
  if (isObject(value)) return readObject(value)
  if (!Array.isArray(value)) return { fault: 'it is not a list of messages' }
  if (value.length === 0) return { fault: 'it has no messages' }
  const messages: ChatMessage[] = []
  for (const [index, entry] of value.entries()) {
    const read = readEntry(entry)
    if (typeof read === 'string') return { fault: `message ${index + 1} ${read}` }
    messages.push(...read)
  }
  return messages
}

function readObject(value: Fields): readonly ChatMessage[] | NoChat {
  if (Array.isArray(value['messages'])) return readChat(value['messages'])
  const [role, content] = [listOf(value, ['role', 'from']), listOf(value, ['content', 'value'])]
  if (role !== null && content?.length === role.length) return readChat(columnsToMessages(value, role.length))
  if (nameOf(value, ['role', 'from']) !== null) return readChat([value])
  return { fault: 'it is not a list of messages' }
}

const listOf = (value: Fields, names: readonly string[]): readonly unknown[] | null =>
  names.map((name) => value[name]).find((list): list is unknown[] => Array.isArray(list)) ?? null

/** Converts an object with a list for each field, as in older Parquet files, to a list of objects. */
const columnsToMessages = (columns: Fields, count: number): Fields[] =>
  Array.from({ length: count }, (_, index) =>
    Object.fromEntries(
      Object.entries(columns).flatMap(([name, list]) => {
        const value: unknown = Array.isArray(list) ? list[index] : undefined
        return value === undefined || value === null ? [] : [[name, value]]
      }),
    ),
  )

/** Returns the end of a sentence if the entry is not a message. */
function readEntry(entry: unknown): readonly ChatMessage[] | string {
  if (!isObject(entry)) return 'is not an object'
  const roleField = nameOf(entry, ['role', 'from'])
  if (roleField === null) return turnOf(entry) ?? 'has no role'
  const written = String(entry[roleField])
  const contentField = ['content', 'value'].find((name) => name in entry) ?? 'content'
  const { [roleField]: _role, [contentField]: content, ...others } = entry
  // Parquet writes every field of every message.
  const rest = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== null))
  if (callRoles.includes(written.toLowerCase())) return callMessage(content, rest)
  const { function_call: call, tool_calls: listed, ...withoutCall } = rest
  const calls = callsOf(isObject(call) ? [{ type: 'function', function: call }] : listed)
  const text = textOf(content, calls !== null)
  if (text.fault !== undefined) return text.fault
  return [
    {
      role: roleOf(written),
      content: text.text,
      ...withoutCall,
      ...(calls === null ? unreadCalls(listed) : { tool_calls: calls }),
    },
  ]
}

/** Calls that are not understood stay as they are; none at all, as Parquet writes them, are nothing. */
function unreadCalls(listed: unknown): Fields {
  const value = typeof listed === 'string' ? (parsedJson(listed) ?? listed) : listed
  const isNone = (value ?? '') === '' || (Array.isArray(value) && value.length === 0)
  return isNone ? {} : { tool_calls: listed }
}

const nameOf = (entry: Fields, names: readonly string[]): string | null =>
  names.find((name) => typeof entry[name] === 'string') ?? null

/** Reads a turn such as {human: …, assistant: …}; null if the keys are no roles: “model” beside an answer makes no turn. */
function turnOf(entry: Fields): readonly ChatMessage[] | null {
  const parts = Object.entries(entry).filter(([name]) => roles.has(name.toLowerCase()))
  const isWhole = parts.length === Object.keys(entry).length
  if (!isWhole && !parts.some(([name]) => roleOf(name) === 'user')) return null
  if (parts.length === 0 || !parts.every(([, content]) => typeof content === 'string')) return null
  return parts.map(([name, content]) => ({ role: roleOf(name), content: String(content) }))
}

/** Reads a message whose content is the call itself. */
function callMessage(content: unknown, rest: Fields): readonly ChatMessage[] | string {
  const written = typeof content === 'string' ? parsedWithMarks(content) : content
  const calls = (Array.isArray(written) ? written : [written]).filter(isObject)
  if (calls.length === 0 || !calls.every(({ name }) => typeof name === 'string'))
    return 'holds no call: expected JSON with “name” and “arguments”'
  const toolCalls = calls.map((call) => ({ type: 'function', function: call }))
  return [{ role: 'assistant', content: '', ...rest, tool_calls: callsOf(toolCalls) }]
}

/**
 * Calls, also as text, with their arguments as values: templates write them as JSON themselves. Arguments with numbers that a
 * value would change stay JSON text. null where there are no calls.
 */
function callsOf(written: unknown): readonly unknown[] | null {
  const value = typeof written === 'string' ? parsedWithMarks(written) : written
  if (!Array.isArray(value) || value.length === 0) return null
  return value.map((call: unknown) => {
    if (!isObject(call) || !isObject(call['function'])) return call
    const { arguments: written } = call['function']
    const read = typeof written === 'string' ? parsedWithMarks(written) : written
    if (!isObject(read)) return call
    const exact = exactText(read)
    if (exact !== null && written !== read) return call
    return { ...call, function: { ...call['function'], arguments: exact ?? read } }
  })
}

function textOf(content: unknown, isCall: boolean): { text: string; fault?: undefined } | { fault: string } {
  if (typeof content === 'string') return { text: content }
  if (content === null || content === undefined) return isCall ? { text: '' } : { fault: 'has no content' }
  if (!Array.isArray(content)) return { fault: 'has a content that is neither text nor a list of parts' }
  let text = ''
  for (const part of content) {
    const read = partText(part)
    if (typeof read !== 'string') return { fault: `has a part of type ${read.type}; only text is read` }
    text += read
  }
  return { text }
}

function partText(part: unknown): string | { readonly type: string } {
  if (typeof part === 'string') return part
  if (!isObject(part)) return { type: typeof part }
  const { type = 'text', text, value } = part
  const written = text ?? value
  return type === 'text' && typeof written === 'string' ? written : { type: String(type) }
}

/** Returns the conversation that a value is, or contains as text; null for anything else. */
export function chatIn(value: unknown): readonly ChatMessage[] | null {
  if (typeof value === 'string') return chatInText(value)
  const read = readChat(value)
  return isNoChat(read) ? null : read
}

/** True if an answer is more than its text: it calls tools, or thinks in a field of its own that the template writes. */
export const isMoreThanText = (message: ChatMessage): boolean =>
  ['tool_calls', 'reasoning_content', 'reasoning', 'thinking'].some((name) => name in message)

/** Returns the conversation in a text in JSON or Python notation; null if the text is anything else. */
export function chatInText(text: string): readonly ChatMessage[] | null {
  if (!/^\s*[[{]/.test(text) || !/["'](?:role|from|messages)["']\s*:/.test(text)) return null
  const read = readChat(parsedLiteral(text))
  return isNoChat(read) ? null : read
}

/** True for a list that is already {role, content} with the usual roles and plain texts: reading changes nothing. */
export const isPlainChat = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every(
    (entry) =>
      isObject(entry) &&
      typeof entry['role'] === 'string' &&
      roleOf(entry['role']) === entry['role'] &&
      !callRoles.includes(entry['role']) &&
      typeof entry['content'] === 'string' &&
      !('tool_calls' in entry) &&
      !('function_call' in entry),
  )
