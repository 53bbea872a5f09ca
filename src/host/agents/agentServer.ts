/**
 * The address at which agents act in a run: sessions are taken up and ended here, and between that they are an address of
 * OpenAI's API, by path (`/sessions/ID/v1`) or by header (`x-turnwise-session`).
 */
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import type { LoopbackServer } from '#host/transports/loopbackServer.ts'
import { OpenAiAnswer } from '#host/serving/openaiAnswers.ts'
import {
  event,
  type Exchange,
  readBody,
  Refused,
  sendJson,
  startKeyedServer,
  streamHeaders,
} from '#host/serving/openaiHttp.ts'
import {
  check,
  type Endpoint,
  InvalidRequest,
  type OpenAiRequest,
  parseObject,
  parseRequest,
} from '#host/serving/openaiRequests.ts'
import type { AgentSessions } from './agentSessions.ts'
import type { Answered, Session } from './session.ts'

export interface AgentServerOptions {
  /** 0: any free one. */
  readonly port: number
  readonly key: string
  readonly sessions: AgentSessions
  /** Longest time for which the server is still there when its run is over; an agent may be about to ask for a session. */
  readonly farewellMs?: number
}

const openBody = z.strictObject({
  row: z.int().min(0).nullish(),
  evaluation: z.boolean().nullish(),
  /** Longest wait for a session, in seconds. */
  wait: z.number().min(0).max(60).default(30),
})

const parts = z.record(z.string().min(1), z.number().nullable())
const endBody = z.strictObject({
  reward: z.number().nullish(),
  parts: parts.nullish(),
  /** Id of a completion → its reward. */
  call_rewards: z.record(z.string(), z.number()).nullish(),
  failure: z.string().min(1).max(2000).nullish(),
  /** Present: the answer is the session that the agent takes up next. */
  next: openBody.nullish(),
})

/** Time between two looks at who is still connected. */
const lookMs = 50

const modelName = 'policy'
const sessionHeader = 'x-turnwise-session'
const endpoints: Readonly<Record<string, Endpoint>> = {
  '/v1/chat/completions': 'chat',
  '/v1/completions': 'completions',
}

/** Errors: those of `startLoopbackServer`. */
export async function startAgentServer(options: AgentServerOptions): Promise<LoopbackServer> {
  const { port, key, sessions, farewellMs = 5_000 } = options
  const front = new Front(sessions)
  const server = await startKeyedServer({ port, key, route: (exchange) => front.route(exchange) })
  front.origin = server.origin
  return {
    origin: server.origin,
    get connections() {
      return server.connections
    },
    async [Symbol.asyncDispose]() {
      front.close()
      for (let ms = 0; ms < farewellMs && server.connections > 0; ms += lookMs) await wait(lookMs)
      await front.answered()
      await server[Symbol.asyncDispose]()
    },
  }
}

class Front {
  origin = ''
  readonly #sessions: AgentSessions
  /** Requests that wait for a session. */
  readonly #waiting = new Set<Promise<void>>()

  constructor(sessions: AgentSessions) {
    this.#sessions = sessions
  }

  /** Answers agents with “over” from now on when they ask for another session. */
  close(): void {
    this.#sessions[Symbol.dispose]()
  }

  /** Resolves when everyone who waited for a session has an answer. */
  async answered(): Promise<void> {
    await Promise.allSettled(this.#waiting)
  }

  async route(exchange: Exchange): Promise<void> {
    const { method = '', url = '', headers } = exchange.request
    const [target = ''] = url.split('?')
    const [, id = headers[sessionHeader], rest = target] = /^\/sessions\/([^/]+)(\/.+)$/.exec(target) ?? []
    const isModels = rest === '/v1/models'
    const act = isModels ? models : this.#act(rest, id)
    if (act === null) throw new Refused({ status: 404, message: nothingHere })
    requireMethod(method, isModels ? 'GET' : 'POST', target)
    await act(exchange)
  }

  /** Returns the action at an address; null: nothing is there. */
  #act(
    rest: string,
    id: string | readonly string[] | undefined,
  ): ((exchange: Exchange) => Promise<void>) | null {
    const endpoint = endpoints[rest]
    if (endpoint !== undefined) return (exchange) => this.#complete(this.#session(id), endpoint, exchange)
    if (rest === '/sessions') return (exchange) => this.#open(exchange)
    return rest === '/end' ? (exchange) => this.#end(this.#session(id), exchange) : null
  }

