/** What the values of a column are. */
import { chatInText, isNoChat, isPlainChat, readChat } from './messages.ts'

/** `other-chat`: a conversation that a run reads only after a `chat` step of the import. */
export type ColumnKind =
  'text' | 'chat' | 'other-chat' | 'texts' | 'list' | 'boolean' | 'number' | 'object' | 'empty'

/** Of one value; `empty` where it says nothing. */
export function kindOf(value: unknown): ColumnKind {
  if (value === null || value === undefined) return 'empty'
  if (typeof value === 'string') return chatInText(value) === null ? 'text' : 'other-chat'
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value === 'number') return 'number'
  return Array.isArray(value) ? listKind(value) : isNoChat(readChat(value)) ? 'object' : 'other-chat'
}

function listKind(value: readonly unknown[]): ColumnKind {
  if (value.length === 0) return 'empty'
  if (value.every((entry) => typeof entry === 'string')) return 'texts'
  if (isPlainChat(value)) return 'chat'
  return isNoChat(readChat(value)) ? 'list' : 'other-chat'
}

const lists: readonly ColumnKind[] = ['chat', 'other-chat', 'texts', 'list']

/** Of values of two kinds in one column. */
export function commonKind(a: ColumnKind, b: ColumnKind): ColumnKind {
  if (a === 'empty' || a === b) return b
  if (b === 'empty') return a
  if (isChatKind(a) && isChatKind(b)) return 'other-chat'
  return lists.includes(a) && lists.includes(b) ? 'list' : 'object'
}

export const isChatKind = (kind: ColumnKind | undefined): boolean => kind === 'chat' || kind === 'other-chat'
