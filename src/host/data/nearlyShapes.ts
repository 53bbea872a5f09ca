/** Writes sentences on columns that no proposal uses but that nearly have a known form. */
import { isChatKind } from '#shared/columnKind.ts'
import { isJsonObject } from '#host/files/strictJson.ts'
import { chatIn, isNoChat, readChat } from '#shared/messages.ts'
import { plainName, type Columns } from './columnKinds.ts'
import { listNames, twoAnswers } from './comparedRules.ts'
import { chatsIn, waits } from './promptParts.ts'

/** `used`: columns that a proposal reads. None where no other column is nearly anything. */
export const nearlyAny = (columns: Columns, used: readonly string[]): string[] => [
  ...[...columns.kinds.keys()].flatMap((name) => {
    const [first] = columns.values(name)
    if (used.includes(name)) return []
    return hints.map((hint) => hint({ name, first, columns })).filter((sentence) => sentence !== null)
  }),
  ...nearlyPairs(columns, used),
]

/** Lists texts inside objects, from which no prompt can be made. */
export const innerTexts = (columns: Columns, used: readonly string[]): string[] =>
  [...columns.kinds.keys()].flatMap((name) => {
    const [first] = columns.values(name)
    if (columns.kind(name) !== 'object' || used.includes(name) || !isJsonObject(first)) return []
    const fields = Object.keys(first).filter((field) => typeof first[field] === 'string')
    return fields.length === 0
      ? []
      : [
          `“${name}” holds texts under ${fields.map((field) => `“${field}”`).join(', ')}. A prompt is made of whole columns: write these as columns of their own.`,
        ]
  })

/** Describes two answers, or a list of several, without anything that clearly says which is better. */
function nearlyPairs(columns: Columns, used: readonly string[]): string[] {
  const [first, second] = twoAnswers(columns)?.columns ?? []
  if (first !== undefined && second !== undefined && !used.includes(first))
    return [
      `“${first}” and “${second}” are nearly preference pairs, but no column says clearly which is better. To train on pairs, name them “chosen” and “rejected”, or add a column “winner” that holds “${first}” or “${second}”.`,
    ]
  const list = columns.find(listNames, (kind) => kind === 'texts')
  return list === undefined || used.includes(list) || columns.find(['labels']) !== undefined
    ? []
    : [
        `“${list}” holds several answers to a prompt. To train on pairs, write the better one as “chosen” and a worse one as “rejected”; to imitate them, write a row for each, with the answer as “completion”.`,
      ]
}

interface Column {
  readonly name: string
  readonly first: unknown
  readonly columns: Columns
}

const hints: readonly ((column: Column) => string | null)[] = [
  function brokenChat({ name, first, columns }) {
    if (columns.kind(name) !== 'list' || !JSON.stringify(first).includes('"content"')) return null
    const faults = columns.rows.flatMap((row, index) => {
      const read = (row[name] ?? null) === null ? [] : readChat(row[name])
      return isNoChat(read) ? [{ row: index + 1, fault: read.fault }] : []
    })
    const [broken] = faults
    if (broken === undefined) return null
    if (faults.length === columns.values(name, columns.rows).length)
      return `“${name}” is nearly a conversation, but ${broken.fault}.`
    return `“${name}” holds conversations, except in ${faults.length} of the first ${columns.rows.length} rows: in row ${broken.row} ${broken.fault}. Correct or remove these rows.`
  },
  function pythonChat({ name, first }) {
    const isSo = typeof first === 'string' && /^\[\{'(?:role|from)':/.test(first) && chatIn(first) === null
    return isSo
      ? `“${name}” holds a conversation in Python’s notation that cannot be read: write it as JSON with json.dumps or to_json.`
      : null
  },
  function mixedPrompt({ name, columns }) {
    if (columns.kind(name) !== 'object' || plainName(name) !== 'prompt') return null
    const values = columns.values(name, columns.rows)
    const texts = values.filter((value) => typeof value === 'string').length
    const chats = values.filter((value) => Array.isArray(value) && chatIn(value) !== null).length
    return texts === 0 || chats === 0 || texts + chats < values.length
      ? null
      : `“${name}” holds texts in ${texts} and conversations in ${chats} of the first ${columns.rows.length} rows. A run with {"column": ${JSON.stringify(name)}} as \`data.prompt\` reads both, but gives the template of the model to conversations alone: write all of them as lists of {role, content}.`
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
