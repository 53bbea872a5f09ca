/**
 * Asks what a model's tokenizer and chat template make of texts, for a process that must not run them: both came with
 * the model, and a pattern of theirs may take for ever. Answered in processes of their own (textAnswers.ts), which
 * stay, so that an answer takes a millisecond, and are ended when one takes too long or too much memory.
 */
import { AppError } from '#shared/errors.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { ChatMessage } from '#shared/messages.ts'
import type { PromptForm } from '#rl/rollout/prompts.ts'
import type { DataRow } from '#host/data/dataFile.ts'
import type { PreviewToken, PromptPreview } from '#host/data/preview.ts'
import type { Question } from './completing.ts'
import { jobStarter, type FromJob, type Job, type JobProcess, type StartJob } from '#host/processes/job.ts'
import { startLimit, textLimit } from '#host/processes/limits.ts'
import { Inbox, unpackError, type ErrorEnvelope } from '#host/processes/messages.ts'
import { processMeter } from '#host/processes/processorTime.ts'
import { Overrun, withinLimit, type WorkLimit } from '#host/processes/workLimit.ts'

/** Data given to the chat template beside the messages, as in `data` of a run config. */
export interface TemplateInput {
  readonly tools?: RunConfig['data']['tools'] | undefined
  readonly templateVariables?: RunConfig['data']['templateVariables'] | undefined
}

/** Rows of a data set as prompts; the first of them has the number `from`. */
interface RowsAsPrompts {
  readonly rows: readonly DataRow[]
  readonly from: number
  readonly form: PromptForm
  readonly template: TemplateInput
}

/** `directory`: the model's folder. */
export type TextQuestion = { readonly directory: string } & (
  | { readonly type: 'describe' }
  | { readonly type: 'tokenize'; readonly text: string }
  /** Text that each token adds. */
  | { readonly type: 'token-texts'; readonly ids: Int32Array }
  | { readonly type: 'render-chat'; readonly messages: readonly ChatMessage[] }
  /** The ids that a model reads of each prompt. */
  | { readonly type: 'encode'; readonly prompts: readonly Question[] }
  | ({ readonly type: 'preview' } & RowsAsPrompts)
  /** Lengths in tokens; null for a row that makes no prompt. */
  | ({ readonly type: 'lengths' } & RowsAsPrompts)
)

export interface TextAnswers {
  readonly describe: { readonly hasChatTemplate: boolean; readonly notes: readonly string[] }
  readonly tokenize: readonly PreviewToken[]
  readonly 'token-texts': readonly string[]
  readonly 'render-chat': string
  readonly encode: readonly Int32Array[]
  readonly preview: readonly PromptPreview[]
  readonly lengths: readonly (number | null)[]
}

export type FromText =
  | { readonly type: 'ready' }
  | { readonly type: 'answer'; readonly answer: TextAnswers[keyof TextAnswers] }
  | { readonly type: 'refused'; readonly error: ErrorEnvelope }

/** The largest tokenizers that are published take 300 MB each. */
const maxTextBytes = 2 * 1024 ** 3

/** Ends with its host. */
export const tokenizerJob: Job<'tokenizer', null, FromText, TextQuestion> = {
  name: 'tokenizer',
  maxBytes: maxTextBytes,
}

/**
 * Asks a question. Errors: those of reading and using a tokenizer; AppError 'tokenizer/invalid' when it took too long
 * or its process died.
 */
export type AskText = <Asked extends TextQuestion>(question: Asked) => Promise<TextAnswers[Asked['type']]>

export interface TextLimits {
  /** Limit of one answer, including reading the tokenizer. */
  readonly answer: WorkLimit
  /** Time without a question after which a process is ended. */
  readonly idleMs: number
}

const defaultLimits: TextLimits = { answer: textLimit, idleMs: 300_000 }

/** Number of models ready at a time. */
const maxDesks = 3

/** The processes that answer; disposing ends them. */
export class TextProcesses implements Disposable {
  readonly #start: StartJob
  readonly #limits: TextLimits
  readonly #desks: Desk[] = []
  #isClosed = false

  constructor(start: StartJob = jobStarter(), limits: Partial<TextLimits> = {}) {
    this.#start = start
    this.#limits = { ...defaultLimits, ...limits }
  }

  readonly ask: AskText = (question) => this.#deskFor(question.directory).ask(question)

