/**
 * A model that is kept open and answers many requests at a time, in a process of its own (servingProcess.ts), since a host
 * must not load ONNX Runtime. The process dies with its host.
 */
import type { DeviceOption } from '#shared/device.ts'
import { AppError } from '#shared/errors.ts'
import type { HeldPrecision, RolloutPrecision } from '#shared/precision.ts'
import type { SamplingOptions, StopReason, TokenLogprob } from '#engine/policy.ts'
import type { Question } from '#host/models/completing.ts'
import { forkProcess, scriptPath } from '#host/processes/childProcess.ts'
import type { AskText } from '#host/models/textQuestion.ts'
import {
  Inbox,
  unpackError,
  type ErrorEnvelope,
  type WorkerEnvironment,
  type WorkerProcess,
} from '#host/processes/messages.ts'

export interface ServingSetup {
  /** The base model's folder. */
  readonly directory: string
  /** What the base is held in; null: f32, and adapters trained on another base are refused. */
  readonly base: HeldPrecision | null
  /** What is read of a base in f32. */
  readonly precision: RolloutPrecision
  readonly device: { readonly kind: DeviceOption | null; readonly threads: number | null }
  /** Longest prompt plus completion; null: the model's own. */
  readonly contextLength: number | null
  /** Most completions of one adapter that decode together. */
  readonly maxRows: number
  readonly cacheDirectory: string
}

export type ServedPrompt = Question | { readonly ids: readonly number[] | Int32Array }

export interface ServedRequest {
  /** Folder of an adapter or a checkpoint; null: the base answers. */
  readonly adapter: string | null
  readonly prompts: readonly ServedPrompt[]
  /** Completions of each prompt. */
  readonly samples: number
  /** Sample i of each prompt draws from the stream (seed, i). */
  readonly seed: number
  readonly sampling: Omit<SamplingOptions, 'stopIds'>
  /** False: each completion comes in one piece. */
  readonly isStreamed: boolean
  /** Whether its tokens are told too. */
  readonly withTokens: boolean
}

export interface ServedToken extends TokenLogprob {
  /** What it adds to the text; U+FFFD where it is a part of a character. */
  readonly text: string
  readonly top: readonly (TokenLogprob & { readonly text: string })[]
}

export type CompletionNews =
  /** First of all: the ids of each prompt. */
  | { readonly type: 'prompts'; readonly ids: readonly Int32Array[] }
  | {
      readonly type: 'piece'
      readonly prompt: number
      readonly sample: number
      readonly text: string
      readonly tokens: readonly ServedToken[]
      /** Of the last piece: why it ended, and how many tokens it has. */
      readonly end: { readonly stopReason: StopReason; readonly tokens: number } | null
    }

export type ToServing =
  | { readonly type: 'open'; readonly setup: ServingSetup }
  | { readonly type: 'complete'; readonly id: number; readonly request: ServedRequest }
  /** Nobody waits for it any more. */
  | { readonly type: 'cancel'; readonly id: number }

export type FromServing =
  | { readonly type: 'ready'; readonly contextLength: number }
  | { readonly type: 'news'; readonly id: number; readonly news: CompletionNews }
  | { readonly type: 'completed'; readonly id: number }
  | { readonly type: 'refused'; readonly id: number; readonly error: ErrorEnvelope }
  /** The model could not be opened. */
  | { readonly type: 'failed'; readonly error: ErrorEnvelope }

/** Starts the script `servingProcess`. */
export type StartServing = (environment?: WorkerEnvironment) => WorkerProcess<ToServing, FromServing>

export const servingStarter: StartServing = (environment) =>
  forkProcess(scriptPath('servingProcess'), 'inherit', environment)

/**
 * Prompts with more characters than this are encoded elsewhere: the process that decodes would do nothing else meanwhile, and a
 * tokenizer needs some milliseconds for that many.
 */
const encodedWhileDecoding = 16_384

type Answer = Extract<FromServing, { readonly id: number }> | { readonly type: 'died'; readonly error: Error }

