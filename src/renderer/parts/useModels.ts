/** Models: adding them, and checkpoints trained on them. */
import { useCallback } from 'react'
import { lastPart } from '#renderer/client/format.ts'
import { bestOf, type Checkpoint, type ModelChoice } from '#renderer/client/modelChoice.ts'
import type { FileSource } from '#renderer/client/connection.ts'
import { useArrivals } from '#renderer/client/adding.ts'
import { useAnswers, useApi, useLatest, useTaskResult } from '#renderer/client/api.tsx'
import { asError, toast, toastError } from '#renderer/client/toasts.ts'
import { ggufFilter, useFileDialog } from '#renderer/client/fileDialog.ts'
import { navigate } from '#renderer/client/route.ts'
import type { RunEntry } from '#renderer/client/runs.ts'
import { runTitle } from '#renderer/client/words.ts'

/** Asks for the folder or the GGUF file of a model and shows it in Models. */
export function useAddModel(kind: 'folder' | 'file' = 'folder'): () => void {
  const choose = useFileDialog((state) => state.choose)
  return useCallback(() => {
    const asked = choose({
      kind,
      title: 'Add a model',
      filters: [ggufFilter],
      isForModels: kind === 'folder',
    })
    void asked.then((path) => {
      if (path === null) return
      // Whether it is a model or an adapter shows when it is inspected.
      useArrivals.setState({ model: { name: lastPart(path), kind: 'model', source: { path } } })
      navigate('/models')
    })
  }, [choose, kind])
}

/** Downloads a model from a hub, then shows it before it is imported. */
export const useFetchModel = (onDone: () => void) =>
  useTaskResult('models.fetch', ({ name, uploadId }) => {
    useArrivals.setState({ model: { name, kind: 'model', source: { uploadId } } })
    navigate('/models')
    onDone()
  })

/** Chooses a run's best checkpoint; reports if it has none. */
export function useChooseRun(onChoice: (choice: ModelChoice) => void): (run: RunEntry) => Promise<void> {
  const client = useApi()
  const latest = useLatest(onChoice)
  return useCallback(
    async (run) => {
      try {
        const best = bestOf(await client.call('checkpoints.list', { runId: run.id }))
        if (best === undefined) toast({ title: `${runTitle(run)} has no complete checkpoint.`, tone: 'bad' })
        else latest.current({ model: run.model, adapter: { runId: run.id, step: best.step } })
      } catch (thrown) {
        toastError(asError(thrown))
      }
    },
    [client, latest],
  )
}

/** Checkpoints by run; runs are missing while loading. */
export function useCheckpointsOf(runIds: readonly string[]): ReadonlyMap<string, readonly Checkpoint[]> {
  const answers = useAnswers(
    'checkpoints.list',
    runIds.map((runId) => ({ runId })),
  )
  return new Map(
    runIds.flatMap((runId, at) => {
      const data = answers[at]
      return data === undefined ? [] : [[runId, data] as const]
    }),
  )
}

export const useImportModel = () =>
  useTaskResult('models.import', ({ name }) => {
    toast({ title: `“${name}” was imported.`, tone: 'good' })
    useArrivals.setState({ model: null })
    navigate(`/models/${encodeURIComponent(name)}`)
  })

/** Discards a reviewed folder, and its uploaded data. */
export function useDiscardFolder(): (source: FileSource) => void {
  const client = useApi()
  return useCallback(
    (source) => {
      useArrivals.setState({ model: null })
      if (!('uploadId' in source)) return
      client
        .call('system.discardUpload', { uploadId: source.uploadId })
        .catch((thrown: unknown) => toastError(asError(thrown)))
    },
    [client],
  )
}
