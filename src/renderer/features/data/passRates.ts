/**
 * Difficulty of rows for a model, as the share of completions that pass. Rows on which every completion fails teach
 * nothing to algorithms that compare completions, nor do rows on which every one passes.
 */
import type { Answer } from '#renderer/client/api.tsx'

type Items = Answer<'datasets.difficulty'>
export type DifficultyResult = Extract<Items, { result: unknown }>['result']
export type MeasuredRow = DifficultyResult['rows'][number]
export type UnmeasuredRow = DifficultyResult['problems'][number]

export type Band = 'hard' | 'useful' | 'easy'

export interface RatedRow extends MeasuredRow {
  /** Share of completions that reach the pass mark; null if none has a reward. */
  readonly rate: number | null
}

export const passRate = (values: readonly (number | null)[], passMark: number): number | null => {
  const known = values.filter((value) => value !== null)
  // Sums of weighted parts such as 0.8 + 0.2 miss round numbers by rounding errors.
  return known.length === 0 ? null : known.filter((value) => value >= passMark - 1e-9).length / known.length
}

export const rated = (rows: readonly MeasuredRow[], passMark: number): readonly RatedRow[] =>
  rows.map((row) => ({ ...row, rate: passRate(row.values, passMark) }))

export function bandOf(rate: number | null): Band | null {
  if (rate === null) return null
  if (rate === 0) return 'hard'
  return rate === 1 ? 'easy' : 'useful'
}

export interface RateBin {
  /** Bounds of the rates, (from, to]; the first bin holds only 0, the last only 1. */
  readonly from: number
  readonly to: number
  readonly band: Band
  readonly count: number
}

const maxBetween = 8

/** Bins for never, always, and the rates in between: one per possible rate while they are few. */
export function rateBins(rows: readonly RatedRow[], samples: number): readonly RateBin[] {
  const rates = rows.flatMap(({ rate }) => (rate === null ? [] : [rate]))
  const between = Math.max(1, Math.min(maxBetween, samples - 1))
  const inside = rates.filter((rate) => rate > 0 && rate < 1)
  const edges = Array.from({ length: between }, (_, at) => [at / between, (at + 1) / between] as const)
  const binOf = (rate: number) => Math.min(between - 1, Math.max(0, Math.ceil(rate * between - 1e-9) - 1))
  return [
    { from: 0, to: 0, band: 'hard', count: rates.filter((rate) => rate === 0).length },
    ...edges.map(([from, to], at): RateBin => {
      return { from, to, band: 'useful', count: inside.filter((rate) => binOf(rate) === at).length }
    }),
    { from: 1, to: 1, band: 'easy', count: rates.filter((rate) => rate === 1).length },
  ]
}

export function binLabel({ from, to, band }: RateBin, samples: number): string {
  if (band === 'hard') return 'never'
  if (band === 'easy') return 'always'
  if (samples - 1 > maxBetween) return `to ${String(Math.round(to * 100))} %`
  const passed = Math.round(from * (samples - 1)) + 1
  return `${String(passed)} of ${String(samples)}`
}

export interface BandCounts {
  readonly hard: number
  readonly useful: number
  readonly easy: number
  readonly unrated: number
}

export function bandCounts(rows: readonly RatedRow[]): BandCounts {
  const count = (band: Band | null) => rows.filter(({ rate }) => bandOf(rate) === band).length
  return { hard: count('hard'), useful: count('useful'), easy: count('easy'), unrated: count(null) }
}

/** Returns finished rows while others are still being measured. */
export function rowsSoFar(items: readonly Items[]): { rows: MeasuredRow[]; problems: UnmeasuredRow[] } {
  const last = items.at(-1)
  if (last !== undefined && 'result' in last)
    return { rows: [...last.result.rows], problems: [...last.result.problems] }
  const rows: MeasuredRow[] = []
  const problems: UnmeasuredRow[] = []
  for (const item of items) {
    if (!('row' in item)) continue
    if ('problem' in item.row) problems.push(item.row)
    else rows.push(item.row)
  }
  return { rows, problems }
}
