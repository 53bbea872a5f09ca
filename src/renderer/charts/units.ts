/** Units as shown in charts; fractions are drawn in percent. */
import { findDeclaration, type MetricDeclaration } from '#shared/metrics.ts'
import type { ChartLine } from './lines.ts'

const percent = '%'

const words: Readonly<Record<MetricDeclaration['unit'], string | undefined>> = {
  nats: 'nats',
  seconds: 's',
  tokens: 'tokens',
  'tokens/s': 'tokens/s',
  share: percent,
  ratio: undefined,
  reward: undefined,
  count: undefined,
  number: undefined,
}

/** Returns undefined if the metric has no unit, or none worth showing. */
export function unitOf(metric: string): string | undefined {
  const unit = findDeclaration(metric)?.unit
  return unit && words[unit]
}

/** Formats “Clip fraction (%)”, for places where the unit cannot stand beside the title. */
export const titleWithUnit = (title: string, unit: string | undefined): string =>
  unit === undefined ? title : `${title} (${unit})`

export const inUnit = (value: number, unit: string | undefined): number =>
  unit === percent ? 100 * value : value

export function linesInUnit(lines: readonly ChartLine[], unit: string | undefined): readonly ChartLine[] {
  if (unit !== percent) return lines
  const of = (value: number) => inUnit(value, unit)
  return lines.map((line) => ({
    ...line,
    points: line.points.map((point) => ({
      ...point,
      min: of(point.min),
      max: of(point.max),
      mean: of(point.mean),
      last: of(point.last),
    })),
    ...(line.band && { band: line.band.map(({ x, low, high }) => ({ x, low: of(low), high: of(high) })) }),
  }))
}
