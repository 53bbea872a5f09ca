import { useCallback, useMemo } from 'react'
import { useApi } from '#renderer/client/api.tsx'
import type { Overview } from './useOverview.ts'
import { useKept } from './useKept.ts'
import { fullCsvOf, type SeriesByMetric } from '#renderer/charts/useSeries.ts'
import { Explained } from '#renderer/kit/Help.tsx'
import { seriesLine, withBand } from '#renderer/charts/lines.ts'
import { MetricChart } from '#renderer/charts/MetricChart.tsx'
import type { ChartEvent } from '#renderer/charts/points.ts'
import type { Range } from '#renderer/charts/scene.ts'
import type { Placement } from '#renderer/charts/xAxes.ts'
import { metricsOf, type PlannedChart } from './chartPlan.ts'
import { quieted } from './flatCharts.ts'

interface Props {
  readonly runId: string
  readonly chart: PlannedChart
  readonly byMetric: SeriesByMetric
  readonly events: readonly ChartEvent[]
  readonly height: number
  /** Of the run; further lines take the hues after it. */
  readonly color: string
  readonly look: Overview['look']
  readonly place: Placement
  readonly range: Range | null
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
export function PlannedPanel(props: Props) {
  const { runId, chart, byMetric, events, height, color, look, place, range } = props
  const client = useApi()
  const found = [
    chart.bandMetric === undefined ? undefined : byMetric.get(chart.bandMetric)?.get(runId),
    ...chart.lines.map(({ metric }) => byMetric.get(metric)?.get(runId)),
  ]
  const series = useKept(found, hasSameMembers)
  const lines = useMemo(() => {
    const [spread, ...own] = series
    return chart.lines.map(({ metric, label }, i) => {
      const style = { id: metric, label, ...lookOf(metric, i, color) }
      const line = seriesLine(style, quieted(own[i], chart.noise), place)
      return i === 0 && spread !== undefined ? withBand(line, spread, place) : line
    })
  }, [chart, color, series, place])
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
      xAxis={look.x}
      smoothing={look.smoothing}
      scale={look.scale}
      xRange={range}
      events={events}
      height={height}
      emptyText={chart.emptyText}
      hasFacts
      fullCsv={fullCsv}
      {...(chart.include === undefined ? {} : { include: chart.include })}
    />
  )
}
