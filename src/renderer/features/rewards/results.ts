/** Assembles the progress of a dry run, item by item, into table rows, a summary, and places in the code. */
import { meanOf } from '#shared/mean.ts'
import type { CodeFailurePlace } from '#renderer/editor/problemLines.ts'
import type { CodeFailure, DataRow, DryRunItem, Score } from '#renderer/parts/rewardTypes.ts'

export interface Failure extends CodeFailure {
  readonly part: string
}

export interface ResultRow {
  /** Index of the request, from 0. */
  readonly index: number
  /** Row of the data set; null for a sample written by hand. */
  readonly row: number | null
  readonly input: { readonly prompt: string; readonly completion: string; readonly row: DataRow } | null
  readonly score: Score | null
  readonly failures: readonly Failure[]
  /** Reason why there was nothing to score. */
  readonly problem: string | null
}

/**
 * Returns results in row order; `rows[index]` is an item's row of the data set. Later items of a row replace earlier ones.
 */
export function resultRows(items: readonly DryRunItem[], rows: readonly (number | null)[]): ResultRow[] {
  const byIndex = new Map<number, ResultRow>()
  for (const item of items) byIndex.set(item.index, resultRow(item, rows[item.index] ?? null))
  return [...byIndex.values()].sort((a, b) => a.index - b.index)
}

function resultRow(item: DryRunItem, row: number | null): ResultRow {
  const place = { index: item.index, row }
  if ('problem' in item) return { ...place, input: null, score: null, failures: [], problem: item.problem }
  const { input, score } = item
  const failures = Object.entries(score.failures).map(([part, failure]) => ({ part, ...failure }))
  return { ...place, input, score, failures, problem: null }
}

/** Returns functions in order of first appearance; a single one needs no columns. */
export function partNames(rows: readonly ResultRow[]): readonly string[] {
  const names = [...new Set(rows.flatMap(({ score }) => Object.keys(score?.parts ?? {})))]
  return names.length > 1 ? names : []
}

export const loggedNames = (rows: readonly ResultRow[]): readonly string[] => [
  ...new Set(rows.flatMap(({ score }) => Object.keys(score?.columns ?? {}))),
]

export interface ResultSummary {
  readonly rows: number
  /** Mean over rows with a score; null without any. */
  readonly mean: number | null
  readonly minimum: number | null
  readonly maximum: number | null
  readonly failed: number
  /** Number of rows to which no function applied. */
  readonly notScored: number
  readonly meanMs: number | null
}

export function summaryOf(rows: readonly ResultRow[]): ResultSummary {
  const totals = rows.flatMap(({ score }) => (score?.total === null || score === null ? [] : [score.total]))
  const times = rows.flatMap(({ score }) => (score === null ? [] : [score.durationMs]))
  const failed = rows.filter(({ failures, problem }) => failures.length > 0 || problem !== null).length
  return {
    rows: rows.length,
    mean: meanOf(totals),
    minimum: totals.length === 0 ? null : Math.min(...totals),
    maximum: totals.length === 0 ? null : Math.max(...totals),
    failed,
    notScored: rows.filter(({ score, failures }) => score?.total === null && failures.length === 0).length,
    meanMs: meanOf(times),
  }
}

/** Returns lines on which the code failed, once per sample. */
export const placesOf = (rows: readonly ResultRow[]): CodeFailurePlace[] =>
  rows.flatMap(({ failures }) =>
    failures.flatMap(({ line, column, message }) =>
      line === null ? [] : [{ line, column, sentence: message }],
    ),
  )

export const failureWords = ({ message, line }: Pick<Failure, 'message' | 'line'>): string =>
  line === null ? message : `Line ${String(line)}: ${message}`
