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
}

/** Rows longer than `limit`. `lengths`: every length there is with its rows. */
export function cutBeyond(lengths: readonly (readonly [length: number, rows: number])[], limit: number): Cut {
  const rowsOf = (some: typeof lengths) => some.reduce((sum, [, count]) => sum + count, 0)
  const [rows, all] = [rowsOf(lengths.filter(([length]) => length > limit)), rowsOf(lengths)]
  return { rows, share: all === 0 ? 0 : rows / all }
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
