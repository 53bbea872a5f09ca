/** Answers the requests of one connection. All input is validated here, so that services see valid input only. */
import type { z } from 'zod'
import { AppError, errorFields, refusal } from '../errors.ts'
import type { CallContext, Contract, ContractHandlers, FeedContext, Procedure } from './contract.ts'
import {
  type Port,
  maxCredit,
  maxReplyLength,
  parseRequest,
  type ReplyMessage,
  type RequestMessage,
} from './protocol.ts'

export interface ServeOptions {
  /** Receives errors other than AppError; the client learns only that there was one. */
  readonly onFault?: (name: string, error: unknown) => void
  /** Validates answers against the contract as well, for tests. */
  readonly checkOutputs?: boolean
}

/** Number of concurrent calls and streams beyond which further ones are refused. */
export const maxOpenRequests = 256

type AnyHandler = (input: unknown, context: CallContext & FeedContext) => unknown

interface Route {
  readonly name: string
  readonly procedure: Procedure
  readonly handler: AnyHandler
}

interface OpenRequest {
  readonly abort: AbortController
  readonly credit: Credit
}

/**
 * Serves until either end closes the port. An invalid message closes it: only that client is lost, others stay.
 * Disposing aborts all requests and closes the port.
 */
export function serve<C extends Contract>(
  port: Port,
  contract: C,
  handlers: ContractHandlers<C>,
  options: ServeOptions = {},
): Disposable {
  const connection = new Connection(port, routesOf(contract, handlers), options)
  port.onClose(() => connection.abortAll())
  port.listen((message) => connection.receive(message))
  return { [Symbol.dispose]: () => port.close('The host is shutting down.') }
}

function routesOf<C extends Contract>(
  contract: C,
  handlers: ContractHandlers<C>,
): ReadonlyMap<string, Route> {
  const routes = Object.entries(contract).flatMap(([areaName, area]) =>
    Object.entries(area).map(([procedureName, procedure]): Route => {
      const name = `${areaName}.${procedureName}`
      // Bound, so that a service may be an object whose methods call each other. Its type was checked by ContractHandlers.
      const service = handlers[areaName] as unknown as Readonly<Record<string, AnyHandler>>
      const handler = service[procedureName]
      if (handler === undefined) throw new Error(`Expected a handler for ${name}, got none.`)
      return { name, procedure, handler: handler.bind(service) }
    }),
  )
  return new Map(routes.map((route) => [route.name, route]))
}

class Connection {
  readonly #port: Port
  readonly #routes: ReadonlyMap<string, Route>
  readonly #options: ServeOptions
  readonly #open = new Map<number, OpenRequest>()

  constructor(port: Port, routes: ReadonlyMap<string, Route>, options: ServeOptions) {
    this.#port = port
    this.#routes = routes
    this.#options = options
  }

