/** Command that lets programs work with Turnwise for a person, over the Model Context Protocol. */
import { realpathSync } from 'node:fs'
import { MessageChannel } from 'node:worker_threads'
import { Command } from '@commander-js/extra-typings'
import { permissions, type Permission, permissionWords } from '#shared/api/agents.ts'
import { api, type Api } from '#shared/api/api.ts'
import { createClient, type Client } from '#shared/api/client.ts'
import { reconnecting } from '#shared/api/reconnecting.ts'
import { serve } from '#shared/api/serve.ts'
import { openWebSocketPort } from '#shared/api/webSocketPort.ts'
import { AppError } from '#shared/errors.ts'
import { plural } from '#shared/plural.ts'
import { terminalMessage } from '#shared/terminalText.ts'
import { withdrawAgents } from '#host/consents/agents.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { createHost } from '#host/createHost.ts'
import { createServices } from '#host/api/services.ts'
import { faultWords } from '#host/faults.ts'
import { publishedAddress } from '#host/hostAddress.ts'
import { messagePort } from '#host/transports/webSocket.ts'
import { listOf, oneOf, type CommandContext, type Context } from '../command.ts'
import { watchInterrupts } from '../interrupt.ts'
import { ownVersion } from '../version.ts'

export const mcp = (context: Context) =>
  new Command('mcp')
    .description(
      'Let an assistant or a program of yours work with runs: a server of the Model Context Protocol on standard input and output.\n\nClients start this command themselves. They may read everything in the data directory; what starts work, writes models or sends texts to other machines is asked of you once for each client, in the client, or allowed by --allow. While turnwise serve runs on the same data directory, its host does the work and goes on when the client ends; else runs stop with it, with a checkpoint.',
    )
    .option(
      '--allow <WHAT>',
      'what clients may do without being asked: start, export, send, or several with commas',
      listOf(oneOf(Object.keys(permissions) as Permission[])),
      [],
    )
    .option('--withdraw', 'forget what clients were allowed when they asked, and end')
    .action(async ({ allow, withdraw }) => {
      const here = context()
      if (withdraw === true) {
        const withdrawn = withdrawAgents(consentsFile(here.dataDirectory))
        here.output.json({ withdrawn: withdrawn.length })
        for (const { client, may } of withdrawn) here.output.line(`${client}: ${permissionWords(may)}`)
        here.output.line(`Withdrew ${plural(withdrawn.length, 'consent')}.`)
        return
      }
      await serveClient(allow, here)
    })

/** Serves the client at standard input until it ends or Ctrl-C. Errors: those of createHost. */
async function serveClient(allowed: readonly Permission[], here: CommandContext): Promise<void> {
  // Loaded on demand: no other command needs the protocol.
  const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js')
  const { serveTools } = await import('../mcp/toolServer.ts')
  await using opened = new AsyncDisposableStack()
  const client = (await runningHost(here.dataDirectory)) ?? ownHost(here, opened)
  opened.defer(() => client.close())
  const transport = new StdioServerTransport()
  const end = () => void transport.close()
  using _interrupt = watchInterrupts(end, () => process.exit(1))
  process.stdin.once('end', end).once('close', end)
  const consents = consentsFile(here.dataDirectory)
  await serveTools(transport, { client, version: ownVersion(), consents, allowed })
}

/** Connects to the host that serves the directory; null: none does. */
async function runningHost(dataDirectory: string): Promise<Client<Api> | null> {
  const client = reconnecting<Api>(async () => {
    const address = publishedAddress(dataDirectory)
    if (address !== null) return openWebSocketPort(address)
    throw new AppError('api/disconnected', 'The host has ended.', 'Start this server again; runs are kept.')
  })
  try {
    const info = await client.call('system.info')
    if (realpathSync(info.dataDirectory) === realpathSync(dataDirectory)) return client
  } catch (error) {
    if (!(error instanceof AppError)) throw error
  }
  client.close()
  return null
}

/** Opens the directory as other commands do; nothing that waits in its queue is started. */
function ownHost({ dataDirectory, output }: CommandContext, opened: AsyncDisposableStack): Client<Api> {
  const onFault = (name: string, error: unknown) =>
    output.writeNote(`${terminalMessage(faultWords(name, error))}\n`)
  const host = opened.use(createHost({ dataDirectory, servesQueue: false, onFault }))
  const { port1, port2 } = new MessageChannel()
  opened.use(serve(messagePort(port1), api, createServices(host), { onFault }))
  return createClient<Api>(messagePort(port2))
}
