/**
 * A learner in a thread of its own. ONNX Runtime blocks the thread that runs it, so this is how several micro-batches
 * are learned from at once. Parameters and gradients lie in memory that the threads share; sequences, heads and
 * coefficients travel as messages.
 */
import { extname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { type ErrorCode, AppError } from '#shared/errors.ts'
import type { AccumulateOptions, Heads, LossCoefficients, ScoreOptions, TokenSequence } from '../policy.ts'
import type { DropoutPlace } from './dropoutMasks.ts'
import type { Coefficients, FlatParameters, Learner, LearnerOptions, LearningTask } from './learner.ts'

/** Worker that scores and learns from one micro-batch at a time. */
export type LearningWorker = Pick<Learner, 'score' | 'accumulate'>

type Unsignalled<Options> = Omit<Options, 'signal'>

export interface ScoreMessage {
  readonly kind: 'score'
  readonly sequences: readonly TokenSequence[]
  readonly adapter: Float32Array
  /** Value head; null to score with the vocabulary instead. */
  readonly head: Float32Array | null
  readonly options: Unsignalled<Omit<ScoreOptions, 'role'>>
}

export interface LearnMessage {
  readonly kind: 'learn'
  readonly sequences: readonly TokenSequence[]
  readonly flat: FlatParameters
  readonly critic: boolean
  readonly place: DropoutPlace
  readonly options: Unsignalled<AccumulateOptions>
}

/**
 * Messages to a replica, which works on one task at a time; `coefficients` answers `heads`, `stop` ends the task early.
 */
export type ToReplica =
  | ScoreMessage
  | LearnMessage
  | { readonly kind: 'coefficients'; readonly coefficients: readonly LossCoefficients[] }
  | { readonly kind: 'stop' }
  | { readonly kind: 'close' }

export type FromReplica =
  | { readonly kind: 'heads'; readonly heads: readonly Heads[] }
  | { readonly kind: 'done'; readonly heads: Heads[] }
  | { readonly kind: 'failed'; readonly error: PortableError }

/** An error between threads, where classes do not survive. */
export interface PortableError {
  readonly code: ErrorCode | null
  readonly message: string
  readonly hint: string | undefined
}

interface Task {
  readonly coefficients: Coefficients | null
  readonly resolve: (heads: Heads[]) => void
  readonly reject: (error: unknown) => void
}

/** Writing graphs leaves much behind; with the usual limit 50 MB more of it stay. */
const resourceLimits = { maxYoungGenerationSizeMb: 8 }

export class Replica implements LearningWorker {
  readonly #thread: Worker
  /** Array in which this replica's gradients add up, in place of the task's own; null to use that of the task. */
  readonly #gradients: Float32Array | null
  #task: Task | null = null
  /** Reason for the end of the thread; null while it runs. */
  #end: AppError | null = null

  constructor(options: LearnerOptions, gradients: Float32Array | null) {
    this.#gradients = gradients
    const script = `replicaThread${extname(import.meta.filename)}` // beside this file, also in what is built
    this.#thread = new Worker(join(import.meta.dirname, script), { workerData: options, resourceLimits })
    this.#thread.unref() // a thread without a task keeps nothing alive
    this.#thread.on('message', (message: FromReplica) => void this.#hear(message))
    this.#thread.on('error', (error) => this.#lose(error))
    this.#thread.on('exit', () => this.#lose(null))
  }

  score(...[sequences, { adapter, head }, options]: Parameters<Learner['score']>): Promise<Heads[]> {
    const { signal, ...rest } = options
    const message: ScoreMessage = {
      kind: 'score',
      sequences: sequences.map(bare),
      adapter: adapter.values,
      head: head?.values ?? null,
      options: rest,
    }
    return this.#begin(message, null, signal)
  }

  accumulate({ sequences, targets, place, options, coefficients }: LearningTask): Promise<Heads[]> {
    const { signal, ...rest } = options
    const { values, gradients } = targets.flat
    const message: LearnMessage = {
      kind: 'learn',
      sequences: sequences.map(bare),
      flat: { values, gradients: this.#gradients ?? gradients },
      critic: targets.critic !== null,
      place,
      options: rest,
    }
    return this.#begin(message, coefficients, signal)
  }

  /** Moves what it has accumulated apart from the rest to `gradients`. */
  collect(gradients: Float32Array): void {
    const own = this.#gradients
    if (!own) return
    for (let index = 0; index < own.length; index++) gradients[index]! += own[index]!
    own.fill(0)
  }

  async #begin(
    message: ScoreMessage | LearnMessage,
    coefficients: Coefficients | null,
    signal: AbortSignal | undefined,
  ): Promise<Heads[]> {
    signal?.throwIfAborted()
    if (this.#end) throw this.#end
    const stop = () => this.#send({ kind: 'stop' })
    signal?.addEventListener('abort', stop)
    this.#thread.ref()
    try {
      return await new Promise((resolve, reject) => {
        this.#task = { coefficients, resolve, reject }
        this.#send(message)
      })
    } catch (error) {
      signal?.throwIfAborted() // in its own words, whatever the thread made of it
      throw error
    } finally {
      this.#task = null
      this.#thread.unref()
      signal?.removeEventListener('abort', stop)
    }
  }

  async #hear(message: FromReplica): Promise<void> {
    switch (message.kind) {
      case 'heads':
        await this.#answer(message.heads)
        break
      case 'done':
        this.#task?.resolve(message.heads)
        break
      case 'failed': {
        const { code, message: text, hint } = message.error
        this.#fail(code === null ? new Error(text) : new AppError(code, text, hint))
      }
    }
  }

  /** A loss that fails stops the thread's task, and its own error is the one that counts. */
  async #answer(heads: readonly Heads[]): Promise<void> {
    try {
      const coefficients = (await this.#task?.coefficients?.(heads)) ?? []
      this.#send({ kind: 'coefficients', coefficients })
    } catch (error) {
      const task = this.#task
      this.#task = task && { ...task, reject: () => task.reject(error) }
      this.#send({ kind: 'stop' })
    }
  }

  #fail(error: unknown): void {
    this.#task?.reject(error)
  }

  #lose(cause: unknown): void {
    const message = 'A learning thread ended before its work was done.'
    this.#end ??= new AppError('runtime/failed', message, 'Resume from the last checkpoint.', cause)
    this.#fail(this.#end)
  }

  #send(message: ToReplica): void {
    this.#thread.postMessage(message)
  }

  /** The thread ends when its task has. */
  [Symbol.dispose](): void {
    this.#send({ kind: 'close' })
  }
}

/** Returns a sequence without the other fields that a caller's rows may have. */
const bare = ({ ids, actionMask, routes, alternatives }: TokenSequence): TokenSequence => ({
  ids,
  actionMask,
  ...(routes && { routes }),
  ...(alternatives && { alternatives }),
})
