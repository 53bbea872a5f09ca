import { Pause, Pin, Play, X } from 'lucide-react'
import { useCallback, useMemo, useState, type ReactNode } from 'react'
import type { Finding } from '#shared/diagnosis.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { useAnswer } from '#renderer/hooks/api.tsx'
import { useKept } from '#renderer/hooks/kept.ts'
import { useKeys } from '#renderer/hooks/keys.ts'
import { setQuery, useRoute } from '#renderer/hooks/route.ts'
import { goToTab } from '#renderer/hooks/run.ts'
import { useRunStyles, useWorkerOf, type RunEntry, type StoredEvent } from '#renderer/hooks/runs.ts'
import { useSeries } from '#renderer/hooks/series.ts'
import { Badge } from '../base/Badge.tsx'
import { Button, IconButton } from '../base/Button.tsx'
import { classes } from '../base/classes.ts'
import { ErrorNote } from '../base/states.tsx'
import { CursorGroup } from '../charts/CursorGroup.tsx'
import type { ChartEvent } from '../charts/points.ts'
import { chartEvents, gravestEvents } from './chartEvents.ts'
import { metricsOf, planCharts, planLearning, planLoss, type PlannedChart } from './chartPlan.ts'
import { PlannedPanel } from './PlannedPanel.tsx'
import { learningKinds } from './runFacts.ts'
import { RunNumbers } from './RunNumbers.tsx'
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

/** The run in curves, live: what matters most at the top, the loss last. */
export function OverviewTab({ run, config, events, findings }: Props) {
  const { query } = useRoute()
  const names = useAnswer('metrics.names', { runIds: [run.id] }, { keep: true }).data
  const plan = useMemo(() => planOf(names ?? [], config), [names, config])
  const [isPaused, setPaused] = useState(false)
  const [zoom, setZoom] = useState<readonly [number, number] | null>(null)
  const all = [...plan.wide, ...plan.small, ...plan.learning, ...(plan.loss ? [plan.loss] : [])]
  const metrics = [...metricsOf(all), ...timeMetrics]
  const { byMetric, error } = useSeries({ runIds: [run.id], metrics, zoom, isPaused })
  const marks = useMarks(run, events, findings)
  const pinned = numberOf(query.get('step'))
  const color = useRunStyles()(run.id).color
  const isLiving = useWorkerOf(run.id) !== undefined
  useKeys({ pauseCharts: () => setPaused(!isPaused) })
  const grave = useMemo(() => gravestEvents(marks), [marks])
  const pin = useCallback(
    (_x: number, step: number) => setQuery({ step: step === pinned ? null : String(step) }),
    [pinned],
  )
  const panel = (chart: PlannedChart, height: number) => (
    <PlannedPanel
      key={chart.id}
      runId={run.id}
      chart={chart}
      byMetric={byMetric}
      events={chart.size === 'wide' ? marks : grave}
      height={height}
      color={color}
    />
  )
  return (
    <div className="flex min-w-0 flex-col gap-3 px-8 py-4">
      <div className="flex min-h-7 items-center gap-4">
        <RunNumbers run={run} byMetric={byMetric} />
        <div className="ml-auto flex shrink-0 items-center gap-2">
          {pinned !== null && <Pinned runId={run.id} step={pinned} />}
          {isPaused && isLiving && <Badge tone="caution">Charts stand still</Badge>}
          {zoom !== null && (
            <Button small onClick={() => setZoom(null)}>
              Show all steps
            </Button>
          )}
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
      {error !== null && <ErrorNote error={error} />}
      <CursorGroup zoom={zoom} onZoom={setZoom} pinned={pinned} onPin={pin} isLive={isLiving}>
        <div className="grid grid-cols-1 gap-3 min-[900px]:grid-cols-[minmax(0,7fr)_minmax(0,5fr)]">
          {plan.wide.map((chart) => panel(chart, 210))}
        </div>
        <SmallCharts>{plan.small.map((chart) => panel(chart, 112))}</SmallCharts>
        <div
          className={classes(
            'grid grid-cols-1 gap-3',
            plan.loss !== null && 'min-[900px]:grid-cols-[minmax(0,7fr)_minmax(0,5fr)]',
          )}
        >
          <TimePanel
            runId={run.id}
            byMetric={byMetric}
            isGenerating={config !== null && learningKinds(config).includes('rewards')}
          />
          {plan.loss !== null && panel(plan.loss, 150)}
        </div>
        <SmallCharts>{plan.learning.map((chart) => panel(chart, 96))}</SmallCharts>
      </CursorGroup>
    </div>
  )
}

/** The same list as long as it says the same: most news of a run change no mark, and every chart reads them. */
function useMarks(
  { parentRunId, parentCheckpointStep }: RunEntry,
  events: readonly StoredEvent[],
  findings: readonly Finding[],
): readonly ChartEvent[] {
  const marks = useMemo(
    () => chartEvents({ run: { parentRunId, parentCheckpointStep }, events, findings }),
    [parentRunId, parentCheckpointStep, events, findings],
  )
  return useKept(marks, looksTheSame)
}

const looksTheSame = (before: readonly ChartEvent[], now: readonly ChartEvent[]): boolean =>
  JSON.stringify(before) === JSON.stringify(now)

const mostBeside = 5

/** Rows of about equally many, each as wide as the page. */
function SmallCharts({ children }: { children: readonly ReactNode[] }) {
  if (children.length === 0) return null
  const beside = Math.ceil(children.length / Math.ceil(children.length / mostBeside))
  return (
    <div className="flex flex-wrap gap-3">
      {children.map((child, i) => (
        <div
          key={i}
          className="flex min-w-40 grow [&>*]:grow"
          style={{ flexBasis: `calc(${String(100 / beside)}% - 12px)` }}
        >
          {child}
        </div>
      ))}
    </div>
  )
}

const numberOf = (text: string | null): number | null =>
  text === null || text === '' || Number.isNaN(Number(text)) ? null : Number(text)

function planOf(names: readonly string[], config: RunConfig | null): Plan {
  if (config === null) return { wide: [], small: [], loss: null, learning: [] }
  const hasEvaluation = config.data.heldOut !== null
  const facts = {
    kinds: learningKinds(config),
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
