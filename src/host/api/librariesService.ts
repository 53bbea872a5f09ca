/** API procedures that install and remove the CUDA library. */
import type { Handlers, OutputOf } from '#shared/api/contract.ts'
import type { librariesApi } from '#shared/api/libraries.ts'
import { deviceTestJob, checkDevice } from '#host/jobs/deviceCheck.ts'
import { isOnThisMachine } from '#shared/config/addresses.ts'
import { AppError } from '#shared/errors.ts'
import type { Host } from '#host/host.ts'
import { countOutboundRequest } from '#host/outboundRequests.ts'
import { readCudaManifest } from '#host/devices/cudaManifest.ts'
import { removeCuda, requireCudaManifest } from '#host/devices/installedCuda.ts'
import { installCuda, planCuda, type CudaProgress } from '#host/devices/installCuda.ts'
import { readIndex, type IndexAccess } from '#host/devices/packageIndex.ts'
import type { Api } from '#shared/api/api.ts'
import type { systemApi } from '#shared/api/system.ts'
import { deviceKinds, deviceTitles, type DeviceCheck, type DeviceKind } from '#shared/device.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { readCheck, type DevicePlace } from '#host/devices/deviceRecords.ts'
import { measureMachine, measurements, requireIdle } from '#host/jobs/throughput.ts'
import type { SpeedNews } from '#host/checks/deviceSpeed.ts'

type Keeper = Pick<Host, 'dataDirectory' | 'store'>

/**
 * Returns the package index. `given`: an address for this time; without one the settings count. Errors: AppError
 * 'usage/invalid'.
 */
export function packageIndex(
  { dataDirectory, store }: Keeper,
  signal: AbortSignal,
  given?: string,
): IndexAccess {
  return {
    index: readIndex(given ?? store.settings.get('packages.index')),
    onRequest(address) {
      if (!isOnThisMachine(address)) countOutboundRequest(dataDirectory, 'library')
    },
    signal,
  }
}

/**
 * Installs the library and yields its progress. Errors: those of `installCuda`; AppError 'device/unavailable' where
 * there is no CUDA.
 */
export const installFrom = ({ dataDirectory }: Keeper, access: IndexAccess): AsyncGenerator<CudaProgress> =>
  installCuda({ dataDirectory, manifest: requireCudaManifest(), access })

export const librariesService = (host: Host): Handlers<typeof librariesApi> => {
  const { dataDirectory, supervisor } = host
  return {
    cuda() {
      const manifest = readCudaManifest()
      if (manifest === null) return null
      const plan = planCuda(dataDirectory, manifest)
      return { ...plan, packages: [...plan.packages] }
    },

    async *installCuda(_input, { signal }) {
      for await (const { doneBytes: done, totalBytes: total } of installFrom(
        host,
        packageIndex(host, signal),
      ))
        yield { progress: { phase: 'Installing', done, total, unit: 'bytes' } }
    },

    removeCuda() {
      if (supervisor.list().length > 0) {
        throw new AppError(
          'run/busy',
          'A training run may be using the CUDA library.',
          'Wait until it ends, or stop it.',
        )
      }
      return removeCuda(dataDirectory)
    },
  }
}

// Devices: whether they compute rightly, and how fast.

type Measuring = Extract<SpeedNews, { readonly on: unknown }>

export const devicesHandlers = (host: Host) =>
  ({
    async *selftest({ full, device }, { signal }) {
      let done = 0
      for await (const finding of host.ask(deviceTestJob, { full, place: placeOf(device) }, signal)) {
        done++
        yield { progress: { phase: 'Checking', done, total: null, unit: 'checks' }, finding }
      }
    },

    deviceChecks: () => checksOf(dataFolders(host.dataDirectory).cache),
    checkDevice: ({ device }, { signal }) => checking(host, placeOf(device), signal),

    async *measureSpeed(_input, { signal }) {
      requireIdle(host.supervisor.list().length)
      const cacheDirectory = dataFolders(host.dataDirectory).cache
      const total = measurements(cacheDirectory)
      let done = 0
      for await (const news of measureMachine({ ask: host.ask, cacheDirectory, signal })) {
        if ('on' in news) yield { progress: measuringProgress(news.device, done++, total) }
      }
      yield { result: null }
    },
  }) satisfies Partial<Handlers<typeof systemApi>>

/** The first of its kind, which a run takes that does not say otherwise. */
const placeOf = (kind: DeviceKind): DevicePlace => ({ kind, deviceId: 0 })

const checksOf = (cacheDirectory: string): Partial<Record<DeviceKind, DeviceCheck>> =>
  Object.fromEntries(
    deviceKinds.flatMap((kind) => {
      const check = readCheck(placeOf(kind), cacheDirectory)
      return check === null ? [] : [[kind, check]]
    }),
  )

/** Errors: AppError 'run/busy': beside a run that is being trained, speeds would tell nothing. */
async function* checking(
  { ask, supervisor, dataDirectory }: Host,
  place: DevicePlace,
  signal: AbortSignal,
): AsyncGenerator<OutputOf<Api, 'system.checkDevice'>> {
  requireIdle(supervisor.list().length)
  const cacheDirectory = dataFolders(dataDirectory).cache
  const news = checkDevice({ ask, place, cacheDirectory, signal })
  for (let done = 0; ;) {
    const next = await news.next()
    if (next.done === true) {
      yield { result: next.value }
      return
    }
    if ('finding' in next.value) yield { progress: testProgress(++done) }
    else if ('on' in next.value.measured) yield { progress: speedProgress(next.value.measured) }
  }
}

const testProgress = (done: number) => ({ phase: 'Self-test', done, total: null, unit: 'checks' as const })

const measuringProgress = (device: DeviceKind, done: number, total: number) => ({
  phase: `Measuring ${device === 'cpu' ? 'the CPU' : deviceTitles[device]}`,
  done,
  total,
  unit: 'phases' as const,
})

const speedProgress = ({ on, parameters }: Measuring) => ({
  phase: `Measuring ${on === 'cpu' ? 'the CPU' : 'the device'} with ${(parameters / 1e6).toFixed(0)} million parameters`,
  done: 0,
  total: null,
  unit: 'phases' as const,
})
