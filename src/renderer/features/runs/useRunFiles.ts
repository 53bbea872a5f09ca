/** What runs take up, and bringing deleted ones back. */
import { useQueries } from '@tanstack/react-query'
import { useCallback } from 'react'
import { plural } from '#renderer/client/format.ts'
import { useApi, type Answer } from '#renderer/client/api.tsx'
import { asError, toast, toastError } from '#renderer/client/toasts.ts'

export interface RunFiles {
  readonly runId: string
  readonly files: Answer<'runs.files'>
}

/** null until all is known. */
export function useRunFiles(runIds: readonly string[]): readonly RunFiles[] | null {
  const client = useApi()
  const answers = useQueries({
    queries: runIds.map((runId) => ({
      queryKey: ['runs.files', { runId }],
      queryFn: ({ signal }: { signal: AbortSignal }) => client.call('runs.files', { runId }, { signal }),
    })),
  })
  const known = answers.flatMap(({ data }, i) => {
    const runId = runIds[i]
    return data && runId !== undefined ? [{ runId, files: data }] : []
  })
  return known.length === runIds.length ? known : null
}

/** Out of the trash again; says so. */
export function useRestoreRuns(): (runIds: readonly string[]) => Promise<void> {
  const client = useApi()
  return useCallback(
    async (runIds) => {
      try {
        for (const runId of runIds) await client.call('runs.restore', { runId })
        toast({ title: `${plural(runIds.length, 'run')} restored`, tone: 'good' })
      } catch (thrown) {
        toastError(asError(thrown))
      }
    },
    [client],
  )
}
