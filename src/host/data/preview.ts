/** Previews what the policy would read from rows before a run starts: text, tokens and lengths. */
import type { ChatTemplate } from '#engine/text/chatTemplate.ts'
import type { Tokenizer } from '#engine/text/tokenizer.ts'
import { AppError } from '#shared/errors.ts'
import type { ChatMessage } from '#shared/messages.ts'
import {
  encodePrompt,
  promptContent,
  promptText,
  type PromptEncoder,
  type PromptForm,
} from '#rl/rollout/prompts.ts'
import type { DataRow } from './dataFile.ts'

/** The text side of a model; without one, prompts are shown as they are before the chat template. */
export interface PreviewModel {
  readonly tokenizer: Pick<Tokenizer, 'encode' | 'decode' | 'idToToken'>
  readonly chatTemplate: Pick<ChatTemplate, 'render'> | null
  /** Functions that are offered, as `data.tools` of a config; null or absent: none. */
  readonly tools?: NonNullable<PromptEncoder['tools']> | null
}

export interface PreviewToken {
  readonly id: number
  readonly text: string
}

export type PromptPreview =
  | {
      readonly row: number
      readonly text: string
      /** null where no model was given. */
      readonly tokens: readonly PreviewToken[] | null
    }
  | { readonly row: number; readonly problem: string }

/** One preview per row, in order; `firstRow` is the number of the first, from 0. */
export function previewPrompts(
  rows: readonly DataRow[],
  form: PromptForm,
  model: PreviewModel | null,
  firstRow = 0,
): PromptPreview[] {
  return rows.map((columns, index) => {
    const row = firstRow + index
    return orProblem(row, () => {
      if (model === null) return { row, text: plainText(columns, row, form), tokens: null }
      const { text, ids } = encodePrompt(columns, row, { form, ...model })
      return { row, text, tokens: tokensOf(ids, model) }
    })
  })
}

function orProblem(row: number, read: () => PromptPreview): PromptPreview {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { row, problem: error.message }
  }
}

/** Messages as `role: content`, since their markup is the model's business. */
function plainText(columns: DataRow, row: number, form: PromptForm): string {
  const content = promptContent(columns, row, form)
  if (typeof content === 'string') return promptText(columns, row, { form, chatTemplate: null }).text
  return content.map((message) => `${message.role}: ${messageText(message)}`).join('\n\n')
}

/** The text of a message, with its tool calls. */
const messageText = ({ content, tool_calls: calls }: ChatMessage): string =>
  calls === undefined ? content : `${content}${JSON.stringify(calls)}`

/** Special tokens by their names; others as the text they add. */
const tokensOf = (ids: Int32Array, { tokenizer }: PreviewModel): PreviewToken[] =>
  Array.from(ids, (id) => {
    const text = tokenizer.decode([id], { skipSpecialTokens: false })
    return { id, text: text === '' ? (tokenizer.idToToken(id) ?? '') : text }
  })

export interface LengthHistogram {
  /** Number of rows measured. */
  readonly rows: number
  /** Rows that make no prompt. */
  readonly problems: number
  readonly min: number
  readonly mean: number
  readonly median: number
  readonly p95: number
  readonly max: number
  /** Lengths that occur, with their number of rows, the shortest first: shows exactly what a limit leaves out. */
  readonly lengths: Counts
  /** Equally wide; `to` is not part of a bin. */
  readonly bins: readonly { readonly from: number; readonly to: number; readonly count: number }[]
}

/** Counts lengths while rows stream by: memory grows with the longest prompt, not with the rows. */
export class LengthCounter {
  readonly #counts = new Map<number, number>()
  #problems = 0

  /** `length` in tokens or characters; null for a row that makes no prompt. */
  add(length: number | null): void {
    if (length === null) this.#problems++
    else this.#counts.set(length, (this.#counts.get(length) ?? 0) + 1)
  }

  /** Returns at most `binCount` bins, of whole width. null where no row was measured. */
  histogram(binCount = 20): LengthHistogram | null {
    const counts = [...this.#counts].sort(([a], [b]) => a - b)
    const [min, max] = [counts[0]?.[0], counts.at(-1)?.[0]]
    if (min === undefined || max === undefined) return null
    const rows = counts.reduce((sum, [, count]) => sum + count, 0)
    const total = counts.reduce((sum, [length, count]) => sum + length * count, 0)
    const width = Math.max(1, Math.ceil((max - min + 1) / binCount))
    const bins = Array.from({ length: Math.ceil((max - min + 1) / width) }, (_, index) => {
      const from = min + index * width
      return { from, to: from + width, count: countBetween(counts, from, from + width) }
    })
    const [median, p95] = [quantile(counts, 0.5 * rows), quantile(counts, 0.95 * rows)]
    const facts = { rows, problems: this.#problems, min, mean: total / rows, median, p95, max }
    return { ...facts, lengths: counts, bins }
  }
}

type Counts = readonly (readonly [length: number, count: number])[]

const countBetween = (counts: Counts, from: number, to: number): number =>
  counts.reduce((sum, [length, count]) => (length >= from && length < to ? sum + count : sum), 0)

/** The shortest length that `rank` rows do not exceed. */
function quantile(counts: Counts, rank: number): number {
  let passed = 0
  for (const [length, count] of counts) {
    passed += count
    if (passed >= rank) return length
  }
  return counts.at(-1)?.[0] ?? 0
}

/** Lengths of the prompts of many rows: tokens with a model, characters without. */
export async function promptLengths(
  batches: AsyncIterable<readonly DataRow[]>,
  form: PromptForm,
  model: PreviewModel | null,
): Promise<LengthHistogram | null> {
  const counter = new LengthCounter()
  let row = 0
  for await (const rows of batches) {
    for (const columns of rows) counter.add(promptLength(columns, row++, { form, model }))
  }
  return counter.histogram()
}

interface Measure {
  readonly form: PromptForm
  readonly model: PreviewModel | null
}

/** Length in tokens with a model, in characters without; null for a row that makes no prompt. */
export function promptLength(columns: DataRow, row: number, { form, model }: Measure): number | null {
  try {
    if (model === null) return plainText(columns, row, form).length
    return encodePrompt(columns, row, { form, ...model }).ids.length
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return null
  }
}
