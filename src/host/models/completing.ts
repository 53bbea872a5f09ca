/** Letting a model speak: text or messages in, completions out. */
import { invalidData } from '#shared/errors.ts'
import { isNoChat, readChat, type ChatMessage } from '#shared/messages.ts'
import { randomStream } from '#shared/random.ts'
import type { Completion, SamplingOptions, StopReason } from '#engine/policy.ts'
import type { TemplateVariables } from '#engine/text/chatTemplate.ts'
import { requireToolForm } from '#engine/text/toolCalls.ts'
import { createStreamingDecoder, type StreamingDecoder } from '#engine/text/streamingDecode.ts'
import type { Tokenizer } from '#engine/text/tokenizer.ts'
import { conversationText, type Opening } from '#rl/rollout/conversationText.ts'
import { readSmallFile, parseStrictJson, JsonSyntaxError } from '#host/files/strictJson.ts'
import { loadTokenizer, type LoadedTokenizer } from './tokenizerFolder.ts'
import type { ModelFolder } from './modelFolder.ts'
import type { OpenedModel } from './openModel.ts'

/** Plain text, which the model goes on with, or a conversation, whose answer it begins or continues. */
export type Question =
  | { readonly text: string }
  | {
      readonly messages: readonly ChatMessage[]
      readonly variables?: TemplateVariables
      /** Descriptions of functions that the model may call. */
      readonly tools?: readonly unknown[]
      /** `begun` by default. */
      readonly opening?: Opening
    }

export interface CompletionRequest {
  readonly question: Question
  readonly samples: number
  readonly seed: number
  readonly sampling: Omit<SamplingOptions, 'stopIds'>
  /** Text of a sample as it becomes certain; whole characters only. */
  readonly onText?: (sample: number, text: string) => void
  /** Aborts the request: completions that are not finished are dropped. */
  readonly signal?: AbortSignal
}

/** Completion as it is sampled, once as text and once as tokens. */
export interface AnsweredCompletion {
  /** Index of the sample, from 0. */
  readonly sample: number
  /** Text without special tokens, and without the stop text that ended it. */
  readonly text: string
  /** Generated ids, a stop id included. */
  readonly ids: readonly number[]
  /** Log-probability of each id under the unfiltered distribution at the sampling temperature; nats. */
  readonly logprobs: readonly number[]
  readonly stopReason: StopReason
}

/** Opens the tokenizer and chat template of a model. Errors: AppError 'tokenizer/invalid', 'file/unreadable'. */
export const openText = (folder: ModelFolder): LoadedTokenizer => loadTokenizer(folder.directory)

/** Completions in the order of samples, each as soon as it and all before it are done. */
export async function* complete(
  { policy, role, folder }: OpenedModel,
  text: LoadedTokenizer,
  request: CompletionRequest,
): AsyncGenerator<AnsweredCompletion> {
  const { tokenizer } = text
  const promptIds = encodeQuestion(request.question, text, new Date())
  const sampling = samplingFor(request, promptIds.length, policy.contextLength, stopIdsOf(folder, text))
  const streams = Array.from({ length: request.samples }, (_, sample) => randomStream(request.seed, sample))
  const decode = (ids: readonly number[]) => tokenizer.decode(ids, { skipSpecialTokens: true })
  const { onText, signal } = request
  const listen = onText === undefined ? null : textListener(tokenizer, onText)
  const options = { role, sampling, decode, ...(listen === null ? {} : { onToken: listen.push }) }
  const asked = { promptIds, streams, ...(signal === undefined ? {} : { signal }) }
  const waiting = new Map<number, Completion>()
  let next = 0
  for await (const completion of policy.generate([asked], options)) {
    listen?.finish(completion.sample)
    waiting.set(completion.sample, completion)
    for (let ready = waiting.get(next); ready !== undefined; ready = waiting.get(++next)) {
      waiting.delete(next)
      yield answer(ready, decode, sampling.stopStrings)
    }
  }
}

/** Turns tokens into text, sample by sample. */
function textListener(tokenizer: Tokenizer, onText: (sample: number, text: string) => void) {
  const decoders = new Map<number, StreamingDecoder>()
  const decoderOf = (sample: number): StreamingDecoder => {
    const decoder = decoders.get(sample) ?? createStreamingDecoder(tokenizer, { skipSpecialTokens: true })
    decoders.set(sample, decoder)
    return decoder
  }
  return {
    push: ({ sample, id }: { readonly sample: number; readonly id: number }) => {
      onText(sample, decoderOf(sample).push(id))
    },
    finish: (sample: number) => {
      onText(sample, decoderOf(sample).finish())
    },
  }
}

