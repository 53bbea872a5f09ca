/** What a comparison reads of its runs besides their series. */
import { useQueries } from '@tanstack/react-query'
import { useMemo } from 'react'
import { flatSettings, type Settings } from './settingDiff.ts'
import { tailLength } from './measures.ts'
import { useApi, useAnswer, type Answer } from '#renderer/client/api.tsx'

export type RunRecord = Answer<'runs.get'>
export type StoredEvent = Answer<'runs.events'>[number]
export type Sample = Answer<'samples.list'>[number]

type Found<T> = ReadonlyMap<string, T>

const mapOf = <T>(
  runIds: readonly string[],
  answers: readonly { readonly data: T | undefined }[],
): Found<T> =>
  new Map(
    answers.flatMap(({ data }, i) => {
      const runId = runIds[i]
      return data === undefined || runId === undefined ? [] : [[runId, data] as const]
    }),
  )

/** Config and manifest of each run; those not there yet are missing. */
export function useRecords(runIds: readonly string[]): Found<RunRecord> {
  const client = useApi()
  const answers = useQueries({
    queries: runIds.map((runId) => ({
      queryKey: ['runs.get', { runId }],
      queryFn: ({ signal }: { signal: AbortSignal }) => client.call('runs.get', { runId }, { signal }),
      staleTime: Infinity,
    })),
  })
  const stamp = stampOf(answers)
  // The answers are a new list every time; when they came says whether they are new.
  // eslint-disable-next-line react-hooks/exhaustive-deps -- see above
  return useMemo(() => mapOf(runIds, answers), [stamp, runIds])
}

const stampOf = (answers: readonly { readonly dataUpdatedAt: number }[]): string =>
  answers.map(({ dataUpdatedAt }) => dataUpdatedAt).join()

/** Settings of each run by dotted name. */
export function useSettingsOf(records: Found<RunRecord>): Found<Settings> {
  return useMemo(
    () => new Map([...records].map(([id, { config }]) => [id, flatSettings(JSON.parse(config))])),
    [records],
  )
}

/** Everything that happened in each run but its steps. */
export function useEvents(runIds: readonly string[], enabled: boolean): Found<readonly StoredEvent[]> {
  const client = useApi()
  const answers = useQueries({
    queries: runIds.map((runId) => ({
      queryKey: ['runs.events', { runId, limit: 5000 }],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        client.call('runs.events', { runId, limit: 5000 }, { signal }),
      enabled,
    })),
  })
  const stamp = stampOf(answers)
  // eslint-disable-next-line react-hooks/exhaustive-deps -- as above
  return useMemo(() => mapOf(runIds, answers), [stamp, runIds])
}

/** The last tenth of the values of a metric as they were, for each run with its number of steps. */
export function useTails(
  runs: readonly { readonly id: string; readonly step: number }[],
  metric: string | null,
) {
  const client = useApi()
  const asked = runs.map(({ id, step }) => ({
    runIds: [id],
    metric: metric ?? '',
    fromStep: Math.max(0, step - tailSteps(step)),
    maxPoints: 5000,
  }))
  const answers = useQueries({
    queries: asked.map((input) => ({
      queryKey: ['metrics.series', input],
      queryFn: ({ signal }: { signal: AbortSignal }) => client.call('metrics.series', input, { signal }),
      enabled: metric !== null,
      staleTime: Infinity,
    })),
  })
  const stamp = `${stampOf(answers)} ${JSON.stringify(asked)}`
  return useMemo(
    () =>
      new Map(
        answers.flatMap(({ data }, i) => {
          const id = runs[i]?.id
          const points = data?.runs[0]?.points
          return id !== undefined && points ? [[id, points.map(({ mean }) => mean)] as const] : []
        }),
      ),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- as above
    [stamp],
  )
}

/** Enough for the noise to show, but not from before the run had settled. */
const tailSteps = (step: number): number => Math.min(4999, Math.max(20, 2 * tailLength(step)))

/** The newest samples of each run. */
export function useSamplesOf(runIds: readonly string[], enabled: boolean): Found<readonly Sample[]> {
  const client = useApi()
  const answers = useQueries({
    queries: runIds.map((runId) => ({
      queryKey: ['samples.list', { runId, limit: 500 }],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        client.call('samples.list', { runId, limit: 500 }, { signal }),
      enabled,
    })),
  })
  const stamp = stampOf(answers)
  // eslint-disable-next-line react-hooks/exhaustive-deps -- as above
  return useMemo(() => mapOf(runIds, answers), [stamp, runIds])
}

/** All samples of one row in each run, the newest step first. */
export function useRowSamples(runIds: readonly string[], row: number | null): Found<readonly Sample[]> {
  const client = useApi()
  const answers = useQueries({
    queries: runIds.map((runId) => ({
      queryKey: ['samples.list', { runId, row, limit: 500 }],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        client.call('samples.list', { runId, row: row ?? 0, limit: 500 }, { signal }),
      enabled: row !== null,
    })),
  })
  const stamp = stampOf(answers)
  // eslint-disable-next-line react-hooks/exhaustive-deps -- as above
  return useMemo(() => mapOf(runIds, answers), [stamp, runIds])
}

export interface RewardCode {
  readonly name: string
  readonly hash: string
  readonly language: 'js' | 'ts'
  readonly code: string
}

/** Code of the library by the file a config names. */
export function useRewardCode(enabled: boolean): ReadonlyMap<string, RewardCode> {
  const client = useApi()
  const { data: rewards } = useAnswer('rewards.list', {}, { enabled })
  const answers = useQueries({
    queries: (rewards ?? []).map(({ id: rewardId }) => ({
      queryKey: ['rewards.versions', { rewardId }],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        client.call('rewards.versions', { rewardId }, { signal }),
      enabled,
    })),
  })
  const stamp = stampOf(answers)
  return useMemo(
    () =>
      new Map(
        answers.flatMap(({ data }, i) =>
          (data ?? []).map(({ file, hash, language, code }) => [
            file,
            { name: rewards?.[i]?.name ?? '', hash, language, code },
          ]),
        ),
      ),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- as above
    [stamp, rewards],
  )
}
