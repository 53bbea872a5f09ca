/** What deleting runs would remove. */
import { useQueries } from '@tanstack/react-query'
import { useApi, type Answer } from './api.tsx'

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