/** One completion of each prompt, generated together, in the order in which they are done. */
export async function* completeEach(
  { policy, role, folder }: OpenedModel,
  text: LoadedTokenizer,
  { promptIds, seed, sampling: given }: EachRequest,
): AsyncGenerator<AnsweredCompletion & { readonly prompt: number }> {
  const longest = Math.max(...promptIds.map(({ length }) => length))
  const sampling = samplingFor({ sampling: given }, longest, policy.contextLength, stopIdsOf(folder, text))
  const decode = (ids: readonly number[]) => text.tokenizer.decode(ids, { skipSpecialTokens: true })
  const requests = promptIds.map((ids, prompt) => ({
    promptIds: ids,
    streams: [randomStream(seed, prompt, 0)],
  }))
  for await (const completion of policy.generate(requests, { role, sampling, decode })) {
    yield { prompt: completion.request, ...answer(completion, decode, sampling.stopStrings) }
  }
}

export interface EachRequest {
  readonly promptIds: readonly Int32Array[]
  readonly seed: number
  readonly sampling: CompletionRequest['sampling']
}

/** A stop string ends the completion and is not part of its text. */
function answer(
  { sample, ids, logprobs, stopReason }: Completion,
  decode: (ids: readonly number[]) => string,
  stopStrings: readonly string[],
): AnsweredCompletion {
  const whole = decode([...ids])
  const ends =
    stopReason === 'stop-string' ? stopStrings.map((stop) => whole.indexOf(stop)).filter((at) => at >= 0) : []
  const text = ends.length === 0 ? whole : whole.slice(0, Math.min(...ends))
  return { sample, text, ids: [...ids], logprobs: [...logprobs], stopReason }
}

/** Special tokens that end an answer, as the model's and the tokenizer's files name them. */
export function stopIdsOf(folder: ModelFolder, { tokenizer }: LoadedTokenizer): number[] {
  const { eos } = tokenizer.special
  // A token without a row is never generated.
  const own = eos === null || eos >= folder.config.vocabSize ? [] : [eos]
  return [...new Set([...folder.config.eosIds, ...own])]
}

/**
 * Ids of the prompt, special tokens included. `now`: the time that chat templates write; if absent the one of runs. Errors: AppError
 * 'data/invalid'.
 */
export function encodeQuestion(
  question: Question,
  { tokenizer, chatTemplate }: LoadedTokenizer,
  now?: Date,
): Int32Array {
  if ('text' in question) return tokenizer.encode(question.text, { addSpecialTokens: true })
  if (chatTemplate === null) {
    throw invalidData('The model has no chat template, so it takes no messages.', 'Use --prompt TEXT.')
  }
  const { messages, variables = {}, tools, opening } = question
  if (tools !== undefined) requireToolForm(chatTemplate)
  const given = { variables, ...(tools && { tools }), ...(now && { now }) }
  const prompt = conversationText(messages, chatTemplate, given, opening)
  return tokenizer.encode(prompt, { addSpecialTokens: false })
}

/**
 * Fits the sampling into what the prompt leaves of the context. Errors: AppError 'data/invalid' where the prompt is
 * empty or too long, or leaves less than the shortest completion.
 */
export function samplingFor(
  { sampling }: Pick<CompletionRequest, 'sampling'>,
  promptTokens: number,
  contextLength: number,
  stopIds: readonly number[],
): SamplingOptions {
  if (promptTokens === 0) throw invalidData('The prompt has no tokens.', 'Give it at least one character.')
  const room = contextLength - promptTokens
  if (room < 1) {
    throw invalidData(
      `The prompt has ${promptTokens} tokens; the model reads ${contextLength} in all.`,
      'Shorten the message, or what was said before it.',
    )
  }
  const maxNewTokens = Math.min(sampling.maxNewTokens, room)
  if (sampling.minNewTokens > maxNewTokens) {
    const why =
      room < sampling.maxNewTokens ? `the prompt leaves room for ${room}` : `at most ${maxNewTokens} are`
    throw invalidData(
      `At least ${sampling.minNewTokens} new tokens are asked for, but ${why}.`,
      'Ask for fewer; nothing was generated.',
    )
  }
  return { ...sampling, stopIds, maxNewTokens }
}

const maxMessagesBytes = 16 * 1024 * 1024

/** The conversation that a JSON file holds, in any spelling. Errors: AppError 'data/invalid'. */
export function readMessages(file: string): ChatMessage[] {
  const read = readChat(parseDocument(file))
  if (!isNoChat(read)) return [...read]
  throw invalidData(
    `${file} must hold a list of messages, each with a “role” and a “content” text: ${read.fault}.`,
  )
}

function parseDocument(file: string): unknown {
  try {
    return parseStrictJson(readSmallFile(file, maxMessagesBytes))
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    throw invalidData(`${file} is not a valid JSON file: ${error.message}.`)
  }
}
