/** Arithmetic of histograms: what lies beyond a line, where things stand. */

export interface Bin {
  readonly from: number
  /** Not part of the bin. */
  readonly to: number
  readonly count: number
}

export interface Cut {
  readonly rows: number
  readonly share: number
  /** The line goes through a bin: the rows in it are taken as evenly spread. */
  readonly isEstimate: boolean
}

/** Rows longer than `limit`, which is a whole number of tokens. */
export function cutBeyond(bins: readonly Bin[], limit: number): Cut {
  const total = bins.reduce((sum, { count }) => sum + count, 0)
  let beyond = 0
  let isEstimate = false
  for (const { from, to, count } of bins) {
    // Lengths in the bin are from … to − 1; those above the limit are cut.
    const above = Math.min(1, Math.max(0, (to - 1 - limit) / (to - from)))
    if (above > 0 && above < 1 && count > 0) isEstimate = true
    beyond += above * count
  }
  const rows = Math.round(beyond)
  return { rows, share: total === 0 ? 0 : beyond / total, isEstimate }
}

/** Round numbers for an axis, about `about` of them, inside [from, to]. */
export function roundTicks(from: number, to: number, about = 6): readonly number[] {
  if (!(to > from)) return [from]
  const rough = (to - from) / about
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? 10 * power
  const first = Math.ceil(from / step - 1e-9)
  return Array.from({ length: Math.floor(to / step + 1e-9) - first + 1 }, (_, at) => (first + at) * step)
}

/** Ticks that are whole numbers. */
export const wholeTicks = (from: number, to: number, about = 6): readonly number[] => [
  ...new Set(roundTicks(from, to, about).map(Math.round)),
]
