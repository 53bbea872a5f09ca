/** Proposes how a prompt is made of columns: one, a conversation, or several that belong together. */
import { answerColumns } from '#shared/api/datasets.ts'
import { isChatKind } from '#shared/columnKind.ts'
import { chatIn, isNoChat, readChat, waitsForAnswer, type ChatMessage } from '#shared/messages.ts'
import { type Columns, plainName } from './columnKinds.ts'
import { isDialoguePrompt } from './dialogues.ts'
import { choicesIn, isTurn, textsIn, type Mapping } from './mapping.ts'

export const systemNames = ['system', 'system_prompt', 'system_message']
export const answerNames = [
  ...answerColumns,
  ...['answer_key', 'reference_answer', 'correct_answer', 'answers', 'a'],
]

export const questionNames = ['question', 'query', 'problem', 'input_text', 'text_input', 'q']
export const chatNames = ['messages', 'conversations', 'conversation', 'dialog', 'dialogue', 'chat']
/** What an answer in another column answers. */
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

/** A column of prompts, as text or chat, under the name `prompt`, with the system message and the turns beside it. */
export function asPrompt(columns: Columns, column: string): Asked {
  const system = columns.find(systemNames, (kind) => kind === 'text')
  const spelled = chatStep(columns, column)
  if (isChatKind(columns.kind(column)) || spelled[0]?.kind === 'chat') {
    return {
      mapping: [
        ...spelled,
        ...rename(column, 'prompt'),
        ...(system === undefined || hasSystem(columns, column)
          ? []
          : [{ kind: 'system' as const, column: system }]),
      ],
      used: [column, ...(system === undefined ? [] : [system])],
      isConversational: true,
    }
  }
  const beside = questionParts(columns, column)
  if (beside === null)
    return { mapping: [...spelled, ...rename(column, 'prompt')], used: [column], isConversational: false }
  return { ...beside, mapping: [...spelled, ...beside.mapping], isConversational: true }
}

/** Whether conversations begin with a system message of their own. */
const hasSystem = (columns: Columns, column: string): boolean =>
  chatsIn(columns, column).some((chat) => chat[0]?.role === 'system')

/** A question with what stands in other columns; null where it stands alone. */
export function questionParts(columns: Columns, question: string): Omit<Asked, 'isConversational'> | null {
  const system = columns.find(systemNames, (kind) => kind === 'text')
  const history = readableHistory(columns)
  const context = columns.find(contextNames, (kind) => kind === 'text')
  const choices = shownChoices(columns)
  const beside = [context, choices?.name].map((name) =>
    name === undefined || repeats(columns, question, name) ? undefined : name,
  )
  const parts = [beside[0], question, beside[1]].filter((name) => name !== undefined)
  if (parts.length === 1 && (system ?? history) === undefined) return null
  const step: Mapping[number] = {
    ...{ kind: 'messages', parts },
    ...(system === undefined ? {} : { system }),
    ...(history === undefined ? {} : { history }),
  }
  const answer = columns.find(answerNames) ?? null
  return {
    mapping: [...(choices?.isListed === true ? [choicesStep(columns, choices.name, answer)] : []), step],
    used: [...parts, system, history].filter((name) => name !== undefined),
  }
}

/** Possible answers, as lists or as text. */
function shownChoices(columns: Columns): { readonly name: string; readonly isListed: boolean } | null {
  const name = columns.find(['choices', 'options'])
  if (name === undefined) return null
  const isListed = columns.values(name).every((value) => choicesIn(value) !== null)
  return isListed || columns.kind(name) === 'text' ? { name, isListed } : null
}

const contextNames = ['context', 'passage', 'document', 'article', 'body', 'story', 'background', 'support']

/** Earlier turns, as conversations or as pairs of texts. */
function readableHistory(columns: Columns): string | undefined {
  const history = columns.find(['history'], (kind) => kind === 'list' || isChatKind(kind))
  const isRead = (value: unknown) =>
    Array.isArray(value) && (value.length === 0 || value.every(isTurn) || !isNoChat(readChat(value)))
  return history !== undefined && columns.values(history).every(isRead) ? history : undefined
}

/** Whether most texts of a column hold already what stands in another; a `prompt` is whole as it is. */
function repeats(columns: Columns, column: string, other: string): boolean {
  if (column === other || plainName(column) === 'prompt') return true
  const holding = columns.rows.filter((row) => String(row[column]).includes(String(row[other])))
  return 2 * holding.length > columns.rows.length
}

/** Numbers count from 0, unless one of them can only count from 1. */
function choicesStep(columns: Columns, column: string, answer: string | null): Mapping[number] {
  const isFromOne =
    answer !== null &&
    columns.rows.some((row) => {
      const right = row[answer]
      return typeof right === 'number' && right === choicesIn(row[column])?.length
    })
  return { kind: 'choices', column, answer, first: isFromOne ? 1 : 0 }
}

export function choiceDoubts(mapping: Mapping, columns: Columns): string[] {
  const step = mapping.find(({ kind }) => kind === 'choices')
  if (step?.kind !== 'choices' || step.answer === null || columns.kind(step.answer) !== 'number') return []
  return [`“${step.answer}” is read as the position of the right choice, counted from ${step.first}.`]
}

export const chatsIn = (columns: Columns, column: string): (readonly ChatMessage[])[] =>
  columns
    .values(column)
    .map(chatIn)
    .filter((chat) => chat !== null)

/** Whether most conversations end with somebody who waits for an answer, or with one that is only begun. */
export function waits(columns: Columns, column: string): boolean {
  const chats = chatsIn(columns, column)
  const isOpen = (role: string) => waitsForAnswer(role) || role === 'assistant'
  const open = chats.filter((chat) => isOpen(chat.at(-1)?.role ?? ''))
  return 2 * open.length >= chats.length
}
