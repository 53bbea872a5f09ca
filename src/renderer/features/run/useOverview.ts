/** Data of a run's overview: series, their placement on the chosen axis, and the zoom. */
import { useCallback, useMemo, useState } from 'react'
import { type CurveLook, useCurveLook } from '#renderer/charts/curveLook.ts'
import { type Range, metricsOfAxis } from '#renderer/charts/axes.ts'
import { placementOf, stepAtPlace, type Placement } from '#renderer/charts/lines.ts'
import { automaticSmoothing } from '#renderer/charts/curves.ts'
import { useSeries, type SeriesByMetric } from '#renderer/charts/useSeries.ts'
import type { RunEntry } from '#renderer/client/runs.ts'

export interface OverviewRequest {
  readonly run: RunEntry
  readonly names: readonly string[]
  readonly metrics: readonly string[]
  readonly isPaused: boolean
}

export interface Overview {
  readonly byMetric: SeriesByMetric
  /** False until the values of all charts have been read. */
  readonly isLoaded: boolean
  readonly error: Error | null
  /** Display options with the smoothing in effect. */
  readonly look: CurveLook & { readonly smoothing: number }
  readonly setLook: (changes: Partial<CurveLook>) => void
  readonly place: Placement
  /** Range from the first to the last value of any series, shared by all charts so that their cursors align. */
  readonly range: Range | null
  readonly zoom: Range | null
  readonly setZoom: (zoom: Range | null) => void
}

export function useOverview({ run, names, metrics, isPaused }: OverviewRequest): Overview {
  const [look, change] = useCurveLook(names)
  const [zoom, setZoom] = useState<Range | null>(null)
  const setLook = useCallback(
    (changes: Partial<CurveLook>) => {
      // A zoom on one axis means nothing on another.
      if (changes.x !== undefined) setZoom(null)
      change(changes)
    },
    [change],
  )
  const runIds = useMemo(() => [run.id], [run.id])
  const along = useSeries({ runIds, metrics: metricsOfAxis[look.x], isPaused })
  const place = useMemo(
    () =>
      placementOf(
        look.x,
        metricsOfAxis[look.x].map((metric) => along.byMetric.get(metric)?.get(run.id)?.points ?? []),
      ),
    [look.x, along.byMetric, run.id],
  )
  const steps = useMemo(() => zoom && stepsBetween(zoom, place, run.step), [zoom, place, run.step])
  const { byMetric, isLoaded, error } = useSeries({ runIds, metrics, zoom: steps, isPaused })
  const range = useMemo(() => rangeOf(byMetric, place), [byMetric, place])
  const smoothing = look.smoothing === 'auto' ? automaticSmoothing(run.step) : look.smoothing
  const shown = useMemo(() => ({ ...look, smoothing }), [look, smoothing])
  return {
    byMetric,
    isLoaded,
    error: error ?? along.error,
    look: shown,
    setLook,
    place,
    range,
    zoom,
    setZoom,
  }
}

function stepsBetween([from, to]: Range, place: Placement, last: number): Range | null {
  if (!Number.isFinite(place(last))) return null
  return [stepAtPlace(place, from, last), stepAtPlace(place, to, last) + 1]
}

function rangeOf(byMetric: SeriesByMetric, place: Placement): Range | null {
  const ends = [...byMetric.values()].flatMap((runs) =>
    [...runs.values()].flatMap(({ points }) => {
      const [first, last] = [points[0], points.at(-1)]
      return first && last ? [place(first.step), place(last.lastStep)] : []
    }),
  )
  const known = ends.filter((x) => Number.isFinite(x))
  return known.length === 0 ? null : [Math.min(...known), Math.max(...known)]
}
