/** Completions in the form that clients of OpenAI's API read, whole or as events of a stream. */
import { randomUUID } from 'node:crypto'
import type { ToolCall } from '#engine/text/toolCalls.ts'
import type { StopReason } from '#engine/policy.ts'
import type { CompletionNews, PromptToken, ServedToken } from './servedProcess.ts'
import type { OpenAiRequest } from './openaiRequests.ts'

type Piece = Extract<CompletionNews, { readonly type: 'piece' }>

/** Fields that every part of an answer repeats. */
export interface AnswerHead {
  readonly id: string
  /** Seconds since 1970. */
  readonly created: number
  readonly model: string
}

interface Choice {
  text: string
  readonly tokens: ServedToken[]
  /** Length of the tokens so far, which the text may not have yet. */
  tokensLength: number
  end: Piece['end']
}

/** Log-probabilities are JSON numbers, which know no infinity: what stands for it in OpenAI's own answers. */
const impossible = -9999
const finite = (logprob: number): number => (Number.isFinite(logprob) ? logprob : impossible)

const finishReasons: Readonly<Record<StopReason, string>> = {
  'stop-id': 'stop',
  'stop-string': 'stop',
  length: 'length',
}
function finishReason(end: Piece['end']): string | null {
  if (end === null) return null
  return end.calls === undefined ? finishReasons[end.stopReason] : 'tool_calls'
}

/** Calls of tools as clients get them; Mistral's templates read no ids but those of nine letters and digits. */
const toolCalls = (calls: readonly ToolCall[]) =>
  calls.map((call) => ({
    id: randomUUID().replaceAll('-', '').slice(0, 9),
    type: 'function',
    function: { name: call.name, arguments: call.arguments },
  }))

/** Collects what comes of a request; each piece also makes an event of a stream. */
export class OpenAiAnswer {
  readonly #request: OpenAiRequest
  readonly #head: AnswerHead
  readonly #choices: readonly Choice[]
  #promptIds: readonly Int32Array[] = []
  #scores: readonly (readonly PromptToken[])[] = []

