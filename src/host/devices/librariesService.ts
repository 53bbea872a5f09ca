/** The CUDA library, fetched and removed when a person asks for it. */
import type { Handlers } from '#shared/api/contract.ts'
import type { librariesApi } from '#shared/api/libraries.ts'
import { AppError } from '#shared/errors.ts'
import type { Host } from '#host/host.ts'
import { countOutboundRequest, isLoopback } from '#host/outboundRequests.ts'
import { readCudaManifest } from './cudaManifest.ts'
import { removeCuda, requireCudaManifest } from './installedCuda.ts'
import { installCuda, planCuda, type CudaProgress } from './installCuda.ts'
import { readIndex, type IndexAccess } from './packageIndex.ts'

type Keeper = Pick<Host, 'dataDirectory' | 'store'>

/** `given`: an address for this time; the settings count where there is none. Errors: AppError 'usage/invalid'. */
export function packageIndex(
  { dataDirectory, store }: Keeper,
  signal: AbortSignal,
  given?: string,
): IndexAccess {
  return {
    index: readIndex(given ?? store.settings.get('packages.index')),
    onRequest(address) {
      if (!isLoopback(address)) countOutboundRequest(dataDirectory)
    },
    signal,
  }
}

/** Yields how far it is. Errors: those of `installCuda`; AppError 'device/unavailable' where there is no CUDA. */
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
          'A run that is being trained may compute with the CUDA library.',
          'Wait for its end, or stop it.',
        )
      }
      return removeCuda(dataDirectory)
    },
  }
}
