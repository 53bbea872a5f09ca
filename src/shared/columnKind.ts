/** Kinds of a column's values. */
import { chatIn, isPlainChat } from './messages.ts'

/** Kind of a column; `other-chat`: a conversation that a run reads only after a `chat` step of the import. */
export type ColumnKind =
  'text' | 'chat' | 'other-chat' | 'texts' | 'list' | 'boolean' | 'number' | 'object' | 'empty'

/** Returns the kind of one value; `empty` for null and empty lists. */
export function kindOf(value: unknown): ColumnKind {
  if (value === null || value === undefined) return 'empty'
  if (typeof value === 'string') return chatIn(value) === null ? 'text' : 'other-chat'
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value === 'number') return 'number'
  if (Array.isArray(value)) return listKind(value)
  return chatIn(value) === null ? 'object' : 'other-chat'
}

function listKind(value: readonly unknown[]): ColumnKind {
  if (value.length === 0) return 'empty'
  if (value.every((entry) => typeof entry === 'string')) return 'texts'
  if (isPlainChat(value)) return 'chat'
  return chatIn(value) === null ? 'list' : 'other-chat'
}

const lists: readonly ColumnKind[] = ['chat', 'other-chat', 'texts', 'list']

export function commonKind(a: ColumnKind, b: ColumnKind): ColumnKind {
  if (a === 'empty' || a === b) return b
  if (b === 'empty') return a
  if (isChatKind(a) && isChatKind(b)) return 'other-chat'
  return lists.includes(a) && lists.includes(b) ? 'list' : 'object'
}

export const isChatKind = (kind: ColumnKind | undefined): boolean => kind === 'chat' || kind === 'other-chat'
