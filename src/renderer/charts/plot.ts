/** A panel ready to be drawn: lines smoothed and reduced to what a panel can show, axes, events. */
import { quantileSorted } from 'd3-array'
import {
  clamped,
  isClamped,
  valueAxis,
  withEnd,
  xAxisSpecs,
  type Range,
  type ScaleKind,
  type ValueAxis,
  type XAxis,
} from './axes.ts'
import {
  automaticSmoothing,
  forgettingUnit,
  mergeStretches,
  placesOf,
  smooth,
  snapped,
  strokes,
  valuesAt,
} from './curves.ts'
import type { BandPoint, ChartEvent, ChartLine, ChartPoint, Dot } from './lines.ts'

export interface PlotOptions {
  readonly xAxis: XAxis
  /** 0 to 0.99; 'auto' does not smooth short lines. */
  readonly smoothing: number | 'auto'
  readonly scale: ScaleKind
  readonly zoom: Range | null
  /** Values always in view, such as 0 and 1 for fractions. */
  readonly include?: readonly number[] | undefined
  readonly events?: readonly ChartEvent[] | undefined
  readonly tickCount?: number | undefined
  /** True lets a few outliers leave the panel, so that the others can be told apart. */
  readonly clipsSpikes?: boolean | undefined
  /** True if redrawn every second. */
  readonly isLive?: boolean | undefined
}

export interface PlottedLine {
  readonly id: string
  /** Column of its values in the rows of the plot: `key`, before smoothing (`key raw`), its band (`key band`). */
  readonly key: string
  readonly hasRaw: boolean
  readonly hasBand: boolean
  readonly label: string
  readonly color: string
  readonly dash: string | undefined
  readonly isBaseline: boolean
  /** Dots between two gaps, which no line shows. */
  readonly lone: readonly Dot[]
  /** Positions drawn at the edge because a log scale has no place for them. */
  readonly clampedAt: readonly number[]
  readonly gaps: readonly number[]
  /** Points for reading values: one per point of the line, raw and as drawn. */
  readonly points: readonly ChartPoint[]
  readonly drawn: readonly Dot[]
  readonly band: readonly BandPoint[]
}

/** Values of all lines at one position; null: none, or a gap. */
export interface PlotRow {
  readonly x: number
  readonly [key: string]: number | null | Range
}

export interface Plot {
  readonly xAxis: XAxis
  readonly x: Range
  readonly xTicks: readonly number[]
  readonly y: ValueAxis
  readonly lines: readonly PlottedLine[]
  readonly rows: readonly PlotRow[]
  readonly events: readonly ChartEvent[]
  readonly smoothing: number
  readonly isClipped: boolean
}

/** Largest number of values and x positions of a panel, so that it draws within a few frames. */
const limits = { values: 6000, places: 1500 } as const
/** Limits for a panel redrawn every second, for a tenth of a core; see bench/history/window.md. */
const liveLimits = { values: 3000, places: 300 } as const
/** Number of live lines above which only smoothed curves are drawn: raw ones behind them would be unreadable. */
const maxLiveWithRaw = 10

export function plotOf(lines: readonly ChartLine[], options: PlotOptions): Plot | null {
  const full = xExtent(lines)
  if (!full) return null
  const [from, to] = options.zoom ?? full
  const x: Range = [from, to > from ? to : from + 1]
  const smoothing = chosenSmoothing(lines, options.smoothing)
  const unit = forgettingUnit(lines.map(({ points }) => points))
  const { values, places } = options.isLive === true ? liveLimits : limits
  const hasRaw = smoothing > 0 && !(options.isLive === true && lines.length > maxLiveWithRaw)
  const share = Math.floor(values / (lines.length * (hasRaw ? 2 : 1)))
  const limit = Math.max(3, Math.min(places, share))
  const shapes = inOrder(lines).map((line) => shapeOf(line, { x, smoothing, unit, limit }))
  const y = valueAxis(valuesOf(shapes, options), options.scale, options.tickCount)
  const columns = columnsOf(shapes, x, limit)
  const plotted = shapes.map((shape, i) =>
    placedOn(y, { ...shape, hasRaw: hasRaw && shape.isSmooth }, { ...columns, key: `line ${String(i)}` }),
  )
  const spec = xAxisSpecs[options.xAxis]
  return {
    xAxis: options.xAxis,
    x,
    xTicks: withEnd(spec.ticks(from, to, 6), from, spec.end(to)),
    y,
    lines: plotted.map(({ line }) => line),
    rows: columns.places.map((place, i) => rowOf(place, i, plotted)),
    events: (options.events ?? []).filter((event) => event.x >= from && event.x <= to),
    smoothing,
    isClipped: options.clipsSpikes ?? false,
  }
}

function chosenSmoothing(lines: readonly ChartLine[], wanted: number | 'auto'): number {
  if (wanted !== 'auto') return wanted
  const lengths = lines.map(({ points }) => points.reduce((sum, { count }) => sum + count, 0))
  return automaticSmoothing(Math.max(0, ...lengths))
}

export function xExtent(lines: readonly ChartLine[]): Range | null {
  const filled = lines.filter(({ points }) => points.length > 0)
  if (filled.length === 0) return null
  return [
    Math.min(...filled.map(({ points }) => points[0]?.x ?? Infinity)),
    Math.max(...filled.map(({ points }) => points.at(-1)?.endX ?? -Infinity)),
  ]
}

/**
 * Returns the ends of the x axis and the positions between them with values or gaps; if those are too many, an even
 * grid to which values are moved.
 */
