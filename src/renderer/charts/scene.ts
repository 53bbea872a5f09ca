/** One panel ready to be drawn: lines reduced and smoothed, scales, ticks. Whatever draws it draws the same. */
import { automaticSmoothing, forgettingUnit, smooth } from './smoothing.ts'
import { largestTriangles, mergeStretches, pieces, pointBudget, strokes } from './reduction.ts'
import {
  clamped,
  extentOf,
  isClamped,
  linearScale,
  valueScale,
  type Scale,
  type ScaleKind,
} from './scales.ts'
import type { BandPoint, ChartEvent, ChartLine, ChartPoint, Dot } from './points.ts'
import { quantile } from './statistics.ts'
import { axisNumber, withEnd } from './ticks.ts'
import { xAxisSpecs, type XAxis } from './xAxes.ts'

/** From where to where the x axis is looked at. */
export type Range = readonly [from: number, to: number]

export interface SceneOptions {
  readonly xAxis: XAxis
  /** 0–0.99; 'auto': none for short lines. */
  readonly smoothing: number | 'auto'
  readonly scale: ScaleKind
  /** null: everything. */
  readonly zoom: Range | null
  /** Shown at least; for shares and the like. */
  readonly include?: readonly number[] | undefined
  readonly events?: readonly ChartEvent[] | undefined
  readonly tickCount?: number | undefined
  /** A few far-off values may leave the panel, so that the others can be told apart. */
  readonly clipsSpikes?: boolean | undefined
}

export interface SceneLine {
  readonly id: string
  readonly label: string
  readonly color: string
  readonly dash: string | undefined
  readonly isBaseline: boolean
  /** What is looked at, in pieces without gaps. */
  readonly main: readonly (readonly Dot[])[]
  /** The values as they were, behind a smoothed line. */
  readonly raw: readonly (readonly Dot[])[]
  /** Pieces of a single dot, which no line shows. */
  readonly lone: readonly Dot[]
  readonly band: readonly BandPoint[]
  /** Places drawn at the edge because a logarithm does not have them. */
  readonly clampedAt: readonly number[]
  readonly gaps: readonly number[]
  /** For reading values: one entry per point of the line, drawn and as it was. */
  readonly points: readonly ChartPoint[]
  readonly drawn: readonly Dot[]
}

export interface Scene {
  readonly xAxis: XAxis
  readonly x: Scale
  readonly y: Scale
  readonly xTicks: readonly { readonly at: number; readonly text: string }[]
  readonly yTicks: readonly { readonly at: number; readonly text: string }[]
  readonly lines: readonly SceneLine[]
  readonly events: readonly ChartEvent[]
  readonly smoothing: number
  /** A point stands for several values somewhere. */
  readonly isReduced: boolean
}

/** null: there is nothing to draw. */
export function sceneOf(lines: readonly ChartLine[], options: SceneOptions): Scene | null {
  const full = xExtent(lines)
  if (!full) return null
  const range = options.zoom ?? full
  const smoothing = chosenSmoothing(lines, options.smoothing)
  const unit = forgettingUnit(lines.map(({ points }) => points))
  const limit = Math.floor(pointBudget / (Math.max(1, lines.length) * (smoothing > 0 ? 2 : 1)))
  const shaped = lines.map((line) => shapeOf(line, { range, smoothing, unit, limit }))
  const y = valueScale(valueExtent(shaped, options), options.scale, options.tickCount)
  const spec = xAxisSpecs[options.xAxis]
  const [from, to] = range
  return {
    xAxis: options.xAxis,
    x: linearScale(from, to > from ? to : from + 1),
    y,
    xTicks: withEnd(spec.ticks(from, to, 6), from, spec.end(to)).map((at) => ({ at, text: spec.write(at) })),
    yTicks: y.ticks.map((at) => ({ at, text: axisNumber(at) })),
    lines: inOrder(shaped.map((shape) => placedOn(y, shape))),
    events: (options.events ?? []).filter(({ x }) => x >= from && x <= to),
    smoothing,
    isReduced: lines.some(({ points }) =>
      points.some(({ count, step, lastStep }) => count > 1 && lastStep > step),
    ),
  }
}

function chosenSmoothing(lines: readonly ChartLine[], wanted: number | 'auto'): number {
  if (wanted !== 'auto') return wanted
  return automaticSmoothing(
    lines.reduce(
      (most, { points }) =>
        Math.max(
          most,
          points.reduce((sum, { count }) => sum + count, 0),
        ),
      0,
    ),
  )
}

/** From the first to the last place of any line. */
export function xExtent(lines: readonly ChartLine[]): Range | null {
  const extent = extentOf(lines.flatMap(({ points }) => [points[0]?.x ?? NaN, points.at(-1)?.endX ?? NaN]))
  return extent && [extent.low, extent.high]
}

