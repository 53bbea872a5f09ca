/** What a reward is tried on: rows of a data set, how they become prompts, and where the completions come from. */
import type { InputOf } from '#shared/api/contract.ts'
import type { Api } from '#shared/api/api.ts'
import type { DataColumn, DataRow } from '../../parts/rewardTypes.ts'

export type PromptForm = Readonly<Record<string, unknown>>

export interface Bench {
  /** A version of a data set; null: a sample written by hand. */
  readonly versionId: string | null
  readonly from: number
  readonly count: number
  /** null: as the data set says. */
  readonly prompt: PromptForm | null
  readonly completions: 'column' | 'typed' | 'model'
  /** null: the first that fits. */
  readonly column: string | null
  /** Its chat template and, where asked, its completions. */
  readonly model: string | null
  readonly temperature: number
  readonly maxNewTokens: number
  readonly seed: number
}

export const defaultBench: Bench = {
  ...{ versionId: null, from: 0, count: 20, prompt: null, completions: 'column', column: null },
  ...{ model: null, temperature: 1, maxNewTokens: 256, seed: 42 },
}

/** A sample that a person writes, row as JSON. */
export interface HandSample {
  readonly prompt: string
  readonly completion: string
  readonly row: string
}

export const emptyHandSample: HandSample = { prompt: '', completion: '', row: '{}' }

const has = (column: DataColumn, kind: string): boolean => (column.kinds[kind] ?? 0) > 0

/** Columns that hold text in at least one row. */
export const textColumns = (columns: readonly DataColumn[]): readonly string[] =>
  columns.filter((column) => has(column, 'text')).map(({ name }) => name)

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

/** The column a completion is taken from where nobody chose one. */
export function defaultColumn(columns: readonly DataColumn[], answer: string | null): string | null {
  const texts = textColumns(columns)
  const named = [answer, ...completionNames].find((name) => name !== null && texts.includes(name))
  return named ?? texts.at(-1) ?? null
}

/** How rows become prompts where nobody said so. */
export function defaultPrompt(columns: readonly DataColumn[], own: PromptForm | null): PromptForm {
  if (own !== null) return own
  const texts = textColumns(columns)
  const named = ['prompt', 'question', 'input', 'instruction'].find((name) => texts.includes(name))
  return { column: named ?? texts[0] ?? 'prompt' }
}

/** In a few words, for a list. */
export function promptWords(form: PromptForm): string {
  if (typeof form['column'] === 'string') return `Column ${form['column']}`
  if (typeof form['template'] === 'string') return 'Template'
  return 'Messages'
}

export type DryRunOn = InputOf<Api, 'rewards.dryRun'>['on']

export interface Shown {
  readonly from: number
  readonly rows: readonly DataRow[]
  /** Prompts of the rows, in order; null: none came of it. */
  readonly prompts: readonly (string | null)[]
  /** By place in the data set. */
  readonly typed: Readonly<Record<number, string>>
}

export interface Asked {
  readonly on: DryRunOn
  /** Row of the data set by index of the answer. */
  readonly rows: readonly (number | null)[]
}

/** What to ask the host, or the sentence that says what is missing. */
export function dryRunOn(
  bench: Bench & { readonly prompt: PromptForm },
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

/** null: no JSON object. */
export function parseRow(text: string): DataRow | null {
  try {
    const value: unknown = JSON.parse(text.trim() === '' ? '{}' : text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as DataRow) : null
  } catch {
    return null
  }
}

/** A value of a row on one line. */
export const cellText = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
