/** What the page of one run asks for. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { settingsAfter, type SettingChange } from '#shared/config/changes.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { useAnswer, useApi, type Answer } from '#renderer/client/api.tsx'
import { useNow } from '#renderer/client/live.ts'
import { navigate } from '#renderer/client/route.ts'
import { useWorkerOf, type RunEntry } from '#renderer/client/runs.ts'
import { useSeries } from '#renderer/charts/useSeries.ts'

export type RunRecord = Answer<'runs.get'>

/**
 * The settings of a run as they are now, every default filled in as its folder has them; null while they are on their way.
 */
export function useRunConfig(runId: string): {
  readonly record: RunRecord | null
  readonly config: RunConfig | null
} {
  const { data } = useAnswer('runs.get', { runId })
  const text = data?.config
  const changes = JSON.stringify(data?.settingChanges.filter(({ step }) => step <= data.step) ?? [])
  const config = useMemo(
    () => configAfter(text, JSON.parse(changes) as readonly SettingChange[], Infinity),
    [text, changes],
  )
  return { record: data ?? null, config }
}

/** The settings with which a run goes on after a step; null as `readConfig`. */
export function configAfter(
  text: string | undefined,
  changes: readonly SettingChange[],
  step: number,
): RunConfig | null {
  const config = readConfig(text)
  return config && (settingsAfter(config, changes, step) as RunConfig)
}

const sections = [
  'model',
  'adapter',
  'data',
  'rewards',
  'algorithm',
  'rollout',
  'optimization',
  'evaluation',
  'checkpoints',
  'stages',
] as const satisfies readonly (keyof RunConfig)[]

/** A run of another version may lack what this page reads; then it shows what does not need its settings. */
const isWhole = (config: unknown): config is RunConfig =>
  typeof config === 'object' && config !== null && sections.every((key) => key in config)

/** null: none, or of a version that this page cannot read. */
export function readConfig(text: string | undefined): RunConfig | null {
  if (text === undefined) return null
  try {
    const config: unknown = JSON.parse(text)
    return isWhole(config) ? config : null
  } catch {
    return null
  }
}

/** Digest of a version → name of its data set. */
export function useDataNames(): ReadonlyMap<string, string> {
  const { data } = useAnswer('datasets.list', undefined)
  return useMemo(
    () =>
      new Map((data ?? []).flatMap(({ name, versions }) => versions.map(({ id }) => [id, name] as const))),
    [data],
  )
}

export interface DiagnosisState {
  readonly data: Answer<'runs.diagnosis'> | undefined
  readonly error: Error | null
}

/** It reads all numbers of a run, so it is not made anew with every step. */
const diagnosisEveryMs = 15_000

/** What the numbers say is wrong with a run: when it says so itself, now and then while it goes on, and at its end. */
export function useDiagnosis({ id: runId, status, finding }: RunEntry): DiagnosisState {
  const client = useApi()
  const isLiving = useWorkerOf(runId) !== undefined
  const { data, error } = useQuery({
    queryKey: ['diagnosis-of-run', runId, status, isLiving, finding],
    queryFn: ({ signal }) => client.call('runs.diagnosis', { runId }, { signal }),
    staleTime: Infinity,
    refetchInterval: isLiving && diagnosisEveryMs,
    placeholderData: keepPreviousData,
  })
  return { data, error }
}

const watchedSteps = 20

/** Nothing has ended for much longer than usual; null where all is as usual. */
export function useSlowPace(run: RunEntry): Pace | null {
  const now = useNow(2000)
  const worker = useWorkerOf(run.id)
  const isWatched = run.status === 'running' && run.step > 2
  const { byMetric } = useSeries({
    runIds: isWatched ? [run.id] : [],
    metrics: isWatched ? ['step_time'] : [],
    maxPoints: 200,
  })
  const durations = byMetric.get('step_time')?.get(run.id)?.points.slice(-watchedSteps) ?? []
  const typical = typicalOf(durations.map(({ mean }) => mean * 1000))
  if (!isWatched) return null
  // A worker that was just started reads its model first.
  return slowPace(now - Math.max(run.updatedAt, worker?.startedAt ?? 0), typical)
}

export const runTabs = ['overview', 'samples', 'diagnosis', 'checkpoints', 'config', 'log'] as const
export type RunTab = (typeof runTabs)[number]

type Query = Parameters<typeof navigate>[1]

export const goToTab = (runId: string, tab: RunTab, query: Query = {}): void =>
  navigate(`/runs/${runId}/${tab}`, query)

/* Whether a run takes longer than it used to. */

interface Pace {
  /** Nothing has ended for so long. */
  readonly sinceMs: number
  /** How many times the usual that is. */
  readonly times: number
}

const slowTimes = 3
/** Short steps vary for reasons of the machine. */
const leastMs = 10_000

/** null: as usual, or nobody knows what is usual. */
export function slowPace(sinceMs: number, typicalMs: number | null): Pace | null {
  if (typicalMs === null || typicalMs <= 0) return null
  const times = sinceMs / typicalMs
  return times >= slowTimes && sinceMs >= leastMs ? { sinceMs, times } : null
}

/** The middle of the last durations; null of none. */
export function typicalOf(durations: readonly number[]): number | null {
  const sorted = durations.filter((value) => Number.isFinite(value)).sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? null
}
