/** Live updates from the host; after a lost connection every feed resumes after its last item. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { Api } from '#shared/api/api.ts'
import type { FeedName, InputOf, OutputOf } from '#shared/api/contract.ts'
import { invalidate, useApi, useLatest, batch } from './api.tsx'
import { asError } from './toasts.ts'

interface LooseFollower {
  follow(
    name: string,
    input: unknown,
    options: { signal: AbortSignal; from?: string | null },
  ): AsyncIterable<unknown>
}

export interface FeedOptions {
  readonly enabled?: boolean
  /** Cursor to resume from, taken from another answer; read when the feed is opened. */
  readonly from?: string | null
  readonly onError?: (error: Error) => void
  readonly everyMs?: number
}

/** Calls `onItems` at most four times a second by default. The input is compared by its JSON. */
export function useFeed<Name extends FeedName<Api>>(
  name: Name,
  input: InputOf<Api, Name>,
  onItems: (items: readonly OutputOf<Api, Name>[]) => void,
  options: FeedOptions = {},
): void {
  const client = useApi()
  const { enabled = true, from = null, everyMs } = options
  const key = JSON.stringify(input ?? null)
  const latest = useLatest({ onItems, onError: options.onError, from })
  useEffect(() => {
    if (!enabled) return
    const controller = new AbortController()
    const items = batch<OutputOf<Api, Name>>((more) => {
      if (!controller.signal.aborted) latest.current.onItems(more)
    }, everyMs)
    const read = async () => {
      const asked: unknown = JSON.parse(key)
      const feed = (client as unknown as LooseFollower).follow(name, asked ?? undefined, {
        signal: controller.signal,
        from: latest.current.from,
      })
      for await (const item of feed) items.add(item as OutputOf<Api, Name>)
    }
    read().catch((thrown: unknown) => {
      if (!controller.signal.aborted) latest.current.onError?.(asError(thrown))
    })
    return () => controller.abort()
  }, [client, name, key, enabled, everyMs, latest])
}

/** Refetches the queries of an area when it changes. Mounted once, near the root. */
export function useNews(): void {
  const queries = useQueryClient()
  useFeed('datasets.watch', undefined, () => invalidate(queries, ['datasets']))
  // Custom losses are among the algorithms.
  useFeed('rewards.watch', undefined, () => invalidate(queries, ['rewards', 'settings']))
  useFeed('evaluations.watch', undefined, () => invalidate(queries, ['evaluations']))
  useFeed('chat.watch', undefined, () => invalidate(queries, ['chat']))
  useFeed('models.watch', undefined, () => invalidate(queries, ['models', 'hub.known']))
  useFeed('settings.watch', undefined, () => invalidate(queries, ['settings']))
  useFeed('studies.watch', undefined, () => invalidate(queries, ['studies']))
  useFeed('queue.watch', undefined, () => invalidate(queries, ['queue']))
  useFeed('serving.watch', undefined, () => invalidate(queries, ['serving']))
}