export class ServedModel implements Disposable {
  readonly contextLength: number
  /** Resolves with the reason when the process is gone. */
  readonly ended: Promise<Error>
  readonly #process: WorkerProcess<ToServing, FromServing>
  readonly #encode: (prompts: readonly Question[]) => Promise<readonly Int32Array[]>
  readonly #answers = new Map<number, Inbox<Answer>>()
  #asked = 0
  #death: Error | null = null

  private constructor({ process, directory, askText }: Opening, contextLength: number) {
    this.contextLength = contextLength
    this.#process = process
    this.#encode = (prompts) => askText({ type: 'encode', directory, prompts })
    process.onMessage((message) => {
      if ('id' in message) this.#answers.get(message.id)?.add(message)
    })
    this.ended = process.ended.then(({ failure, signal }) => {
      const error = deathOf(failure ?? signal ?? 'without a word')
      this.#death = error
      for (const inbox of this.#answers.values()) inbox.add({ type: 'died', error })
      return error
    })
  }

  /** Errors: those of opening the model; AppError 'runtime/failed' when the process died. */
  static async open(
    process: WorkerProcess<ToServing, FromServing>,
    setup: ServingSetup,
    askText: AskText,
  ): Promise<ServedModel> {
    const ready = Promise.withResolvers<number>()
    process.onMessage((message) => {
      if (message.type === 'ready') ready.resolve(message.contextLength)
      else if (message.type === 'failed') ready.reject(unpackError(message.error))
    })
    void process.ended.then(({ failure, signal }) => {
      ready.reject(deathOf(failure ?? signal ?? 'without a word'))
    })
    process.send({ type: 'open', setup })
    try {
      return new ServedModel({ process, directory: setup.directory, askText }, await ready.promise)
    } catch (error) {
      process.kill()
      throw error
    }
  }

  /** Requests that are being answered. */
  get active(): number {
    return this.#answers.size
  }

  /**
   * Leaving the loop or aborting cancels the request. Errors: those of the request, and of encoding it; AppError 'runtime/failed'
   * when the process died.
   */
  async *complete(given: ServedRequest, signal: AbortSignal): AsyncGenerator<CompletionNews> {
    const request = { ...given, prompts: await this.#withoutLongTexts(given.prompts) }
    if (this.#death !== null) throw this.#death
    const id = this.#asked++
    const inbox = new Inbox<Answer>()
    this.#answers.set(id, inbox)
    const cancel = () => {
      this.#process.send({ type: 'cancel', id })
      inbox.add({ type: 'completed', id })
    }
    let isOpen = true
    try {
      this.#process.send({ type: 'complete', id, request })
      signal.addEventListener('abort', cancel)
      if (signal.aborted) cancel()
      for (;;) {
        const answer = await inbox.next()
        isOpen = answer.type === 'news'
        if (answer.type === 'died') throw answer.error
        if (answer.type === 'refused') throw unpackError(answer.error)
        if (answer.type === 'completed') return
        yield answer.news
      }
    } finally {
      signal.removeEventListener('abort', cancel)
      this.#answers.delete(id)
      if (isOpen) this.#process.send({ type: 'cancel', id })
    }
  }

  async #withoutLongTexts(prompts: readonly ServedPrompt[]): Promise<readonly ServedPrompt[]> {
    const texts = prompts.filter((prompt): prompt is Question => !('ids' in prompt))
    if (texts.reduce((sum, prompt) => sum + charactersOf(prompt), 0) <= encodedWhileDecoding) return prompts
    const encoded = (await this.#encode(texts)).values()
    return prompts.map((prompt) => ('ids' in prompt ? prompt : { ids: encoded.next().value ?? [] }))
  }

  [Symbol.dispose](): void {
    this.#process.kill()
  }
}

interface Opening {
  readonly process: WorkerProcess<ToServing, FromServing>
  /** The base model's folder. */
  readonly directory: string
  readonly askText: AskText
}

const charactersOf = (prompt: Question): number =>
  'text' in prompt
    ? prompt.text.length
    : prompt.messages.reduce((sum, { content }) => sum + content.length, 0)

const deathOf = (how: string): AppError =>
  new AppError(
    'runtime/failed',
    `The process with the model ended unexpectedly (${how}).`,
    'The system may have been short of memory: try a smaller model, or stop a run first.',
  )