  constructor(request: OpenAiRequest, head: AnswerHead) {
    this.#request = request
    this.#head = head
    this.#choices = request.prompts.flatMap((prompt) =>
      Array.from({ length: request.samples }, () => ({
        text: request.echo && 'text' in prompt ? prompt.text : '',
        tokens: [],
        tokensLength: 0,
        end: null,
      })),
    )
  }

  /** The events that a stream sends for it. */
  add(news: CompletionNews): object[] {
    if (news.type === 'prompts') {
      this.#promptIds = news.ids
      this.#scores = news.scores ?? []
      return this.#opening()
    }
    const index = news.prompt * this.#request.samples + news.sample
    const choice = this.#choices[index]
    if (choice === undefined) throw new Error('Expected a piece of a completion that was asked for.')
    choice.text += news.text
    choice.end = news.end && withMost(news.end, this.#request.mostCalls)
    if (!this.#request.isStreamed) {
      choice.tokens.push(...news.tokens)
      return []
    }
    const last = this.#chunk([this.#streamed(index, { ...news, end: choice.end }, choice.tokensLength)])
    for (const { text } of news.tokens) choice.tokensLength += text.length
    return [...this.#calls(index, choice.end), last]
  }

  /** Last parts of a stream, before its end mark. */
  closing(): object[] {
    return this.#request.includesUsage ? [this.#chunk([], this.#usage())] : []
  }

  whole(): object {
    return {
      ...this.#head,
      object: this.#isChat ? 'chat.completion' : 'text_completion',
      choices: this.#choices.map(({ text, tokens, end }, index) => ({
        index,
        ...(this.#isChat ? { message: messageOf(text, end) } : { text }),
        logprobs: this.#logprobs(tokens, 0),
        finish_reason: finishReason(end),
        ...this.#ids(index, tokens, true),
        ...this.#promptLogprobs(index),
      })),
      usage: this.#usage(),
    }
  }

  get generatedTokens(): number {
    return this.#choices.reduce((sum, { end }) => sum + (end?.tokens ?? 0), 0)
  }

  get #isChat(): boolean {
    return this.#request.endpoint === 'chat'
  }

  /** First parts of a stream: the role, the prompt's text where it is echoed, and its ids where they are wanted. */
  #opening(): object[] {
    const { isStreamed, echo, withTokenIds } = this.#request
    if (!isStreamed || !(this.#isChat || echo || withTokenIds)) return []
    return this.#choices.map(({ text }, index) =>
      this.#chunk([
        {
          index,
          ...(this.#isChat ? { delta: { role: 'assistant', content: '' } } : { text }),
          logprobs: null,
          finish_reason: null,
          ...this.#ids(index, [], true),
        },
      ]),
    )
  }

  /** Parts of a stream that say what is called: the name of a function, then its arguments. */
  #calls(index: number, end: Piece['end']): object[] {
    const deltas = toolCalls(end?.calls ?? []).flatMap(({ function: called, ...call }, number) => [
      { index: number, ...call, function: { name: called.name, arguments: '' } },
      { index: number, function: { arguments: called.arguments } },
    ])
    return deltas.map((delta) =>
      this.#chunk([{ index, delta: { tool_calls: [delta] }, logprobs: null, finish_reason: null }]),
    )
  }

  #streamed(index: number, { text, tokens, end }: Piece, from: number): object {
    return {
      index,
      ...(this.#isChat ? { delta: text === '' ? {} : { content: text } } : { text }),
      logprobs: tokens.length === 0 ? null : this.#logprobs(tokens, from),
      finish_reason: finishReason(end),
      ...this.#ids(index, tokens, false),
    }
  }

  #chunk(choices: readonly object[], usage?: object): object {
    const object = this.#isChat ? 'chat.completion.chunk' : 'text_completion'
    const counted = usage ?? (this.#request.includesUsage ? null : undefined)
    return { ...this.#head, object, choices, ...(counted === undefined ? {} : { usage: counted }) }
  }

  /** Returns what vLLM tells of a prompt: of its first token, which nothing precedes, null. */
  #promptLogprobs(index: number): object {
    const scores = this.#scores[Math.floor(index / this.#request.samples)]
    if (scores === undefined) return {}
    const told = scores.map(({ id, logprob, text, top }) => ({
      ...Object.fromEntries(
        top.map((other) => [other.id, { logprob: finite(other.logprob), decoded_token: null }] as const),
      ),
      [id]: { logprob: finite(logprob), decoded_token: text },
    }))
    return { prompt_logprobs: [null, ...told] }
  }

  /** Returns the token ids under vLLM's names. */
  #ids(index: number, tokens: readonly ServedToken[], withPrompt: boolean): object {
    if (!this.#request.withTokenIds) return {}
    const prompt = this.#promptIds[Math.floor(index / this.#request.samples)] ?? []
    return { ...(withPrompt ? { prompt_token_ids: [...prompt] } : {}), token_ids: tokens.map(({ id }) => id) }
  }

  #usage(): object {
    const prompt = this.#promptIds.reduce((sum, { length }) => sum + length, 0)
    const completion = this.generatedTokens
    return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
  }

  #logprobs(tokens: readonly ServedToken[], from: number): object | null {
    if (!this.#request.withLogprobs) return null
    return this.#isChat ? { content: tokens.map(chatToken), refusal: null } : textTokens(tokens, from)
  }
}

/** Keeps the first `most` calls of an answer. */
const withMost = (end: NonNullable<Piece['end']>, most: number): NonNullable<Piece['end']> =>
  end.calls === undefined ? end : { ...end, calls: end.calls.slice(0, most) }

/** An answer that only calls tools says null, as OpenAI's do. */
const messageOf = (text: string, end: Piece['end']): object =>
  end?.calls === undefined
    ? { role: 'assistant', content: text, refusal: null }
    : {
        role: 'assistant',
        content: text === '' ? null : text,
        refusal: null,
        tool_calls: toolCalls(end.calls),
      }

type Described = Pick<ServedToken, 'text' | 'logprob'>

const described = ({ text, logprob }: Described) => ({
  token: text,
  logprob: finite(logprob),
  bytes: text.includes('\uFFFD') ? null : [...Buffer.from(text, 'utf8')],
})

const chatToken = (token: ServedToken) => ({ ...described(token), top_logprobs: token.top.map(described) })

function textTokens(tokens: readonly ServedToken[], from: number): object {
  let offset = from
  return {
    tokens: tokens.map(({ text }) => text),
    token_logprobs: tokens.map(({ logprob }) => finite(logprob)),
    // The token itself is among them, also where others are likelier.
    top_logprobs: tokens.map((token) =>
      Object.fromEntries([token, ...token.top].map(({ text, logprob }) => [text, finite(logprob)])),
    ),
    text_offset: tokens.map(({ text }) => {
      offset += text.length
      return offset - text.length
    }),
  }
}
