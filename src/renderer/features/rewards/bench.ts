/** Data for trying a reward: rows of a data set, their prompts, and the source of completions. */
import type { InputOf } from '#shared/api/contract.ts'
import type { Api } from '#shared/api/api.ts'
import { attempt } from '#shared/attempt.ts'
import type { DataColumn, DataRow, DataVersion } from '#renderer/parts/rewardTypes.ts'

export type PromptForm = Readonly<Record<string, unknown>>

export interface Bench {
  /** Version of a data set; null: a sample written by hand. */
  readonly versionId: string | null
  readonly from: number
  readonly count: number
  /** Null: as the data set defines. */
  readonly prompt: PromptForm | null
  readonly completions: 'column' | 'typed' | 'model'
  /** Null: the first suitable one. */
  readonly column: string | null
  /** Model that provides the chat template and, if requested, completions. */
  readonly model: string | null
  readonly temperature: number
  readonly maxNewTokens: number
  readonly seed: number
}

/** Bench with its prompt decided. */
export interface ReadyBench extends Bench {
  readonly prompt: PromptForm
}

export const defaultBench: Bench = {
  versionId: null,
  from: 0,
  count: 20,
  prompt: null,
  completions: 'column',
  column: null,
  model: null,
  temperature: 1,
  maxNewTokens: 256,
  seed: 42,
}

/** Sample written by hand, with its row as JSON. */
export interface HandSample {
  readonly prompt: string
  readonly completion: string
  readonly row: string
}

export const emptyHandSample: HandSample = { prompt: '', completion: '', row: '{}' }

const has = (column: DataColumn, kind: string): boolean => (column.kinds[kind] ?? 0) > 0

/** Returns columns with text in at least one row. */
export const textColumns = (columns: readonly DataColumn[]): readonly string[] =>
  columns.filter((column) => has(column, 'text')).map(({ name }) => name)

export const columnNames = (version: DataVersion | null): readonly string[] =>
  (version?.columns ?? []).map(({ name }) => name)

const completionNames = [
  'completion',
  'answer',
  'response',
  'output',
  'target',
  'solution',
  'label',
  'chosen',
]

export function defaultColumn(columns: readonly DataColumn[], answer: string | null): string | null {
  const texts = textColumns(columns)
  const named = [answer, ...completionNames].find((name) => name !== null && texts.includes(name))
  return named ?? texts.at(-1) ?? null
}

export function defaultPrompt(columns: readonly DataColumn[], own: PromptForm | null): PromptForm {
  if (own !== null) return own
  const texts = textColumns(columns)
  const named = ['prompt', 'question', 'input', 'instruction'].find((name) => texts.includes(name))
  return { column: named ?? texts[0] ?? 'prompt' }
}

export function promptWords(form: PromptForm): string {
  if (typeof form['column'] === 'string') return `Column ${form['column']}`
  if (typeof form['template'] === 'string') return 'Template'
  return 'Messages'
}

export type DryRunOn = InputOf<Api, 'rewards.dryRun'>['on']

export interface Shown {
  readonly from: number
  readonly rows: readonly DataRow[]
  /** Prompts of the rows, in order; null if a row has none. */
  readonly prompts: readonly (string | null)[]
  /** Typed completions by row of the data set. */
  readonly typed: Readonly<Record<number, string>>
}

export interface Asked {
  readonly on: DryRunOn
  /** Row of the data set for each index of the answer. */
  readonly rows: readonly (number | null)[]
}

/** Returns the request to the host, or a sentence on what is missing. */
export function dryRunOn(
  bench: ReadyBench,
  shown: Shown,
  hand: HandSample,
): Asked | { readonly missing: string } {
  const { versionId, from, count, prompt, model } = bench
  if (versionId === null) return handOn(hand)
  if (bench.completions === 'typed') return typedOn(shown)
  const rows = Array.from({ length: count }, (_, i) => from + i)
  const base = { versionId, from, count, prompt, ...(model === null ? {} : { model }) }
  if (bench.completions === 'model') {
    if (model === null) return { missing: 'Choose the model that writes the completions.' }
    const { temperature, maxNewTokens, seed } = bench
    return { on: { ...base, completions: { temperature, maxNewTokens, seed } }, rows }
  }
  if (bench.column === null)
    return {
      missing: 'No column of this data set holds text: type the completions or let a model write them.',
    }
  return { on: { ...base, completions: { column: bench.column } }, rows }
}

function typedOn({ from, rows, prompts, typed }: Shown): Asked | { readonly missing: string } {
  const samples = rows.flatMap((row, i) => {
    const completion = typed[from + i]
    return completion === undefined ? [] : [{ prompt: prompts[i] ?? '', completion, row, at: from + i }]
  })
  if (samples.length === 0) return { missing: 'Write a completion beside at least one row.' }
  return {
    on: samples.map(({ prompt, completion, row }) => ({ prompt, completion, row })),
    rows: samples.map(({ at }) => at),
  }
}

function handOn({ prompt, completion, row }: HandSample): Asked | { readonly missing: string } {
  const columns = parseRow(row)
  if (columns === null) return { missing: 'The row must be a JSON object, such as {"answer": "4"}.' }
  return { on: [{ prompt, completion, row: columns }], rows: [null] }
}

export const parseRow = (text: string): DataRow | null =>
  attempt(() => {
    const value: unknown = JSON.parse(text.trim() === '' ? '{}' : text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as DataRow) : null
  }, null)

export const cellText = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
