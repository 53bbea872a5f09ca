import type { Answer } from '#renderer/client/api.tsx'
import { useMemo } from 'react'
import { declarationOf, metricLabel, type MetricName } from '#shared/metrics.ts'
import { navigate } from '#renderer/client/route.ts'
import { goToTab } from '#renderer/parts/useRun.ts'
import { useRunStyles, type RunEntry } from '#renderer/client/runs.ts'
import { useSeries } from '#renderer/charts/useSeries.ts'
import { CursorGroup } from '#renderer/charts/CursorGroup.tsx'
import { seriesLine, type ChartEvent } from '#renderer/charts/lines.ts'
import { MetricChart } from '#renderer/charts/MetricChart.tsx'
import { Explained } from '#renderer/kit/Tooltip.tsx'

export type CheckpointItem = Answer<'checkpoints.list'>[number]

interface Props {
  readonly run: RunEntry
  readonly checkpoints: readonly CheckpointItem[]
  readonly metric: string
}

/** Shows checkpoints along the run, over the score that ranks them. */
export function CheckpointTimeline({ run, checkpoints, metric }: Props) {
  const color = useRunStyles()(run.id).color
  const { byMetric } = useSeries({ runIds: [run.id], metrics: [metric] })
  const series = byMetric.get(metric)?.get(run.id)
  const lines = useMemo(
    () => [seriesLine({ id: metric, label: metricLabel(metric), color }, series)],
    [metric, color, series],
  )
  const events = useMemo(
    () =>
      checkpoints.map(({ step, isBest }): ChartEvent => ({
        id: String(step),
        x: step,
        kind: 'checkpoint',
        ...(isBest ? { color: 'var(--good)' } : {}),
        label: isBest ? `Checkpoint ${String(step)}, best` : `Checkpoint ${String(step)}`,
      })),
    [checkpoints],
  )
  const { better, explanation } = declarationOf(metric as MetricName)
  return (
    <CursorGroup
      onPin={(_x, step) => goToTab(run.id, 'samples', { step: String(step), source: 'evaluation' })}
    >
      <MetricChart
        {...{ better, lines, events }}
        title={`${metricLabel(metric)} and checkpoints`}
        help={<Explained name={metric}>{explanation}</Explained>}
        height={130}
        emptyText="No eval reward was measured, so checkpoints are ranked by age alone."
        menu={[{ label: 'Show the run', run: () => navigate(`/runs/${run.id}/overview`) }]}
      />
    </CursorGroup>
  )
}
