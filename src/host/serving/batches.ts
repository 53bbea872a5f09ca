/**
 * Completions for many clients at once: the requests for each adapter form one continuous batch, which requests join while
 * it decodes, and the batches of different adapters take turns, pass by pass, since a pass computes with one adapter.
 */
import type {
  ChosenToken,
  Completion,
  GenerateOptions,
  GenerationRequest,
  SamplingOptions,
} from '#engine/policy.ts'

/** The part of a policy that batches need. */
export interface Generates<Role> {
  generate(requests: readonly GenerationRequest[], options: GenerateOptions<Role>): AsyncGenerator<Completion>
}

export interface Listener {
  readonly onToken: (token: ChosenToken) => void
  readonly onCompletion: (completion: Completion) => void
}

interface Member extends Listener {
  /** Completions still to come. */
  open: number
  readonly done: PromiseWithResolvers<undefined>
}

/** Number of requests after which a batch that never idles is ended: it remembers what it has served until then. */
const requestsPerBatch = 4096

export class Batches<Role> {
  readonly #policy: Generates<Role>
  readonly #decode: (ids: readonly number[]) => string
  readonly #turns = new Turns()
  readonly #batches = new Map<Role, Batch<Role>>()
  readonly #running = new Set<Promise<void>>()

  /** `decode`: text of generated ids, to find stop strings in. */
  constructor(policy: Generates<Role>, decode: (ids: readonly number[]) => string) {
    this.#policy = policy
    this.#decode = decode
  }

  /**
   * Resolves when every completion of the request has been reported, or its signal aborts. Errors: those of generating,
   * which end the batch for all who share it; so what can be checked of a request must be checked before.
   */
  generate(
    role: Role,
    request: GenerationRequest & { readonly sampling: SamplingOptions },
    listener: Listener,
  ): Promise<void> {
    const known = this.#batches.get(role)
    const batch = known?.isOpen === true ? known : this.#begin(role, request.sampling)
    return batch.add(request, listener)
  }

  /** Resolves when nothing is being generated any more. */
  async drained(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running)
  }

  #begin(role: Role, sampling: SamplingOptions): Batch<Role> {
    const batch = new Batch<Role>(this.#turns)
    this.#batches.set(role, batch)
    const running = batch.run(this.#policy, { role, sampling, decode: this.#decode }).finally(() => {
      this.#running.delete(running)
      if (this.#batches.get(role) === batch) this.#batches.delete(role)
    })
    this.#running.add(running)
    return batch
  }
}

/** The requests for one adapter, from the first until none is left. */
class Batch<Role> {
  readonly #turns: Turns
  readonly #members = new Map<number, Member>()
  #arriving: GenerationRequest[] = []
  #count = 0
  #isOver = false

  constructor(turns: Turns) {
    this.#turns = turns
  }

  /** True while requests may still join. */
  get isOpen(): boolean {
    return !this.#isOver && this.#count < requestsPerBatch
  }

  async add(request: GenerationRequest, listener: Listener): Promise<void> {
    const number = this.#count++
    const done = Promise.withResolvers<undefined>()
    this.#members.set(number, { ...listener, open: request.streams.length, done })
    this.#arriving.push(request)
    const leave = () => this.#leave(number)
    request.signal?.addEventListener('abort', leave)
    if (request.signal?.aborted === true) leave()
    await done.promise.finally(() => request.signal?.removeEventListener('abort', leave))
  }

  /** Runs the batch; its errors are handed to its members. */
  async run(
    policy: Generates<Role>,
    options: Pick<GenerateOptions<Role>, 'role' | 'sampling' | 'decode'>,
  ): Promise<void> {
    let turn: Disposable | null = null
    const later = async (isIdle: boolean): Promise<readonly GenerationRequest[] | null> => {
      turn?.[Symbol.dispose]()
      turn = await this.#turns.take()
      // Nothing may come between this and the end.
      this.#isOver = isIdle && this.#arriving.length === 0
      return this.#isOver ? null : this.#arriving.splice(0)
    }
    const onToken = (token: ChosenToken) => this.#members.get(token.request)?.onToken(token)
    try {
      for await (const completion of policy.generate([], { ...options, onToken, later }))
        this.#report(completion)
    } catch (error) {
      for (const { done } of this.#members.values()) done.reject(error)
    } finally {
      this.#isOver = true
      ;(turn as Disposable | null)?.[Symbol.dispose]()
    }
  }

  #report(completion: Completion): void {
    const member = this.#members.get(completion.request)
    if (member === undefined) return
    member.onCompletion(completion)
    if (--member.open === 0) this.#leave(completion.request)
  }

  #leave(number: number): void {
    this.#members.get(number)?.done.resolve(undefined)
    this.#members.delete(number)
  }
}

/** Queue that serves one at a time, in the order of requests. */
class Turns {
  #last: Promise<unknown> = Promise.resolve()

  /** Disposing what it resolves to ends the turn. */
  async take(): Promise<Disposable> {
    const before = this.#last
    const turn = Promise.withResolvers<undefined>()
    this.#last = turn.promise
    await before
    return { [Symbol.dispose]: () => turn.resolve(undefined) }
  }
}
