/** Turns series into the lines of a panel. */
import { readChanges } from '#shared/config/changes.ts'
import { madeWords } from '#renderer/client/runSettings.ts'
import { formatNumber } from '#renderer/client/format.ts'
import { resumedAt, type RunStyle } from '#renderer/client/runs.ts'
import { bandOf, type BandKind, forgettingUnit, smooth } from '#renderer/charts/curves.ts'
import { metricsOfAxis, type XAxis } from '#renderer/charts/axes.ts'
import {
  placementOf,
  stepAtPlace,
  type Placement,
  seriesLine,
  type Series,
  type ChartEvent,
  type ChartLine,
  type Dot,
} from '#renderer/charts/lines.ts'
import type { RunGroup } from '#shared/runGaps.ts'
import type { SeriesByMetric } from '#renderer/charts/useSeries.ts'

export interface ComparedRun {
  readonly id: string
  readonly label: string
  readonly style: RunStyle
  readonly isBaseline: boolean
}

export function placements(
  axis: XAxis,
  runIds: readonly string[],
  series: SeriesByMetric,
): ReadonlyMap<string, Placement> {
  return new Map(
    runIds.map((id) => [
      id,
      placementOf(
        axis,
        metricsOfAxis[axis].map((metric) => series.get(metric)?.get(id)?.points ?? []),
      ),
    ]),
  )
}

export interface LineSource {
  readonly runs: readonly ComparedRun[]
  readonly placements: ReadonlyMap<string, Placement>
  /** Null draws a line per run. */
  readonly groups: readonly RunGroup[] | null
  readonly band: BandKind
  readonly smoothing: number
}

/** Lines of one metric. Runs without it are left out. */
export function metricLines(
  series: ReadonlyMap<string, Series> | undefined,
  source: LineSource,
): readonly ChartLine[] {
  const lines = source.runs.flatMap((run): readonly ChartLine[] => {
    const own = series?.get(run.id)
    if (!own || own.points.length + own.gaps.length === 0) return []
    const style = {
      id: run.id,
      label: run.label,
      color: run.style.color,
      dash: run.style.dash,
      isBaseline: run.isBaseline,
    }
    return [seriesLine(style, own, source.placements.get(run.id))]
  })
  return source.groups === null ? lines : groupLines(lines, source.groups, source)
}

/** Smooths first, then groups: a band of raw values would be as ragged as they are. */
function groupLines(
  lines: readonly ChartLine[],
  groups: readonly RunGroup[],
  { band, smoothing }: LineSource,
): readonly ChartLine[] {
  const unit = forgettingUnit(lines.map(({ points }) => points))
  return groups.flatMap((group): readonly ChartLine[] => {
    const members = lines.filter(({ id }) => group.runIds.includes(id))
    const [first] = members
    if (!first) return []
    const dots: readonly (readonly Dot[])[] = members.map(({ points }) => smooth(points, smoothing, unit))
    const both = bandOf(dots, band)
    return [
      {
        ...first,
        id: group.id,
        label: group.label,
        isBaseline: members.some(({ isBaseline }) => isBaseline),
        points: both.points,
        gaps: [],
        band: members.length > 1 ? both.band : undefined,
      },
    ]
  })
}

/** Returns the range of steps, over all runs, inside a range of the axis. */
export function stepsOfZoom(
  zoom: readonly [number, number],
  runs: readonly { readonly id: string; readonly steps: number | null }[],
  placed: ReadonlyMap<string, Placement>,
): readonly [number, number] | null {
  const ends = runs.flatMap(({ id, steps }) => {
    const place = placed.get(id)
    return place && steps !== null && Number.isFinite(place(steps))
      ? [zoom.map((x) => stepAtPlace(place, x, steps))]
      : []
  })
  if (ends.length === 0) return null
  return [Math.min(...ends.map(([from = 0]) => from)), Math.max(...ends.map(([, to = 0]) => to)) + 1]
}

interface LoggedEvent {
  readonly type: string
  readonly step?: unknown
  readonly message?: unknown
  readonly changes?: unknown
}

export interface EventSource {
  readonly id: string
  readonly label: string
  readonly color: string
  readonly parentStep: number | null
  readonly events: readonly { readonly seq: number; readonly event: LoggedEvent }[]
}

const maxWithCheckpoints = 3

/** Marks for resumptions, checkpoints, changed settings, warnings and forks. */
export function marksOf(
  sources: readonly EventSource[],
  placed: ReadonlyMap<string, Placement>,
): readonly ChartEvent[] {
  return sources.flatMap(({ id, label, color, parentStep, events }) => {
    const place = placed.get(id)
    if (!place) return []
    const found = events.flatMap(({ seq, event }): readonly ChartEvent[] => {
      const mark = markOf(event, resumedAt(events, seq))
      if (!mark) return []
      const x = place(mark.step)
      const isAlarm = mark.kind === 'alarm'
      return [
        {
          id: `${id} ${String(seq)}`,
          x,
          kind: mark.kind,
          label: `${label}: ${mark.words}`,
          color: isAlarm ? undefined : color,
        },
      ]
    })
    const fork: readonly ChartEvent[] =
      parentStep === null
        ? []
        : [
            {
              id: `${id} fork`,
              x: place(parentStep),
              kind: 'fork',
              label: `${label}: forked at step ${formatNumber(parentStep, 9)}`,
              color,
            },
          ]
    // With many runs, checkpoints would form a fence.
    const shown = found.filter(({ kind }) => kind !== 'checkpoint' || sources.length <= maxWithCheckpoints)
    return [...fork, ...shown].filter(({ x }) => Number.isFinite(x))
  })
}

/** `next`: step of the event behind it. */
function markOf({ type, step, message, ...event }: LoggedEvent, next: number | null) {
  if (type === 'resumed') {
    return next === null
      ? null
      : ({ step: next, kind: 'resume', words: `resumed at step ${String(next)}` } as const)
  }
  if (typeof step !== 'number') return null
  const at = `step ${String(step)}`
  if (type === 'checkpoint-saved') return { step, kind: 'checkpoint', words: `checkpoint at ${at}` } as const
  if (type === 'settings-changed') {
    const made = readChanges(event).filter((change) => change.step === step)
    return made.length === 0 ? null : ({ step, kind: 'setting', words: madeWords(made) } as const)
  }
  if (type !== 'warning') return null
  return { step, kind: 'alarm', words: typeof message === 'string' ? message : `warning at ${at}` } as const
}
