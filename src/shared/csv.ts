/** Comma-separated text with every value as stored, not as drawn. RFC 4180, with \n. */

export type Cell = string | number | null

export function csvOf(header: readonly string[], rows: Iterable<readonly Cell[]>): string {
  const lines = [header.map(cellText).join(',')]
  for (const row of rows) lines.push(row.map(cellText).join(','))
  return `${lines.join('\n')}\n`
}

/** Formats the shortest text that parses back to the same number; empty for null. */
function cellText(cell: Cell): string {
  if (cell === null) return ''
  if (typeof cell === 'number') return Number.isFinite(cell) ? String(cell) : ''
  // Texts that a spreadsheet would run as a formula are marked as text.
  const safe = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export interface FullSeries {
  readonly label: string
  /** Values of the requested metrics by step, in order; null if missing. */
  readonly rows: readonly { readonly step: number; readonly values: readonly (number | null)[] }[]
}

/** One row per run and step, one column per metric. */
export function seriesCsv(
  metrics: readonly string[],
  runs: readonly (FullSeries & { readonly id: string })[],
): string {
  const rows = runs.flatMap(({ id, label, rows: own }) =>
    own
      .filter(({ values }) => values.some((value) => value !== null))
      .map(({ step, values }) => [id, label, step, ...values]),
  )
  return csvOf(['run', 'name', 'step', ...metrics], rows)
}
