/** Sentences on what unknown columns are nearly. */
import { isChatKind } from '#shared/columnKind.ts'
import { isNoChat, readChat } from '#shared/messages.ts'
import type { Columns } from './columnKinds.ts'
import { chatsIn, waits } from './promptParts.ts'

/** None where no column is nearly anything. */
export const nearlyAny = (columns: Columns): string[] =>
  [...columns.kinds.keys()].flatMap((name) => {
    const [first] = columns.values(name)
    return hints.map((hint) => hint({ name, first, columns })).filter((sentence) => sentence !== null)
  })

interface Column {
  readonly name: string
  /** The first value. */
  readonly first: unknown
  readonly columns: Columns
}

const hints: readonly ((column: Column) => string | null)[] = [
  function brokenChat({ name, first, columns }) {
    if (columns.kind(name) !== 'list' || !JSON.stringify(first).includes('"content"')) return null
    const read = readChat(first)
    return isNoChat(read) ? `“${name}” is nearly a conversation, but ${read.fault}.` : null
  },
  function pythonChat({ name, first }) {
    const isSo = typeof first === 'string' && /^\[\{'(?:role|from)':/.test(first)
    return isSo
      ? `“${name}” holds a conversation in Python’s notation, not in JSON: write it with json.dumps or to_json.`
      : null
  },
  function unknownRole({ name, columns }) {
    if (!isChatKind(columns.kind(name)) || waits(columns, name)) return null
    const roles = [...new Set(chatsIn(columns, name).map((chat) => `“${chat.at(-1)?.role ?? ''}”`))]
    return `“${name}” holds conversations that end with the role ${roles.join(', ')}, which is unknown.`
  },
  function nestedQuestions({ name, first }) {
    const isSo =
      Array.isArray(first) &&
      first.some((entry) => typeof entry === 'object' && entry !== null && 'qas' in entry)
    return isSo
      ? `“${name}” holds paragraphs with several questions each, as SQuAD’s own file does: write one question per row.`
      : null
  },
]
