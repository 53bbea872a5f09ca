/** Writes one column's answer to a turn: sends it to the model, and collects the pieces that come back. */
import { randomInt, randomUUID } from 'node:crypto'
import { keptAlternatives, type ChatAnswer, type Conversation } from '#shared/api/chat.ts'
import type { ChatMessage } from '#shared/messages.ts'
import { greedyAtZero } from '#host/jobs/candidates.ts'
import { packFailure } from '#host/processes/messages.ts'
import type { CompletionNews, ServedModel, ServedRequest, ServedToken } from '#host/serving/servedProcess.ts'
import type { AnswerToken } from './conversationFiles.ts'

/** JSON knows no infinity: stands for the logarithm of 0, as in OpenAI's answers. */
const impossible = -9999
/** Drawn ones are short enough to be typed again. */
const seeds = 1_000_000

/** One for all columns of a turn. */
export const seedFor = ({ seed }: Conversation['sampling']): number => seed ?? randomInt(seeds)

type ColumnNews =
  | { readonly type: 'begun'; readonly promptTokens: number }
  | { readonly type: 'text'; readonly text: string; readonly tokens: number }

/** The conversation up to a turn, as one column sees it. */
export function messagesOf({ system, turns }: Conversation, turn: number, column: number): ChatMessage[] {
  const before = turns.slice(0, turn).flatMap(({ user, answers }) => {
    const said = sayings(answers)
    const answer = answers[column]
    const shown = answer && answer.stopReason !== 'failed' ? answer : said[0]
    return [{ role: 'user', content: user }, ...(shown ? [spoken(shown)] : [])]
  })
  return [
    ...(system === '' ? [] : [{ role: 'system', content: system }]),
    ...before,
    { role: 'user', content: turns[turn]?.user ?? '' },
  ]
}

const spoken = ({ text, calls }: ChatAnswer): ChatMessage => ({
  role: 'assistant',
  content: text,
  ...(calls.length === 0 ? {} : { tool_calls: calls.map((each) => ({ type: 'function', function: each })) }),
})

const sayings = (answers: readonly (ChatAnswer | null)[]): ChatAnswer[] =>
  answers.filter((answer) => answer !== null).filter(({ stopReason }) => stopReason !== 'failed')

interface AskedColumn {
  readonly model: Pick<ServedModel, 'complete'>
  readonly messages: readonly ChatMessage[]
  readonly tools: Conversation['tools']
  readonly by: ChatAnswer['by']
  /** Folder of its adapter; null: the base answers. */
  readonly adapter: string | null
  readonly sampling: Conversation['sampling']
  readonly seed: number
  readonly signal: AbortSignal
  readonly onNews: (news: ColumnNews) => void
}

/**
 * Writes an answer. Never rejects: a failure becomes a part of the answer. An answer without tokens was stopped before
 * it began.
 */
export async function writeAnswer(
  asked: AskedColumn,
): Promise<{ readonly answer: ChatAnswer; readonly tokens: readonly AnswerToken[] }> {
  const { model, by, signal, onNews } = asked
  const request = requestOf(asked)
  const draft = new Draft(onNews)
  let error: ChatAnswer['error'] = null
  try {
    for await (const news of model.complete(request, signal)) draft.add(news)
  } catch (thrown) {
    error = packFailure(thrown)
  }
  const stopReason = error !== null ? 'failed' : (draft.stopReason ?? 'stopped')
  const { text, calls, promptTokens, tokens, tokensPerSecond } = draft
  const answer = {
    id: randomUUID(),
    by,
    text,
    calls,
    promptTokens,
    tokens: tokens.length,
    seed: request.seed,
  }
  return { answer: { ...answer, tokensPerSecond, stopReason, error }, tokens }
}

function requestOf({ adapter, messages, tools, sampling, seed }: AskedColumn): ServedRequest {
  const { seed: _, temperature, ...filters } = sampling
  return {
    adapter,
    prompts: [{ messages, ...(tools.length > 0 && { tools }) }],
    samples: 1,
    seed,
    sampling: {
      ...filters,
      ...greedyAtZero(temperature),
      minNewTokens: 0,
      topLogprobs: keptAlternatives,
    },
    isStreamed: true,
    withTokens: true,
  }
}

class Draft {
  readonly #onNews: (news: ColumnNews) => void
  readonly tokens: AnswerToken[] = []
  text = ''
  calls: ChatAnswer['calls'] = []
  promptTokens = 0
  stopReason: 'stop-id' | 'stop-string' | 'length' | null = null
  /** Time of the first tokens and their number: what came before is reading and loading. */
  #first: { readonly at: number; readonly tokens: number } | null = null

  constructor(onNews: (news: ColumnNews) => void) {
    this.#onNews = onNews
  }

  add(news: CompletionNews): void {
    if (news.type === 'prompts') {
      this.promptTokens = news.ids[0]?.length ?? 0
      this.#onNews({ type: 'begun', promptTokens: this.promptTokens })
      return
    }
    this.text += news.text
    this.tokens.push(...news.tokens.map(kept))
    if (this.tokens.length > 0) this.#first ??= { at: performance.now(), tokens: this.tokens.length }
    this.stopReason = news.end?.stopReason ?? null
    this.calls = [...(news.end?.calls ?? [])]
    this.#onNews({ type: 'text', text: news.text, tokens: this.tokens.length })
  }

  /** Null where all came at once. */
  get tokensPerSecond(): number | null {
    if (this.#first === null || this.tokens.length === this.#first.tokens) return null
    const seconds = (performance.now() - this.#first.at) / 1000
    return (this.tokens.length - this.#first.tokens) / Math.max(seconds, 0.001)
  }
}

const kept = ({ id, text, logprob, top }: ServedToken): AnswerToken => ({
  ...finite({ id, text, logprob }),
  top: top.map(finite),
})

const finite = <Token extends { readonly logprob: number }>(token: Token): Token => ({
  ...token,
  logprob: Number.isFinite(token.logprob) ? token.logprob : impossible,
})
