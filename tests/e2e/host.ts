/** The headless host as a process of its own, and a client of its API. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'
import type { Api } from '#shared/api/api.ts'
import { createClient, type Client } from '#shared/api/client.ts'
import { openWebSocketPort } from '#shared/api/webSocketPort.ts'

const launcher = path.resolve(import.meta.dirname, '../../bin/turnwise.mjs')

/** Where journeys find the window, built once for all of them. */
export const windowVariable = 'TURNWISE_TEST_WINDOW'

export interface HostProcess {
  readonly url: string
  readonly child: ChildProcess
  /** Asks it to end and waits; runs keep a checkpoint. */
  readonly stop: () => Promise<void>
}

/** `window`: the built one. `environment`: what its processes find besides. */
export async function startHost(
  dataDirectory: string,
  window: string | undefined = process.env[windowVariable],
  environment: Readonly<Record<string, string>> = {},
): Promise<HostProcess> {
  if (window === undefined) throw new Error('The window was not built.')
  const args = ['serve', '--port', '0', '--json', '--data-dir', dataDirectory, '--window', window]
  const child = spawn(process.execPath, [launcher, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...environment },
  })
  const ended = once(child, 'exit')
  for await (const line of createInterface(child.stdout)) {
    const { url } = JSON.parse(line) as { url: string }
    return {
      url,
      child,
      async stop() {
        child.kill('SIGINT')
        await ended
      },
    }
  }
  throw new Error('The host ended before it told its address.')
}

export async function connectTo(url: string): Promise<Client<Api>> {
  const { origin, hash } = new URL(url)
  return createClient<Api>(await openWebSocketPort({ origin, token: hash.replace('#token=', '') }))
}
