/**
 * A conversation as the page holds it. Reading guide: `conversation.ts` (here) the turns shown while answers are
 * written, and copying; `useChat.ts` the open conversation and its answers; `ChatScreen.tsx` puts `ConversationList`,
 * `ChatHead`, `TurnView` with its `AnswerView`, and `Composer` together.
 */
import type { Answer } from '#renderer/client/api.tsx'
import type { ModelChoice } from '#renderer/client/modelChoice.ts'

export type Conversation = Answer<'chat.get'>
export type Turn = Conversation['turns'][number]
export type ChatAnswer = NonNullable<Turn['answers'][number]>
export type AnswerToken = Answer<'chat.tokens'>[number]
type Item = Answer<'chat.answer'>

/** Conversation not saved yet; its first message saves it. */
export type Draft = Omit<Conversation, 'id' | 'createdAt' | 'updatedAt'> & { readonly id: string | null }

export const untitled = 'New conversation'

export const choiceOf = (
  { model, columns }: Pick<Draft, 'model' | 'columns'>,
  column: number,
): ModelChoice => {
  const adapter = columns[column] ?? null
  return adapter === null ? { model } : { model, adapter }
}

export const choicesOf = (conversation: Pick<Draft, 'model' | 'columns'>): readonly ModelChoice[] =>
  conversation.columns.map((_, column) => choiceOf(conversation, column))

/** Last message sent from this page. */
export interface Asked {
  readonly id: string
  readonly turn: number
  readonly text: string | null
  readonly columns: readonly number[]
  /** Ids of the answers it replaces. */
  readonly before: readonly (string | null)[]
}

/** State of an answer while it is written. */
export interface Writing {
  readonly text: string
  readonly tokens: number
  readonly promptTokens: number
  readonly hasBegun: boolean
}

export interface ShownTurn {
  readonly user: string
  readonly answers: readonly (ChatAnswer | null)[]
  /** One entry per column; null: nothing is being written there. */
  readonly writing: readonly (Writing | null)[]
}

/** Returns the turns, with answers being written in place of the final ones. */
export function shownTurns(
  { turns, columns }: Pick<Draft, 'turns' | 'columns'>,
  asked: Asked | null,
  items: readonly Item[],
  isRunning: boolean,
): readonly ShownTurn[] {
  const quiet = ({ user, answers }: Turn): ShownTurn => ({
    user,
    answers: columns.map((_, column) => answers[column] ?? null),
    writing: columns.map(() => null),
  })
  if (asked === null) return turns.map(quiet)
  const before = turns.slice(0, asked.turn).map(quiet)
  const stored = turns[asked.turn] ?? { user: asked.text ?? '', answers: [] }
  const after = isRunning ? [] : turns.slice(asked.turn + 1).map(quiet)
  return [...before, askedTurn(quiet(stored), asked, items, isRunning), ...after]
}

const idOf = (answer: ChatAnswer | null): string | null => answer?.id ?? null

/** The stored answer, unless it is what stood there before: it may have been edited or rated since it was written. */
const newer = (answer: ChatAnswer | null, before: string | null): ChatAnswer | null =>
  idOf(answer) === before ? null : answer

function askedTurn(turn: ShownTurn, asked: Asked, items: readonly Item[], isRunning: boolean): ShownTurn {
  const written = turn.answers.map((answer, column) => {
    if (!asked.columns.includes(column)) return { answer, writing: null }
    const done = items.findLast((item) => item.type === 'done' && item.column === column)
    const before = asked.before[column] ?? null
    if (done?.type === 'done') return { answer: newer(answer, before) ?? done.answer, writing: null }
    const writing = writingIn(items, column)
    // A stopped answer stays visible until the host has stored it.
    const isAwaited = isRunning || (writing.text !== '' && idOf(answer) === before)
    return isAwaited ? { answer: null, writing } : { answer, writing: null }
  })
  return {
    user: isRunning && asked.text !== null ? asked.text : turn.user,
    answers: written.map(({ answer }) => answer),
    writing: written.map(({ writing }) => writing),
  }
}

function writingIn(items: readonly Item[], column: number): Writing {
  let writing: Writing = { text: '', tokens: 0, promptTokens: 0, hasBegun: false }
  for (const item of items) {
    if (item.type === 'opening' || item.column !== column) continue
    if (item.type === 'begun') writing = { ...writing, promptTokens: item.promptTokens, hasBegun: true }
    if (item.type === 'text') writing = { ...writing, text: writing.text + item.text, tokens: item.tokens }
  }
  return writing
}

/** Returns the tokens of the longest column, all of which the next message builds on; a failed turn has none. */
export function usedTokens(turns: readonly ShownTurn[]): number {
  const used = turns.map(({ answers, writing }) => {
    const counts = answers.map((answer, column) => writing[column] ?? answer ?? nothingUsed)
    return Math.max(0, ...counts.map(({ promptTokens, tokens }) => promptTokens + tokens))
  })
  return used.findLast((count) => count > 0) ?? 0
}

const nothingUsed = { promptTokens: 0, tokens: 0 }

interface Message {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

/** Returns the messages sent to a column's model, with its answers. */
function messagesOf({ system, turns }: Pick<Draft, 'system' | 'turns'>, column: number): readonly Message[] {
  const said = turns.flatMap(({ user, answers }): Message[] => {
    const answer = answers[column] ?? answers.find((each) => each !== null && each.stopReason !== 'failed')
    const isSaid = answer && answer.stopReason !== 'failed'
    return [
      { role: 'user', content: user },
      ...(isSaid ? [{ role: 'assistant' as const, content: answer.text }] : []),
    ]
  })
  return [...(system === '' ? [] : [{ role: 'system' as const, content: system }]), ...said]
}

/** Exports one line per column, in the format of conversation data sets. */
export const asJsonLines = (conversation: Draft): string =>
  conversation.columns
    .map((_, column) => `${JSON.stringify({ messages: messagesOf(conversation, column) })}\n`)
    .join('')

export function asText({ title, system, turns, columns }: Draft, titles: readonly string[]): string {
  const parts = turns.flatMap(({ user, answers }) => [
    `You:\n${user}`,
    ...columns.flatMap((_, column) => {
      const answer = answers[column]
      return answer ? [`${titles[column] ?? ''}:\n${answer.text}`] : []
    }),
  ])
  return `${[title, ...(system === '' ? [] : [`System:\n${system}`]), ...parts].join('\n\n')}\n`
}
