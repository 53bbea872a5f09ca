/** CUDA's library, fetched and removed when a person asks for it. */
import type { Host } from '../host.ts'
import { requireCudaManifest } from '../cuda/installedCuda.ts'
import { installCuda, type CudaProgress } from '../cuda/installCuda.ts'
import { readIndex, type IndexAccess } from '../cuda/packageIndex.ts'
import { countOutboundRequest } from '../outboundRequests.ts'
import { isLoopback } from '../webAddress.ts'

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