  #session(id: string | readonly string[] | undefined): Session {
    if (typeof id !== 'string')
      throw new Refused({
        status: 400,
        message: `Which session is this? Take one up with POST /sessions, then use its base_url, or send its id as ${sessionHeader}.`,
      })
    const session = this.#sessions.find(id)
    if (session === null)
      throw new Refused({
        status: 404,
        message: 'There is no open session with this id: it is over, or never was.',
      })
    this.#sessions.heard(session)
    return session
  }

  async #open(exchange: Exchange): Promise<void> {
    await this.#offer(check(openBody, await bodyOf(exchange)), exchange)
  }

  async #offer(
    { row, evaluation, wait: seconds }: z.output<typeof openBody>,
    exchange: Exchange,
  ): Promise<void> {
    const wanted = { row: row ?? undefined, evaluation: evaluation ?? undefined }
    const waiting = this.#take(wanted, seconds, exchange)
    this.#waiting.add(waiting)
    await waiting.finally(() => this.#waiting.delete(waiting))
  }

  async #take(
    wanted: Parameters<AgentSessions['take']>[0],
    seconds: number,
    exchange: Exchange,
  ): Promise<void> {
    const { response } = exchange
    const end = Promise.withResolvers<undefined>()
    const waiting = { isOver: false }
    void end.promise.then(() => (waiting.isOver = true))
    const timer = setTimeout(() => end.resolve(undefined), seconds * 1000)
    response.once('close', () => end.resolve(undefined))
    for (;;) {
      const session = response.destroyed ? null : this.#sessions.take(wanted)
      if (session !== null) {
        clearTimeout(timer)
        sendJson(exchange, this.#described(session))
        return
      }
      if (waiting.isOver || this.#sessions.isClosed) break
      await Promise.race([this.#sessions.changed, end.promise])
    }
    clearTimeout(timer)
    if (response.destroyed) return
    // Whoever is still connected then has not heard that it is over.
    if (this.#sessions.isClosed) response.setHeader('connection', 'close')
    sendJson(exchange, { id: null, over: this.#sessions.isClosed })
    if (!response.writableFinished) await once(response, 'finish') // or the server's end would cut it off
  }

  #described({ id, place, episode }: Session): object {
    return {
      id,
      base_url: `${this.origin}/sessions/${id}/v1`,
      over: false,
      step: place.step,
      evaluation: place.source === 'evaluation',
      row: place.row,
      columns: episode.row,
      prompt: episode.prompt?.text ?? null,
      prompt_token_ids: episode.prompt?.ids ?? null,
    }
  }

  async #end(session: Session, exchange: Exchange): Promise<void> {
    const {
      reward,
      parts: given,
      call_rewards: byCall,
      failure,
      next,
    } = check(endBody, await bodyOf(exchange))
    if (typeof failure === 'string') session.end({ failure: `The agent gave up: ${failure}` })
    else {
      const callRewards = Object.fromEntries(
        Object.entries(byCall ?? {}).map(([id, value]) => [callOf(session, id), value]),
      )
      const whole = given == null ? reward : { total: reward ?? null, parts: given }
      const isGiven = reward !== undefined || given != null
      session.end({ ...(isGiven ? { reward: whole ?? null } : {}), callRewards, dropped: [] })
    }
    await session.over.promise // an end that was confirmed is never lost
    if (next == null) sendJson(exchange, { id: session.id, over: true })
    else await this.#offer(next, exchange)
  }

  async #complete(
    session: Session,
    endpoint: Endpoint,
    { request: asked, response }: Exchange,
  ): Promise<void> {
    const request = parseRequest(endpoint, await readBody(asked), { mostTokens: Infinity })
    requireAnswerable(request)
    asked.socket.setTimeout(0)
    const answered = await session.complete(request)
    this.#sessions.heard(session)
    if (response.destroyed) {
      session.drop(answered.number)
      return
    }
    const created = Math.floor(Date.now() / 1000)
    const answer = new OpenAiAnswer(request, {
      id: idOf(session, answered.number),
      created,
      model: request.model,
    })
    const events = newsOf(request, answered).flatMap((news) => answer.add(news))
    if (!request.isStreamed) {
      sendJson({ request: asked, response }, answer.whole())
      return
    }
    response.writeHead(200, streamHeaders)
    response.end(`${[...events, ...answer.closing()].map(event).join('')}data: [DONE]\n\n`)
  }
}

const nothingHere =
  'There is nothing at this address: POST /sessions takes up a session, whose base_url has /chat/completions and /completions; POST /sessions/ID/end ends it.'

function models(exchange: Exchange): Promise<void> {
  sendJson(exchange, { object: 'list', data: [{ id: modelName, object: 'model', owned_by: 'turnwise' }] })
  return Promise.resolve()
}

function requireMethod(method: string, wanted: string, target: string): void {
  if (method !== wanted) throw new Refused({ status: 405, message: `${method} cannot be used at ${target}.` })
}

/** An empty body is an empty object. */
async function bodyOf({ request }: Exchange): Promise<ReturnType<typeof parseObject>> {
  const body = await readBody(request)
  return body.length === 0 ? {} : parseObject(body)
}

/** Errors: `InvalidRequest` where an answer is to hold more than what the policy says. */
function requirePlainAnswer({ echo, promptLogprobs, withLogprobs }: OpenAiRequest): void {
  for (const [param, isAsked, why = ''] of [
    ['echo', echo],
    ['prompt_logprobs', promptLogprobs !== null],
    ['logprobs', withLogprobs, ': the run records them itself'],
  ] as const)
    if (isAsked) throw new InvalidRequest(`\`${param}\` is not supported in a session${why}.`, param)
}

/** Errors: `InvalidRequest` for what would change what is learned. */
function requireAnswerable(request: OpenAiRequest): void {
  const refuse = (param: string, message: string) => {
    throw new InvalidRequest(message, param)
  }
  const {
    prompts,
    prompts: [first],
  } = request
  if (prompts.length > 1) refuse('prompt', 'A session answers one prompt at a time.')
  requirePlainAnswer(request)
  if (first === undefined || !('messages' in first)) return
  if (Object.keys(first.variables ?? {}).length > 0)
    refuse(
      'chat_template_kwargs',
      'The switches of the chat template are the run’s: set data.templateVariables.',
    )
  if (first.opening !== undefined && first.opening !== 'turn')
    refuse('add_generation_prompt', 'A session answers with a new turn of the assistant.')
}

const idOf = ({ id }: Session, call: number): string => `call-${id}-${call}`

/** Errors: `InvalidRequest` for an id that is no answer of the session. */
function callOf(session: Session, id: string): number {
  const call = Array.from({ length: session.calls }, (_, i) => i).find((i) => idOf(session, i) === id)
  if (call === undefined)
    throw new InvalidRequest('`call_rewards` names an id that is no answer of this session.', 'call_rewards')
  return call
}

function newsOf({ withTokenIds }: OpenAiRequest, { promptIds, completions }: Answered) {
  const pieces = completions.map(({ text, ids, logprobs, finishReason, toolCalls }, sample) => ({
    ...({ type: 'piece', prompt: 0, sample, text } as const),
    tokens: withTokenIds ? ids.map((id, i) => ({ id, logprob: logprobs[i] ?? 0, text: '', top: [] })) : [],
    end: {
      ...({ stopReason: finishReason === 'stop' ? 'stop-id' : 'length', tokens: ids.length } as const),
      ...(toolCalls && { calls: toolCalls }),
    },
  }))
  return [{ type: 'prompts', ids: [Int32Array.from(promptIds)] } as const, ...pieces]
}
