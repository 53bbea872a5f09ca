/** What is remembered between openings, kept by the host. */
import { useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import { useAnswer, useApi } from './api.tsx'
import { asError } from './failures.ts'
import { toastError } from './toasts.ts'

/** A setting and the way to change it; shown at once, `undefined` is never a value. */
export function useSetting<T>(key: string, fallback: T): readonly [T, (value: T) => void] {
  const client = useApi()
  const queries = useQueryClient()
  const { data } = useAnswer('settings.all', undefined)
  const stored = data?.[key]
  const set = useCallback(
    (value: T) => {
      queries.setQueryData(['settings.all', undefined], (all: Record<string, unknown> | undefined) => ({
        ...all,
        [key]: value,
      }))
      client.call('settings.set', { key, value }).catch((thrown: unknown) => toastError(asError(thrown)))
    },
    [client, queries, key],
  )
  return [stored === undefined || stored === null ? fallback : (stored as T), set]
}
