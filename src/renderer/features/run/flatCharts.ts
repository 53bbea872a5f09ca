/** Charts of constant values, which are summed up in one line. */
import type { Series, SeriesPoint } from '#renderer/charts/lines.ts'
import { readNumber } from '#renderer/charts/axes.ts'
import { inUnit } from '#renderer/charts/units.ts'
import type { PlannedChart } from './chartPlan.ts'

/** Smallest number of values that counts as constant. */
const fewest = 3

/** Relative difference attributed to rounding. */
const rounding = 1e-9

/** Sets values within numerical noise to 0: drawn as they are, they would fill a panel with nothing. */
export function quieted(series: Series | undefined, noise: number): Series | undefined {
  if (series === undefined || noise === 0) return series
  const quiet = (value: number) => (Math.abs(value) < noise ? 0 : value)
  const points = series.points.map((point): SeriesPoint => ({
    ...point,
    min: quiet(point.min),
    max: quiet(point.max),
    mean: quiet(point.mean),
    last: quiet(point.last),
  }))
  return { ...series, points }
}

/** Returns the formatted value of a constant chart; null if it varies or has too few values. */
export function flatValue(
  chart: PlannedChart,
  seriesOf: (metric: string) => Series | undefined,
): string | null {
  const values = chart.lines.map(({ metric }) => constantOf(quieted(seriesOf(metric), chart.noise)))
  const [first] = values
  if (first === undefined || values.some((value) => value === null)) return null
  return [...new Set(values.map((value) => readNumber(inUnit(value ?? 0, chart.unit))))].join(', ')
}

function constantOf(series: Series | undefined): number | null {
  const { points = [], gaps = [] } = series ?? {}
  const count = points.reduce((sum, point) => sum + point.count, 0)
  if (count < fewest || gaps.length > 0) return null
  const low = Math.min(...points.map(({ min }) => min))
  const high = Math.max(...points.map(({ max }) => max))
  const isConstant = high - low <= rounding * Math.max(Math.abs(low), Math.abs(high))
  return isConstant ? (points.at(-1)?.last ?? null) : null
}
