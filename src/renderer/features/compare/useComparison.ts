/** Everything a comparison shows, from the runs and options in the address. */
import { useCallback, useMemo } from 'react'
import { marksOf, metricLines, placements, stepsOfZoom, type ComparedRun, type LineSource } from './data.ts'
import { groupRuns } from './groups.ts'
import { betterOf, measure, seedMeans } from './measures.ts'
import { differingKeys } from './settingDiff.ts'
import { panelsOf, parseState, shownBand, stateQuery, type CompareState } from './state.ts'
import { automaticSmoothing } from '#renderer/charts/curves.ts'
import { metricsOfAxis } from '#renderer/charts/axes.ts'
import type { Placement } from '#renderer/charts/lines.ts'
import { useSeries, type SeriesByMetric } from '#renderer/charts/useSeries.ts'
import { runTitle } from '#renderer/client/words.ts'
import { useAnswer } from '#renderer/client/api.tsx'
import { useEvents, useRecords, useSettingsOf, useTails } from './useCompared.ts'
import { navigate, useRoute } from '#renderer/client/route.ts'
import { useKept } from '#renderer/client/settled.ts'
import { useHasRuns, useRunFacts, useRunStyles, type RunEntry } from '#renderer/client/runs.ts'

/** Returns the comparison in the address and its setter. */
export function useCompareState(): readonly [CompareState, (changes: Partial<CompareState>) => void] {
  const { query } = useRoute()
  const state = useMemo(() => parseState(query), [query])
  const change = useCallback(
    (changes: Partial<CompareState>) =>
      // Read again, since several changes may come before the next render.
      navigate(
        '/runs/compare',
        stateQuery({ ...parseState(new URLSearchParams(location.hash.split('?', 2)[1])), ...changes }),
        {
          replace: true,
        },
      ),
    [],
  )
  return [state, change]
}

/** Picks the facts of a run that no step changes. */
const factsOf = ({ id, name, algorithmTitle, seed, status, steps, parentCheckpointStep }: RunEntry) => ({
  id,
  name,
  algorithmTitle,
  seed,
  status,
  steps,
  parentCheckpointStep,
})
type RunFacts = ReturnType<typeof factsOf>

export interface ListedRun extends ComparedRun {
  readonly entry: RunFacts
  readonly isHidden: boolean
  readonly value: number | null
}

export type Comparison = ReturnType<typeof useComparison>

/** Returns the resolution needed to draw each series. */
const pointsFor = (runs: number): number => Math.max(120, Math.min(400, Math.floor(3000 / Math.max(1, runs))))

export function useComparison(state: CompareState) {
  const { entries, runIds, isLoaded } = useChosenRuns(state.runIds)
  const curves = useCurves(state, entries, runIds)
  const { series, metric, placed, shownMetrics, smoothing } = curves
  const styleOf = useRunStyles()
  const listed = useMemo(
    () => entries.map((entry) => listedRun(entry, { state, styleOf, metric, byMetric: series.byMetric })),
    [entries, state, styleOf, metric, series.byMetric],
  )
  const visible = useMemo(() => listed.filter(({ isHidden }) => !isHidden), [listed])
  const facts = useFacts(runIds, visible, state.group)
  const marks = useMarksOf(state.hasMarks, runIds, visible, placed)
  const { groups } = facts
  // Live runs are updated more often than their lines are drawn.
  const runs = useKept(visible.map(({ id, label, style, isBaseline }) => ({ id, label, style, isBaseline })))
  const keptGroups = useKept(groups)
  const band = shownBand(state)
  const lines = useMemo(() => {
    const source: LineSource = { runs, placements: placed, groups: keptGroups, band, smoothing }
    return new Map(shownMetrics.map((name) => [name, metricLines(series.byMetric.get(name), source)]))
  }, [runs, placed, keptGroups, band, smoothing, shownMetrics, series.byMetric])
  const stepsOf = (id: string) => lastStepOf(series.byMetric, id)
  const hasBaseline = visible.some(({ isBaseline }) => isBaseline)
  const tails = useTails(hasBaseline ? visible.map(({ id }) => ({ id, steps: stepsOf(id) })) : [], metric)
  const valueOf = useCallback(
    (runId: string, name: string) =>
      measure(series.byMetric.get(name)?.get(runId)?.points ?? [], state.statistic, betterOf(name)),
    [series.byMetric, state.statistic],
  )
  const means = metric === null ? [] : seedMeans(facts.seedGroups, (runId) => valueOf(runId, metric), stepsOf)
  return { ...curves, ...facts, isLoaded, listed, visible, marks, lines, tails, valueOf, stepsOf, means }
}

