/**
 * From rows of a data set to given answers: demonstrations (one per prompt) and preferences (a chosen and a rejected
 * one).
 */
import type { ChatMessage } from '#engine/text/chatTemplate.ts'
import { AppError } from '#shared/errors.ts'
import {
  type DataRow,
  encodePrompt,
  type Prompt,
  promptContent,
  type PromptEncoder,
  toolsOf,
} from './prompts.ts'

/** A prompt and the answers to it, in the order of the columns. */
export interface Example {
  readonly prompt: Prompt
  readonly answers: readonly GivenAnswer[]
}

export interface GivenAnswer {
  /** As the policy would write it, without markup. */
  readonly text: string
  /** What follows the prompt, including the id that ends a completion. */
  readonly ids: Int32Array
}

export interface ExampleEncoder extends PromptEncoder {
  /** Ids that end generation. */
  readonly stopIds: readonly number[]
  /** Columns of the answers. */
  readonly answers: readonly string[]
}

export interface EncodedExamples {
  readonly examples: readonly Example[]
  /** Rows left out because prompt and answer together are longer than the limit. */
  readonly tooLong: readonly number[]
}

export interface ExampleLimits {
  readonly maxPromptTokens: number
  /** Of prompt and answer together. */
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
  return { examples, tooLong: all.filter((example) => !fits(example)).map(({ prompt }) => prompt.row) }
}

function encodeExample(columns: DataRow, row: number, encoder: ExampleEncoder): Example {
  const prompt = encodePrompt(columns, row, encoder)
  const answers = encoder.answers.map((column) => {
    const text = answerText(columns[column], column, encoder.places?.[row] ?? row)
    return { text, ids: answerIds(prompt, text, encoder) }
  })
  return { prompt, answers }
}

/** Text, or one assistant message. */
function answerText(value: unknown, column: string, row: number): string {
  if (typeof value === 'string') return value
  const messages: readonly unknown[] = Array.isArray(value) ? value : []
  const [message] = messages
  if (messages.length === 1 && isAssistantMessage(message)) return message.content
  throw new AppError(
    'data/invalid',
    `Row ${row + 1} of the data gives no answer: column “${column}” holds neither text nor one assistant message.`,
    {
      text: 'Check `data.completion`, `data.chosen` and `data.rejected`; importing a data set splits whole conversations.',
      command: '`turnwise dataset import` imports one.',
    },
  )
}

function isAssistantMessage(value: unknown): value is { readonly content: string } {
  if (typeof value !== 'object' || value === null) return false
  return (
    'role' in value && value.role === 'assistant' && 'content' in value && typeof value.content === 'string'
  )
}

/**
 * The answer's tokens are encoded separately from the prompt's, since the policy would have had to generate them. They
 * end with the id that ends a completion; otherwise stopping would never be learned.
 */
function answerIds(prompt: Prompt, answer: string, encoder: ExampleEncoder): Int32Array {
  const { tokenizer, stopIds, form } = encoder
  const content = promptContent(prompt.columns, prompt.row, form)
  const text = typeof content === 'string' ? answer : markedUpAnswer(prompt, content, answer, encoder)
  const ids = tokenizer.encode(text, { addSpecialTokens: false })
  const end = ids.findLastIndex((id) => stopIds.includes(id))
  if (end >= 0) return ids.subarray(0, end + 1)
  return Int32Array.from([...ids, ...stopIds.slice(0, 1)])
}

/** Everything that the chat template writes after the prompt for this answer of the assistant. */
function markedUpAnswer(
  { text: promptText, columns, row }: Prompt,
  messages: readonly ChatMessage[],
  answer: string,
  encoder: Pick<ExampleEncoder, 'chatTemplate' | 'tools'>,
): string {
  const last = messages.at(-1)
  const begun = last?.role === 'assistant' ? last.content : ''
  const before = last?.role === 'assistant' ? messages.slice(0, -1) : messages
  const spoken = [...before, { role: 'assistant', content: begun + answer }]
  const options = { ...toolsOf(columns, row, encoder), addGenerationPrompt: false }
  const whole = encoder.chatTemplate?.render(spoken, options) ?? ''
  if (whole.startsWith(promptText)) return whole.slice(promptText.length)
  // For templates whose opening of the assistant's turn has more than they keep in a finished one, such as an empty
  // thought.
  const end = whole.lastIndexOf(answer)
  return end < 0 ? answer : whole.slice(end)
}
