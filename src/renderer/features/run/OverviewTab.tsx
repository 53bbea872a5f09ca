import { Pause, Pin, Play, RotateCcw, X, ChevronDown, ChevronRight } from 'lucide-react'
import { useCallback, useMemo, useState, type ReactNode } from 'react'
import type { Finding } from '#shared/diagnosis.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { useAnswer, useApi } from '#renderer/client/api.tsx'
import { useKeys } from '#renderer/client/keys.ts'
import { setQuery, useRoute } from '#renderer/client/route.ts'
import { useKept } from '#renderer/client/settled.ts'
import { useRunStyles, useWorkerOf, type RunEntry, type StoredEvent } from '#renderer/client/runs.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { CurveControls } from '#renderer/charts/CurveControls.tsx'
import { CursorGroup } from '#renderer/charts/CursorGroup.tsx'
import { MarkLegend } from '#renderer/charts/marks.tsx'
import { axesOf } from '#renderer/charts/axes.ts'
import { type Placement, type ChartEvent, seriesLine, withBand } from '#renderer/charts/lines.ts'
import { fullCsvOf } from '#renderer/charts/useSeries.ts'
import { MetricChart } from '#renderer/charts/MetricChart.tsx'
import { useSize } from '#renderer/charts/useSize.ts'
import { Explained } from '#renderer/kit/Tooltip.tsx'
import { useOverview, type Overview } from './useOverview.ts'
import { goToTab } from '#renderer/parts/useRun.ts'
import { chartEvents, gravestEvents } from './chartEvents.ts'
import { metricsOf, planCharts, planLearning, planLoss, type PlannedChart } from './chartPlan.ts'
import { flatValue, quieted } from './flatCharts.ts'
import { experiencesOf, type KnownAlgorithm } from '#renderer/parts/runFacts.ts'
import { RunNumbers } from './RunNumbers.tsx'
import { TimePanel, timeMetrics } from './TimePanel.tsx'

interface Props {
  readonly run: RunEntry
  readonly config: RunConfig | null
  readonly events: readonly StoredEvent[]
  /** Findings that call for action. */
  readonly findings: readonly Finding[]
}

interface Plan {
  readonly wide: readonly PlannedChart[]
  readonly small: readonly PlannedChart[]
  readonly loss: PlannedChart | null
  readonly learning: readonly PlannedChart[]
}

/** Live curves of the run: the most important at the top, constant ones in one line, the loss last. */
export function OverviewTab({ run, config, events, findings }: Props) {
  const { names, algorithms, plan, all, metrics } = usePlan(run, config)
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
  const flat = flatOf(all, plan, (metric) => byMetric.get(metric)?.get(run.id))
  const moves = (chart: PlannedChart) => !flat.some((each) => each.chart === chart)
  const panel = (chart: PlannedChart, height: number) => (
    <PlannedPanel
      key={chart.id}
      {...{ chart, overview, height, color }}
      runId={run.id}
      events={chart.size === 'wide' ? marks : grave}
    />
  )
  const small = plan.small.filter(moves)
  // The loss is shown beside the time; if it is always 0, the first of the others.
  const [beside, ...learning] = [...(plan.loss === null ? [] : [plan.loss]), ...plan.learning].filter(moves)
  return (
    <div className="flex min-w-0 flex-col gap-3 px-page py-4">
      <Head run={run} pinned={pinned} />
      <CurveBar overview={overview} names={names} marks={marks}>
        {isLiving && <LiveSwitch isPaused={isPaused} onPause={setPaused} />}
      </CurveBar>
      {overview.error !== null && <ErrorNote error={overview.error} />}
      <CursorGroup
        zoom={zoom}
        onZoom={setZoom}
        pinned={pinned === null ? null : place(pinned)}
        onPin={pin}
        isLive={isLiving}
      >
        {all.length === 0 && <Loading label="Reading the curves" shape="panels" />}
        <div className={wideGrid}>{plan.wide.map((chart) => panel(chart, 210))}</div>
        <SmallCharts>{small.map((chart) => panel(chart, 112))}</SmallCharts>
        <div className={beside === undefined ? 'grid grid-cols-1' : wideGrid}>
          <TimePanel
            runId={run.id}
            byMetric={byMetric}
            isLoaded={overview.isLoaded}
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

/** Charts of constant values with them; those at the top are drawn in any case. */
const flatOf = (all: readonly PlannedChart[], { wide }: Plan, seriesOf: Parameters<typeof flatValue>[1]) =>
  all.flatMap((chart) => {
    const value = wide.includes(chart) ? null : flatValue(chart, seriesOf)
    return value === null ? [] : [{ chart, value }]
  })

/** Charts of the run, once it is known what is measured. */
function usePlan(run: RunEntry, config: RunConfig | null) {
  const names = useAnswer('metrics.names', { runIds: [run.id] }, { keep: true }).data ?? noNames
  const { data: algorithms } = useAnswer('settings.algorithms', undefined)
  const plan = useMemo(() => planOf(names, config, algorithms), [names, config, algorithms])
  const all = useMemo(() => chartsOf(plan), [plan])
  const metrics = useMemo(() => [...metricsOf(all), ...timeMetrics], [all])
  return { names, algorithms, plan, all, metrics }
}

/** Numbers of the run, and the pinned step. */
const Head = ({ run, pinned }: Pick<Props, 'run'> & { readonly pinned: number | null }) => (
  <div className="flex min-h-7 items-start gap-x-4 gap-y-2 narrow:flex-wrap">
    <RunNumbers run={run} />
    {pinned !== null && (
      <div className="ml-auto shrink-0">
        <Pinned runId={run.id} step={pinned} />
      </div>
    )}
  </div>
)

interface LiveSwitchProps {
  readonly isPaused: boolean
  readonly onPause: (isPaused: boolean) => void
}

/** Lets the charts of a live run stand still. */
const LiveSwitch = ({ isPaused, onPause }: LiveSwitchProps) => (
  <>
    {isPaused && <Badge tone="caution">Charts stand still</Badge>}
    <IconButton
      label={isPaused ? 'Resume live charts (Space)' : 'Pause live charts (Space)'}
      pressed={isPaused}
      icon={isPaused ? Play : Pause}
      iconSize={14}
      onClick={() => onPause(!isPaused)}
    />
  </>
)

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
  /** Stands at the end of the bar. */
  readonly children: ReactNode
}

/** Display options of the curves, and a legend of their marks. */
const CurveBar = ({ overview, names, marks, children }: CurveBarProps) => (
  <div role="toolbar" aria-label="Curves" className="flex flex-wrap items-center gap-x-3 gap-y-2">
    <CurveControls
      look={overview.look}
      axes={axesOf(names)}
      smoothing={overview.look.smoothing}
      onChange={overview.setLook}
    />
    {overview.zoom !== null && (
      <Button variant="quiet" icon={RotateCcw} iconSize={13} onClick={() => overview.setZoom(null)}>
        Whole length
      </Button>
    )}
    <span className="ml-auto flex flex-wrap items-center gap-2">
      <MarkLegend events={marks} />
      {children}
    </span>
  </div>
)

/** Returns the same list while its contents are equal: most updates of a run change no mark, and every chart reads them. */
function useMarks(
  { parentRunId, parentCheckpointStep, settingChanges: changes }: RunEntry,
  events: readonly StoredEvent[],
  findings: readonly Finding[],
  place: Placement,
): readonly ChartEvent[] {
  const settingChanges = useKept(changes)
  const marks = useMemo(
    () =>
      chartEvents({ run: { parentRunId, parentCheckpointStep, settingChanges }, events, findings })
        .map((mark) => ({ ...mark, x: place(mark.x) }))
        .filter(({ x }) => Number.isFinite(x)),
    [parentRunId, parentCheckpointStep, settingChanges, events, findings, place],
  )
  return useKept(marks)
}

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
  // A single chart at the top leaves room for it, and it says a lot in learning from answers.
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
      icon={X}
      iconSize={12}
      onClick={() => setQuery({ step: null })}
    />
  </span>
)

