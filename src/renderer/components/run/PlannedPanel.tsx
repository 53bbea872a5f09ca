import { useCallback, useMemo } from 'react'
import { useApi } from '#renderer/hooks/api.tsx'
import { useKept } from '#renderer/hooks/kept.ts'
import { fullCsvOf, type SeriesByMetric } from '#renderer/hooks/series.ts'
import { Explained } from '../base/Help.tsx'
import { seriesLine, withBand } from '../charts/lines.ts'
import { MetricChart } from '../charts/MetricChart.tsx'
import type { ChartEvent } from '../charts/points.ts'
import { metricsOf, type PlannedChart } from './chartPlan.ts'

interface Props {
  readonly runId: string
  readonly chart: PlannedChart
  readonly byMetric: SeriesByMetric
  readonly events: readonly ChartEvent[]
  readonly height: number
  /** Of the run; further lines take the hues after it. */
  readonly color: string
}

const others = [
  'var(--run-2)',
  'var(--run-3)',
  'var(--run-4)',
  'var(--run-5)',
  'var(--run-6)',
  'var(--run-7)',
] as const

/** What was measured on the validation split is dashed, in the colour of text. */
function lookOf(
  metric: string,
  place: number,
  color: string,
): { readonly color: string; readonly dash?: string } {
  if (place === 0) return { color }
  if (metric.startsWith('eval_')) return { color: 'var(--text)', dash: '4 3' }
  const hues = others.filter((other) => other !== color)
  return { color: hues[(place - 1) % hues.length] ?? color }
}

/** The map around the lists changes with every value of any metric; they do not. */
const hasSameMembers = (before: readonly unknown[], now: readonly unknown[]): boolean =>
  before.length === now.length && before.every((item, i) => item === now[i])

/** One planned chart with its values. */
export function PlannedPanel({ runId, chart, byMetric, events, height, color }: Props) {
  const client = useApi()
  const found = [
    chart.bandMetric === undefined ? undefined : byMetric.get(chart.bandMetric)?.get(runId),
    ...chart.lines.map(({ metric }) => byMetric.get(metric)?.get(runId)),
  ]
  const series = useKept(found, hasSameMembers)
  const lines = useMemo(() => {
    const [spread, ...own] = series
    return chart.lines.map(({ metric, label }, i) => {
      const line = seriesLine({ id: metric, label, ...lookOf(metric, i, color) }, own[i])
      return i === 0 && spread !== undefined ? withBand(line, spread) : line
    })
  }, [chart, color, series])
  const fullCsv = useCallback(
    () => fullCsvOf(client, [{ id: runId, label: runId }], metricsOf([chart])),
    [client, runId, chart],
  )
  return (
    <MetricChart
      title={chart.title}
      help={<Explained name={metricsOf([chart]).join(', ')}>{chart.help}</Explained>}
      unit={chart.unit}
      better={chart.better}
      lines={lines}
      events={events}
      height={height}
      emptyText={chart.emptyText}
      hasFacts
      fullCsv={fullCsv}
      {...(chart.include === undefined ? {} : { include: chart.include })}
    />
  )
}
