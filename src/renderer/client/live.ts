/** State behind the status strip: connection, load of the machine, the active run. */
import { useEffect, useState } from 'react'
import { create } from 'zustand'
import type { Api } from '#shared/api/api.ts'
import type { ConnectionState } from '#shared/api/reconnecting.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { useFeed } from './feeds.ts'
import { rangeWords, laterStagesWords, rangeAfter } from '#shared/remaining.ts'
import { useRemainingOf, useWorkerOf } from './runs.ts'

export interface Connection {
  readonly state: ConnectionState
  /** Error of the last failed attempt, until a connection exists. */
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

/**
 * Keeps the load up to date with one subscription, so that every part of the window shows the same. Mounted once,
 * near the root.
 */
export const useLoadNews = (): void =>
  useFeed('system.watch', undefined, (items) => useLoadStore.setState({ load: items.at(-1) ?? null }))

/** Null before the first report. */
export const useLoad = (): Load | null => useLoadStore(({ load }) => load)

/** Returns the current time, updated every `everyMs`: for “5 s ago”. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}

// Remaining time in words.

/** Formats a range as precisely as it is known: “2–3 min”. */
export const etaWords = ({ lowMs, highMs }: { readonly lowMs: number; readonly highMs: number }): string =>
  rangeWords({ low: lowMs / 1000, high: highMs / 1000 })

interface Eta {
  readonly left: string
  /** Suffix if later stages follow, whose duration is unknown. */
  readonly later: string
}

/** Current estimate; null if nothing is known yet, nothing is left, or the run does not train. */
export function useEta(runId: string): Eta | null {
  const remaining = useRemainingOf(runId)
  const now = useNow(1000)
  // What is left of the run is not what is left until it has stopped.
  const isStopping = useWorkerOf(runId)?.activity === 'stopping'
  if (remaining === undefined || isStopping) return null
  const { low, high } = rangeAfter(remaining, (now - remaining.since) / 1000)
  if (high === 0) return null
  return {
    left: etaWords({ lowMs: 1000 * low, highMs: 1000 * high }),
    later: laterStagesWords(remaining.laterStages),
  }
}