function columnsOf(shapes: readonly Shape[], [from, to]: Range, limit: number) {
  const all = shapes.flatMap(({ line, dots }) => [...dots.map(({ x }) => x), ...(line.gaps ?? [])])
  const places = placesOf([from, ...all.filter((x) => x > from && x < to), to], limit)
  return { places, isGrid: places.length === limit }
}

function rowOf(x: number, i: number, plotted: readonly ReturnType<typeof placedOn>[]): PlotRow {
  const row: Record<string, PlotRow[string]> = {}
  for (const { columns } of plotted) for (const [key, values] of columns) row[key] = values[i] ?? null
  return { ...row, x }
}

interface Shaping {
  readonly x: Range
  readonly smoothing: number
  readonly unit: number
  /** Largest number of dots per line and kind. */
  readonly limit: number
}

interface Shape {
  readonly line: ChartLine
  readonly dots: readonly Dot[]
  /** Smoothed dots, one per point. */
  readonly drawn: readonly Dot[]
  readonly isSmooth: boolean
  readonly band: readonly BandPoint[]
}

function shapeOf(line: ChartLine, { x, smoothing, unit, limit }: Shaping): Shape {
  const [from, to] = visible(line.points, x)
  const points = line.points.slice(from, to)
  // Three dots show a range.
  const dots = points.reduce((sum, { count }) => sum + (count > 1 ? 3 : 1), 0)
  return {
    line,
    dots: strokes(dots <= limit ? points : mergeStretches(points, Math.max(2, Math.floor(limit / 3)))),
    drawn: smooth(line.points, smoothing, unit),
    isSmooth: smoothing > 0,
    band: line.band ?? [],
  }
}

/** Returns the slice inside a range and one more point to either side, so that lines run to the edges. */
function visible(points: readonly ChartPoint[], [from, to]: Range): readonly [number, number] {
  const first = points.findIndex(({ endX }) => endX >= from)
  const last = points.findLastIndex(({ x }) => x <= to)
  return first < 0 || last < 0 ? [0, 0] : [Math.max(0, first - 1), last + 2]
}

function valuesOf(shapes: readonly Shape[], { include = [], clipsSpikes = false }: PlotOptions) {
  const values = shapes.flatMap(({ dots, drawn, isSmooth, band }) => {
    const [from, to] = [dots[0]?.x ?? Infinity, dots.at(-1)?.x ?? -Infinity]
    const inView = ({ x }: { readonly x: number }) => x >= from && x <= to
    return [
      ...[...dots, ...(isSmooth ? drawn.filter(inView) : [])].map(({ y }) => y),
      ...band.filter(inView).flatMap(({ low, high }) => [low, high]),
    ]
  })
  return [...(clipsSpikes ? withoutSpikes(values) : values), ...include]
}

/** Keeps values within half the interpercentile range beyond the 2nd and 98th percentiles. */
function withoutSpikes(values: readonly number[]): readonly number[] {
  const sorted = values.filter((value) => Number.isFinite(value)).sort((a, b) => a - b)
  const [low = 0, high = 0] = [quantileSorted(sorted, 0.02), quantileSorted(sorted, 0.98)]
  const room = (high - low) / 2
  return sorted.filter((value) => value >= low - room && value <= high + room)
}

const maxMarks = 200

interface Columns {
  readonly key: string
  readonly places: readonly number[]
  readonly isGrid: boolean
}

/** Places a line on the axis, with its columns of the rows. */
function placedOn(
  axis: ValueAxis,
  shape: Shape & { readonly hasRaw: boolean },
  { key, places, isGrid }: Columns,
) {
  const { line, dots, drawn, isSmooth, hasRaw, band } = shape
  const gaps = (line.gaps ?? []).toSorted((a, b) => a - b)
  const read = (some: readonly Dot[]) => {
    const inside = some.map(({ x, y }) => ({ x, y: clamped(y, axis) }))
    return valuesAt(places, inside, { gaps, scale: axis.scale })
  }
  const raw = read(isGrid ? snapped(dots, places) : dots)
  const main = isSmooth ? read(drawn) : raw
  const [low, high] = [
    read(band.map(({ x, low: y }) => ({ x, y }))),
    read(band.map(({ x, high: y }) => ({ x, y }))),
  ]
  const columns: (readonly [string, readonly PlotRow[string][]])[] = [[key, main]]
  if (hasRaw) columns.push([`${key} raw`, raw])
  if (band.length > 1)
    columns.push([`${key} band`, low.map((value, i) => (value === null ? null : [value, high[i] ?? value]))])
  return {
    columns,
    line: {
      id: line.id,
      key,
      label: line.label,
      color: line.color,
      dash: line.dash,
      isBaseline: line.isBaseline ?? false,
      hasRaw,
      hasBand: band.length > 1,
      lone: main.flatMap((y, i) =>
        y !== null && (main[i - 1] ?? null) === null && (main[i + 1] ?? null) === null
          ? [{ x: places[i] ?? 0, y }]
          : [],
      ),
      clampedAt: (isSmooth ? drawn : dots)
        .flatMap(({ x, y }) => (isClamped(y, axis) ? [x] : []))
        .slice(0, maxMarks),
      gaps: gaps.slice(0, maxMarks),
      points: line.points,
      drawn,
      band,
    },
  }
}

/** Puts the baseline last, so that it is drawn above the others. */
const inOrder = (lines: readonly ChartLine[]): readonly ChartLine[] =>
  lines.toSorted((a, b) => Number(a.isBaseline ?? false) - Number(b.isBaseline ?? false))

/** Puts the baseline, which is drawn last, first for legends. */
export const inReadingOrder = (lines: readonly PlottedLine[]): readonly PlottedLine[] =>
  lines.toSorted((a, b) => Number(b.isBaseline) - Number(a.isBaseline))
