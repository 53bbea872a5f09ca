/** Readouts of the lines of a panel: values at a position, in words, and as three numbers. */
import { bisector } from 'd3-array'
import { axisNumber3, xAxisSpecs, type XAxis } from './axes.ts'
import type { BandPoint, ChartLine, ChartPoint } from './lines.ts'
import type { Plot, PlottedLine } from './plot.ts'

export interface Reading {
  readonly line: PlottedLine
  /** Value as drawn. */
  readonly value: number
  /** Value before smoothing. */
  readonly raw: number
  readonly step: number
  readonly lastStep: number
  readonly at: number
  readonly band: BandPoint | undefined
}

/** Distance from a line within which its value is still reported, as a fraction of the axis. */
const reachShare = 0.03

/** Returns the values at x, highest first. Lines with nothing near are left out. */
export function readingOf(plot: Plot, x: number): readonly Reading[] {
  const reach = (plot.x[1] - plot.x[0]) * reachShare
  return plot.lines
    .flatMap((line): readonly Reading[] => {
      const index = indexNear(line.points, x, reach)
      const [point, drawn] = [line.points[index], line.drawn[index]]
      if (!point || !drawn) return []
      const raw = point.count > 1 ? point.mean : point.last
      const value = plot.smoothing > 0 ? drawn.y : raw
      const { step, lastStep, endX: at } = point
      return [{ line, value, raw, step, lastStep, at, band: line.band.find((place) => place.x === at) }]
    })
    .sort((a, b) => b.value - a.value)
}

/** Returns the reading nearest to the cursor; the other lines may have no value at its step. */
export const nearestOf = (readings: readonly Reading[], x: number): Reading | undefined =>
  readings.toSorted((a, b) => Math.abs(a.at - x) - Math.abs(b.at - x))[0]

/** Formats “step 120” or “steps 120–139”. */
export function placeText(readings: readonly Reading[], { xAxis }: Plot, x: number): string {
  const nearest = nearestOf(readings, x)
  const steps = nearest && stepsText(nearest)
  if (xAxis === 'step') return steps ?? `step ${axisNumber3(Math.round(x))}`
  const { write, label } = xAxisSpecs[xAxis]
  const place = xAxis === 'time' ? write(x) : `${write(x)} ${label}`
  return readings.length === 1 && steps !== undefined ? `${place}, ${steps}` : place
}

export const stepsText = ({ step, lastStep }: Pick<Reading, 'step' | 'lastStep'>): string =>
  step === lastStep ? `step ${String(step)}` : `steps ${String(step)}–${String(lastStep)}`

export function readingText(readings: readonly Reading[], plot: Plot, x: number): string {
  if (readings.length === 0) return 'no value here'
  const values = readings.map(({ line, value }) => `${line.label} ${axisNumber3(value)}`)
  return `${placeText(readings, plot, x)}: ${values.slice(0, 8).join(', ')}`
}

/** Returns the step nearest to a position, from the line with the most points there. */
export function stepAt({ lines }: Plot, x: number): number {
  const near = lines.flatMap(({ points }) => points[indexNear(points, x, Infinity)] ?? [])
  const distance = (point: ChartPoint) => Math.min(Math.abs(point.x - x), Math.abs(point.endX - x))
  return near.toSorted((a, b) => distance(a) - distance(b))[0]?.lastStep ?? Math.round(x)
}

const byX = bisector(({ x }: { readonly x: number }) => x)

/** Returns the x to which a key moves the cursor, or null. Shift moves it ten positions. */
export function walk({ rows, lines }: Plot, x: number, key: string, isFar: boolean): number | null {
  const filled = rows.filter((row) => lines.some((line) => (row[line.key] ?? null) !== null))
  const index = byX.center(filled, x)
  const by = isFar ? 10 : 1
  const targets: Readonly<Record<string, number>> = {
    ArrowLeft: index - by,
    ArrowRight: index + by,
    Home: 0,
    End: filled.length - 1,
  }
  const target = targets[key]
  if (target === undefined) return null
  return filled[Math.min(filled.length - 1, Math.max(0, target))]?.x ?? null
}

const byEnd = bisector(({ endX }: ChartPoint) => endX)

/** Returns the index of the point that covers x, or of the nearest one within reach; -1: none. */
export function indexNear(points: readonly ChartPoint[], x: number, reach: number): number {
  const after = byEnd.left(points, x)
  const distance = (index: number): number => {
    const point = points[index]
    return point ? Math.max(0, point.x - x, x - point.endX) : Infinity
  }
  const best = distance(after - 1) < distance(after) ? after - 1 : after
  return points[best] && distance(best) <= reach ? best : -1
}

export type Better = 'higher' | 'lower' | 'none'

export interface LineFacts {
  readonly first: number
  readonly last: number
  readonly steps: number
  /** Highest or lowest value and its step; null if neither direction is better. */
  readonly best: { readonly value: number; readonly step: number } | null
}

export function lineFacts(points: readonly ChartPoint[], better: Better): LineFacts | null {
  const [first, last] = [points[0], points.at(-1)]
  if (!first || !last) return null
  return {
    // The first value of a range is known only by its mean.
    first: first.count === 1 ? first.last : first.mean,
    last: last.last,
    steps: last.lastStep,
    best: better === 'none' ? null : bestOf(points, better),
  }
}

function bestOf(points: readonly ChartPoint[], better: 'higher' | 'lower') {
  let best: { value: number; step: number } | null = null
  for (const { min, max, lastStep, last, step } of points) {
    const value = better === 'higher' ? max : min
    const isBetter = best === null || (better === 'higher' ? value > best.value : value < best.value)
    if (isBetter) best = { value, step: value === last ? lastStep : step }
  }
  return best
}

export interface SummaryOptions {
  readonly title: string
  readonly better: Better
  readonly xAxis?: XAxis
}

/** Describes lines as “reward 0.12 → 0.81 over 200 steps, best 0.84 at 180”; if there are many, by their ends only. */
export function textSummary(
  lines: readonly ChartLine[],
  { title, better, xAxis = 'step' }: SummaryOptions,
): string {
  const told = lines.flatMap((line) => {
    const facts = lineFacts(line.points, better)
    return facts ? [{ line, facts }] : []
  })
  if (told.length === 0) return `${title}: nothing yet`
  const sentences = told.slice(0, maxTold).map(({ line, facts }) => {
    const name = lines.length === 1 ? title : `${line.label}: ${title}`
    return `${name} ${sentenceOf(facts)}`
  })
  const rest = told.length > maxTold ? [`and ${told.length - maxTold} more lines`] : []
  const along = xAxis === 'step' ? [] : [`drawn over ${xAxisSpecs[xAxis].label}`]
  return [...sentences, ...rest, ...along].join('; ')
}

const maxTold = 8

function sentenceOf({ first, last, steps, best }: LineFacts): string {
  const way = `${axisNumber3(first)} → ${axisNumber3(last)} over ${steps} ${steps === 1 ? 'step' : 'steps'}`
  return best ? `${way}, best ${axisNumber3(best.value)} at ${best.step}` : way
}

/** Returns the rows of the table beside a chart: at most `limit`, evenly spaced, always including the last. */
export function tableRows(points: readonly ChartPoint[], limit = 50): readonly ChartPoint[] {
  if (points.length <= limit) return points
  const stride = (points.length - 1) / (limit - 1)
  return Array.from({ length: limit }, (_, i) => points[Math.round(i * stride)]).filter(
    (point) => point !== undefined,
  )
}
