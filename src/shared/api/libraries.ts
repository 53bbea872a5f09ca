/** What devices need and the program does not bring: today the CUDA library. */
import { z } from 'zod'
import { count, progress } from './common.ts'
import { command, query, stream } from './contract.ts'

export const librariesApi = {
  /** null where ONNX Runtime has no CUDA on this system. Nobody else is asked. */
  cuda: query(
    z.void(),
    z
      .object({
        isInstalled: z.boolean(),
        /** Still to be fetched. */
        downloadBytes: count,
        /** To be fetched altogether. */
        totalBytes: count,
        /** What it takes up once it is installed. */
        installedBytes: count,
        /** What lies on the disk of it now, also of an unfinished one. */
        presentBytes: count,
        packages: z.array(z.string()),
      })
      .nullable(),
  ),
  /** Fetches it from the index of the setting `packages.index` and installs it; what came stays when it is broken off, and the next one goes on there. */
  installCuda: stream(z.void(), z.object({ progress })),
  removeCuda: command(z.void(), z.object({ freedBytes: count })),
}
