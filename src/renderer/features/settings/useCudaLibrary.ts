/** Installing the CUDA library: it takes minutes, so it goes on while the person is at another screen. */
import { useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import { create } from 'zustand'
import { invalidate, useApi, type Answer } from '#renderer/client/api.tsx'
import { codeOf, asError } from '#renderer/client/failures.ts'
import { tellTask } from '#renderer/client/tasks.ts'
import { toast } from '#renderer/client/toasts.ts'

export interface Installing {
  readonly doneBytes: number
  readonly totalBytes: number | null
  /** Milliseconds until its end, at the pace so far; null: not known yet. */
  readonly leftMs: number | null
}

interface Installation {
  /** null where none is under way. */
  readonly installing: Installing | null
  /** Of the last one. */
  readonly error: Error | null
}

const idle: Installation = { installing: null, error: null }
const useInstallation = create<Installation>(() => idle)
let current: AbortController | null = null

/** As it is now, and what can be done about it. */
export function useCudaInstallation(): Installation & { start: () => void; cancel: () => void } {
  const client = useApi()
  const queries = useQueryClient()
  const start = useCallback(() => {
    if (current !== null) return
    const controller = new AbortController()
    current = controller
    const tellEnd = tellTask('libraries.installCuda')
    useInstallation.setState({ installing: { doneBytes: 0, totalBytes: null, leftMs: null }, error: null })
    follow(client.stream('libraries.installCuda', undefined, { signal: controller.signal }))
      .then(() => {
        useInstallation.setState(idle)
        if (!controller.signal.aborted) toast({ title: 'The CUDA library is installed.', tone: 'good' })
      })
      .catch((thrown: unknown) => {
        const error = asError(thrown)
        const isWished = controller.signal.aborted || codeOf(error) === 'api/cancelled'
        useInstallation.setState({ installing: null, error: isWished ? null : error })
      })
      .finally(() => {
        current = null
        tellEnd()
        invalidate(queries, ['libraries', 'system'])
      })
  }, [client, queries])
  const cancel = useCallback(() => current?.abort(), [])
  return { ...useInstallation(), start, cancel }
}

const shownEveryMs = 250

async function follow(items: AsyncIterable<Answer<'libraries.installCuda'>>): Promise<void> {
  let first: { readonly at: number; readonly done: number } | null = null
  let shownAt = -Infinity
  for await (const { progress } of items) {
    const { done, total } = progress
    const at = performance.now()
    first ??= { at, done }
    if (at - shownAt < shownEveryMs) continue
    shownAt = at
    const pace = (done - first.done) / (at - first.at)
    const leftMs = total !== null && pace > 0 ? (total - done) / pace : null
    useInstallation.setState({ installing: { doneBytes: done, totalBytes: total, leftMs } })
  }
}
