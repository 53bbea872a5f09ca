import { Pause, Pin, Play, RotateCcw, X } from 'lucide-react'
import { useCallback, useMemo, useState } from 'react'
import type { Finding } from '#shared/diagnosis.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { useAnswer } from '#renderer/client/api.tsx'
import { useKept } from './useKept.ts'
import { useKeys } from '#renderer/client/keys.ts'
import { useOverview, type Overview } from './useOverview.ts'
import { setQuery, useRoute } from '#renderer/client/route.ts'
import { goToTab } from './useRun.ts'
import { useRunStyles, useWorkerOf, type RunEntry, type StoredEvent } from '#renderer/client/runs.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { ErrorNote } from '#renderer/kit/states.tsx'
import { CurveControls } from '#renderer/charts/CurveControls.tsx'
import { CursorGroup } from '#renderer/charts/CursorGroup.tsx'
import { MarkLegend } from '#renderer/charts/MarkLegend.tsx'
import type { ChartEvent } from '#renderer/charts/points.ts'
import { axesOf, type Placement } from '#renderer/charts/xAxes.ts'
import { chartEvents, gravestEvents } from './chartEvents.ts'
import { metricsOf, planCharts, planLearning, planLoss, type PlannedChart } from './chartPlan.ts'
import { flatValue } from './flatCharts.ts'
import { PlannedPanel } from './PlannedPanel.tsx'
import { experiencesOf, type KnownAlgorithm } from './runFacts.ts'
import { RunNumbers } from './RunNumbers.tsx'
import { FlatCharts, SmallCharts } from './SmallCharts.tsx'
import { TimePanel, timeMetrics } from './TimePanel.tsx'

interface Props {
  readonly run: RunEntry
  readonly config: RunConfig | null
  readonly events: readonly StoredEvent[]
  /** That call for action. */
  readonly findings: readonly Finding[]
}

interface Plan {
  readonly wide: readonly PlannedChart[]
  readonly small: readonly PlannedChart[]
  readonly loss: PlannedChart | null
  readonly learning: readonly PlannedChart[]
}

/** The run in curves, live: what matters most at the top, what never moves in one line, the loss last. */
export function OverviewTab({ run, config, events, findings }: Props) {
  const names = useAnswer('metrics.names', { runIds: [run.id] }, { keep: true }).data ?? noNames
  const { data: algorithms } = useAnswer('settings.algorithms', undefined)
  const plan = useMemo(() => planOf(names, config, algorithms), [names, config, algorithms])
  const all = useMemo(() => chartsOf(plan), [plan])
  const metrics = useMemo(() => [...metricsOf(all), ...timeMetrics], [all])
  const [isPaused, setPaused] = useState(false)
  const overview = useOverview({ run, names, metrics, isPaused })
  const { byMetric, zoom, setZoom, place } = overview
  const marks = useMarks(run, events, findings, place)
  const pinned = numberOf(useRoute().query.get('step'))
  const color = useRunStyles()(run.id).color
  const isLiving = useWorkerOf(run.id) !== undefined
  useKeys({ pauseCharts: () => setPaused(!isPaused) })
  const grave = useMemo(() => gravestEvents(marks), [marks])
  const pin = useCallback(
    (_x: number, step: number) => setQuery({ step: step === pinned ? null : String(step) }),
    [pinned],
  )
  const flat = all.flatMap((chart) => {
    const value = plan.wide.includes(chart)
      ? null
      : flatValue(chart, (metric) => byMetric.get(metric)?.get(run.id))
    return value === null ? [] : [{ chart, value }]
  })
  const moves = (chart: PlannedChart) => !flat.some((each) => each.chart === chart)
  const panel = (chart: PlannedChart, height: number) => (
    <PlannedPanel
      key={chart.id}
      runId={run.id}
      chart={chart}
      byMetric={byMetric}
      events={chart.size === 'wide' ? marks : grave}
      height={height}
      color={color}
      look={overview.look}
      place={place}
      range={overview.range}
    />
  )
  const small = plan.small.filter(moves)
  // Beside the time stands the loss; where that is 0 all along, the first of the others.
  const [beside, ...learning] = [...(plan.loss === null ? [] : [plan.loss]), ...plan.learning].filter(moves)
  return (
    <div className="flex min-w-0 flex-col gap-3 px-page py-4">
      <div className="flex min-h-7 flex-wrap items-center gap-x-4 gap-y-2">
        <RunNumbers run={run} byMetric={byMetric} />
        <div className="ml-auto flex items-center gap-2">
          {pinned !== null && <Pinned runId={run.id} step={pinned} />}
          {isPaused && isLiving && <Badge tone="caution">Charts stand still</Badge>}
          {isLiving && (
            <IconButton
              label={isPaused ? 'Let the charts go on (Space)' : 'Pause live charts (Space)'}
              pressed={isPaused}
              icon={isPaused ? <Play size={14} aria-hidden /> : <Pause size={14} aria-hidden />}
              onClick={() => setPaused(!isPaused)}
            />
          )}
        </div>
      </div>
      <CurveBar overview={overview} names={names} marks={marks} />
      {overview.error !== null && <ErrorNote error={overview.error} />}
      <CursorGroup
        zoom={zoom}
        onZoom={setZoom}
        pinned={pinned === null ? null : place(pinned)}
        onPin={pin}
        isLive={isLiving}
      >
        <div className={wideGrid}>{plan.wide.map((chart) => panel(chart, 210))}</div>
        <SmallCharts>{small.map((chart) => panel(chart, 112))}</SmallCharts>
        <div className={beside === undefined ? 'grid grid-cols-1' : wideGrid}>
          <TimePanel
            runId={run.id}
            byMetric={byMetric}
            isGenerating={config !== null && experiencesOf(config, algorithms ?? []).includes('rollout')}
          />
          {beside !== undefined && panel(beside, 150)}
        </div>
        <SmallCharts>{learning.map((chart) => panel(chart, 96))}</SmallCharts>
        <FlatCharts flat={flat}>{(chart) => panel(chart, 96)}</FlatCharts>
      </CursorGroup>
    </div>
  )
}

