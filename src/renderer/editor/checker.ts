/** The type checker's worker as seen from an editor: loaded with the first editor, gone a while after the last. */
import type { RowColumn } from './types/ambient.ts'
import type { FromChecker, QuestionName, Questions, ToChecker } from './types/protocol.ts'

/** Asks about code that runs on rows with these columns. Rejects when the worker is gone. */
export interface Checker {
  ask<Name extends QuestionName>(
    question: Name,
    input: Questions[Name]['asks'],
  ): Promise<Questions[Name]['answers']>
  /** After that nothing may be asked. */
  release(): void
}

interface Waiter {
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: Error) => void
}

/** A worker is kept so long for the next editor: starting one costs a second. */
const keptMs = 60_000

class CheckerWorker {
  readonly #worker = new Worker(new URL('./types/typeWorker.ts', import.meta.url), { type: 'module' })
  readonly #waiters = new Map<number, Waiter>()
  #lastId = 0
  #columns: readonly RowColumn[] | null = null
  users = 0

  constructor() {
    this.#worker.addEventListener('message', ({ data }: MessageEvent<FromChecker>) => this.#take(data))
    this.#worker.addEventListener('error', () => this.close())
  }

  ask(columns: readonly RowColumn[] | null, question: QuestionName, input: unknown): Promise<unknown> {
    if (columns !== this.#columns) {
      this.#columns = columns
      this.#post({ kind: 'columns', columns })
    }
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const id = ++this.#lastId
    this.#waiters.set(id, { resolve, reject })
    // The caller's types say that question and input belong together.
    this.#post({ kind: 'ask', id, question, input } as ToChecker)
    return promise
  }

  close(): void {
    this.#worker.terminate()
    for (const { reject } of this.#waiters.values()) reject(new Error('The type checker is gone.'))
    this.#waiters.clear()
    if (shared === this) shared = null
  }

  #post(message: ToChecker): void {
    this.#worker.postMessage(message)
  }

  #take(message: FromChecker): void {
    const waiter = this.#waiters.get(message.id)
    this.#waiters.delete(message.id)
    if (message.kind === 'answer') waiter?.resolve(message.answer)
    else waiter?.reject(new Error(message.message))
  }
}

let shared: CheckerWorker | null = null

/** `columns` is asked for at every question; null: nothing is known of the rows. */
export function openChecker(columns: () => readonly RowColumn[] | null): Checker {
  const worker = (shared ??= new CheckerWorker())
  worker.users++
  return {
    ask: (question, input) =>
      // Answers are of the question's kind: worker and window come from one build.
      worker.ask(columns(), question, input) as Promise<never>,
    release() {
      worker.users--
      setTimeout(() => {
        if (worker.users === 0) worker.close()
      }, keptMs)
    },
  }
}
