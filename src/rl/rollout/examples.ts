/**
 * Turns rows of a data set into given answers: demonstrations (one per prompt), preferences (a chosen and a rejected one) and
 * marked answers (one, good or bad).
 */
import { AppError } from '#shared/errors.ts'
import { isMoreThanText, isNoChat, readChat, type ChatMessage } from '#shared/messages.ts'
import { markOf } from './marks.ts'
import { begunAnswer } from './conversationText.ts'
import {
  type DataRow,
  encodePrompt,
  givenBy,
  noColumn,
  type Prompt,
  promptContent,
  type PromptEncoder,
} from './prompts.ts'

/** A prompt and the answers to it, in the order of the columns. */
export interface Example {
  readonly prompt: Prompt
  readonly answers: readonly GivenAnswer[]
}

export interface GivenAnswer {
  /** Answer as the policy would write it, without markup. */
  readonly text: string
  /** Ids that follow the prompt, including the one that ends a completion. */
  readonly ids: Int32Array
  /** True if it is good; absent: not marked. */
  readonly isGood?: boolean
}

export interface ExampleEncoder extends PromptEncoder {
  /** Ids that end generation. */
  readonly stopIds: readonly number[]
  /** Columns that hold the answers. */
  readonly answers: readonly string[]
  /** Marks each answer: the column that says whether it is good, or whether that of each column is; null or absent: no marks. */
  readonly marks?: string | readonly boolean[] | null
}

export interface EncodedExamples {
  readonly examples: readonly Example[]
  /** Rows left out because prompt and answer together are longer than the limit. */
  readonly tooLong: readonly number[]
}

export interface ExampleLimits {
  readonly maxPromptTokens: number
  /** Most tokens of prompt and answer together. */
  readonly maxTokens: number
}

/** Encodes every row. Errors: `data/invalid` naming the row, or when no row is short enough. */
export function encodeExamples(
  rows: readonly DataRow[],
  encoder: ExampleEncoder,
  { maxPromptTokens, maxTokens }: ExampleLimits,
): EncodedExamples {
  const all = rows.map((columns, row) => encodeExample(columns, row, encoder))
  const fits = ({ prompt, answers }: Example): boolean =>
    prompt.ids.length <= maxPromptTokens &&
    answers.every(({ ids }) => prompt.ids.length + ids.length <= maxTokens)
  const examples = all.filter(fits)
  if (examples.length === 0) {
    throw new AppError(
      'data/invalid',
      rows.length === 0
        ? 'The data set has no rows.'
        : `Every prompt with its answer is longer than ${maxTokens} tokens, or the prompt alone than ${maxPromptTokens}.`,
    )
  }
  return {
    examples: encoder.marks == null ? examples : examples.flatMap(oneByOne),
    tooLong: all.filter((example) => !fits(example)).map(({ prompt }) => prompt.row),
  }
}

/** Marked answers stand for themselves, those of a pair too. */
const oneByOne = ({ prompt, answers }: Example): Example[] =>
  answers.map((answer) => ({ prompt, answers: [answer] }))

function encodeExample(columns: DataRow, row: number, encoder: ExampleEncoder): Example {
  const prompt = encodePrompt(columns, row, encoder)
  const { marks } = encoder
  const place = encoder.places?.[row] ?? row
  const answers = encoder.answers.map((column, i): GivenAnswer => {
    const answer = answerIn(columns, column, place)
    const text = answerText(prompt, answer, encoder)
    const isGood = typeof marks === 'string' ? markIn(columns, marks, place) : marks?.[i]
    return {
      text: typeof answer === 'string' ? answer : text,
      ids: answerIds(text, encoder),
      ...(isGood === undefined ? {} : { isGood }),
    }
  })
  return { prompt, answers }
}