/** Returns the existing runs among those of the address, in its order. */
function useChosenRuns(wanted: readonly string[]) {
  const entries = useRunFacts(wanted, factsOf)
  const runIds = useKept(entries.map(({ id }) => id))
  return { entries, runIds, isLoaded: useHasRuns() }
}

/** Returns the series of the panels, and their placement along the axis. */
function useCurves(state: CompareState, entries: readonly RunFacts[], runIds: readonly string[]) {
  const { data: known } = useAnswer('metrics.names', { runIds }, { enabled: runIds.length > 0, keep: true })
  const names = known ?? noNames
  const panels = useMemo(() => state.panels ?? panelsOf(names), [state.panels, names])
  const metric = state.metric ?? panels[0] ?? null
  const shownMetrics = useMemo(
    () => [...new Set([...panels, ...(metric === null ? [] : [metric])])],
    [panels, metric],
  )
  const along = useSeries({ runIds, metrics: metricsOfAxis[state.x] })
  const placed = useMemo(() => placements(state.x, runIds, along.byMetric), [state.x, runIds, along.byMetric])
  const zoom = useMemo(
    () => (state.zoom === null ? null : stepsOfZoom(state.zoom, entries, placed)),
    [state.zoom, entries, placed],
  )
  const series = useSeries({ runIds, metrics: shownMetrics, zoom, maxPoints: pointsFor(runIds.length) })
  return {
    names,
    panels,
    metric,
    shownMetrics,
    placed,
    series,
    smoothing:
      state.smoothing === 'auto' ? automaticSmoothing(longestOf(series.byMetric, runIds)) : state.smoothing,
    hasNames: known !== undefined,
    hasSeries: series.isLoaded && along.isLoaded,
    error: series.error ?? along.error,
  }
}

function useFacts(runIds: readonly string[], visible: readonly ListedRun[], group: string | null) {
  const records = useRecords(runIds)
  const settings = useSettingsOf(records)
  const labelled = useMemo(
    () =>
      visible.flatMap(({ id, label }) => {
        const own = settings.get(id)
        return own ? [{ id, label, settings: own }] : []
      }),
    [visible, settings],
  )
  const keys = useMemo(() => differingKeys(labelled.map((run) => run.settings)), [labelled])
  const seedGroups = useMemo(() => groupRuns(labelled, 'seed'), [labelled])
  const groups = useMemo(() => (group === null ? null : groupRuns(labelled, group)), [labelled, group])
  return { records, settings, keys, seedGroups, groups }
}

function useMarksOf(
  hasMarks: boolean,
  runIds: readonly string[],
  visible: readonly ListedRun[],
  placed: ReadonlyMap<string, Placement>,
) {
  const events = useEvents(runIds, hasMarks)
  return useMemo(() => {
    if (!hasMarks) return []
    const sources = visible.map(({ id, label, style, entry }) => ({
      id,
      label,
      color: style.color,
      parentStep: entry.parentCheckpointStep,
      events: events.get(id) ?? [],
    }))
    return marksOf(sources, placed)
  }, [hasMarks, visible, events, placed])
}

const noNames: readonly string[] = []

const lastStepOf = (byMetric: SeriesByMetric, runId: string): number =>
  Math.max(0, ...[...byMetric.values()].map((runs) => runs.get(runId)?.points.at(-1)?.lastStep ?? 0))

const longestOf = (byMetric: SeriesByMetric, runIds: readonly string[]): number =>
  Math.max(0, ...runIds.map((id) => lastStepOf(byMetric, id)))

interface Listing {
  readonly state: CompareState
  readonly styleOf: ReturnType<typeof useRunStyles>
  readonly metric: string | null
  readonly byMetric: SeriesByMetric
}

function listedRun(entry: RunFacts, { state, styleOf, metric, byMetric }: Listing): ListedRun {
  const points = metric === null ? [] : (byMetric.get(metric)?.get(entry.id)?.points ?? [])
  return {
    id: entry.id,
    label: runTitle(entry),
    style: styleOf(entry.id),
    isBaseline: state.baseline === entry.id,
    isHidden: state.hidden.includes(entry.id),
    entry,
    value: measure(points, state.statistic, betterOf(metric ?? '')),
  }
}
