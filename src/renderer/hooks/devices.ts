/** What is known of the devices of this machine, and checks of them. */
import { useEffect, useState } from 'react'
import type { DeviceCheck, DeviceKind } from '#shared/device.ts'
import { useAnswer, useTask, type Answer } from './api.tsx'
import { useRuns } from './runs.ts'

export type DeviceReport = Answer<'system.info'>['devices'][number]

export interface DeviceTask {
  readonly state: 'idle' | 'running' | 'done' | 'failed' | 'cancelled'
  readonly progress: {
    readonly phase: string
    readonly done: number
    readonly total: number | null
    readonly unit: string
  } | null
  readonly error: Error | null
  readonly start: () => void
  readonly cancel: () => void
}

/** What was found of each kind; undefined while it is on its way. */
export const useDeviceChecks = (): Answer<'system.deviceChecks'> | undefined =>
  useAnswer('system.deviceChecks', undefined).data

/** The check of one device; what it found is among `useDeviceChecks` when it has ended. */
export function useDeviceCheck(device: DeviceKind): DeviceTask {
  const { start, cancel, last, state, error } = useTask('system.checkDevice')
  const { refetch } = useAnswer('system.deviceChecks', undefined)
  useEffect(() => {
    if (state === 'done') refetch()
  }, [state, refetch])
  return {
    ...{ state, error, cancel },
    progress: last !== undefined && 'progress' in last ? last.progress : null,
    start: () => start({ device }),
  }
}

/** It came to its end, and nothing was wrong. */
export const isSound = ({ checks, failures, problem }: DeviceCheck): boolean =>
  checks > 0 && failures.length === 0 && problem === null

/** A window that has just been opened has other things to ask. */
const settledMs = 10_000

/**
 * Checks a device that nobody has checked with the driver and the runtime there are now, so that `auto` comes to know it:
 * once, while nothing trains. Once, near the root.
 */
export function useNewDevices(): void {
  const [isSettled, setSettled] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(true), settledMs)
    return () => clearTimeout(timer)
  }, [])
  const { data: info } = useAnswer('system.info', undefined, { enabled: isSettled })
  const checks = useDeviceChecks()
  const { isLoaded, workers } = useRuns()
  const isIdle = isLoaded && workers.length === 0
  const { start, cancel, state } = useTask('system.checkDevice')
  const { refetch } = useAnswer('system.deviceChecks', undefined)
  const unknown =
    checks === undefined
      ? undefined
      : info?.devices.find(({ kind, available }) => available && kind !== 'cpu' && checks[kind] === undefined)
  const kind = unknown?.kind
  useEffect(() => {
    if (state === 'done') refetch()
  }, [state, refetch])
  useEffect(() => {
    if (isIdle && kind !== undefined && state === 'idle') start({ device: kind })
    if (!isIdle && state === 'running') cancel()
  }, [isIdle, kind, state, start, cancel])
}
