/**
 * What charts draw. Reading guide: `points.ts` says what a line is; `smoothing.ts`, `reduction.ts` and `bands.ts` make
 * lines out of series; `ticks.ts` and `scales.ts` place them; `scene.ts` puts one panel together, which `RechartsPlot`,
 * `CanvasPlot`, `drawScene.ts` (PNG) and `sceneSvg.ts` (SVG, report) draw alike. `MetricChart.tsx` is the panel itself,
 * `CursorGroup.tsx` what panels share.
 */

import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'

/** One stretch of steps. */
export type SeriesPoint = OutputOf<Api, 'metrics.series'>['runs'][number]['points'][number]

/** A stretch placed on an x axis: from `x` to `endX`. */
export interface ChartPoint extends SeriesPoint {
  readonly x: number
  readonly endX: number
}

export interface BandPoint {
  readonly x: number
  readonly low: number
  readonly high: number
}

/** A place a line goes through. */
export interface Dot {
  readonly x: number
  readonly y: number
}

export interface ChartLine {
  /** Stable: that of the run, the group, or the metric. */
  readonly id: string
  readonly label: string
  /** A CSS colour, such as var(--run-1). */
  readonly color: string
  /** SVG dash pattern, such as "6 3". */
  readonly dash?: string | undefined
  /** Drawn thick, above the others. */
  readonly isBaseline?: boolean | undefined
  /** In order of x. */
  readonly points: readonly ChartPoint[]
  /** Where a value was no number: no line is drawn across. */
  readonly gaps?: readonly number[] | undefined
  /** A band around the line, in order of x. */
  readonly band?: readonly BandPoint[] | undefined
}

export type EventKind = 'resume' | 'checkpoint' | 'alarm' | 'reward' | 'setting'

/** Something that happened at a place of the x axis. */
export interface ChartEvent {
  readonly id: string
  readonly x: number
  readonly kind: EventKind
  readonly label: string
  /** That of the run, where there are several. */
  readonly color?: string | undefined
}

/** Values of single steps as points; what is no number becomes a gap. */
export function pointsOfValues(
  steps: readonly number[],
  values: readonly (number | null)[],
): { readonly points: readonly ChartPoint[]; readonly gaps: readonly number[] } {
  const points: ChartPoint[] = []
  const gaps: number[] = []
  for (const [i, step] of steps.entries()) {
    const y = values[i] ?? null
    if (y === null || !Number.isFinite(y)) gaps.push(step)
    else points.push(pointAt(step, step, y))
  }
  return { points, gaps }
}

/** A single value. */
export const pointAt = (x: number, step: number, y: number): ChartPoint => ({
  x,
  endX: x,
  step,
  lastStep: step,
  min: y,
  max: y,
  mean: y,
  last: y,
  count: 1,
})
