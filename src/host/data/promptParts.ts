/** Proposes how a prompt is made of columns: one, a conversation, or several that belong together. */
import { isChatKind } from '#shared/columnKind.ts'
import { chatIn, isNoChat, readChat, waitsForAnswer, type ChatMessage } from '#shared/messages.ts'
import { type Columns, plainName } from './columnKinds.ts'
import { listIn } from './comparisons.ts'
import { isDialoguePrompt } from './dialogues.ts'
import { shownChoices, type ShownChoices } from './choices.ts'
import { isTurn, textsIn, type Mapping } from './mapping.ts'

export const systemNames = ['system', 'system_prompt', 'system_message']
export const questionNames = ['question', 'query', 'problem', 'input_text', 'text_input', 'q']
export const chatNames = ['messages', 'conversations', 'conversation', 'dialog', 'dialogue', 'chat']
/** Names of columns that hold the prompt to an answer in another column. */
export const promptNames = ['prompt', ...questionNames, 'instruction', 'input', ...chatNames]

export const rename = (from: string, to: string): Mapping =>
  from === to ? [] : [{ kind: 'column', from, to }]

export interface Asked {
  readonly mapping: Mapping
  readonly used: readonly string[]
  readonly isConversational: boolean
}

/** The step that makes what a run reads of a column in another spelling; none where it is so already. */
export function chatStep(columns: Columns, column: string): Mapping {
  if (columns.kind(column) === 'other-chat') return [{ kind: 'chat', column }]
  if (columns.kind(column) !== 'text') return []
  const values = columns.values(column)
  const isAll = (reads: (text: string) => boolean) =>
    values.length > 0 && values.every((value) => typeof value === 'string' && reads(value))
  if (isAll(isDialoguePrompt)) return [{ kind: 'chat', column }]
  return isAll((text) => textsIn(text) !== null) ? [{ kind: 'only-text', column }] : []
}

/**
 * Proposes a column of prompts, as text or chat, under the name `prompt`, with the system message and the turns beside
 * it.
 */
export function asPrompt(columns: Columns, column: string): Asked {
  const spelled = chatStep(columns, column)
  if (isChatKind(columns.kind(column)) || spelled[0]?.kind === 'chat') {
    const system = systemBeside(columns, column)
    return {
      mapping: [...spelled, ...rename(column, 'prompt'), ...system.mapping],
      used: [column, ...system.used],
      isConversational: true,
    }
  }
  const beside = questionParts(columns, column)
  if (beside === null)
    return { mapping: [...spelled, ...rename(column, 'prompt')], used: [column], isConversational: false }
  return { ...beside, mapping: [...spelled, ...beside.mapping], isConversational: true }
}

/** Finds the system message in a column beside conversations; none where each begins with its own. */
export function systemBeside(columns: Columns, chat: string): Pick<Asked, 'mapping' | 'used'> {
  const system = columns.find(systemNames, (kind) => kind === 'text')
  if (system === undefined || hasSystem(columns, chat)) return { mapping: [], used: [] }
  return { mapping: [{ kind: 'system', column: system }], used: [system] }
}

/** Returns true if all conversations begin with a system message of their own. */
export function hasSystem(columns: Columns, column: string): boolean {
  const chats = chatsIn(columns, column)
  return chats.length > 0 && chats.every((chat) => chat[0]?.role === 'system')
}

/** A question with what stands in other columns; null where it stands alone. */
export function questionParts(columns: Columns, question: string): Omit<Asked, 'isConversational'> | null {
  const system = columns.find(systemNames, (kind) => kind === 'text')
  const history = readableHistory(columns)
  const [about, choices] = [aboutOf(columns, question), choicesFor(columns, question)]
  const parts = [about, question, choices?.column].filter((name) => name !== undefined)
  if (parts.length === 1 && (system ?? history) === undefined) return null
  const step: Mapping[number] = {
    kind: 'messages',
    parts,
    ...(system === undefined ? {} : { system }),
    ...(history === undefined ? {} : { history }),
  }
  const beside = choices ?? { steps: [], used: [] }
  return {
    mapping: [...beside.steps, step],
    used: [...parts, ...beside.used, system, history].filter((name) => name !== undefined),
  }
}

/** Finds the column with the subject of a question that the question itself does not state. */
function aboutOf(columns: Columns, question: string): string | undefined {
  const about = columns.find(contextNames, (kind) => kind === 'text')
  return about === undefined || repeats(columns, question, about) ? undefined : about
}

function choicesFor(columns: Columns, question: string): ShownChoices | null {
  const choices = isWhole(question) ? null : shownChoices(columns)
  return choices === null || repeats(columns, question, choices.column) ? null : choices
}

export const contextNames = [
  'context',
  'passage',
  'document',
  'article',
  'body',
  'story',
  'background',
  'support',
  'premise',
]

/** Earlier turns, as conversations or as pairs of texts, also where they are written as text. */
function readableHistory(columns: Columns): string | undefined {
  const history = columns.find(['history'], (kind) => kind === 'list' || kind === 'text' || isChatKind(kind))
  const isRead = (value: unknown) => {
    const turns = listIn(value)
    return turns !== null && (turns.length === 0 || turns.every(isTurn) || !isNoChat(readChat(turns)))
  }
  return history !== undefined && columns.values(history).every(isRead) ? history : undefined
}

/** Returns true for `prompt`, which needs no other column. */
const isWhole = (column: string): boolean => plainName(column) === 'prompt'

/** Tests whether most texts of a column already contain the text of another. */
function repeats(columns: Columns, column: string, other: string): boolean {
  if (column === other || isWhole(column)) return true
  const holding = columns.rows.filter((row) => String(row[column]).includes(String(row[other])))
  return 2 * holding.length > columns.rows.length
}

export const chatsIn = (columns: Columns, column: string, rows = columns.all): (readonly ChatMessage[])[] =>
  columns
    .values(column, rows)
    .map(chatIn)
    .filter((chat) => chat !== null)

/** Returns true if most conversations end with a message that waits for an answer, or with one that is only begun. */
export function waits(columns: Columns, column: string): boolean {
  const chats = chatsIn(columns, column)
  const isOpen = (role: string) => waitsForAnswer(role) || role === 'assistant'
  const open = chats.filter((chat) => isOpen(chat.at(-1)?.role ?? ''))
  return 2 * open.length >= chats.length
}
