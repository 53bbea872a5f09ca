/** Disk use of runs, and restoring deleted ones. */
import { useCallback } from 'react'
import { plural } from '#renderer/client/format.ts'
import { useAnswers, useApi, type Answer } from '#renderer/client/api.tsx'
import { asError, toast, toastError } from '#renderer/client/toasts.ts'

export interface RunFiles {
  readonly runId: string
  readonly files: Answer<'runs.files'>
}

export function useRunFiles(runIds: readonly string[]): readonly RunFiles[] | null {
  const inputs = runIds.map((runId) => ({ runId }))
  const answers = useAnswers('runs.files', inputs, { staleMs: 0 })
  const known = answers.flatMap((files, i) => {
    const runId = runIds[i]
    return files && runId !== undefined ? [{ runId, files }] : []
  })
  return known.length === runIds.length ? known : null
}

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
