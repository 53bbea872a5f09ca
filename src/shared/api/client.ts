/** Makes calls and reads streams over one port. Loads no schemas, since answers come from a host of the same version. */
import { AppError, errorOf, type ErrorCode } from '../errors.ts'
import type { CallName, Contract, FeedName, InputOf, OutputOf, StreamName, WithCursor } from './contract.ts'
import {
  type Port,
  maxRequestLength,
  parseReply,
  type ReplyMessage,
  type RequestMessage,
  type WireError,
} from './protocol.ts'

/** Number of items sent ahead to a reader that has not taken them yet. */
const creditPerStream = 16

export interface CallOptions {
  /** Cancels: the call or stream ends with 'api/cancelled' and the host stops working on it. */
  readonly signal?: AbortSignal | undefined
}

export interface FollowOptions extends CallOptions {
  /** Cursor of the last item already known. */
  readonly from?: string | null
}

/** Makes the input optional if it may be undefined. */
type Arguments<Input, Options> = undefined extends Input
  ? [input?: Input, options?: Options]
  : [input: Input, options?: Options]

/**
 * Errors of all three: the host's AppErrors unchanged; 'api/disconnected' when the connection is lost, 'api/cancelled'
 * when the signal aborts; HostFault for a bug in the host.
 */
export interface Client<C extends Contract> {
  call<Name extends CallName<C>>(
    name: Name,
    ...rest: Arguments<InputOf<C, Name>, CallOptions>
  ): Promise<OutputOf<C, Name>>
  /** Sends the request when the first item is requested; leaving the loop ends the work at the host. */
  stream<Name extends StreamName<C>>(
    name: Name,
    ...rest: Arguments<InputOf<C, Name>, CallOptions>
  ): AsyncIterableIterator<OutputOf<C, Name>>
  /** Same as `stream`, starting after a cursor. */
  follow<Name extends FeedName<C>>(
    name: Name,
    ...rest: Arguments<InputOf<C, Name>, FollowOptions>
  ): AsyncIterableIterator<OutputOf<C, Name> & WithCursor>
  /** Closes the port; pending requests end with 'api/disconnected'. */
  close(): void
}

/** Bug in the host, whose log has details. */
export class HostFault extends Error {
  readonly hint: string | undefined

  constructor(message: string, hint: string | undefined) {
    super(message)
    this.name = 'HostFault'
    this.hint = hint
  }
}

/** Creates a client that lives as long as the port; reconnecting.ts has one that outlives it. */
export function createClient<C extends Contract>(port: Port): Client<C> {
  const exchange = new Exchange(port)
  const client = {
    call: (name: string, input?: unknown, { signal }: CallOptions = {}) => exchange.call(name, input, signal),
    stream: (name: string, input?: unknown, { signal }: CallOptions = {}) =>
      exchange.read({ name, input, from: null, signal }),
    follow: (name: string, input?: unknown, { signal, from = null }: FollowOptions = {}) =>
      exchange.read({ name, input, from, signal }),
    close: () => port.close(),
  }
  // The contract types the messages; the exchange itself is the same for all.
  return client as unknown as Client<C>
}

type NewRequest = RequestMessage extends infer Message
  ? Message extends RequestMessage
    ? Omit<Message, 'id'>
    : never
  : never

interface Waiter {
  readonly take: (reply: ReplyMessage) => void
  readonly fail: (error: Error) => void
}

interface Reading {
  readonly name: string
  readonly input: unknown
  readonly from: string | null
  readonly signal: AbortSignal | undefined
}

class Exchange {
  readonly #port: Port
  readonly #waiters = new Map<number, Waiter>()
  #lastId = 0
  #isClosed = false

