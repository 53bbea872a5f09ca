/** The example served over every port there is. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import { startHttpServer } from '#host/transports/httpServer.ts'
import { memoryPorts } from './memoryPort.ts'
import { messagePort } from '#host/transports/webSocket.ts'
import { createClient, type Client } from '#shared/api/client.ts'
import type { Port } from '#shared/api/protocol.ts'
import { serve } from '#shared/api/serve.ts'
import { openWebSocketPort } from '#shared/api/webSocketPort.ts'
import { exampleContract, exampleServices, type ExampleContract, type Seen } from './exampleContract.ts'

interface Transport extends AsyncDisposable {
  connect(): Promise<Port>
}

type Accept = (port: Port) => void

const transports = {
  memory: async (accept: Accept): Promise<Transport> => ({
    connect: async () => {
      const [near, far] = memoryPorts()
      accept(far)
      return near
    },
    [Symbol.asyncDispose]: async () => undefined,
  }),

  MessagePort: async (accept: Accept): Promise<Transport> => ({
    connect: async () => {
      const { port1, port2 } = new MessageChannel()
      accept(messagePort(port2))
      return messagePort(port1)
    },
    [Symbol.asyncDispose]: async () => undefined,
  }),

  WebSocket: async (accept: Accept): Promise<Transport> => {
    const directory = mkdtempSync(path.join(tmpdir(), 'turnwise-api-'))
    const server = await startHttpServer({
      port: 0,
      staticDirectory: path.join(directory, 'none'),
      uploadsDirectory: path.join(directory, 'uploads'),
      connect: accept,
    })
    return {
      connect: () => openWebSocketPort(server),
      [Symbol.asyncDispose]: async () => {
        await server[Symbol.asyncDispose]()
        rmSync(directory, { recursive: true })
      },
    }
  },
}

export type TransportName = keyof typeof transports
export const transportNames = Object.keys(transports) as TransportName[]

export interface Connected extends AsyncDisposable {
  readonly seen: Seen
  /** Of the first connection. */
  readonly port: Port
  readonly client: Client<ExampleContract>
  /** The host's ends, one per connection, in order. */
  readonly hostEnds: readonly Port[]
  readonly servings: readonly Disposable[]
  readonly faults: readonly (readonly [string, unknown])[]
  /** Makes another connection. */
  connect(): Promise<Port>
}

export async function connectOver(name: TransportName): Promise<Connected> {
  const { seen, handlers } = exampleServices()
  const hostEnds: Port[] = []
  const servings: Disposable[] = []
  const faults: [string, unknown][] = []
  const transport = await transports[name]((end) => {
    hostEnds.push(end)
    const onFault = (procedure: string, error: unknown): number => faults.push([procedure, error])
    servings.push(serve(end, exampleContract, handlers, { onFault, checkOutputs: true }))
  })
  const port = await transport.connect()
  const client = createClient<ExampleContract>(port)
  return {
    seen,
    port,
    client,
    hostEnds,
    servings,
    faults,
    connect: () => transport.connect(),
    [Symbol.asyncDispose]: async () => {
      client.close()
      for (const end of hostEnds) end.close()
      await transport[Symbol.asyncDispose]()
    },
  }
}
