/** The run of the first minute: starter model, demo tasks, no network; and what it leaves behind. */
import { useCallback, useState } from 'react'
import { useApi } from '#renderer/client/api.tsx'
import { asError } from '#renderer/client/failures.ts'
import { navigate } from '#renderer/client/route.ts'
import { toast, toastError } from '#renderer/client/toasts.ts'

/** Tag of runs that belong to the sample. */
export const sampleTag = 'sample'

export function useSampleRun(): { readonly start: () => void; readonly isStarting: boolean } {
  const client = useApi()
  const [isStarting, setStarting] = useState(false)
  const start = useCallback(() => {
    setStarting(true)
    const begin = async () => {
      const { config, tag } = await client.call('runs.sample')
      const { runId } = await client.call('runs.start', { config, tags: [tag] })
      navigate(`/runs/${runId}/overview`)
    }
    begin()
      .catch((thrown: unknown) => toastError(asError(thrown)))
      .finally(() => setStarting(false))
  }, [client])
  return { start, isStarting }
}

/** Deletes every run of the sample that is not being trained. */
export function useRemoveSample(): (runIds: readonly string[]) => void {
  const client = useApi()
  return useCallback(
    (runIds) => {
      Promise.all(runIds.map((runId) => client.call('runs.delete', { runId }))).then(
        () => toast({ title: 'The sample is removed.', tone: 'good' }),
        (thrown: unknown) => toastError(asError(thrown)),
      )
    },
    [client],
  )
}
