/** Client that outlives its connections: it opens a new port when the last one is gone. */
import { AppError } from '../errors.ts'
import { cancelledError, createClient, type CallOptions, type Client, type FollowOptions } from './client.ts'
import type { Contract, WithCursor } from './contract.ts'
import type { Port } from './protocol.ts'

/** State of the connection; `refused`: another attempt would not help. */
export type ConnectionState = 'connecting' | 'connected' | 'disconnected' | 'refused'

export interface ReconnectingOptions {
  /** Pauses before the first, second, … attempt in a row; the last one repeats. */
  readonly delaysMs?: readonly number[]
  /** `error`: reason why there is no connection, if the attempt gave one. */
  readonly onState?: (state: ConnectionState, error: Error | null) => void
}

const defaultDelaysMs = [0, 250, 500, 1000, 2000, 5000]

/**
 * Resumes feeds after their last item as soon as there is a connection again. Calls and streams in progress end with
 * 'api/disconnected': only the caller knows whether to repeat them. New ones open a connection if there is none and
 * fail with what `openPort` throws. `openPort` throws 'api/disconnected' if another attempt may help; any other error
 * ends feeds too.
 */
export function reconnecting<C extends Contract>(
  openPort: () => Promise<Port>,
  options: ReconnectingOptions = {},
): Client<C> {
  const link = new Link<C>(openPort, options)
  const client = {
    call: async (name: string, input?: unknown, callOptions?: CallOptions) =>
      (await link.connect()).call(name, input, callOptions),
    stream: async function* (name: string, input?: unknown, callOptions?: CallOptions) {
      yield* (await link.connect()).stream(name, input, callOptions)
    },
    follow: (name: string, input?: unknown, followOptions?: FollowOptions) =>
      link.follow(name, input, followOptions),
    close: () => link.close(),
  }
  // Typed as in createClient: the contract types the messages.
  return client as unknown as Client<C>
}

interface LooseClient {
  call(name: string, input?: unknown, options?: CallOptions): Promise<unknown>
  stream(name: string, input?: unknown, options?: CallOptions): AsyncIterable<unknown>
  follow(name: string, input?: unknown, options?: FollowOptions): AsyncIterable<WithCursor>
}

class Link<C extends Contract> {
  readonly #openPort: () => Promise<Port>
  readonly #delaysMs: readonly number[]
  readonly #onState: (state: ConnectionState, error: Error | null) => void
  #connection: Promise<LooseClient> | null = null
  #port: Port | null = null
  readonly #closed = new AbortController()

  constructor(openPort: () => Promise<Port>, { delaysMs = defaultDelaysMs, onState }: ReconnectingOptions) {
    this.#openPort = openPort
    this.#delaysMs = delaysMs
    this.#onState = onState ?? (() => undefined)
  }

  /** Returns the existing connection, the attempt in progress, or a new attempt. */
  connect(): Promise<LooseClient> {
    if (this.#closed.signal.aborted) return Promise.reject(closedError())
    this.#connection ??= this.#attempt()
    return this.#connection
  }

  close(): void {
    this.#closed.abort()
    this.#port?.close()
  }

  async *follow(
    name: string,
    input: unknown,
    { signal, from = null }: FollowOptions = {},
  ): AsyncGenerator<WithCursor, void, undefined> {
    const ended = signal ? AbortSignal.any([signal, this.#closed.signal]) : this.#closed.signal
    let cursor = from
    for (let failures = 0; ; failures++) {
      if (signal?.aborted === true) throw cancelledError(name)
      try {
        const client = await this.connect()
        for await (const item of client.follow(name, input, { signal, from: cursor })) {
          yield item
          cursor = item.cursor
          failures = 0
        }
        return
      } catch (error) {
        await this.#recover(error, failures, ended)
      }
    }
  }

  /** Resolves when it is time to try again. */
  async #recover(error: unknown, failures: number, ended: AbortSignal): Promise<void> {
    if (this.#closed.signal.aborted) throw closedError()
    if (!isDisconnection(error)) throw error
    await pause(this.#delaysMs[Math.min(failures, this.#delaysMs.length - 1)] ?? 0, ended)
  }

  async #attempt(): Promise<LooseClient> {
    this.#onState('connecting', null)
    try {
      const port = await this.#openPort()
      this.#port = port
      const client = createClient<C>(port)
      port.onClose(() => this.#lose('disconnected', null))
      if (this.#closed.signal.aborted) port.close()
      else this.#onState('connected', null)
      return client
    } catch (error) {
      this.#lose(isDisconnection(error) ? 'disconnected' : 'refused', error instanceof Error ? error : null)
      throw error
    }
  }

  #lose(state: 'disconnected' | 'refused', error: Error | null): void {
    this.#connection = null
    this.#port = null
    this.#onState(state, error)
  }
}

const isDisconnection = (error: unknown): boolean =>
  error instanceof AppError && error.code === 'api/disconnected'

const closedError = (): AppError => new AppError('api/disconnected', 'This client was closed.')

/** Waits, ending early without an error when the signal aborts: the next look at the signal reports it. */
function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, durationMs)
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })
}
