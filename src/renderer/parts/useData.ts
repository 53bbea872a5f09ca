/** Data sets: import of files, and preparation for runs. */
import { useQueries } from '@tanstack/react-query'
import { useCallback, useEffect } from 'react'
import { create } from 'zustand'
import { parsePreparation, type Preparation } from './preparation.ts'
import { plural, lastPart } from '#renderer/client/format.ts'
import { useAddFile, useArrivals, type Arrival } from '#renderer/client/adding.ts'
import { useAnswer, useApi, useTask, useTaskResult } from '#renderer/client/api.tsx'
import { asError, toast, toastError } from '#renderer/client/toasts.ts'
import { dataFilter, useFileDialog } from '#renderer/client/fileDialog.ts'
import { navigate, parseRoute } from '#renderer/client/route.ts'
import { useRuns, type RunEntry } from '#renderer/client/runs.ts'
import { useSetting, useSettingWriter } from '#renderer/client/settings.ts'

interface Returning {
  /** Location to return to with the data set, passed in the query's `data`. */
  readonly to: { readonly path: string; readonly query: Readonly<Record<string, string>> } | null
}

const useReturning = create<Returning>(() => ({ to: null }))

/** Asks for a file and shows it in Data; after the import it returns here. */
export function useAddData(): () => void {
  const { chooseAndAdd } = useAddFile()
  return useCallback(() => {
    const { path, query } = parseRoute(location.hash)
    const isHere = path[0] === 'data'
    useReturning.setState({
      to: isHere ? null : { path: `/${path.join('/')}`, query: Object.fromEntries(query) },
    })
    chooseAndAdd()
  }, [chooseAndAdd])
}

/** Downloads a split from a hub, then shows its rows before they are imported. */
export const useFetchData = (onDone: () => void) =>
  useTaskResult('datasets.fetch', ({ name, uploadId }) => {
    useArrivals.setState(({ data }) => ({ data: [...data, { name, source: { uploadId } }] }))
    navigate('/data')
    onDone()
  })

function goOnWith(versionId: string): void {
  const { to } = useReturning.getState()
  useReturning.setState({ to: null })
  if (to === null) navigate(`/data/${versionId}`)
  else navigate(to.path, { ...to.query, data: versionId })
}

/** Asks for a file that becomes a new version of a data set. */
export function useAddVersion(dataSetId: string): () => void {
  const choose = useFileDialog((state) => state.choose)
  return useCallback(() => {
    void choose({ kind: 'file', title: 'New version from a file', filters: [dataFilter] }).then((path) => {
      if (path === null) return
      const arrival = { name: lastPart(path), source: { path } }
      useArrivals.setState(({ data }) => ({ data: [...data, arrival] }))
      navigate('/data', { into: dataSetId })
    })
  }, [choose, dataSetId])
}

/** Returns runs whose settings name one of these folders. */
export function useRunsReading(directories: readonly string[]): {
  runs: readonly RunEntry[]
  isLoaded: boolean
} {
  const { runs, isLoaded } = useRuns()
  const client = useApi()
  const named = directories.map((directory) => JSON.stringify(directory))
  const records = useQueries({
    queries: runs.map(({ id: runId }) => ({
      queryKey: ['runs.get', { runId }],
      queryFn: () => client.call('runs.get', { runId }),
      staleTime: Infinity,
    })),
  })
  const reading = records.flatMap(({ data }) =>
    data !== undefined && named.some((name) => data.config.includes(name)) ? [data] : [],
  )
  return { runs: reading, isLoaded: isLoaded && records.every(({ isPending }) => !isPending) }
}

/** Settings for reading a version: prompt, longest prompt, validation split. Stored by the host. */
export function usePreparation(
  versionId: string,
): readonly [Preparation, (changes: Partial<Preparation>) => void] {
  const [stored, store] = useSetting<unknown>(`data.preparation.${versionId}`, null)
  const preparation = parsePreparation(stored)
  return [preparation, (changes) => store({ ...preparation, ...changes })]
}

/** Last version opened, or chosen for a run; null: none yet. */
export const useLastDataSet = () => useSetting<string | null>('data.last', null)

/** Removes a file from the waiting list, and its uploaded data. */
export function useDiscard(): (arrival: Arrival) => void {
  const client = useApi()
  return useCallback(
    (arrival) => {
      forget(arrival)
      if (!('uploadId' in arrival.source)) return
      const { uploadId } = arrival.source
      client
        .call('system.discardUpload', { uploadId })
        .catch((thrown: unknown) => toastError(asError(thrown)))
    },
    [client],
  )
}

const forget = (arrival: Arrival): void =>
  useArrivals.setState(({ data }) => ({ data: data.filter((other) => other !== arrival) }))

/** Fewest rows of which a part is kept for validation: a tenth of fewer tells nothing. */
const fewestToSplit = 20

/** Imports a file, keeping the chosen prompt and validation split for the new version. */
export function useImport(arrival: Arrival, { prompt, heldOut }: Pick<Preparation, 'prompt' | 'heldOut'>) {
  const writeSetting = useSettingWriter()
  return useTaskResult('datasets.import', ({ version, dataSet, isNew }) => {
    const value = {
      ...parsePreparation(null),
      prompt,
      heldOut: version.rows < fewestToSplit ? null : heldOut,
    }
    if (isNew && (prompt !== null || value.heldOut !== null))
      writeSetting(`data.preparation.${version.id}`, value)
    const left = version.problems > 0 ? ` ${plural(version.problems, 'row')} left out.` : ''
    toast(
      isNew
        ? { title: `Imported ${plural(version.rows, 'row')} as “${dataSet.name}”.${left}`, tone: 'good' }
        : { title: 'These rows were already imported.', detail: `They are a version of “${dataSet.name}”.` },
    )
    forget(arrival)
    if (useArrivals.getState().data.length === 0) goOnWith(version.id)
  })
}

/** Measures the difficulty of rows, and returns earlier measurements. */
export function useDifficulty(versionId: string) {
  const task = useTask('datasets.difficulty')
  const { data, refetch } = useAnswer('datasets.difficulties', { versionId })
  const { last, state } = task
  const id = state === 'done' && last !== undefined && 'result' in last ? last.result.summary.id : null
  useEffect(() => {
    if (id !== null) refetch()
  }, [id, refetch])
  // Only once it is in the list that it is chosen from.
  const measured = data?.known.some((summary) => summary.id === id) === true ? id : null
  return { task, known: data?.known, problems: data?.problems ?? [], measured }
}
