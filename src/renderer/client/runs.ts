/** Live list of the runs in the history, with one subscription for the whole window. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { create } from 'zustand'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { invalidate } from './api.tsx'
import { useFeed } from './feeds.ts'

type RunsNews = OutputOf<Api, 'runs.watch'>
export type RunEntry = RunsNews['runs'][number]
export type WorkerView = RunsNews['workers'][number]
/** Folder with an unreadable run, and the reason; null: the history itself is out of date. */
type UnreadableRun = RunsNews['unreadable'][number]
export type RemainingView = RunsNews['remaining'][number]
export type StoredEvent = OutputOf<Api, 'runs.follow'>['events'][number]

interface RunsState extends Omit<RunsView, 'runs'> {
  readonly byId: ReadonlyMap<string, RunEntry>
  /** Ids, oldest first; the same array until a run appears or disappears. */
  readonly ids: readonly string[]
  readonly remaining: readonly RemainingView[]
}

const useRunsStore = create<RunsState>(() => ({
  byId: new Map(),
  ids: [],
  workers: [],
  unreadable: [],
  remaining: [],
  pending: 0,
  isLoaded: false,
}))

function applied(state: RunsState, items: readonly RunsNews[]): RunsState {
  let byId = new Map(state.byId)
  let { workers, unreadable, remaining, pending } = state
  for (const item of items) {
    if (item.isWhole) byId = new Map()
    for (const run of item.runs) byId.set(run.id, run)
    for (const id of item.removed) byId.delete(id)
    ;({ workers, unreadable, remaining, pending } = item)
  }
  const isSame = state.ids.length === byId.size && state.ids.every((id) => byId.has(id))
  const ids = isSame ? state.ids : [...byId.keys()].sort()
  return { byId, ids, workers, unreadable, remaining, pending, isLoaded: true }
}

const areasOfRun = ['runs', 'checkpoints', 'samples', 'metrics.names', 'metrics.latest'] as const
/** Interval between refetches of answers about a growing run, in ms. */
const againEveryMs = 1500

/** Keeps the list up to date. Mounted once, near the root. */
export function useRunsNews(): void {
  const queries = useQueryClient()
  const [grown] = useState(() => new Set<string>())
  useFeed('runs.watch', undefined, (items) => {
    const { ids } = useRunsStore.getState()
    useRunsStore.setState((state) => applied(state, items))
    if (useRunsStore.getState().ids !== ids) invalidate(queries, ['runs.seedFamilies'])
    for (const run of items.flatMap(({ runs }) => runs)) grown.add(run.id)
  })
  useEffect(() => {
    const timer = setInterval(() => {
      if (grown.size > 0) invalidate(queries, areasOfRun, [...grown])
      grown.clear()
    }, againEveryMs)
    return () => clearInterval(timer)
  }, [queries, grown])
}

export interface RunsView {
  readonly runs: readonly RunEntry[]
  readonly workers: readonly WorkerView[]
  readonly unreadable: readonly UnreadableRun[]
  /** Number of runs whose folders are yet to be read. */
  readonly pending: number
  readonly isLoaded: boolean
}

export function useRuns(): RunsView {
  const { byId, workers, unreadable, pending, isLoaded } = useRunsStore()
  const runs = useMemo(() => [...byId.values()].sort((a, b) => b.createdAt - a.createdAt), [byId])
  return { runs, workers, unreadable, pending, isLoaded }
}

/** Runs that train, each with its process. */
export const atWorkOf = ({ runs, workers }: RunsView): { run: RunEntry; worker: WorkerView }[] =>
  workers.flatMap((worker) => {
    const run = runs.find(({ id }) => id === worker.runId)
    return run === undefined ? [] : [{ run, worker }]
  })

/** Undefined if not loaded or missing; `isLoaded` of useRuns tells which. */
export const useRunEntry = (runId: string): RunEntry | undefined =>
  useRunsStore(({ byId }) => byId.get(runId))

export const useHasRuns = (): boolean => useRunsStore(({ isLoaded }) => isLoaded)

/**
 * Selects facts of the existing ones among these runs; the same array while the facts, compared by their JSON, are
 * equal. For pages too expensive to redraw at every step of a run.
 */