/** Text, or one message of the assistant that calls tools. Errors: AppError 'data/invalid' naming the row. */
export function answerIn(columns: DataRow, column: string, row: number): string | ChatMessage {
  const value = columns[column]
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (!Object.hasOwn(columns, column)) throw noAnswer(row, noColumn(columns, column))
  const read = readChat(value)
  if (isNoChat(read))
    throw noAnswer(row, `column “${column}” holds neither text nor one assistant message: ${read.fault}`)
  const [message, ...others] = read
  if (message === undefined || others.length > 0)
    throw noAnswer(
      row,
      `column “${column}” holds ${read.length} messages and not one answer`,
      'Importing it with the columns mapped takes the prompt off where the columns begin alike; answers of several turns cannot be learned.',
    )
  if (message.role !== 'assistant')
    throw noAnswer(row, `the message in column “${column}” is by “${message.role}”`)
  return isMoreThanText(message) ? message : message.content
}

/** Reads if a row's answer is good. Errors: AppError 'data/invalid' naming the row. */
export function markIn(columns: DataRow, column: string, row: number): boolean {
  const mark = markOf(columns[column])
  if (mark !== null) return mark
  const what = Object.hasOwn(columns, column)
    ? `column “${column}” holds ${JSON.stringify(columns[column])}`
    : noColumn(columns, column)
  throw new AppError(
    'data/invalid',
    `Row ${row + 1} of the data is marked neither good nor bad: ${what}.`,
    'Name the column in `data.label`. Marks are true and false, 1 and 0, or words such as good and bad.',
  )
}

const noAnswer = (
  row: number,
  what: string,
  text = 'Check `data.completion`, `data.chosen` and `data.rejected`.',
): AppError =>
  new AppError('data/invalid', `Row ${row + 1} of the data gives no answer: ${what}.`, {
    text,
    command: '`turnwise dataset import FILE --remap` maps the columns.',
  })

/**
 * The answer's tokens are encoded separately from the prompt's, since the policy would have had to generate them. They
 * end with the id that ends a completion; otherwise stopping would never be learned.
 */
function answerIds(text: string, { tokenizer, stopIds }: ExampleEncoder): Int32Array {
  const ids = tokenizer.encode(text, { addSpecialTokens: false })
  const end = ids.findLastIndex((id) => stopIds.includes(id))
  if (end >= 0) return ids.subarray(0, end + 1)
  return Int32Array.from([...ids, ...stopIds.slice(0, 1)])
}

/** An answer with the markup that the chat template gives it. Errors: AppError 'data/invalid' for a call after a prompt without messages. */
function answerText(prompt: Prompt, answer: string | ChatMessage, encoder: ExampleEncoder): string {
  const content = promptContent(prompt.columns, prompt.row, encoder.form)
  const message = typeof answer === 'string' ? { role: 'assistant', content: answer } : answer
  if (typeof content !== 'string') return markedUpAnswer(prompt, content, message, encoder)
  if (typeof answer === 'string') return answer
  throw noAnswer(
    prompt.row,
    'it calls tools, which only the chat template can write',
    'Make the prompt messages.',
  )
}

/** Returns everything that the chat template writes after the prompt for this answer of the assistant. */
function markedUpAnswer(
  prompt: Prompt,
  messages: readonly ChatMessage[],
  answer: ChatMessage,
  encoder: Pick<ExampleEncoder, 'chatTemplate' | 'tools'>,
): string {
  const { text: promptText, columns, row } = prompt
  const begun = begunAnswer(messages)
  const before = begun === undefined ? messages : messages.slice(0, -1)
  const spoken = [...before, { ...begun, ...answer, content: (begun?.content ?? '') + answer.content }]
  const options = { ...givenBy(columns, row, encoder), addGenerationPrompt: false }
  const whole = encoder.chatTemplate?.render(spoken, options) ?? ''
  return whole.startsWith(promptText) ? whole.slice(promptText.length) : fromAnswer(whole, answer, row)
}

/**
 * Returns the rendering from the answer on, for templates whose opening of the assistant's turn has more than they keep
 * in a finished one, such as an empty thought.
 */
function fromAnswer(whole: string, { content, tool_calls: calls }: ChatMessage, row: number): string {
  const end = content === '' ? -1 : whole.lastIndexOf(content)
  if (end >= 0) return whole.slice(end)
  if (content !== '' || calls === undefined) return content
  throw noAnswer(row, 'the chat template writes the prompt in another way once an answer follows it')
}