const noNames: readonly string[] = []
const wideGrid = 'grid grid-cols-1 gap-3 min-[900px]:grid-cols-[minmax(0,7fr)_minmax(0,5fr)]'

const chartsOf = ({ wide, small, learning, loss }: Plan): readonly PlannedChart[] => [
  ...wide,
  ...small,
  ...(loss === null ? [] : [loss]),
  ...learning,
]

interface CurveBarProps {
  readonly overview: Overview
  readonly names: readonly string[]
  readonly marks: readonly ChartEvent[]
}

/** How the curves are looked at, and what the marks in them mean. */
const CurveBar = ({ overview: { look, setLook, zoom, setZoom }, names, marks }: CurveBarProps) => (
  <div role="toolbar" aria-label="Curves" className="flex flex-wrap items-center gap-x-3 gap-y-2">
    <CurveControls look={look} axes={axesOf(names)} smoothing={look.smoothing} onChange={setLook} />
    {zoom !== null && (
      <Button variant="quiet" icon={<RotateCcw size={13} aria-hidden />} onClick={() => setZoom(null)}>
        Whole length
      </Button>
    )}
    <span className="ml-auto">
      <MarkLegend events={marks} />
    </span>
  </div>
)

/** The same list as long as it says the same: most news of a run change no mark, and every chart reads them. */
function useMarks(
  { parentRunId, parentCheckpointStep }: RunEntry,
  events: readonly StoredEvent[],
  findings: readonly Finding[],
  place: Placement,
): readonly ChartEvent[] {
  const marks = useMemo(
    () =>
      chartEvents({ run: { parentRunId, parentCheckpointStep }, events, findings })
        .map((mark) => ({ ...mark, x: place(mark.x) }))
        .filter(({ x }) => Number.isFinite(x)),
    [parentRunId, parentCheckpointStep, events, findings, place],
  )
  return useKept(marks, looksTheSame)
}

const looksTheSame = (before: readonly ChartEvent[], now: readonly ChartEvent[]): boolean =>
  JSON.stringify(before) === JSON.stringify(now)

const numberOf = (text: string | null): number | null =>
  text === null || text === '' || Number.isNaN(Number(text)) ? null : Number(text)

function planOf(
  names: readonly string[],
  config: RunConfig | null,
  algorithms: readonly KnownAlgorithm[] | undefined,
): Plan {
  if (config === null || algorithms === undefined) return { wide: [], small: [], loss: null, learning: [] }
  const hasEvaluation = config.data.heldOut !== null
  const facts = {
    kinds: experiencesOf(config, algorithms),
    evaluationEvery: hasEvaluation ? config.evaluation.every : null,
  }
  const charts = planCharts(names, facts)
  const wide = charts.filter(({ size }) => size === 'wide')
  const loss = planLoss(names, facts)
  // Beside a lone chart at the top there is room for it; learning from answers it says a lot.
  const isLossFirst = wide.length % 2 === 1 && loss !== null
  return {
    wide: isLossFirst ? [...wide, loss] : wide,
    small: charts.filter(({ size }) => size === 'small'),
    loss: isLossFirst ? null : loss,
    learning: planLearning(names, facts),
  }
}

const Pinned = ({ runId, step }: { runId: string; step: number }) => (
  <span className="inline-flex items-center gap-1 rounded border border-line bg-panel pl-2 text-sm">
    <Pin size={12} aria-hidden className="text-accent-ink" />
    <span className="tabular-nums">Step {step}</span>
    <Button small variant="quiet" onClick={() => goToTab(runId, 'samples', { step: String(step) })}>
      Show its samples
    </Button>
    <IconButton
      small
      label="Unpin the step"
      icon={<X size={12} aria-hidden />}
      onClick={() => setQuery({ step: null })}
    />
  </span>
)
