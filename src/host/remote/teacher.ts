/** A teacher behind an address: a server that tells how likely its model finds each token of a text. */
import type { Alternatives, Heads, ScoreOptions, Teacher, TokenSequence } from '#engine/policy.ts'
import { usedLength } from '#engine/prefixes.ts'
import type { Tokenizer } from '#engine/text/tokenizer.ts'
import { AppError } from '#shared/errors.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { allowedKey, type KeyPlace } from '#host/consents/keys.ts'
import { type Answer, Connection, problemOf } from './connection.ts'
import type { Dialect, ScoredToken } from './dialect.ts'
import { dialects, listModels, readModels, servedModel } from './rolloutServer.ts'

export interface TeacherOptions {
  readonly settings: NonNullable<RunConfig['reference']['server']>
  /** The student's. */
  readonly tokenizer: Pick<Tokenizer, 'encode' | 'decode' | 'vocabSize'>
  readonly keys: KeyPlace
  /** Called before every request. */
  readonly onRequest: () => void
}

/** Texts that the server is asked to score at the same time. */
const maxConcurrent = 16
/** Number of retries of the first request: a wrong address should be reported at once. */
const firstRetries = 4
const sampleText = 'The 3 quick foxes jumped over 17 lazy dogs, said Anna.\nNow count: 1, 2, '

/**
 * Connects to the server, and compares its vocabulary with the student's on a text. Errors: AppError 'server/…',
 * 'key/not-allowed', 'config/invalid'.
 */
export async function openTeacherServer(options: TeacherOptions): Promise<Teacher> {
  const teacher = new TeacherServer(options)
  try {
    await teacher.begin()
    return teacher
  } catch (error) {
    teacher[Symbol.dispose]()
    throw error
  }
}

class TeacherServer implements Teacher {
  readonly #options: TeacherOptions
  readonly #connection: Connection
  readonly #dialect: Dialect
  readonly #name: string
  #model: string

  constructor(options: TeacherOptions) {
    const { settings, keys, onRequest } = options
    const { url, apiKeyVariable: variable } = settings
    this.#options = options
    this.#dialect = dialects[settings.kind]
    this.#name = `The teacher at ${url.replace(/\/+$/, '')}`
    this.#model = settings.model ?? ''
    const apiKey = allowedKey({ variable, address: url, who: 'teacher' }, keys)
    const words = { server: this.#name, keyHint, addressHint, kindHint }
    this.#connection = new Connection({ ...settings, apiKey, maxConcurrent, onRequest, words })
  }

  async begin(): Promise<void> {
    await this.#chooseModel()
    const { tokenizer } = this.#options
    const ids = Array.from(tokenizer.encode(sampleText, { addSpecialTokens: false }))
    const scores = await this.#scores(ids)
    const theirs = scores.map(({ text }) => text)
    const ours = tokenizer.decode(ids.slice(1), { skipSpecialTokens: false })
    if (theirs.includes(null) || bare(theirs.join('')) === bare(ours)) return
    throw new AppError(
      'server/unsuitable',
      `${this.#name} has another vocabulary than the model: it cannot tell how likely the model’s tokens are.`,
      'Serve a model of the same family.',
    )
  }

  /** A temperature other than 1 is refused with the settings. */
  async score(
    sequences: readonly TokenSequence[],
    { signal, likeliest = 0 }: ScoreOptions<'base'>,
  ): Promise<Heads[]> {
    const heads = new Array<Heads>(sequences.length)
    const failed = new AbortController()
    const either = signal === undefined ? failed.signal : AbortSignal.any([signal, failed.signal])
    const open = sequences.entries()
    const work = async () => {
      for (const [i, sequence] of open) heads[i] = await this.#scored(sequence, likeliest, either)
    }
    try {
      await Promise.all(Array.from({ length: maxConcurrent }, work))
    } catch (error) {
      failed.abort()
      throw error
    }
    return heads
  }

  async #scored(sequence: TokenSequence, likeliest: number, signal: AbortSignal): Promise<Heads> {
    const { actionMask } = sequence
    const ids = Array.from(sequence.ids.subarray(0, usedLength(sequence) + 1))
    const scores = ids.length > 1 ? await this.#scores(ids, { likeliest, signal }) : []
    const logprobs = Float64Array.from(actionMask, (isAction, t) => isAction * (scores[t]?.logprob ?? 0))
    return {
      logprobs,
      entropies: new Float64Array(actionMask.length),
      values: null,
      ...(likeliest > 0 && { alternatives: this.#alternatives(actionMask, scores, likeliest) }),
    }
  }

  #alternatives(actionMask: Uint8Array, scores: readonly ScoredToken[], likeliest: number): Alternatives {
    const each = Math.min(likeliest, this.#options.tokenizer.vocabSize)
    const ids = new Int32Array(actionMask.length * each)
    const logprobs = new Float64Array(actionMask.length * each)
    actionMask.forEach((isAction, t) => {
      if (isAction === 0) return
      const best = (scores[t]?.likeliest ?? []).toSorted((a, b) => b.logprob - a.logprob).slice(0, each)
      if (best.length < each)
        throw new AppError(
          'server/unsuitable',
          `${this.#name} tells the ${String(best.length)} likeliest tokens of a prediction, not ${String(each)}.`,
          'Set algorithm.settings.topK to a number that it tells, or start it so that it tells more.',
        )
      ids.set(
        best.map(({ id }) => id),
        t * each,
      )
      logprobs.set(
        best.map(({ logprob }) => logprob),
        t * each,
      )
    })
    return { ids, logprobs }
  }

  async #scores(
    ids: readonly number[],
    { likeliest = 0, signal }: { readonly likeliest?: number; readonly signal?: AbortSignal } = {},
  ): Promise<readonly ScoredToken[]> {
    const call = this.#dialect.scoreCall(ids, { model: this.#model, likeliest })
    const answer = await this.#connection.ask(call, signal === undefined ? {} : { signal })
    if (answer.status !== 200) throw this.#failed('refused to score a text', answer, contextHint)
    const scores = this.#dialect.readScores(answer.json, ids)
    if (scores !== undefined) return scores
    throw new AppError(
      'server/unsuitable',
      `${this.#name} does not tell log-probabilities of a prompt’s tokens, as ${this.#dialect.title} does.`,
      kindHint,
    )
  }

  /** Errors: AppError 'server/unsuitable' where the model is not among those served. */
  async #chooseModel(): Promise<void> {
    const retries = Math.min(firstRetries, this.#options.settings.retries)
    const answer = await this.#connection.ask(listModels, { retries })
    const models = readModels(answer)
    if (models === undefined) throw this.#failed('did not list its models', answer, kindHint)
    const words = { server: this.#name, advice: 'Correct reference.server.model.' }
    this.#model = servedModel(models, this.#model, words).id
  }

  #failed(what: string, answer: Answer, hint: string): AppError {
    return new AppError('server/failed', `${this.#name} ${what}: ${problemOf(answer)}.`, hint)
  }

  [Symbol.dispose](): void {
    this.#connection[Symbol.dispose]()
  }
}

/** Tokenizers differ in where a text's blanks belong. */
const bare = (text: string): string => text.replaceAll(/\s/g, '')

const keyHint =
  'reference.server.apiKeyVariable names the environment variable that holds the key the server was started with.'
const addressHint =
  'Check that it is running and that reference.server.url is its address. A run that has begun can then be resumed from its last checkpoint.'
const kindHint =
  'Check that reference.server.url is the address of vLLM, SGLang or `turnwise serve`, and reference.server.kind of that kind.'
const contextHint = `${kindHint} Its context must hold the longest sequence and one token more.`
