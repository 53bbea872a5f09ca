/** Data that a comparison reads about its runs besides their series. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { flatSettings, withLibraryNames, withHistory, type Settings } from './settingDiff.ts'
import { tailStart } from '#shared/runGaps.ts'
import { useApi, useAnswer, useAnswers, type Answer } from '#renderer/client/api.tsx'
import { versionNumber } from '#renderer/parts/DataPicker.tsx'

export type RunRecord = Pick<Answer<'runs.get'>, 'config' | 'manifest' | 'settingChanges'>
export type StoredEvent = Answer<'runs.events'>[number]
export type Sample = Answer<'samples.list'>[number]

type Found<T> = ReadonlyMap<string, T>

/** Maps answers by run, without those still loading. */
const byRun = <T>(runIds: readonly string[], answers: readonly (T | undefined)[]): Found<T> =>
  new Map(
    runIds.flatMap((runId, i) => {
      const data = answers[i]
      return data === undefined ? [] : [[runId, data] as const]
    }),
  )

/** Picks the stable columns; the others change with every step. */
const recordOf = ({ config, manifest, settingChanges }: RunRecord): RunRecord => ({
  config,
  manifest,
  settingChanges,
})

export function useRecords(runIds: readonly string[]): Found<RunRecord> {
  const answers = useAnswers('runs.get', runIds.map(inputOf), { select: recordOf })
  return useMemo(() => byRun(runIds, answers), [runIds, answers])
}

const inputOf = (runId: string) => ({ runId })

export function useSettingsOf(records: Found<RunRecord>): Found<Settings> {
  const names = useLibraryNames()
  return useMemo(
    () =>
      new Map(
        [...records].map(([id, { config, settingChanges }]) => [
          id,
          withHistory(withLibraryNames(flatSettings(JSON.parse(config)), names), settingChanges),
        ]),
      ),
    [records, names],
  )
}

/** Names of versions of data sets, by their digests, and of rewards, by their ids. */
function useLibraryNames(): ReadonlyMap<string, string> {
  const { data } = useAnswer('datasets.list', undefined)
  const { data: rewards } = useAnswer('rewards.list', {})
  return useMemo(() => {
    const dataNames = (data ?? []).flatMap(({ name, versions }) =>
      versions.map(({ id }) => {
        const number = String(versionNumber(versions, id))
        return [id, versions.length === 1 ? name : `${name}, version ${number}`] as const
      }),
    )
    const rewardNames = (rewards ?? []).map(({ id, name }) => [id, name] as const)
    return new Map([...dataNames, ...rewardNames])
  }, [data, rewards])
}

/** Returns all events of each run except its steps. */
export function useEvents(runIds: readonly string[], enabled: boolean): Found<readonly StoredEvent[]> {
  const inputs = runIds.map((runId) => ({ runId, limit: 5000 }))
  const answers = useAnswers('runs.events', inputs, { enabled })
  return useMemo(() => byRun(runIds, answers), [runIds, answers])
}

export interface TailQuestion {
  readonly id: string
  readonly steps: number
}

/** Returns the last tenth of a metric's values, unsmoothed, for each run with its number of steps. */
export function useTails(runs: readonly TailQuestion[], metric: string | null): Found<readonly number[]> {
  const client = useApi()
  const asked = runs.map(({ id, steps }) => ({
    runIds: [id],
    metric: metric ?? '',
    fromStep: tailStart(steps),
    maxPoints: 5000,
  }))
  const { data } = useQuery({
    queryKey: ['metrics.series', asked],
    queryFn: async ({ signal }) => {
      const answers = await Promise.all(
        asked.map((input) => client.call('metrics.series', input, { signal })),
      )
      const found = answers.flatMap(({ runs: [run] }) =>
        run ? [[run.runId, run.points.map(({ mean }) => mean)] as const] : [],
      )
      return { metric, found }
    },
    enabled: metric !== null && asked.length > 0,
    staleTime: Infinity,
    placeholderData: keepPreviousData,
  })
  return useMemo(() => new Map(data?.metric === metric ? data.found : []), [data, metric])
}

export function useSamplesOf(runIds: readonly string[], enabled: boolean): Found<readonly Sample[]> {
  const inputs = runIds.map((runId) => ({ runId, limit: 500 }))
  const answers = useAnswers('samples.list', inputs, { enabled })
  return useMemo(() => byRun(runIds, answers), [runIds, answers])
}

/** Returns all samples of one row in each run, newest step first. */
export function useRowSamples(runIds: readonly string[], row: number | null): Found<readonly Sample[]> {
  const inputs = runIds.map((runId) => ({ runId, row: row ?? 0, limit: 500 }))
  const answers = useAnswers('samples.list', inputs, { enabled: row !== null })
  return useMemo(() => byRun(runIds, answers), [runIds, answers])
}

export interface RewardCode {
  readonly name: string
  readonly hash: string
  readonly language: 'js' | 'ts'
  readonly code: string
}

const noRewards: Answer<'rewards.list'> = []

/** Returns library code by the file path used in configs. */
export function useRewardCode(enabled: boolean): ReadonlyMap<string, RewardCode> {
  const { data: rewards = noRewards } = useAnswer('rewards.list', {}, { enabled })
  const inputs = rewards.map(({ id }) => ({ rewardId: id }))
  const answers = useAnswers('rewards.versions', inputs, { enabled })
  return useMemo(
    () =>
      new Map(
        answers.flatMap((versions = [], i) =>
          versions.map(({ file, hash, language, code }) => [
            file,
            { name: rewards[i]?.name ?? '', hash, language, code },
          ]),
        ),
      ),
    [answers, rewards],
  )
}