  receive(text: unknown): void {
    const message = parseRequest(text)
    if (message === null) this.#port.close('Malformed or oversized message.')
    else if (message.kind === 'cancel') this.#cancel(message.id)
    else if (message.kind === 'more') this.#open.get(message.id)?.credit.add(message.credit)
    else if (this.#open.has(message.id)) this.#port.close('A request number was used twice.')
    else void this.#answer(message)
  }

  abortAll(): void {
    for (const id of [...this.#open.keys()]) this.#cancel(id)
  }

  #cancel(id: number): void {
    const request = this.#open.get(id)
    this.#open.delete(id)
    request?.abort.abort()
  }

  async #answer(message: Extract<RequestMessage, { name: string }>): Promise<void> {
    const abort = new AbortController()
    const credit = new Credit(message.kind === 'stream' ? message.credit : 0, abort.signal)
    const request: OpenRequest = { abort, credit }
    const send = (reply: ReplyMessage): void => {
      // A cancelled request is forgotten; its number may even have been reused.
      if (this.#open.get(message.id) === request) this.#post(message, reply)
    }
    const isCrowded = this.#open.size >= maxOpenRequests
    this.#open.set(message.id, request)
    try {
      if (isCrowded) throw crowded()
      const route = this.#route(message)
      if (message.kind === 'call') send(await this.#callOnce(route, message, request))
      else await this.#pump({ route, message, request, send })
    } catch (error) {
      // Errors that a producer throws because its reader is gone are ignored.
      if (!request.abort.signal.aborted)
        send({ id: message.id, kind: 'err', error: this.#wireError(message.name, error) })
    }
    if (this.#open.get(message.id) === request) this.#open.delete(message.id)
  }

  #route({ name, kind }: Extract<RequestMessage, { name: string }>): Route {
    const route = this.#routes.get(name)
    if (route === undefined)
      throw new AppError('api/unknown', `There is no procedure “${name.slice(0, 60)}”.`)
    const isStream = route.procedure.kind === 'stream' || route.procedure.kind === 'feed'
    if (isStream === (kind === 'stream')) return route
    throw new AppError('api/unknown', `${name} must be ${isStream ? 'followed' : 'called'}.`)
  }

  async #callOnce(
    route: Route,
    message: Extract<RequestMessage, { name: string }>,
    { abort }: OpenRequest,
  ): Promise<ReplyMessage> {
    const value = await route.handler(checkedInput(route, message.input), {
      signal: abort.signal,
      from: null,
    })
    return { id: message.id, kind: 'ok', value: this.#checkedOutput(route, value) }
  }

  /** Sends one item per credit; no more are requested from the producer than can be sent. */
  async #pump({ route, message, request, send }: Pumping): Promise<void> {
    const { signal } = request.abort
    const { id } = message
    const from = message.kind === 'stream' ? (message.from ?? null) : null
    const items = route.handler(checkedInput(route, message.input), {
      signal,
      from,
    }) as AsyncIterable<unknown>
    const iterator = items[Symbol.asyncIterator]()
    try {
      while (await request.credit.take()) {
        const next = await iterator.next()
        if (next.done === true) {
          send({ id, kind: 'end' })
          return
        }
        send({ id, kind: 'next', item: this.#checkedOutput(route, next.value) })
      }
    } finally {
      // A no-op after the end; before it, runs the producer's own clean-up.
      await iterator.return?.()
    }
  }

  #post({ id, name }: { readonly id: number; readonly name: string }, reply: ReplyMessage): void {
    const text = JSON.stringify(reply)
    if (text.length <= maxReplyLength) {
      this.#port.post(text)
      return
    }
    const error = new Error(`${name} answered with ${text.length} characters.`)
    const refusal: ReplyMessage = { id, kind: 'err', error: this.#wireError(name, error) }
    this.#port.post(JSON.stringify(refusal))
    this.#cancel(id)
  }

  #checkedOutput(route: Route, value: unknown): unknown {
    return this.#options.checkOutputs === true ? route.procedure.output.parse(value) : value
  }

  #wireError(name: string, error: unknown): Extract<ReplyMessage, { kind: 'err' }>['error'] {
    if (error instanceof AppError) return errorFields(error)
    this.#options.onFault?.(name, error)
    return {
      code: null,
      message: `Turnwise failed internally while answering ${name}.`,
      hint: 'See the host’s log.',
    }
  }
}

interface Pumping {
  readonly route: Route
  readonly message: Extract<RequestMessage, { name: string }>
  readonly request: OpenRequest
  readonly send: (reply: ReplyMessage) => void
}

/** Counts the items that may still be sent, and wakes the producer when there is credit again. */
class Credit {
  readonly #signal: AbortSignal
  #left: number
  #wake: (() => void) | null = null

  constructor(initial: number, signal: AbortSignal) {
    this.#left = initial
    this.#signal = signal
    signal.addEventListener('abort', () => this.#wake?.(), { once: true })
  }

  add(count: number): void {
    this.#left = Math.min(this.#left + count, maxCredit)
    this.#wake?.()
  }

  /** Waits for one credit; resolves with false when the reader is gone. */
  async take(): Promise<boolean> {
    while (this.#left === 0 && !this.#signal.aborted) {
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
    if (this.#signal.aborted) return false
    this.#left--
    return true
  }
}

function checkedInput({ name, procedure }: Route, input: unknown): unknown {
  const result = procedure.input.safeParse(input)
  if (result.success) return result.data
  const [first] = result.error.issues
  throw new AppError(
    'api/invalid',
    `The request ${name} is not valid: ${first ? described(first) : 'unknown'}.`,
  )
}

/** Says where an input is wrong, and how. */
export function described(issue: z.core.$ZodIssue): string {
  const place = issue.path.map(String).join('.').slice(0, 100)
  return `${place === '' ? 'its input' : place}: ${issue.message.slice(0, 300)}`
}

const crowded = (): AppError =>
  refusal(
    `More than ${maxOpenRequests} requests are open on one connection.`,
    'Wait for some of them to finish.',
  )
