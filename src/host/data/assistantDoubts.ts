/** Says what becomes of the assistant's messages in conversations. */
import { begunAnswer } from '#rl/rollout/conversationText.ts'
import { chatIn, type ChatMessage } from '#shared/messages.ts'
import { type Columns, plainName } from './columnKinds.ts'
import type { DataRow } from './dataFile.ts'
import { lossMarks } from './mapping.ts'
import { chatsIn } from './promptParts.ts'

/**
 * Says where prompts end with an answer, with which a run that generates begins each completion, and the remedy; nothing where
 * every row begins alike, which is meant. `among`: “12 rows”.
 */
export function begunDoubts(rows: readonly DataRow[], column: string, among: string): string[] {
  const begun = rows.flatMap((row) => {
    const content = begunAnswer(chatIn(row[column]) ?? [])?.content ?? ''
    return content === '' ? [] : [content]
  })
  if (begun.length === 0 || (begun.length > 1 && new Set(begun).size === 1)) return []
  const renaming = plainName(column) === 'prompt' ? 'call the column “messages” and ' : ''
  return [
    `In ${begun.length} of ${among} “${column}” ends with a message of the assistant, with which every completion of a run begins. If it is the whole answer, ${renaming}import the data with the columns mapped (--remap), which takes it off.`,
  ]
}

/** Says where conversations have answers before the last, which are not learned. */
export function lastAnswerDoubts(columns: Columns, column: string): string[] {
  const [chats, all] = [chatsIn(columns, column, columns.rows), chatsIn(columns, column)]
  const isMarked = (message: ChatMessage) => lossMarks.some((mark) => mark in message)
  if (all.some((chat) => chat.some(isMarked)))
    return ['Only the last answer of a conversation is learned, whatever weights its other messages have.']
  const several = chats.filter((chat) => chat.filter(({ role }) => role === 'assistant').length > 1).length
  return several === 0
    ? []
    : [
        `In ${several} of the first ${columns.rows.length} rows “${column}” has several messages of the assistant: only the last is learned; those before it belong to the prompt.`,
      ]
}
