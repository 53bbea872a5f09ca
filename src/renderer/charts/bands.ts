/** Several lines as one: their mean on a common x, with a band of how far they lie apart. */
import type { BandPoint, ChartPoint, Dot } from './points.ts'
import { pointAt } from './points.ts'

export type BandKind = 'range' | 'deviation'

export interface Band {
  /** Mean of the lines that reach so far. */
  readonly points: readonly ChartPoint[]
  readonly band: readonly BandPoint[]
}

const maxPlaces = 600

/**
 * `range`: from the lowest to the highest line; `deviation`: one standard deviation (n−1) to either side of the mean.
 * Lines are read between their own points by straight interpolation and never beyond their ends.
 */
export function bandOf(lines: readonly (readonly Dot[])[], kind: BandKind): Band {
  const places = commonPlaces(lines)
  const readers = lines.map((line) => readerOf(line))
  const points: ChartPoint[] = []
  const band: BandPoint[] = []
  for (const x of places) {
    const values = readers.flatMap((read) => read(x) ?? [])
    if (values.length === 0) continue
    const mean = values.reduce((a, b) => a + b, 0) / values.length
    const spread = kind === 'deviation' ? deviation(values, mean) : 0
    points.push(pointAt(x, Math.round(x), mean))
    band.push(
      kind === 'range'
        ? { x, low: Math.min(...values), high: Math.max(...values) }
        : { x, low: mean - spread, high: mean + spread },
    )
  }
  return { points, band }
}

/** Standard deviation with n−1; 0 for a single value. */
export function deviation(values: readonly number[], mean: number): number {
  if (values.length < 2) return 0
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
  return Math.sqrt(squares / (values.length - 1))
}

/** Every x of every line, or an even grid where those are too many. */
function commonPlaces(lines: readonly (readonly Dot[])[]): readonly number[] {
  const places = [...new Set(lines.flatMap((line) => line.map(({ x }) => x)))].sort((a, b) => a - b)
  const [first, last] = [places[0], places.at(-1)]
  if (places.length <= maxPlaces || first === undefined || last === undefined) return places
  return Array.from({ length: maxPlaces }, (_, i) => first + ((last - first) * i) / (maxPlaces - 1))
}

/** Reads a line at growing x: null outside it. */
function readerOf(line: readonly Dot[]): (x: number) => number | null {
  let at = 0
  return (x) => {
    while (at + 1 < line.length && (line[at + 1]?.x ?? Infinity) <= x) at++
    const [before, after] = [line[at], line[at + 1]]
    if (!before || x < before.x) return null
    if (x === before.x) return before.y
    if (!after) return null
    const share = (x - before.x) / (after.x - before.x)
    return before.y + (after.y - before.y) * share
  }
}
