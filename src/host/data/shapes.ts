/** Recognises the kind of a data set by its columns, and proposes how to make prompts from it. */
import { answerColumns } from '#shared/api/datasets.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { isJsonObject } from '#host/files/strictJson.ts'
import type { DataRow } from './dataFile.ts'
import { isAnswered, type Mapping } from './mapping.ts'

export type ShapeId =
  | 'verl'
  | 'preference'
  | 'unpaired-preference'
  | 'stepwise'
  | 'prompt-completion'
  | 'prompt-only'
  | 'conversation'
  | 'instruction'
  | 'question-answer'
  | 'text'
  | 'unknown'

export interface DetectedShape {
  readonly id: ShapeId
  /** For people: `question and answer`. */
  readonly title: string
  readonly isConversational: boolean
  /** Steps that bring the columns to the names runs use; empty where they have them. */
  readonly mapping: Mapping
  /** `data.prompt` of a run config, for the columns after the mapping; null where no prompt is to be seen. */
  readonly prompt: RunConfig['data']['prompt'] | null
  /** Column, after the mapping, that rewards would compare with; null where there is none. */
  readonly answer: string | null
}

type ColumnKind =
  'text' | 'chat' | 'from-value-chat' | 'texts' | 'list' | 'boolean' | 'number' | 'object' | 'empty'
type Columns = ReadonlyMap<string, ColumnKind>

interface ShapeRule {
  readonly id: ShapeId
  readonly title: string
  /** null: these columns are not of this shape. */
  readonly detect: (columns: Columns, rows: readonly DataRow[]) => Omit<DetectedShape, 'id' | 'title'> | null
}

const questionNames = ['question', 'query', 'problem', 'input_text', 'text_input']

/** The first rule that fits decides: the narrower shapes stand first. */
const rules: readonly ShapeRule[] = [
  { id: 'verl', title: 'verl (prompt, reward_model)', detect: verl },
  { id: 'preference', title: 'preference (chosen, rejected)', detect: preference },
  { id: 'unpaired-preference', title: 'unpaired preference (prompt, completion, label)', detect: unpaired },
  { id: 'stepwise', title: 'stepwise (prompt, completions, labels)', detect: stepwise },
  { id: 'prompt-completion', title: 'prompt and completion', detect: promptCompletion },
  { id: 'prompt-only', title: 'prompt only', detect: promptOnly },
  { id: 'conversation', title: 'conversations', detect: conversation },
  { id: 'instruction', title: 'instruction, input and output', detect: instruction },
  { id: 'question-answer', title: 'question and answer', detect: questionAnswer },
  { id: 'text', title: 'text', detect: plainText },
]

/** Judged by the rows given: the first hundred or so are enough. */
export function detectShape(rows: readonly DataRow[]): DetectedShape {
  const columns = columnKinds(rows)
  for (const { id, title, detect } of rules) {
    const found = detect(columns, rows)
    if (found !== null) return { id, title, ...found }
  }
  return { id: 'unknown', title: 'unknown', isConversational: false, mapping: [], prompt: null, answer: null }
}

/** A column has a kind where all its values that are not null have it. */
function columnKinds(rows: readonly DataRow[]): Columns {
  const kinds = new Map<string, ColumnKind>()
  for (const row of rows) {
    for (const [name, value] of Object.entries(row)) {
      const [known, kind] = [kinds.get(name) ?? 'empty', kindOf(value)]
      if (known === 'empty') kinds.set(name, kind)
      else if (kind !== 'empty' && kind !== known) kinds.set(name, bothLists(known, kind) ? 'list' : 'object')
    }
  }
  return kinds
}

const bothLists = (a: ColumnKind, b: ColumnKind): boolean =>
  [a, b].every((kind) => ['chat', 'from-value-chat', 'texts', 'list'].includes(kind))

const scalarKinds: Readonly<Record<string, ColumnKind>> = {
  string: 'text',
  boolean: 'boolean',
  number: 'number',
}

function kindOf(value: unknown): ColumnKind {
  if (value === null || value === undefined) return 'empty'
  return scalarKinds[typeof value] ?? (Array.isArray(value) ? listKind(value) : 'object')
}

function listKind(value: readonly unknown[]): ColumnKind {
  if (value.length === 0) return 'empty'
  if (value.every((entry) => typeof entry === 'string')) return 'texts'
  if (value.every((entry) => hasTexts(entry, 'role', 'content'))) return 'chat'
  return value.every((entry) => hasTexts(entry, 'from', 'value')) ? 'from-value-chat' : 'list'
}

/** Contents may be null where a message only calls tools. */
const hasTexts = (entry: unknown, name: string, content: string): boolean =>
  isJsonObject(entry) &&
  typeof entry[name] === 'string' &&
  (typeof entry[content] === 'string' || (entry[content] === null && 'tool_calls' in entry))

type Proposal = Omit<DetectedShape, 'id' | 'title'>

const chatKinds: readonly (ColumnKind | undefined)[] = ['chat', 'from-value-chat']
const isPrompt = (kind: ColumnKind | undefined): boolean => kind === 'text' || chatKinds.includes(kind)
const firstOf = (columns: Columns, names: readonly string[]): string | undefined =>
  names.find((name) => columns.has(name))

