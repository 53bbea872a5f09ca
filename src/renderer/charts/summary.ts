/** What a line says in words and in three numbers. */
import type { ChartLine, ChartPoint } from './points.ts'
import { axisNumber } from './ticks.ts'
import { xAxisSpecs, type XAxis } from './xAxes.ts'

export type Better = 'higher' | 'lower' | 'none'

export interface LineFacts {
  readonly first: number
  readonly last: number
  readonly steps: number
  /** Highest or lowest value and its step; null where neither is progress. */
  readonly best: { readonly value: number; readonly step: number } | null
}

/** null: it has no points. */
export function lineFacts(points: readonly ChartPoint[], better: Better): LineFacts | null {
  const [first, last] = [points[0], points.at(-1)]
  if (!first || !last) return null
  return {
    // Of a stretch only its mean is known of where it began.
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

/** “reward 0.12 → 0.81 over 200 steps, best 0.84 at 180”; several lines one after another, many by their ends only. */
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

/** Three significant digits. */
export const axisNumber3 = (value: number): string =>
  value === 0 ? '0' : axisNumber(Number(value.toPrecision(3)))

/** Three significant digits of which none is left out, so that numbers under each other compare at a glance; whole ones as they are. */
export function readNumber(value: number): string {
  const size = Math.abs(value)
  if (Number.isInteger(value) || size < 1e-3 || size >= 1000) return axisNumber3(value)
  return value.toPrecision(3).replace('-', '−')
}

/** Rows of the table beside a chart: at most so many, evenly drawn, the last one always. */
export function tableRows(points: readonly ChartPoint[], limit = 50): readonly ChartPoint[] {
  if (points.length <= limit) return points
  const stride = (points.length - 1) / (limit - 1)
  return Array.from({ length: limit }, (_, i) => points[Math.round(i * stride)]).filter(
    (point) => point !== undefined,
  )
}

/** The point that covers a place on the x axis, or the nearest one within reach; -1: none. */
export function indexNear(points: readonly ChartPoint[], x: number, reach: number): number {
  let [low, high] = [0, points.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((points[middle]?.endX ?? Infinity) < x) low = middle + 1
    else high = middle
  }
  const distance = (index: number): number => {
    const point = points[index]
    if (!point) return Infinity
    return x < point.x ? point.x - x : Math.max(0, x - point.endX)
  }
  const best = distance(low - 1) < distance(low) ? low - 1 : low
  return points[best] && distance(best) <= reach ? best : -1
}
