/** From series to lines. */
import { emptySeries, type Series } from './live.ts'
import type { ChartLine, SeriesPoint } from './points.ts'
import { placed, type Placement } from './xAxes.ts'

export type LineStyle = Pick<ChartLine, 'id' | 'label' | 'color' | 'dash' | 'isBaseline'>

const byStep: Placement = (step) => step

/** The series of one run or metric as a line; by step where no placement is given. */
export function seriesLine(
  style: LineStyle,
  series: Series | undefined,
  place: Placement = byStep,
): ChartLine {
  const { points, gaps } = series ?? emptySeries
  return { ...style, points: placed(points, place), gaps: gaps.map(place).filter((x) => Number.isFinite(x)) }
}

const intervals = [
  [0, 1],
  [-1, 0],
  [-1, 1],
] as const

/** Standard deviations of small groups come out larger than that of the whole: by √2 for pairs. */
const smallGroups = Math.SQRT2

/**
 * The interval that values with these means and standard deviations cannot have left: values within [a, b] have a
 * variance of at most (b − mean)(mean − a), so one step that spreads further tells that there is no such bound. null: none.
 */
function boundsOf(points: readonly SeriesPoint[], around: ReadonlyMap<number, SeriesPoint>) {
  const fits = ([low, high]: readonly [number, number]): boolean =>
    points.every(({ step, mean }) => {
      const width = around.get(step)?.mean ?? 0
      return (
        mean >= low && mean <= high && width <= smallGroups * Math.sqrt((high - mean) * (mean - low)) + 1e-9
      )
    })
  return intervals.find(fits) ?? null
}

/** The line with a band of `spread` to either side of it, where that is known; it ends where the values must. */
export function withBand(line: ChartLine, spread: Series | undefined, place: Placement = byStep): ChartLine {
  const around = new Map((spread?.points ?? []).map((point) => [point.step, point]))
  const [lowest, highest] = boundsOf(line.points, around) ?? [-Infinity, Infinity]
  const band = line.points.flatMap((point) => {
    const width = around.get(point.step)?.mean
    return width === undefined
      ? []
      : [
          {
            x: place(point.lastStep),
            low: Math.max(lowest, point.mean - width),
            high: Math.min(highest, point.mean + width),
          },
        ]
  })
  return { ...line, band }
}

/** Values of the last steps of a series, the newest last: of every stretch its mean, as often as it has values. */
export function lastValues(points: readonly SeriesPoint[], count: number): readonly number[] {
  const values: number[] = []
  for (const point of points.toReversed()) {
    for (let i = 0; i < point.count && values.length < count; i++)
      values.push(point.count === 1 ? point.last : point.mean)
    if (values.length >= count) break
  }
  return values.reverse()
}
