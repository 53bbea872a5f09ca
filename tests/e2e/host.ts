/** The headless host, as a process of its own or one of several in a process, and a client of its API. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { ownScript } from '#host/processes/childProcess.ts'
import type { Api } from '#shared/api/api.ts'
import { createClient, type Client } from '#shared/api/client.ts'
import { openWebSocketPort } from '#shared/api/webSocketPort.ts'
import { AskedProcess } from '../askedProcess.ts'

const launcher = path.resolve(import.meta.dirname, '../../bin/turnwise.mjs')

/** Where journeys find the window, built once for all of them. */
export const windowVariable = 'TURNWISE_TEST_WINDOW'

export interface RunningHost {
  readonly url: string
  /** Asks it to end and waits; runs keep a checkpoint. */
  readonly stop: () => Promise<void>
}

function built(window: string | undefined): string {
  if (window === undefined) throw new Error('The window was not built.')
  return window
}

/** Starts hosts whose process is shared: the sooner there, the same in all that a window sees of them. */
export class SharedHosts implements Disposable {
  readonly #process = new AskedProcess(ownScript(path.join(import.meta.dirname, 'hosts.ts')))

  async start(dataDirectory: string): Promise<RunningHost> {
    const window = built(process.env[windowVariable])
    const url = (await this.#process.ask(['start', dataDirectory, window])) as string
    return {
      url,
      stop: async () => {
        await this.#process.ask(['stop', url])
      },
    }
  }

  [Symbol.dispose](): void {
    this.#process[Symbol.dispose]()
  }
}

/** `window`: the built one. `environment`: what its processes find besides. */
export async function startHost(
  dataDirectory: string,
  window: string | undefined = process.env[windowVariable],
  environment: Readonly<Record<string, string>> = {},
): Promise<RunningHost> {
  const args = ['serve', '--port', '0', '--json', '--data-dir', dataDirectory, '--window', built(window)]
  const child = spawn(process.execPath, [launcher, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...environment },
  })
  const ended = once(child, 'exit')
  for await (const line of createInterface(child.stdout)) {
    const { url } = JSON.parse(line) as { url: string }
    return {
      url,
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