interface PlannedPanelProps {
  readonly runId: string
  readonly chart: PlannedChart
  readonly overview: Overview
  readonly events: readonly ChartEvent[]
  readonly height: number
  /** Colour of the run; further lines take the hues after it. */
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

/** Returns the look of a line; validation metrics are dashed, in the text colour. */
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

/** Compares members, since the map around the lists changes with every value of any metric. */
const hasSameMembers = (before: readonly unknown[], now: readonly unknown[]): boolean =>
  before.length === now.length && before.every((item, i) => item === now[i])

function PlannedPanel(props: PlannedPanelProps) {
  const { runId, chart, overview, events, height, color } = props
  const { byMetric, isLoaded, look, place, range } = overview
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
      emptyText={isLoaded ? chart.emptyText : ''}
      hasFacts
      fullCsv={fullCsv}
      {...(chart.include === undefined ? {} : { include: chart.include })}
    />
  )
}

const maxBeside = 5
/** Smallest width of a chart whose head stands on one line, in px. */
const narrowest = 256
const gap = 12

/** Arranges charts in full-width rows of about equal counts. */
function SmallCharts({ children }: { children: readonly ReactNode[] }) {
  const { size, setElement } = useSize()
  if (children.length === 0) return null
  const fitting = Math.floor(((size?.width ?? 0) + gap) / (narrowest + gap))
  const most = Math.max(1, Math.min(maxBeside, fitting))
  const beside = Math.ceil(children.length / Math.ceil(children.length / most))
  return (
    <div ref={setElement} className="flex flex-wrap gap-3">
      {children.map((child, i) => (
        <div
          key={i}
          className="flex min-w-0 grow [&>*]:grow"
          style={{ flexBasis: `calc(${String(100 / beside)}% - ${String(gap)}px)` }}
        >
          {child}
        </div>
      ))}
    </div>
  )
}

interface FlatChartsProps {
  readonly flat: readonly { readonly chart: PlannedChart; readonly value: string }[]
  readonly children: (chart: PlannedChart) => ReactNode
}

/** Lists constant charts with names and values in one line, drawn on request. */
function FlatCharts({ flat, children }: FlatChartsProps) {
  const [isOpen, setOpen] = useState(false)
  if (flat.length === 0) return null
  const Chevron = isOpen ? ChevronDown : ChevronRight
  return (
    <section aria-label="Flat charts" className="flex min-w-0 flex-col gap-3">
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        className="flex min-h-9 flex-wrap items-center gap-x-4 rounded border border-line py-1 pr-3 pl-2 text-left hover:bg-panel"
      >
        <span className="inline-flex items-center gap-1.5 text-muted">
          <Chevron size={14} aria-hidden className="text-faint" />
          Flat:
        </span>
        {flat.map(({ chart, value }) => (
          <span key={chart.id} className="inline-flex items-baseline gap-1.5">
            {chart.title}
            <span className="font-mono text-sm text-muted tabular-nums">
              {value}
              {chart.unit !== undefined && ` ${chart.unit}`}
            </span>
          </span>
        ))}
      </button>
      {isOpen && <SmallCharts>{flat.map(({ chart }) => children(chart))}</SmallCharts>}
    </section>
  )
}
