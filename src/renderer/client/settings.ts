/** Settings remembered between sessions, stored by the host. */
import { useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import { useAnswer, useApi } from './api.tsx'
import { asError, toastError } from './toasts.ts'

/** Returns a setting and its setter; changes show at once, and `undefined` is never a value. */
export function useSetting<T>(key: string, fallback: T): readonly [T, (value: T) => void] {
  const { data } = useAnswer('settings.all', undefined)
  const write = useSettingWriter()
  const set = useCallback((value: T) => write(key, value), [write, key])
  return [valueOf(data, key, fallback), set]
}

/** Returns a function that stores a setting whose key is known only later; the change shows at once. */
export function useSettingWriter(): (key: string, value: unknown) => void {
  const client = useApi()
  const queries = useQueryClient()
  return useCallback(
    (key, value) => {
      const show = () =>
        queries.setQueryData(queryKey, (all: Record<string, unknown> | undefined) => ({
          ...all,
          [key]: value,
        }))
      show()
      // An answer requested earlier would revert it.
      void queries.cancelQueries({ queryKey }).then(show)
      client.call('settings.set', { key, value }).catch((thrown: unknown) => toastError(asError(thrown)))
    },
    [client, queries],
  )
}

/** Reads settings at the time of the call: a recent change may not be rendered yet. */
export function useSettingReader(): <T>(key: string, fallback: T) => T {
  const queries = useQueryClient()
  return useCallback((key, fallback) => valueOf(queries.getQueryData(queryKey), key, fallback), [queries])
}

const queryKey = ['settings.all', undefined] as const

function valueOf<T>(all: Readonly<Record<string, unknown>> | undefined, key: string, fallback: T): T {
  const stored = all?.[key]
  return stored === undefined || stored === null ? fallback : (stored as T)
}
