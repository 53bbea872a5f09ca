/** Maps a file's columns to the columns that a run reads, as a list of small steps stored with the data set. */
import { z } from 'zod'
import { chatIn, isMoreThanText, isNoChat, readChat, type ChatMessage } from '#shared/messages.ts'
import { shorten } from '#shared/plural.ts'
import { isJsonObject } from '#host/files/strictJson.ts'
import type { DataRow, ReadItem, ReadRow } from './dataFile.ts'
import {
  choicesIn,
  choicesOf,
  letterAt,
  lineOf,
  namedChoice,
  placeIn,
  textIn,
  type Choice,
} from './choiceList.ts'
import { comparedPair, compareStep, isNoPair, listIn, rankedPair, rankedStep } from './comparisons.ts'
import { dialogueAnswer, dialoguePrompt, waitingDialogue } from './dialogues.ts'

const name = z.string().min(1)

export const mappingSchema = z.array(
  z.discriminatedUnion('kind', [
    /** A dotted path (`reward_model.ground_truth`, `answers.text.0`) copies from inside a column; a plain name renames it. */
    z.strictObject({ kind: z.literal('column'), from: name, to: name }),
    /** A conversation in any spelling becomes a list of {role, content}. */
    z.strictObject({ kind: z.literal('chat'), column: name }),
    /**
     * Takes the assistant's last message off a chat: `prompt` is the chat before it, `completion` its text, or the
     * message itself where it calls tools.
     */
    z.strictObject({ kind: z.literal('last-message'), column: name }),
    /** Moves the common beginning of `chosen` and `rejected` into `prompt`. */
    z.strictObject({ kind: z.literal('shared-prompt') }),
    /** Puts the text of a column in front of the chat `prompt` as its system message. */
    z.strictObject({ kind: z.literal('system'), column: name }),
    /** Makes the chat `prompt` of columns: a system message, earlier turns, a question of several parts, and the answer's beginning. Empty ones are left out. */
    z.strictObject({
      kind: z.literal('messages'),
      parts: z.array(name).min(1),
      system: name.optional(),
      history: name.optional(),
      /** The beginning of the answer, which the policy goes on from. */
      begun: name.optional(),
    }),
    /** Writes possible answers as lines with letters, and the right one, given as a number counted from `first`, as its letter. */
    z.strictObject({
      kind: z.literal('choices'),
      column: name,
      answer: name.nullable(),
      first: z.union([z.literal(0), z.literal(1)]),
      /** Digits written as text are such numbers, too; else they are the text or the letter of a choice. */
      isPlace: z.literal(true).optional(),
      /** The answer is the text of a choice, also where it looks like the letter of another; else letters win. */
      isText: z.literal(true).optional(),
      /** Columns with one choice each, in the order of their letters: they become `column`. Empty ones are no choices. */
      from: z.array(name).min(2).optional(),
    }),
    /** Rows with one completion and a mark become rows with a good and a bad one to the same prompt. */
    z.strictObject({ kind: z.literal('pairs'), label: name }),
    /** A list of one text, written as text (`["…"]`), becomes that text. */
    z.strictObject({ kind: z.literal('only-text'), column: name }),
    compareStep,
    rankedStep,
    z.strictObject({ kind: z.literal('drop'), column: name }),
  ]),
)

export type Mapping = z.output<typeof mappingSchema>
type MappingStep = Mapping[number]
type Columns = Record<string, unknown>

/** Error of a row that does not fit a step; its message lacks the row's place. */
class MappingError extends Error {}

/** The row with every step done; a problem where it does not fit. */
export function mapItem(item: ReadRow, mapping: Mapping): ReadItem {
  if (mapping.length === 0) return item
  const columns = Object.assign(Object.create(null) as Columns, item.row)
  try {
    for (const step of mapping) applyStep(columns, step)
    return { number: item.number, line: item.line, row: columns }
  } catch (error) {
    if (!(error instanceof MappingError)) throw error
    return { number: item.number, line: item.line, sentence: error.message }
  }
}

function applyStep(columns: Columns, step: MappingStep): void {
  switch (step.kind) {
    case 'column':
      moveColumn(columns, step.from, step.to)
      return
    case 'chat':
      columns[step.column] = chatOf(columns[step.column], step.column)
      return
    case 'last-message':
      takeLastMessage(columns, step.column)
      return
    case 'shared-prompt':
      takeSharedPrompt(columns)
      return
    case 'system':
      addSystem(columns, step.column)
      return
    case 'messages':
      makePrompt(columns, step)
      return
    case 'choices':
      writeChoices(columns, step)
      return
    default:
      applyRareStep(columns, step)
  }
}

type RareStep = Extract<MappingStep, { kind: 'only-text' | 'compare' | 'ranked' | 'pairs' | 'drop' }>

