/** The headless host: history, processes and services behind one listener on this machine. */
import { fileURLToPath } from 'node:url'
import { api } from '#shared/api/api.ts'
import { serve } from '#shared/api/serve.ts'
import { createHost, type HostOptions } from './createHost.ts'
import { dataFolders } from './dataDirectory.ts'
import type { OnFault } from './faults.ts'
import type { Cleared } from '#host/workFolder/leftovers.ts'
import { createServices } from '#host/api/services.ts'
import { publishAddress } from './hostAddress.ts'
import { startHttpServer } from './transports/httpServer.ts'
import { discardOldUploads } from './transports/uploads.ts'

const oldUploadMs = 24 * 60 * 60 * 1000

/** The built window. */
const ownWindow = fileURLToPath(new URL('../../out/renderer', import.meta.url))

export interface ServeOptions extends Omit<HostOptions, 'servesQueue' | 'onFault'> {
  /** 0: any free one. */
  readonly port: number
  /** The built window; the one of this installation where it is not said. */
  readonly windowDirectory?: string
  /** Called with internal errors; the client hears only that there was one. */
  readonly onFault?: OnFault
}

export interface ServedHost extends AsyncDisposable {
  /** Opens the window; holds the token. */
  readonly url: string
  readonly cleared: Cleared
  /** True if nothing that waits starts before somebody says so in the window. */
  readonly isHeld: boolean
  /** Runs that are being trained. */
  readonly training: () => number
  /** Ends every training process at once. */
  readonly kill: () => void
}

/**
 * Serves a host; disposing stops every run after its step, with a checkpoint. Errors: those of createHost and
 * startHttpServer.
 */
export async function serveHost({
  port,
  onFault,
  windowDirectory = ownWindow,
  ...options
}: ServeOptions): Promise<ServedHost> {
  const told = onFault === undefined ? {} : { onFault }
  const uploads = dataFolders(options.dataDirectory).uploads
  await discardOldUploads(uploads, oldUploadMs)
  const host = createHost({ ...options, ...told, servesQueue: true })
  const services = createServices(host)
  try {
    const server = await startHttpServer({
      port,
      staticDirectory: windowDirectory,
      uploadsDirectory: uploads,
      connect: (connection) => void serve(connection, api, services, told),
      ...told,
    })
    const published = publishAddress(options.dataDirectory, server)
    return {
      url: server.url,
      cleared: host.cleared,
      isHeld: host.queue.isHeld,
      training: () => host.supervisor.list().length,
      kill: () => host.supervisor.list().forEach(({ runId }) => void host.supervisor.kill(runId)),
      async [Symbol.asyncDispose]() {
        published[Symbol.dispose]()
        await server[Symbol.asyncDispose]()
        await host[Symbol.asyncDispose]()
      },
    }
  } catch (error) {
    await host[Symbol.asyncDispose]()
    throw error
  }
}
