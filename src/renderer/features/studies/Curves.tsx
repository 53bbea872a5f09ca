import { useMemo } from 'react'
import type { StudyEntry, StudyTrial } from '#shared/api/studies.ts'
import { findDeclaration, metricLabel } from '#shared/metrics.ts'
import { bandOf } from '#renderer/charts/curves.ts'
import { CursorGroup } from '#renderer/charts/CursorGroup.tsx'
import { seriesLine, type ChartLine, type Series } from '#renderer/charts/lines.ts'
import { MetricChart } from '#renderer/charts/MetricChart.tsx'
import { unitOf } from '#renderer/charts/units.ts'
import { useSeries } from '#renderer/charts/useSeries.ts'
import { useRunStyles } from '#renderer/client/runs.ts'
import { useKept } from '#renderer/client/settled.ts'
import { Explained } from '#renderer/kit/Tooltip.tsx'
import { lineId } from '#renderer/parts/lineage.ts'
import { trialTitle } from '#renderer/parts/studyWords.ts'

/** Limit of the host per read. */
const maxRuns = 64
/** Number of points per curve, so that all together draw within a few frames. */
const pointsFor = (runs: number): number => Math.max(120, Math.min(400, Math.floor(3000 / Math.max(1, runs))))

/** Returns the trials shown: the newest that have started. */
export const shownTrials = ({ trials }: StudyEntry) =>
  trials.filter(({ runId }) => runId !== null).slice(-maxRuns)

/** Plots a metric of all trials over steps. */
export function Curves({ study, metric }: { readonly study: StudyEntry; readonly metric: string }) {
  const styleOf = useRunStyles()
  const named = useKept(
    shownTrials(study).map((trial) => ({
      id: lineId(trial),
      label: trialTitle(study, trial),
      parent: parentOf(study, trial),
    })),
  )
  const runIds = useMemo(() => named.map(({ id }) => id), [named])
  const { byMetric, error } = useSeries({ runIds, metrics: [metric], maxPoints: pointsFor(runIds.length) })
  const series = byMetric.get(metric)
  const isSeeds = study.search.kind === 'seeds'
  const { lines, others } = useMemo(() => {
    const curves = curvesOf(named, series, styleOf)
    return isSeeds ? { ...curves, lines: [...curves.lines, meanOf(curves.lines)] } : curves
  }, [named, series, styleOf, isSeeds])
  const declaration = findDeclaration(metric)
  const range = useMemo(() => [0, study.steps] as const, [study.steps])
  return (
    <CursorGroup isLive={study.status === 'running'}>
      <MetricChart
        title={metricLabel(metric)}
        unit={unitOf(metric)}
        better={declaration?.better ?? 'none'}
        help={declaration && <Explained name={metric}>{declaration.explanation}</Explained>}
        lines={lines}
        others={others}
        xRange={range}
        hasLegend={false}
        hasFacts={false}
        emptyText={error?.message ?? 'The first values come with the first step.'}
        className="grow"
      />
    </CursorGroup>
  )
}

/** Mean over runs that differ only in their seed, with its 95 % interval. */
function meanOf(lines: readonly ChartLine[]): ChartLine {
  const dots = lines.map(({ points }) => points.map(({ endX, mean }) => ({ x: endX, y: mean })))
  return { id: 'mean', label: 'Mean', color: 'var(--text)', isBaseline: true, ...bandOf(dots, 'interval') }
}

interface NamedTrial {
  readonly id: string
  readonly label: string
  readonly parent: { readonly id: string; readonly step: number } | null
}

function parentOf({ trials }: StudyEntry, { parent }: StudyTrial): NamedTrial['parent'] {
  const trial = trials[parent?.index ?? -1]
  return trial === undefined || parent === null ? null : { id: lineId(trial), step: parent.step }
}

/** Returns a line for each run, and for clones a second one that includes their ancestors. */
function curvesOf(
  named: readonly NamedTrial[],
  series: ReadonlyMap<string, Series> | undefined,
  styleOf: ReturnType<typeof useRunStyles>,
) {
  const byId = new Map(named.map((trial) => [trial.id, trial]))
  const lineOf = ({ id, label }: NamedTrial) => seriesLine({ id, label, ...styleOf(id) }, series?.get(id))
  const whole = (trial: NamedTrial): ChartLine => {
    const own = lineOf(trial)
    const before = trial.parent === null ? undefined : byId.get(trial.parent.id)
    if (trial.parent === null || before === undefined) return own
    const { step } = trial.parent
    return {
      ...own,
      points: [...whole(before).points.filter(({ lastStep }) => lastStep <= step), ...own.points],
    }
  }
  return { lines: named.map(lineOf), others: named.filter(({ parent }) => parent !== null).map(whole) }
}
