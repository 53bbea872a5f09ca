/** Stored samples of a run, page by page, and rewards of an edited one. */
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { Api } from '#shared/api/api.ts'
import type { InputOf } from '#shared/api/contract.ts'
import type { Sample, SampleSource } from '#renderer/parts/groups.ts'
import { useAnswer, useApi, type Answer } from '#renderer/client/api.tsx'
import { useSettled } from '#renderer/client/settled.ts'

/** Limit of the host per answer. */
const pageSize = 500

export type SampleRequest = Omit<InputOf<Api, 'samples.list'>, 'limit' | 'before'>

export interface SamplePages {
  readonly samples: readonly Sample[]
  readonly isLoaded: boolean
  readonly isLoadingMore: boolean
  readonly hasMore: boolean
  readonly loadMore: () => void
  readonly error: Error | null
}

/**
 * Reads pages of samples once, since stored steps never change; `revision` distinguishes histories after a run returned
 * to an earlier step.
 */
export function useSamplePages(request: SampleRequest | null, revision: string | number): SamplePages {
  const client = useApi()
  const query = useInfiniteQuery({
    queryKey: ['samples-of-run', request, revision],
    queryFn: ({ pageParam, signal }) => {
      const page = {
        runId: '',
        ...request,
        limit: pageSize,
        ...(pageParam === null ? {} : { before: pageParam }),
      }
      return client.call('samples.list', page, { signal })
    },
    initialPageParam: null as number | null,
    getNextPageParam: (page: readonly Sample[]) =>
      page.length < pageSize ? null : (page.at(-1)?.id ?? null),
    enabled: request !== null,
    staleTime: Infinity,
    placeholderData: keepPreviousData,
  })
  const { data, fetchNextPage, hasNextPage, isFetchingNextPage, isFetching } = query
  const samples = useMemo(() => data?.pages.flat() ?? [], [data])
  return {
    samples,
    isLoaded: data !== undefined && !query.isPlaceholderData,
    isLoadingMore: isFetchingNextPage,
    hasMore: hasNextPage,
    loadMore: () => {
      if (hasNextPage && !isFetching) void fetchNextPage()
    },
    error: query.error,
  }
}

/** Returns the steps of one source that have samples, in order. */
export function useSampleSteps(runId: string, source: SampleSource): readonly number[] {
  const { data } = useAnswer('samples.steps', { runId, source }, { keep: true })
  return useMemo(() => {
    const steps = (data ?? []).filter((each) => each.source === source).map(({ step }) => step)
    return steps.sort((a, b) => a - b)
  }, [data, source])
}

/** Freezes a list that grows at its front at the newest item seen, until the user asks for more. */
export function useSeenUntil(newest: number | null): {
  readonly until: number | null
  readonly showNewest: () => void
} {
  const [seen, setSeen] = useState<number | null>(newest)
  if (seen === null && newest !== null) setSeen(newest)
  // The run returned to an earlier step.
  if (seen !== null && newest !== null && newest < seen) setSeen(newest)
  return { until: seen ?? newest, showNewest: () => setSeen(newest) }
}

export type TextScore = Answer<'samples.scoreText'>

export interface TextScoring {
  /** Score of the current text; null while pending. */
  readonly score: TextScore | null
  readonly error: Error | null
  readonly isScoring: boolean
}

/** Scores a text in place of a sample's completion when typing pauses. */
export function useTextScore(sampleId: number, completion: string): TextScoring {
  const asked = useSettled(completion, 250)
  const { data, error } = useAnswer('samples.scoreText', { sampleId, completion: asked })
  const isCurrent = asked === completion && (data !== undefined || error !== null)
  return {
    score: isCurrent ? (data ?? null) : null,
    error: isCurrent ? error : null,
    isScoring: !isCurrent,
  }
}
