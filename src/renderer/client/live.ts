/** What the foot of the window tells: connection, load of the machine, the run at work. */
import { useEffect, useState } from 'react'
import { create } from 'zustand'
import type { Api } from '#shared/api/api.ts'
import type { ConnectionState } from '#shared/api/reconnecting.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { useFeed } from './feeds.ts'

export interface Connection {
  readonly state: ConnectionState
  /** Why there is none, from the last attempt that failed until there is one. */
  readonly problem: Error | null
}

export const useConnection = create<Connection>(() => ({ state: 'connecting', problem: null }))

export const tellConnection = (state: ConnectionState, error: Error | null): void =>
  useConnection.setState(({ problem }) => ({
    state,
    problem: state === 'connected' ? null : (error ?? problem),
  }))

export type Load = OutputOf<Api, 'system.watch'>

const useLoadStore = create<{ readonly load: Load | null }>(() => ({ load: null }))

/** Keeps it up to date: one subscription, so that every part of the window says the same. Once, near the root. */
export const useLoadNews = (): void =>
  useFeed('system.watch', undefined, (items) => useLoadStore.setState({ load: items.at(-1) ?? null }))

/** null: not known yet. */
export const useLoad = (): Load | null => useLoadStore(({ load }) => load)

/** The time, told every `everyMs`: for “5 s ago”. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}