interface Shaping {
  readonly range: Range
  readonly smoothing: number
  readonly unit: number
  /** Dots per line and kind. */
  readonly limit: number
}

interface Shape {
  readonly line: ChartLine
  readonly main: readonly Dot[]
  readonly raw: readonly Dot[]
  readonly band: readonly BandPoint[]
  readonly drawn: readonly Dot[]
}

function shapeOf(line: ChartLine, { range, smoothing, unit, limit }: Shaping): Shape {
  const drawn = smooth(line.points, smoothing, unit)
  const [from, to] = visible(line.points, range)
  const points = line.points.slice(from, to)
  // Three dots show a stretch.
  const dots = points.reduce((sum, { count }) => sum + (count > 1 ? 3 : 1), 0)
  const asItWas = strokes(dots <= limit ? points : mergeStretches(points, Math.max(2, Math.floor(limit / 3))))
  const main = smoothing > 0 ? largestTriangles(drawn.slice(from, to), Math.max(3, limit)) : asItWas
  const band = (line.band ?? []).filter(({ x }) => x >= range[0] && x <= range[1])
  return { line, main, raw: smoothing > 0 ? asItWas : [], band, drawn }
}

/** Those inside a range and one more to either side, so that lines run to the edges. */
function visible(points: readonly ChartPoint[], [from, to]: Range): readonly [number, number] {
  const first = points.findIndex(({ endX }) => endX >= from)
  const last = points.findLastIndex(({ x }) => x <= to)
  return first < 0 || last < 0 ? [0, 0] : [Math.max(0, first - 1), last + 2]
}

function valueExtent(shapes: readonly Shape[], { include = [], clipsSpikes = false }: SceneOptions) {
  const values = shapes.flatMap(({ main, raw, band }) => [
    ...main.map(({ y }) => y),
    ...raw.map(({ y }) => y),
    ...band.flatMap(({ low, high }) => [low, high]),
  ])
  const shown = clipsSpikes ? withoutSpikes(values) : values
  return extentOf([...shown, ...include]) ?? { low: 0, high: 1, lowestPositive: null }
}

/** What lies within half the usual range beyond its 2nd and 98th hundredth. */
function withoutSpikes(values: readonly number[]): readonly number[] {
  const sorted = values.filter((value) => Number.isFinite(value)).sort((a, b) => a - b)
  const [low, high] = [quantile(sorted, 0.02), quantile(sorted, 0.98)]
  const room = (high - low) / 2
  return sorted.filter((value) => value >= low - room && value <= high + room)
}

function placedOn(scale: Scale, { line, main, raw, band, drawn }: Shape): SceneLine {
  const gaps = line.gaps ?? []
  const place = (dots: readonly Dot[]) =>
    pieces(
      dots.map(({ x, y }) => ({ x, y: clamped(y, scale) })),
      gaps,
    )
  const shown = place(main)
  return {
    id: line.id,
    label: line.label,
    color: line.color,
    dash: line.dash,
    isBaseline: line.isBaseline ?? false,
    main: shown.filter(({ length }) => length > 1),
    raw: place(raw).filter(({ length }) => length > 1),
    lone: shown.flatMap((dots) => (dots.length === 1 ? dots : [])),
    band: band.map(({ x, low, high }) => ({ x, low: clamped(low, scale), high: clamped(high, scale) })),
    clampedAt: main.flatMap(({ x, y }) => (isClamped(y, scale) ? [x] : [])).slice(0, maxMarks),
    gaps: gaps.slice(0, maxMarks),
    points: line.points,
    drawn,
  }
}

const maxMarks = 200

/** The baseline last, so that it lies above the others. */
const inOrder = (lines: readonly SceneLine[]): readonly SceneLine[] => [
  ...lines.filter(({ isBaseline }) => !isBaseline),
  ...lines.filter(({ isBaseline }) => isBaseline),
]

/** The baseline lies above the others, so it is the last in a scene; it is the first to be named. */
export const inReadingOrder = (lines: readonly SceneLine[]): readonly SceneLine[] => [
  ...lines.filter(({ isBaseline }) => isBaseline),
  ...lines.filter(({ isBaseline }) => !isBaseline),
]

/** Where things lie in a picture. */
export interface Frame {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
}

export const plotMargin = { left: 46, right: 16, top: 8, bottom: 20 } as const

export const frameOf = (width: number, height: number): Frame => ({
  left: plotMargin.left,
  top: plotMargin.top,
  width: Math.max(1, width - plotMargin.left - plotMargin.right),
  height: Math.max(1, height - plotMargin.top - plotMargin.bottom),
})

/** Stroke width of a line: fewer lines may be thicker. */
export const strokeWidth = ({ isBaseline }: SceneLine, lines: number): number =>
  isBaseline ? 2.5 : lines > 20 ? 1 : 1.5