export function useRunFacts<Facts>(
  runIds: readonly string[],
  factsOf: (run: RunEntry) => Facts,
): readonly Facts[] {
  const text = useRunsStore(({ byId }) =>
    JSON.stringify(
      runIds.flatMap((id) => {
        const run = byId.get(id)
        return run ? [factsOf(run)] : []
      }),
    ),
  )
  return useMemo(() => JSON.parse(text) as Facts[], [text])
}

export const useWorkerOf = (runId: string): WorkerView | undefined =>
  useRunsStore(({ workers }) => workers.find((worker) => worker.runId === runId))

/** Undefined if the run does not train, or nothing is known yet. */
export const useRemainingOf = (runId: string): RemainingView | undefined =>
  useRunsStore(({ remaining }) => remaining.find((each) => each.runId === runId))

/** Returns the colour and dash of any run in the history. */
export function useRunStyles(): (runId: string) => RunStyle {
  const ids = useRunsStore((state) => state.ids)
  return useMemo(() => {
    const places = new Map(ids.map((id, i) => [id, i]))
    return (runId) => runStyle(places.get(runId) ?? 0)
  }, [ids])
}

export interface RunView {
  readonly run: RunEntry | undefined
  /** All events except steps and samples, in order, without those voided by a resumption. */
  readonly events: readonly StoredEvent[]
  /** Steps with samples, in order. */
  readonly sampleSteps: readonly number[]
  readonly error: Error | null
}

interface Followed {
  readonly runId: string
  readonly events: readonly StoredEvent[]
  readonly sampleSteps: readonly number[]
  readonly error: Error | null
}

const nothingOf = (runId: string): Followed => ({ runId, events: [], sampleSteps: [], error: null })

/** Follows one run with its events; used once, by its page. */
export function useRun(runId: string): RunView {
  const run = useRunEntry(runId)
  const [state, setState] = useState(() => nothingOf(runId))
  const followed = state.runId === runId ? state : nothingOf(runId)
  useFeed(
    'runs.follow',
    { runId },
    (items) =>
      setState((before) => {
        const base = before.runId === runId ? before : nothingOf(runId)
        const events = items.flatMap((item) => item.events).reduce(withEvent, base.events)
        const steps = new Set([...base.sampleSteps, ...items.flatMap((item) => item.sampleSteps)])
        return { runId, events, sampleSteps: [...steps].sort((a, b) => a - b), error: null }
      }),
    { onError: (error) => setState((before) => ({ ...before, error })) },
  )
  return { run, ...followed }
}

function withEvent(events: readonly StoredEvent[], added: StoredEvent): readonly StoredEvent[] {
  const { type, keep } = added.event as { type: string; keep?: unknown }
  if (type !== 'resumed' || typeof keep !== 'number') return [...events, added]
  return [...events.filter(({ seq, event }) => seq < keep || event.type === 'resumed'), added]
}

interface NumberedEvent {
  readonly seq: number
  readonly event: { readonly type: string; readonly step?: unknown }
}

export const stepOf = ({ step }: NumberedEvent['event']): number | null =>
  typeof step === 'number' ? step : null

/**
 * Returns the step from which the event `resumed` with this number went on: that of the next event, as the announcement
 * of the checkpoint is repeated behind it; null until there is one.
 */
export function resumedAt(events: readonly NumberedEvent[], seq: number): number | null {
  const next = events.find((each) => each.seq > seq && stepOf(each.event) !== null)
  return next === undefined ? null : stepOf(next.event)
}

/* A run looks the same wherever it is drawn: eight hues, then the same hues dashed. */

export interface RunStyle {
  /** CSS variable, so that the theme decides. */
  readonly color: string
  /** SVG dash pattern; undefined: solid. */
  readonly dash: string | undefined
}

const hues = 8
const dashes: readonly (string | undefined)[] = [undefined, '6 3', '2 3', '8 3 2 3']

/** Returns the style of a run. `order`: its position in the history, oldest first, so that it keeps its colour. */
const runStyle = (order: number): RunStyle => ({
  color: `var(--run-${String((order % hues) + 1)})`,
  dash: dashes[Math.floor(order / hues) % dashes.length],
})