/** Chats with other field names than ours are rewritten; one column of prompts, as text or chat. */
function fromPrompt(columns: Columns, more: { answer: string | null; mapping?: Mapping }): Proposal {
  const chats = [...columns].filter(([, kind]) => kind === 'from-value-chat').map(([column]) => column)
  return {
    isConversational: chatKinds.includes(columns.get('prompt')),
    mapping: [...chats.map((column) => ({ kind: 'chat' as const, column })), ...(more.mapping ?? [])],
    prompt: { column: 'prompt' },
    answer: more.answer,
  }
}

function verl(columns: Columns): Proposal | null {
  if (!isPrompt(columns.get('prompt')) || columns.get('reward_model') !== 'object') return null
  const mapping: Mapping = [{ kind: 'column', from: 'reward_model.ground_truth', to: 'answer' }]
  return fromPrompt(columns, { answer: 'answer', mapping })
}

function preference(columns: Columns): Proposal | null {
  const chosen = columns.get('chosen')
  if (!isPrompt(chosen) || columns.get('rejected') !== chosen) return null
  const from = ['prompt', ...questionNames, 'instruction', 'input'].find((name) =>
    isPrompt(columns.get(name)),
  )
  if (from !== undefined) {
    const mapping: Mapping = from === 'prompt' ? [] : [{ kind: 'column', from, to: 'prompt' }]
    return { ...fromPrompt(columns, { answer: null, mapping }), isConversational: chatKinds.includes(chosen) }
  }
  if (chosen === 'text') return { isConversational: false, mapping: [], prompt: null, answer: null }
  const proposal = fromPrompt(columns, { answer: null, mapping: [{ kind: 'shared-prompt' }] })
  return { ...proposal, isConversational: true }
}

function unpaired(columns: Columns): Proposal | null {
  const isShape = isPrompt(columns.get('prompt')) && isPrompt(columns.get('completion'))
  return isShape && columns.get('label') === 'boolean' ? fromPrompt(columns, { answer: null }) : null
}

function stepwise(columns: Columns): Proposal | null {
  const isShape = columns.get('prompt') === 'text' && columns.get('completions') === 'texts'
  return isShape && columns.get('labels') === 'list' ? fromPrompt(columns, { answer: null }) : null
}

function promptCompletion(columns: Columns): Proposal | null {
  const isShape = isPrompt(columns.get('prompt')) && isPrompt(columns.get('completion'))
  return isShape ? fromPrompt(columns, { answer: 'completion' }) : null
}

function promptOnly(columns: Columns): Proposal | null {
  if (!isPrompt(columns.get('prompt'))) return null
  return fromPrompt(columns, { answer: firstOf(columns, answerColumns) ?? null })
}

/** Most end with an answer, which is taken off; or most wait for one and are prompts as they are. */
function conversation(columns: Columns, rows: readonly DataRow[]): Proposal | null {
  const column = ['messages', 'conversations', 'conversation', 'dialog'].find((name) =>
    chatKinds.includes(columns.get(name)),
  )
  if (column === undefined) return null
  const chats = rows.map((row) => row[column]).filter((chat) => Array.isArray(chat) && chat.length > 0)
  const answered = chats.filter(isAnswered).length
  if (2 * answered >= chats.length) {
    const mapping: Mapping = [{ kind: 'last-message', column }]
    return { ...fromPrompt(columns, { answer: 'completion', mapping }), isConversational: true }
  }
  const answer = firstOf(columns, answerColumns)
  const mapping: Mapping = [
    { kind: 'column', from: column, to: 'prompt' },
    ...(answer === undefined || answer === 'answer'
      ? []
      : [{ kind: 'column' as const, from: answer, to: 'answer' }]),
  ]
  const proposal = fromPrompt(columns, { answer: answer === undefined ? null : 'answer', mapping })
  return { ...proposal, isConversational: true }
}

/** Alpaca's three columns; an empty input leaves a blank line behind the instruction. */
function instruction(columns: Columns): Proposal | null {
  const from = firstOf(columns, ['output', 'response', 'answer'])
  if (columns.get('instruction') !== 'text' || from === undefined) return null
  const isFilled = columns.get('input') === 'text'
  const content = isFilled ? '{instruction}\n\n{input}' : '{instruction}'
  return textTask(content, from)
}

function questionAnswer(columns: Columns): Proposal | null {
  const question = [...questionNames, 'input'].find((name) => columns.get(name) === 'text')
  const answer = firstOf(columns, answerColumns)
  return question === undefined || answer === undefined ? null : textTask(`{${question}}`, answer)
}

const textTask = (content: string, answer: string): Proposal => ({
  isConversational: false,
  mapping: answer === 'answer' ? [] : [{ kind: 'column', from: answer, to: 'answer' }],
  prompt: { messages: [{ role: 'user', content }] },
  answer: 'answer',
})

function plainText(columns: Columns): Proposal | null {
  const isShape = columns.get('text') === 'text'
  return isShape ? { isConversational: false, mapping: [], prompt: null, answer: null } : null
}
