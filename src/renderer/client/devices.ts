/** Devices of this machine, and checks of them: one at a time, whatever screen is shown. */
import { useCallback, useEffect, useState } from 'react'
import { create } from 'zustand'
import type { DeviceCheck, DeviceKind } from '#shared/device.ts'
import { useAnswer, useApi, type Answer } from './api.tsx'
import { asError } from './toasts.ts'
import { useRuns } from './runs.ts'
import { tellTask } from './tasks.ts'

export type DeviceReport = Answer<'system.info'>['devices'][number]

export interface CheckProgress {
  readonly phase: string
  readonly done: number
  readonly total: number | null
  readonly unit: string
}

interface CheckState {
  readonly current: {
    readonly device: DeviceKind
    readonly progress: CheckProgress | null
    readonly cancel: () => void
  } | null
  /** Failure of the last check to run at all. */
  readonly failure: { readonly device: DeviceKind; readonly error: Error } | null
  /** Devices checked since the window was opened, completely or not. */
  readonly tried: ReadonlySet<DeviceKind>
}

const useCheckState = create<CheckState>(() => ({ current: null, failure: null, tried: new Set() }))

/** Results by device; undefined while loading. */
export const useDeviceChecks = (): Answer<'system.deviceChecks'> | undefined =>
  useAnswer('system.deviceChecks', undefined).data

function useCheckStart(): (device: DeviceKind) => void {
  const client = useApi()
  const { refetch } = useAnswer('system.deviceChecks', undefined)
  return useCallback(
    (device) => {
      if (useCheckState.getState().current !== null) return
      const controller = new AbortController()
      const { signal } = controller
      const tell = (progress: CheckProgress | null) =>
        useCheckState.setState({ current: { device, progress, cancel: () => controller.abort() } })
      tell(null)
      useCheckState.setState(({ tried }) => ({ failure: null, tried: new Set([...tried, device]) }))
      const tellEnd = tellTask('system.checkDevice')
      const read = async () => {
        for await (const item of client.stream('system.checkDevice', { device }, { signal }))
          if ('progress' in item) tell(item.progress)
      }
      read()
        .catch((thrown: unknown) => {
          if (!signal.aborted) useCheckState.setState({ failure: { device, error: asError(thrown) } })
        })
        .finally(() => {
          useCheckState.setState({ current: null })
          tellEnd()
          refetch()
        })
    },
    [client, refetch],
  )
}

export interface DeviceTask {
  /** Null unless a check of this device is under way. */
  readonly running: { readonly progress: CheckProgress | null; readonly cancel: () => void } | null
  readonly canStart: boolean
  readonly error: Error | null
  readonly start: () => void
}

/** Check of one device; its result appears in `useDeviceChecks` once it has ended. */
export function useDeviceCheck(device: DeviceKind): DeviceTask {
  const { current, failure } = useCheckState()
  const start = useCheckStart()
  return {
    running: current?.device === device ? current : null,
    canStart: current === null,
    error: failure?.device === device ? failure.error : null,
    start: () => start(device),
  }
}

/** True if the check completed without failures. */
export const isSound = ({ failures, problem }: DeviceCheck): boolean =>
  failures.length === 0 && problem === null

/** Delay before the first check, in ms, since a newly opened window has other requests to make. */
const settledMs = 10_000

/**
 * Checks any device not yet checked with the current driver and runtime, so that `auto` learns about it: once, while
 * nothing trains. A run that starts ends the check, which would slow it down and measure no usable speed.
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
  const { current, tried } = useCheckState()
  const start = useCheckStart()
  const isTraining = workers.length > 0
  const unknown =
    checks === undefined || !isSettled || !isLoaded || isTraining
      ? undefined
      : info?.devices.find(
          ({ kind, available }) =>
            available && kind !== 'cpu' && checks[kind] === undefined && !tried.has(kind),
        )?.kind
  useEffect(() => {
    if (unknown !== undefined && current === null) start(unknown)
  }, [unknown, current, start])
  useEffect(() => {
    const { current: ended } = useCheckState.getState()
    if (!isTraining || ended === null) return
    ended.cancel()
    const error = new Error('The check was stopped because a run began: speed cannot be measured beside it.')
    useCheckState.setState({ failure: { device: ended.device, error } })
  }, [isTraining])
}