function applyRareStep(columns: Columns, step: RareStep): void {
  switch (step.kind) {
    case 'only-text':
      columns[step.column] = onlyText(columns[step.column], step.column)
      return
    case 'compare':
      takePair(columns, comparedPair(columns, step), step.answers)
      return
    case 'ranked':
      takePair(columns, rankedPair(columns, step), [step.column])
      return
    case 'pairs':
      // Needs the other rows: `pairs.ts`.
      return
    case 'drop':
      Reflect.deleteProperty(columns, step.column)
  }
}

function moveColumn(columns: Columns, from: string, to: string): void {
  const value = valueAt(columns, from)
  if (value === undefined) throw new MappingError(missingAt(columns, from))
  if (Object.hasOwn(columns, from)) Reflect.deleteProperty(columns, from)
  columns[to] = value
}

function missingAt(columns: DataRow, path: string): string {
  const [column = ''] = path.split('.')
  return column === path || !Object.hasOwn(columns, column)
    ? `it has no column “${path}”`
    : `its column “${column}” holds nothing at “${path.slice(column.length + 1)}”`
}

/** Returns a column's value, or the value at a dotted path; undefined where there is none. */
function valueAt(columns: DataRow, path: string): unknown {
  if (Object.hasOwn(columns, path)) return columns[path]
  let value: unknown = columns
  for (const part of path.split('.')) {
    if (Array.isArray(value)) value = /^\d+$/.test(part) ? (value[Number(part)] as unknown) : undefined
    else if (isJsonObject(value) && Object.hasOwn(value, part)) value = value[part]
    else return undefined
  }
  return value
}

/** The texts of a list that is written as text; null for any other value. */
export function textsIn(value: unknown): readonly string[] | null {
  const list = typeof value === 'string' ? listIn(value) : null
  return list !== null && list.length > 0 && list.every((text) => typeof text === 'string') ? list : null
}

/**
 * Unwraps a list that holds one text; values of other kinds stay. Errors: MappingError where a list holds several
 * texts.
 */
function onlyText(value: unknown, column: string): unknown {
  const texts = textsIn(value)
  if (texts === null) return value
  if (texts.length === 1) return texts[0]
  throw new MappingError(`its column “${column}” is a list of ${texts.length} texts; a list of one is read`)
}

/** Errors: MappingError where the row makes no pair. */
function takePair(columns: Columns, made: ReturnType<typeof comparedPair>, from: readonly string[]): void {
  if (isNoPair(made)) throw new MappingError(made.fault)
  for (const column of from) Reflect.deleteProperty(columns, column)
  Object.assign(columns, made)
}

/** Errors: MappingError where it is no conversation. */
function chatOf(value: unknown, column: string): readonly ChatMessage[] {
  const dialogue = typeof value === 'string' ? waitingDialogue(value) : null
  const read = dialogue ?? chatIn(value) ?? readChat(value)
  if (!isNoChat(read)) return read
  throw new MappingError(`its column “${column}” is not a conversation: ${read.fault}`)
}

/** Returns true if a chat in any spelling ends with a message of the assistant. */
export const isAnswered = (chat: unknown): boolean => chatIn(chat)?.at(-1)?.role === 'assistant'

function takeLastMessage(columns: Columns, column: string): void {
  const messages = chatOf(columns[column], column)
  const last = messages.at(-1)
  if (last?.role !== 'assistant')
    throw new MappingError(`its column “${column}” does not end with an assistant message`)
  if (messages.length === 1) throw new MappingError(`its column “${column}” has nothing before the answer`)
  if (isLeftOut(last))
    throw new MappingError(`the answer of its column “${column}” is marked as not to be learned`)
  Reflect.deleteProperty(columns, column)
  columns['prompt'] = turnOpened(messages.slice(0, -1))
  columns['completion'] = isMoreThanText(last) ? [last] : last.content
}

/** Begins another turn behind a finished one of the assistant, which a run would go on with. */
const turnOpened = (messages: readonly ChatMessage[]): readonly ChatMessage[] =>
  messages.at(-1)?.role === 'assistant' ? [...messages, { role: 'assistant', content: '' }] : messages

/** Marks of single messages: OpenAI's `weight`, `loss`, `train`. */
export const lossMarks: readonly string[] = ['weight', 'loss', 'loss_weight', 'train']

const isLeftOut = (message: ChatMessage): boolean =>
  lossMarks.some((mark) => message[mark] === 0 || message[mark] === false)

