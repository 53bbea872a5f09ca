/** A judge on this machine: its own model, opened when it is first asked, with all questions in one batch. */
import { crc32 } from 'node:zlib'
import type { JudgeSettings } from '#shared/config/judge.ts'
import { AppError } from '#shared/errors.ts'
import { randomStream } from '#shared/random.ts'
import type { ChosenToken, GenerationRequest } from '#engine/policy.ts'
import { createStreamingDecoder } from '#engine/text/streamingDecode.ts'
import type { Tokenizer } from '#engine/text/tokenizer.ts'
import { encodeQuestion, openText, samplingFor, stopIdsOf } from '#host/models/completing.ts'
import { openModel, type OpenedModel } from '#host/models/openModel.ts'
import type { LoadedTokenizer } from '#host/models/tokenizerFolder.ts'
import { contextTokens, tokenText } from '#host/models/completionText.ts'
import { askedAt, type Asked, type AskedModel, type ModelQuestion } from './judge.ts'
import type { AnswerToken } from './question.ts'

/** Most rows at once; more would cost memory and bring a CPU nothing. */
const maxRows = 64
/** Number of likeliest tokens, which include all scores of a scale. */
const topLogprobs = 20

interface Opened {
  readonly model: OpenedModel
  readonly text: LoadedTokenizer
}

export class LocalJudge implements AskedModel {
  readonly #settings: JudgeSettings
  readonly #cacheDirectory: string
  readonly #who: string
  #opened: Promise<Opened> | null = null

  /** `who`: what errors call it. */
  constructor(settings: JudgeSettings, cacheDirectory: string, who = 'the judge') {
    this.#settings = settings
    this.#cacheDirectory = cacheDirectory
    this.#who = who
  }

  async *ask(questions: readonly ModelQuestion[]): AsyncGenerator<readonly Asked[]> {
    this.#opened ??= this.#open()
    const opened = await this.#opened
    const prepared = questions.map((question) => this.#prepare(question, opened))
    const answers: Asked[] = []
    const answered: { readonly index: number; readonly request: GenerationRequest }[] = []
    for (const [index, request] of prepared.entries()) {
      if ('problem' in request) answers.push({ index, answer: request, usage: nothing })
      else answered.push({ index, request })
    }
    if (answered.length > 0) answers.push(...(await this.#generate(answered, opened)))
    yield answers
  }

  async #open(): Promise<Opened> {
    const { model: directory, adapter, precision, device, maxNewTokens } = this.#settings
    const model = await openModel({
      directory,
      adapter: adapter === '' ? null : adapter,
      device: { kind: device, threads: null },
      precision: 'f32',
      base: precision === 'f32' ? null : precision,
      maxRows,
      newTokens: maxNewTokens,
      cacheDirectory: this.#cacheDirectory,
    })
    return { model, text: openText(model.folder) }
  }

  /** A model without a chat template goes on with the text of the question. */
  #prepare(
    { messages, seed }: ModelQuestion,
    { model, text }: Opened,
  ): GenerationRequest | { readonly problem: string } {
    const { temperature, maxNewTokens, read } = this.#settings
    const plain = messages.map(({ content }) => content).join('\n\n')
    const asked = text.chatTemplate === null ? { text: plain } : { messages }
    try {
      const promptIds = encodeQuestion(asked, text)
      const stopIds = stopIdsOf(model.folder, text)
      const sampling = samplingFor(
        { sampling: { ...unfiltered, ...heat(temperature), maxNewTokens } },
        promptIds.length,
        model.policy.contextLength,
        stopIds,
      )
      return {
        promptIds,
        streams: [randomStream(seed, crc32(plain))],
        sampling: { ...sampling, topLogprobs: read === 'expected' ? topLogprobs : 0 },
      }
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'data/invalid') throw error
      return { problem: `It cannot be read by ${this.#who}: ${error.message}` }
    }
  }

  async #generate(
    asked: readonly { readonly index: number; readonly request: GenerationRequest }[],
    { model, text: { tokenizer } }: Opened,
  ): Promise<Asked[]> {
    const isExpected = this.#settings.read === 'expected'
    const writers = asked.map(({ request }) => new AnswerWriter(tokenizer, request.promptIds))
    const sampling = asked[0]?.request.sampling
    if (sampling === undefined) return []
    const onToken = (token: ChosenToken) => askedAt(writers, token.request).add(token)
    const options = { role: model.role, sampling, onToken }
    const found: Asked[] = []
    const requests = asked.map(({ request }) => request)
    for await (const { request: at, ids, stopReason } of model.policy.generate(requests, options)) {
      const { index, request } = askedAt(asked, at)
      const tokens = askedAt(writers, at).finish()
      found.push({
        index,
        answer: {
          text: tokens.map(({ text }) => text).join(''),
          tokens: isExpected ? tokens : null,
          isTruncated: stopReason === 'length',
        },
        usage: { promptTokens: request.promptIds.length, answerTokens: ids.length },
      })
    }
    return found
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const opened = await this.#opened?.catch(() => null)
    opened?.model[Symbol.dispose]()
  }
}

const nothing = { promptTokens: 0, answerTokens: 0 }

const unfiltered = { topK: 0, topP: 1, minP: 0, repetitionPenalty: 1, minNewTokens: 0, stopStrings: [] }

/** A temperature of 0 is greedy. */
const heat = (temperature: number) =>
  temperature === 0 ? { greedy: true, temperature: 1 } : { greedy: false, temperature }

/** Collects the tokens of one answer. */
class AnswerWriter {
  readonly #tokenizer: Tokenizer
  readonly #decoder
  readonly #ids: number[]
  readonly #tokens: AnswerToken[] = []

  constructor(tokenizer: Tokenizer, promptIds: Int32Array) {
    this.#tokenizer = tokenizer
    this.#decoder = createStreamingDecoder(tokenizer, { skipSpecialTokens: true })
    this.#ids = [...promptIds.subarray(-contextTokens)]
  }

  add({ id, top }: ChosenToken): void {
    const before = this.#ids.slice(-contextTokens)
    this.#ids.push(id)
    this.#tokens.push({
      text: this.#decoder.push(id),
      top: () =>
        top.map((each) => ({ text: tokenText(this.#tokenizer, before, each.id), logprob: each.logprob })),
    })
  }

  finish(): readonly AnswerToken[] {
    return [...this.#tokens, { text: this.#decoder.finish(), top: () => [] }]
  }
}
