/** Data for the page of one run. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { attempt } from '#shared/attempt.ts'
import { settingsAfter, type SettingChange } from '#shared/config/changes.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { useAnswer, useApi, type Answer } from '#renderer/client/api.tsx'
import { useNow } from '#renderer/client/live.ts'
import { navigate } from '#renderer/client/route.ts'
import { useWorkerOf, type RunEntry } from '#renderer/client/runs.ts'
import { useSeries } from '#renderer/charts/useSeries.ts'

export type RunRecord = Answer<'runs.get'>

/** Returns the current settings of a run with all defaults, from its folder; null while loading. */
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

/** Returns the settings in effect after a step; null as in `readConfig`. */
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

/** False for configs of other versions that lack what this page reads; it then shows what does not need settings. */
const isWhole = (config: unknown): config is RunConfig =>
  typeof config === 'object' && config !== null && sections.every((key) => key in config)

/** Null if missing, or of a version that this page cannot read. */
export function readConfig(text: string | undefined): RunConfig | null {
  if (text === undefined) return null
  return attempt(() => {
    const config: unknown = JSON.parse(text)
    return isWhole(config) ? config : null
  }, null)
}

/** Names of data sets by the digest of a version. */
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

/** Interval between diagnoses, each of which reads all metrics of a run, so that not every step makes one. */
const diagnosisEveryMs = 15_000

/** Diagnosis of a run: when the run itself reports a finding, after its first step, occasionally while it trains, and at its end. */
export function useDiagnosis({ id: runId, status, finding, step }: RunEntry): DiagnosisState {
  const client = useApi()
  const isLiving = useWorkerOf(runId) !== undefined
  const { data, error } = useQuery({
    queryKey: ['diagnosis-of-run', runId, status, isLiving, finding, step > 0],
    queryFn: ({ signal }) => client.call('runs.diagnosis', { runId }, { signal }),
    staleTime: Infinity,
    refetchInterval: isLiving && diagnosisEveryMs,
    placeholderData: keepPreviousData,
  })
  return { data, error }
}

const watchedSteps = 20

/** Detects that nothing has ended for much longer than usual; null if all is normal. */
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
  // A new worker reads its model first.
  return slowPace(now - Math.max(run.updatedAt, worker?.startedAt ?? 0), typical)
}

export const runTabs = ['overview', 'samples', 'diagnosis', 'checkpoints', 'config', 'log'] as const
export type RunTab = (typeof runTabs)[number]

export const goToTab = (runId: string, tab: RunTab, query: Parameters<typeof navigate>[1] = {}): void =>
  navigate(`/runs/${runId}/${tab}`, query)

/* Whether a run takes longer than it used to. */

interface Pace {
  readonly sinceMs: number
  readonly times: number
}

const slowTimes = 3
/** Duration below which steps are ignored, since short ones vary with the machine. */
const leastMs = 10_000

export function slowPace(sinceMs: number, typicalMs: number | null): Pace | null {
  if (typicalMs === null || typicalMs <= 0) return null
  const times = sinceMs / typicalMs
  return times >= slowTimes && sinceMs >= leastMs ? { sinceMs, times } : null
}

/** Median of the last durations; null if there are none. */
export function typicalOf(durations: readonly number[]): number | null {
  const sorted = durations.filter((value) => Number.isFinite(value)).sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? null
}