  constructor(port: Port) {
    this.#port = port
    port.onClose(() => this.#lose())
    port.listen((message) => this.#receive(message))
  }

  async call(name: string, input: unknown, signal: AbortSignal | undefined): Promise<unknown> {
    if (signal?.aborted === true) throw cancelledError(name)
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const id = this.#open(
      { kind: 'call', name, input },
      {
        take: (reply) => (reply.kind === 'ok' ? resolve(reply.value) : reject(replyError(reply, name))),
        fail: reject,
      },
    )
    const abort = (): void => {
      reject(cancelledError(name))
      this.#cancel(id)
    }
    signal?.addEventListener('abort', abort, { once: true })
    try {
      return await promise
    } finally {
      signal?.removeEventListener('abort', abort)
      this.#waiters.delete(id)
    }
  }

  async *read({ name, input, from, signal }: Reading): AsyncGenerator<unknown, void, undefined> {
    if (signal?.aborted === true) throw cancelledError(name)
    const inbox = new Inbox(name)
    const start = { kind: 'stream', name, input, credit: creditPerStream } as const
    const id = this.#open(from === null ? start : { ...start, from }, inbox)
    const abort = (): void => inbox.discard(cancelledError(name))
    signal?.addEventListener('abort', abort, { once: true })
    try {
      for (let taken = 1; ; taken++) {
        const next = await inbox.next()
        if (next.done) return
        yield next.item
        // The reader asked for more, so it has processed what it had.
        if (taken % (creditPerStream / 2) === 0)
          this.#port.post(encode({ id, kind: 'more', credit: creditPerStream / 2 }))
      }
    } finally {
      signal?.removeEventListener('abort', abort)
      this.#cancel(id)
    }
  }

  #open(request: NewRequest, waiter: Waiter): number {
    if (this.#isClosed) throw disconnected()
    const id = ++this.#lastId
    const text = encode({ ...request, id })
    this.#waiters.set(id, waiter)
    this.#port.post(text)
    return id
  }

  #receive(text: unknown): void {
    const reply = parseReply(text)
    // The answer does not come from a Turnwise host.
    if (reply === null) {
      this.#port.close('Malformed reply.')
      return
    }
    const waiter = this.#waiters.get(reply.id)
    if (reply.kind !== 'next') this.#waiters.delete(reply.id)
    waiter?.take(reply)
  }

  #cancel(id: number): void {
    if (this.#waiters.delete(id)) this.#port.post(encode({ id, kind: 'cancel' }))
  }

  #lose(): void {
    this.#isClosed = true
    const waiters = [...this.#waiters.values()]
    this.#waiters.clear()
    for (const { fail } of waiters) fail(disconnected())
  }
}

type Outcome = { readonly done: false; readonly item: unknown } | { readonly done: true }

/** Items of a stream that have arrived but not been taken. */
class Inbox implements Waiter {
  readonly #name: string
  readonly #items: unknown[] = []
  #end: Error | 'done' | null = null
  #wake: (() => void) | null = null

  constructor(name: string) {
    this.#name = name
  }

  readonly take = (reply: ReplyMessage): void => {
    if (reply.kind === 'next') this.#items.push(reply.item)
    else this.#end ??= reply.kind === 'end' ? 'done' : replyError(reply, this.#name)
    this.#wake?.()
  }

  /** Ends the stream after the items that have already arrived. */
  readonly fail = (error: Error): void => {
    this.#end ??= error
    this.#wake?.()
  }

  discard(error: Error): void {
    this.#items.length = 0
    this.#end = error
    this.#wake?.()
  }

  async next(): Promise<Outcome> {
    while (this.#items.length === 0 && this.#end === null) {
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
    if (this.#items.length > 0) return { done: false, item: this.#items.shift() }
    if (this.#end instanceof Error) throw this.#end
    return { done: true }
  }
}

function encode(message: RequestMessage): string {
  const text = JSON.stringify(message)
  if (text.length <= maxRequestLength) return text
  throw new AppError(
    'api/invalid',
    `A message of ${text.length} characters is too long for the host.`,
    'Pass large data as a file.',
  )
}

function replyError(reply: ReplyMessage, name: string): Error {
  if (reply.kind === 'err') return unpack(reply.error)
  return new Error(`Expected a different kind of reply to ${name}, got “${reply.kind}”.`)
}

function unpack({ code, ...fields }: WireError): Error {
  if (code === null) return new HostFault(fields.message, fields.hint ?? undefined)
  // The host has the same union of codes, since both come from the same build.
  return errorOf({ code: code as ErrorCode, ...fields })
}

export const cancelledError = (name: string): AppError =>
  new AppError('api/cancelled', `${name} was cancelled.`)

const disconnected = (): AppError =>
  new AppError(
    'api/disconnected',
    'The connection to the host is lost.',
    'Runs continue without it. The last request may or may not have been executed.',
  )