function takeSharedPrompt(columns: Columns): void {
  const { chosen, rejected } = columns
  if (typeof chosen === 'string' && typeof rejected === 'string') {
    takeSharedDialogue(columns, chosen, rejected)
    return
  }
  const [a, b] = [chatOf(chosen, 'chosen'), chatOf(rejected, 'rejected')]
  const differs = a.findIndex((message, at) => JSON.stringify(message) !== JSON.stringify(b[at]))
  const shared = differs < 0 ? Math.min(a.length, b.length) - 1 : differs
  if (shared < 1) throw new MappingError('“chosen” and “rejected” begin with different messages')
  if (a.length > shared + 1 || b.length > shared + 1)
    throw new MappingError('“chosen” or “rejected” goes on for several turns after what both have in common')
  columns['prompt'] = turnOpened(a.slice(0, shared))
  columns['chosen'] = a.slice(shared)
  columns['rejected'] = b.slice(shared)
}

function takeSharedDialogue(columns: Columns, chosen: string, rejected: string): void {
  const prompt = dialoguePrompt(chosen, rejected)
  if (prompt === null)
    throw new MappingError(
      '“chosen” and “rejected” do not begin with the same dialogue of Human and Assistant',
    )
  const [better, worse] = [chosen, rejected].map((text) => dialogueAnswer(text, prompt.end))
  if (better === undefined || worse === undefined || better === null || worse === null)
    throw new MappingError('“chosen” or “rejected” goes on for several turns after what both have in common')
  Object.assign(columns, { prompt: prompt.messages, chosen: better, rejected: worse })
}

function addSystem(columns: Columns, column: string): void {
  const content = textIn(columns[column])
  const prompt = chatOf(columns['prompt'], 'prompt')
  if (content.trim() === '' || prompt[0]?.role === 'system') return
  columns['prompt'] = [{ role: 'system', content }, ...prompt]
}

type MessagesStep = Extract<MappingStep, { kind: 'messages' }>

function makePrompt(columns: Columns, { system, history, parts, begun }: MessagesStep): void {
  const content = parts
    .map((part) => textIn(valueAt(columns, part)))
    .filter((text) => text.trim() !== '')
    .join('\n\n')
  if (content === '')
    throw new MappingError(`its columns ${parts.map((part) => `“${part}”`).join(', ')} are empty`)
  const [instructions, beginning] = [system, begun].map((column) =>
    column === undefined ? '' : textIn(columns[column]),
  ) as [string, string]
  columns['prompt'] = [
    ...(instructions.trim() === '' ? [] : [{ role: 'system', content: instructions }]),
    ...(history === undefined ? [] : earlierTurns(columns[history], history)),
    { role: 'user', content },
    ...(beginning.trim() === '' ? [] : [{ role: 'assistant', content: beginning }]),
  ]
}

/** Reads earlier turns: a conversation, or pairs of question and answer. */
function earlierTurns(value: unknown, column: string): readonly ChatMessage[] {
  if (value === null || value === undefined || value === '') return []
  const turns = listIn(value)
  if (turns?.every(isTurn) === true)
    return turns.flatMap(([asked, answered]) => [
      { role: 'user', content: asked },
      { role: 'assistant', content: answered },
    ])
  return chatOf(turns ?? value, column)
}

export const isTurn = (pair: unknown): pair is readonly [string, string] =>
  Array.isArray(pair) && pair.length === 2 && pair.every((text) => typeof text === 'string')

type ChoicesStep = Extract<MappingStep, { kind: 'choices' }>

function writeChoices(columns: Columns, step: ChoicesStep): void {
  const { column, answer, from = [] } = step
  const choices = writtenChoices(columns, column, from)
  if (answer !== null) {
    const right = rightChoice(columns[answer], choices, step)
    if (right === undefined)
      throw new MappingError(
        `its column “${answer}” names none of its ${choices.length} choices: ${shown(columns[answer])}`,
      )
    columns[answer] = right.letter
  }
  for (const each of from) Reflect.deleteProperty(columns, each)
  columns[column] = choices.map(lineOf).join('\n')
}

/** Errors: MappingError where there are none, or a single one. */
function writtenChoices(columns: Columns, column: string, from: readonly string[]): readonly Choice[] {
  const choices = from.length > 0 ? choicesOf(columns, from) : choicesIn(columns[column])
  if (choices !== null) return choices
  const names = from.map((each) => `“${each}”`).join(', ')
  throw new MappingError(
    from.length > 0
      ? `fewer than two of its columns ${names} hold an answer`
      : `its column “${column}” is not a list of possible answers`,
  )
}

function rightChoice(
  given: unknown,
  choices: readonly Choice[],
  { first, isPlace, isText, from }: ChoicesStep,
): Choice | undefined {
  const place = typeof given === 'number' || isPlace === true ? placeIn(given) : null
  if (place !== null)
    return from === undefined
      ? choices[place - first]
      : choices.find(({ letter }) => letter === letterAt(place - first))
  const said = textIn(given).trim().toLowerCase()
  const column = (from ?? []).findIndex((each) => each.trim().toLowerCase() === said)
  return namedChoice(given, choices, isText) ?? choices.find(({ letter }) => letter === letterAt(column))
}

const shown = (value: unknown): string => shorten(textIn(value))