  /** One model's questions wait for each other and for no other model's, as long as there are processes. */
  #deskFor(directory: string): Desk {
    const known = this.#desks.find((desk) => desk.lastAskedAbout === directory)
    if (known !== undefined) return known
    if (this.#desks.length < maxDesks) this.#desks.push(new Desk(() => this.#begin(), this.#limits))
    // The one with the least to do, and among those the one that nobody has asked for longest.
    const [desk] = this.#desks.toSorted((a, b) => a.waiting - b.waiting || a.askedAt - b.askedAt)
    if (desk === undefined) throw new Error('Expected a desk.')
    return desk
  }

  /**
   * Starts a process. A question that still waits when everything is closed starts none: its channel would keep the
   * host from ending.
   */
  #begin(): TextProcess {
    if (this.#isClosed) throw new AppError('api/disconnected', 'Turnwise is closing.')
    const process = this.#start(tokenizerJob)
    process.send({ type: 'start', input: null })
    return process
  }

  [Symbol.dispose](): void {
    this.#isClosed = true
    for (const desk of this.#desks) desk.end()
  }
}

/** Queue in which one question after the other is answered, by a process that exists while it is needed. */
class Desk {
  readonly #start: () => TextProcess
  readonly #limits: TextLimits
  #process: Asked | null = null
  #queue: Promise<unknown> = Promise.resolve()
  #idle: NodeJS.Timeout | undefined
  /** Questions that have no answer yet. */
  waiting = 0
  lastAskedAbout: string | null = null
  askedAt = 0

  constructor(start: () => TextProcess, limits: TextLimits) {
    this.#start = start
    this.#limits = limits
  }

  ask<Question extends TextQuestion>(question: Question): Promise<TextAnswers[Question['type']]> {
    clearTimeout(this.#idle)
    this.waiting++
    this.lastAskedAbout = question.directory
    this.askedAt = performance.now()
    const answer = this.#queue.then(() => this.#answerTo(question))
    this.#queue = answer.catch(() => undefined).then(() => this.#leave())
    return answer
  }

  end(): void {
    clearTimeout(this.#idle)
    this.#process?.kill()
    this.#process = null
  }

  #leave(): void {
    if (--this.waiting > 0) return
    this.#idle = setTimeout(() => this.end(), this.#limits.idleMs)
    this.#idle.unref()
  }

  async #answerTo<Question extends TextQuestion>(question: Question): Promise<TextAnswers[Question['type']]> {
    if (this.#process === null) {
      this.#process = new Asked(this.#start())
      const first = await this.#process.next(startLimit)
      if (first instanceof Overrun || first.type !== 'ready') throw this.#failed(question, first)
    }
    this.#process.send(question)
    const answer = await this.#process.next(this.#limits.answer)
    if (answer instanceof Overrun) throw this.#failed(question, answer)
    // The contract of textAnswers.ts says which answers belong to which question.
    if (answer.type === 'answer') return answer.answer as never
    if (answer.type === 'refused') throw unpackError(answer.error)
    throw this.#failed(question, answer)
  }

  /** The process is of no use any more; the next question gets another one. */
  #failed({ directory }: TextQuestion, news: FromText | Gone | Overrun): AppError {
    this.end()
    const how =
      news instanceof Overrun
        ? `was stopped because ${news.message}`
        : `ended its process (${news.type === 'gone' ? news.how : news.type}), as one that needs more than ${maxTextBytes / 1024 ** 3} GiB of memory does`
    return new AppError(
      'tokenizer/invalid',
      `The tokenizer or the chat template of ${directory} ${how}.`,
      'Nothing was changed, and everything else continues. A shorter text may work; otherwise use another model, or correct the patterns in its tokenizer.json.',
    )
  }
}

type TextProcess = JobProcess<null, FromText, TextQuestion>

/** Reads the word of a process; one that ends by itself counts as gone, whatever it says. */
const wordOf = (message: FromJob<FromText>): FromText | Gone =>
  message.type === 'item' ? message.item : { type: 'gone', how: message.type }

interface Gone {
  readonly type: 'gone'
  readonly how: string
}

/** A process, and what it says. */
class Asked {
  readonly #process: TextProcess
  readonly #inbox = new Inbox<FromText | Gone>()

  constructor(process: TextProcess) {
    this.#process = process
    process.onMessage((message) => this.#inbox.add(wordOf(message)))
    void process.ended.then(({ failure, signal, exitCode }) =>
      this.#inbox.add({ type: 'gone', how: failure ?? signal ?? `exit code ${exitCode ?? 'unknown'}` }),
    )
  }

  send(question: TextQuestion): void {
    this.#process.send({ type: 'order', order: question })
  }

  kill(): void {
    this.#process.kill()
  }

  next(limit: WorkLimit): Promise<FromText | Gone | Overrun> {
    return withinLimit(
      this.#inbox.next(),
      processMeter(() => this.#process.pid),
      limit,
    )
  }
}
