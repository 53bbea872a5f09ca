/** Libraries that devices need and that are not included: today the CUDA library. */
import { z } from 'zod'
import { count, progress } from './common.ts'
import { command, query, stream } from './contract.ts'

export const librariesApi = {
  /** Null if ONNX Runtime has no CUDA on this system. Makes no network request. */
  cuda: query(
    z.void(),
    z
      .object({
        isInstalled: z.boolean(),
        /** Remaining download. */
        downloadBytes: count,
        /** Whole download. */
        totalBytes: count,
        installedBytes: count,
        /** Current size on disk, including an unfinished download. */
        presentBytes: count,
        packages: z.array(z.string()),
      })
      .nullable(),
  ),
  /**
   * Downloads it from the index of the setting `packages.index` and installs it; an interrupted download is kept and
   * continued by the next one.
   */
  installCuda: stream(z.void(), z.object({ progress })),
  removeCuda: command(z.void(), z.object({ freedBytes: count })),
}
