/** Measures how much this machine computes in a second: on the CPU, and on every other device that passed its check. */
import { deviceKinds, type DeviceKind } from '#shared/device.ts'
import { AppError } from '#shared/errors.ts'
import type { ThroughputNews } from '#host/checks/deviceSpeed.ts'
import type { Ask, Job } from '#host/processes/job.ts'
import { fittingPrecisions, type FittingPrecision } from '#host/devices/memoryFit.ts'
import { keepsBase } from '#host/devices/deviceChoice.ts'
import {
  readCheck,
  rememberThroughput,
  type DevicePlace,
  type Throughput,
} from '#host/devices/deviceRecords.ts'

export interface ThroughputInput {
  readonly place: DevicePlace
  readonly precisions: readonly FittingPrecision[]
}

export const throughputJob: Job<'throughput', ThroughputInput, ThroughputNews> = { name: 'throughput' }

export interface Measuring {
  readonly ask: Ask
  readonly cacheDirectory: string
  readonly signal: AbortSignal
}

/** News of what is measured next, or of a device's result. */
export type MachineNews =
  | { readonly device: DeviceKind; readonly on: FittingPrecision }
  | { readonly device: DeviceKind; readonly measured: Throughput }

/**
 * Measures the machine, or these devices of it, and yields what it does; the results are kept. Errors: those of the devices; AppError
 * 'file/unwritable'.
 */
export async function* measureMachine(
  { ask, cacheDirectory, signal }: Measuring,
  devices: readonly DeviceKind[] = measurable(cacheDirectory),
): AsyncGenerator<MachineNews> {
  for (const device of devices) {
    const place = placeOf(device)
    const precisions = fittingPrecisions.filter((precision) => keepsBase(device, precision))
    for await (const news of ask(throughputJob, { place, precisions }, signal)) {
      if ('measured' in news) rememberThroughput(place, cacheDirectory, news.measured)
      yield { device, ...news }
    }
  }
}

/** Number of items that `measureMachine` yields before the results, one for each form of the base on each device. */
export const measurements = (cacheDirectory: string): number =>
  measurable(cacheDirectory).reduce(
    (sum, device) => sum + fittingPrecisions.filter((precision) => keepsBase(device, precision)).length,
    0,
  )

const placeOf = (kind: DeviceKind): DevicePlace => ({ kind, deviceId: 0 })

const measurable = (cacheDirectory: string): DeviceKind[] =>
  deviceKinds.filter((kind) => {
    if (kind === 'cpu') return true
    const check = readCheck(placeOf(kind), cacheDirectory)
    return check !== null && check.problem === null && check.failures.length === 0
  })

/** Errors: AppError 'run/busy': beside a run that is being trained, speeds would tell nothing. */
export function requireIdle(running: number): void {
  if (running === 0) return
  throw new AppError(
    'run/busy',
    'A run is training, and the speed of a device cannot be measured at the same time.',
    'Wait until it ends, or stop it. The self-test alone can run meanwhile.',
  )
}
