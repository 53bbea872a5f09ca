/**
 * Model that stays open and answers many requests at a time, in a process of its own (servedRequests.ts), since a host
 * must not load ONNX Runtime. The process dies with its host.
 */
import type { DeviceOption } from '#shared/device.ts'
import type { HeldPrecision, RolloutPrecision } from '#shared/precision.ts'
import type { SamplingOptions, StopReason, TokenLogprob } from '#engine/policy.ts'
import type { ToolCall } from '#engine/text/toolCalls.ts'
import type { Question } from '#host/models/completing.ts'
import { deathOf, type Job, type JobProcess } from '#host/processes/job.ts'
import type { AskText } from '#host/models/textQuestion.ts'
import { Inbox, unpackError, type ErrorEnvelope } from '#host/processes/messages.ts'

export interface ServingSetup {
  /** The base model's folder. */
  readonly directory: string
  /** Precision of the base; null: f32, and adapters trained on another base are refused. */
  readonly base: HeldPrecision | null
  /** Precision in which rollouts read a base in f32. */
  readonly precision: RolloutPrecision
  readonly device: { readonly kind: DeviceOption | null; readonly threads: number | null }
  /** Longest prompt plus completion; null: the model's own. */
  readonly contextLength: number | null
  /** Most completions of one adapter that decode together. */
  readonly maxRows: number
  readonly cacheDirectory: string
}

export type ServedPrompt =
  | Question
  | {
      readonly ids: readonly number[] | Int32Array
      /** Descriptions of functions that the prompt offers; absent: none. */
      readonly tools?: readonly unknown[]
    }

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
  /** True if its tokens are sent too. */
  readonly withTokens: boolean
  /**
   * Number of top log-probabilities to send with the log-probability of each prompt token; null or absent: no
   * log-probabilities of prompts.
   */
  readonly promptLogprobs?: number | null
}

/** A token of a prompt, from the second on, at temperature 1. */
export interface PromptToken extends TokenLogprob {
  readonly text: string
  /** The likeliest tokens in its place. */
  readonly top: readonly TokenLogprob[]
}

export interface ServedToken extends TokenLogprob {
  /** Text that it adds; U+FFFD where it is a part of a character. */
  readonly text: string
  readonly top: readonly (TokenLogprob & { readonly text: string })[]
}

export type CompletionNews =
  /** First of all: the ids of each prompt, and its tokens from the second on where they are wanted. */
  | {
      readonly type: 'prompts'
      readonly ids: readonly Int32Array[]
      readonly scores?: readonly (readonly PromptToken[])[]
    }
  | {
      readonly type: 'piece'
      readonly prompt: number
      readonly sample: number
      readonly text: string
      readonly tokens: readonly ServedToken[]
      /** Reason why it ended, its number of tokens and the tools that it calls; only in the last piece. */
      readonly end: {
        readonly stopReason: StopReason
        readonly tokens: number
        readonly calls?: readonly ToolCall[]
      } | null
    }

export type ServingOrder =
  | { readonly type: 'complete'; readonly id: number; readonly request: ServedRequest }
  /** Cancels a request that nobody waits for any more. */
  | { readonly type: 'cancel'; readonly id: number }

export type ServingNews =
  | { readonly type: 'ready'; readonly contextLength: number }
  | { readonly type: 'news'; readonly id: number; readonly news: CompletionNews }
  | { readonly type: 'completed'; readonly id: number }
  | { readonly type: 'refused'; readonly id: number; readonly error: ErrorEnvelope }

/** Fails where the model cannot be opened; ends with its host. */
export const servingJob: Job<'serving', ServingSetup, ServingNews, ServingOrder> = { name: 'serving' }

export type ServingProcess = JobProcess<ServingSetup, ServingNews, ServingOrder>

/**
 * Prompts with more characters than this are encoded elsewhere: the process that decodes would do nothing else meanwhile, and a
 * tokenizer needs some milliseconds for that many.
 */
const encodedWhileDecoding = 16_384

type Answer = Extract<ServingNews, { readonly id: number }> | { readonly type: 'died'; readonly error: Error }

export class ServedModel implements Disposable {
  readonly contextLength: number
  /** Resolves with the reason when the process is gone. */
  readonly ended: Promise<Error>
  readonly #process: ServingProcess
  readonly #encode: (prompts: readonly Question[]) => Promise<readonly Int32Array[]>
  readonly #answers = new Map<number, Inbox<Answer>>()
  #asked = 0
  #death: Error | null = null

  private constructor({ process, directory, askText }: Opening, contextLength: number) {
    this.contextLength = contextLength
    this.#process = process
    this.#encode = (prompts) => askText({ type: 'encode', directory, prompts })
    process.onMessage((message) => {
      if (message.type === 'item' && 'id' in message.item)
        this.#answers.get(message.item.id)?.add(message.item)
    })
    this.ended = process.ended.then((exit) => {
      const error = unpackError(deathOf(servingJob.name, exit))
      this.#death = error
      for (const inbox of this.#answers.values()) inbox.add({ type: 'died', error })
      return error
    })
  }

  /** Errors: those of opening the model; those of `deathOf` when the process died. */
  static async open(process: ServingProcess, setup: ServingSetup, askText: AskText): Promise<ServedModel> {
    const ready = Promise.withResolvers<number>()
    process.onMessage((message) => {
      if (message.type === 'item' && message.item.type === 'ready') ready.resolve(message.item.contextLength)
      else if (message.type === 'failed') ready.reject(unpackError(message.error))
    })
    void process.ended.then((exit) => ready.reject(unpackError(deathOf(servingJob.name, exit))))
    process.send({ type: 'start', input: setup })
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
   * Completes a request; leaving the loop or aborting cancels it. Errors: those of the request, and of encoding it;
   * AppError 'runtime/failed' when the process died.
   */
  async *complete(given: ServedRequest, signal: AbortSignal): AsyncGenerator<CompletionNews> {
    const request = { ...given, prompts: await this.#withoutLongTexts(given.prompts) }
    if (this.#death !== null) throw this.#death
    const id = this.#asked++
    const inbox = new Inbox<Answer>()
    this.#answers.set(id, inbox)
    const cancel = () => {
      this.#order({ type: 'cancel', id })
      inbox.add({ type: 'completed', id })
    }
    let isOpen = true
    try {
      this.#order({ type: 'complete', id, request })
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
      if (isOpen) this.#order({ type: 'cancel', id })
    }
  }

  async #withoutLongTexts(prompts: readonly ServedPrompt[]): Promise<readonly ServedPrompt[]> {
    const texts = prompts.filter((prompt): prompt is Question => !('ids' in prompt))
    if (texts.reduce((sum, prompt) => sum + charactersOf(prompt), 0) <= encodedWhileDecoding) return prompts
    const encoded = (await this.#encode(texts)).values()
    return prompts.map((prompt) => ('ids' in prompt ? prompt : { ids: encoded.next().value ?? [] }))
  }

  #order(order: ServingOrder): void {
    this.#process.send({ type: 'order', order })
  }

  [Symbol.dispose](): void {
    this.#process.kill()
  }
}

interface Opening {
  readonly process: ServingProcess
  /** The base model's folder. */
  readonly directory: string
  readonly askText: AskText
}

const charactersOf = (prompt: Question): number =>
  'text' in prompt
    ? prompt.text.length
    : prompt.messages.reduce((sum, { content }) => sum + content.length, 0) +
      JSON.stringify(prompt.tools ?? []).length
