/**
 * A server on this machine that speaks as vLLM or SGLang do, with a real model behind it, and that misbehaves when told
 * to. Requests that leave a sampling field to the server's own mind are refused: there the model's defaults would apply.
 */
import { existsSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { LoopbackModel, type Made, type Wanted } from './loopbackModel.ts'
import { notFound, type Reply, type Routes } from './loopbackReply.ts'
import { sglangRoutes } from './loopbackSglang.ts'
import { sharedRoutes, vllmRoutes } from './loopbackVllm.ts'

export interface Faults {
  /** So many answers to generations that are 503, closed connections, silence, or broken off after two tokens. */
  busy: number
  closing: number
  hanging: number
  aborting: number
  /** Aborted before the first token. */
  empty: number
  withoutIds: boolean
  withoutLogprobs: boolean
  /** null in place of the first log-probability, or of all. */
  missing: 'none' | 'first' | 'all'
  rawLogprobs: boolean
  /** Added to every log-probability. */
  shift: number
  /** Added to every id. */
  idShift: number
  otherTokenizer: boolean
  /** Started without --enable-lora, or without the variable that lets adapters be loaded. */
  loraOff: 'no' | 'flag' | 'variable'
  maxRank: number
  contextLength: number
  key: string | null
  /** Adapters cannot be unloaded. */
  clinging: boolean
  /** Spells ids into tokens, as older versions do. */
  isOld: boolean
  /** Waits so long before each generation. */
  delayMs: number
}

const noFaults: Faults = {
  busy: 0,
  closing: 0,
  hanging: 0,
  aborting: 0,
  empty: 0,
  withoutIds: false,
  withoutLogprobs: false,
  missing: 'none',
  rawLogprobs: false,
  shift: 0,
  idShift: 0,
  otherTokenizer: false,
  loraOff: 'no',
  maxRank: 64,
  contextLength: 4096,
  key: null,
  clinging: false,
  isOld: false,
  delayMs: 0,
}

export interface Received {
  readonly path: string
  readonly body: Record<string, unknown>
}

export type Kind = 'vllm' | 'sglang'

const ownRoutes = { vllm: vllmRoutes, sglang: sglangRoutes } as const

export class LoopbackServer {
  readonly faults: Faults = { ...noFaults }
  readonly received: Received[] = []
  /** Names, in order. */
  readonly loaded: string[] = []
  readonly unloaded: string[] = []
  /** Requests that were given up by who asked. */
  givenUp = 0
  readonly model: LoopbackModel
  readonly #kind: Kind
  #server: Server | null = null
  #port = 0

  constructor(kind: Kind, modelDirectory: string, cacheDirectory: string) {
    this.#kind = kind
    this.model = new LoopbackModel(modelDirectory, cacheDirectory)
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** On the port it had before, if any. */
  async start(): Promise<this> {
    const server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        send(response, { status: 500, body: { error: String(error) } })
      })
    })
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve))
    this.#port = (server.address() as AddressInfo).port
    this.#server = server
    return this
  }

  /** Ends like a process that is killed: connections break, adapters are gone. */
  async stop(): Promise<void> {
    const server = this.#server
    this.#server = null
    server?.closeAllConnections()
    await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()))
    this.forget()
  }

  forget(): void {
    for (const name of this.model.adapters.keys()) this.model.unload(name)
  }

  reset(): void {
    Object.assign(this.faults, noFaults)
    for (const list of [this.received, this.loaded, this.unloaded]) list.length = 0
    this.givenUp = 0
    this.forget()
  }

  async dispose(): Promise<void> {
    await this.stop()
    await this.model.dispose()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString('utf8')
    const body = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>
    const place = request.url ?? ''
    this.received.push({ path: place, body })
    response.on('close', () => (this.givenUp += response.writableFinished ? 0 : 1))
    const isAllowed =
      this.faults.key === null || request.headers.authorization === `Bearer ${this.faults.key}`
    const routes: Routes = { ...sharedRoutes, ...ownRoutes[this.#kind] }
    const route = isAllowed ? routes[place] : () => ({ status: 401, body: { error: 'Unauthorized' } })
    const reply = route === undefined ? notFound : await route(this, body, response)
    if (reply !== null) send(response, reply)
  }

  async load(
    name: string,
    folder: string,
  ): Promise<null | 'off' | { readonly status: number; readonly message: string }> {
    const { loraOff, maxRank } = this.faults
    if (loraOff === 'variable') return 'off'
    if (loraOff === 'flag') return { status: 500, message: 'LoRA is not enabled. Use --enable-lora.' }
    if (this.model.adapters.has(name)) {
      return { status: 400, message: `The lora adapter '${name}' has already been loaded.` }
    }
    if (!existsSync(path.join(folder, 'adapter_config.json'))) {
      return { status: 404, message: `No adapter found for '${folder}'.` }
    }
    await this.model.load(name, folder)
    const tensors = await this.model.adapters.get(name)?.adapterTensors('actor')
    const rank = tensors?.[0]?.shape[0] ?? 0
    if (rank > maxRank) {
      this.model.unload(name)
      return { status: 500, message: `LoRA rank ${rank} is greater than max_lora_rank ${maxRank}.` }
    }
    this.loaded.push(name)
    return null
  }

  /** null: never. */
  async generate(wanted: Wanted, response: ServerResponse): Promise<Told | Reply | null> {
    const { faults } = this
    if (faults.delayMs > 0) await wait(faults.delayMs)
    if (faults.busy > 0) {
      faults.busy--
      return { status: 503, body: { error: { message: 'Too many requests are waiting.' } } }
    }
    if (faults.closing > 0) {
      faults.closing--
      response.socket?.destroy()
      return null
    }
    if (faults.hanging > 0) {
      faults.hanging--
      return null
    }
    if (faults.empty > 0) {
      faults.empty--
      return { ids: [], logprobs: [], reason: 'abort' }
    }
    return this.#told(await this.model.generate(wanted))
  }

  #told(made: Made): Told {
    const { faults } = this
    const isAborted = faults.aborting > 0 && made.ids.length > 2
    if (isAborted) faults.aborting--
    const ids = made.ids.map((id) => id + faults.idShift).slice(0, isAborted ? 2 : undefined)
    const values = faults.rawLogprobs ? made.raw : made.logprobs
    const isMissing = (i: number) => faults.missing === 'all' || (faults.missing === 'first' && i === 0)
    const logprobs = ids.map((_, i) => (isMissing(i) ? null : (values[i] ?? 0) + faults.shift))
    return { ids, logprobs, reason: isAborted ? 'abort' : made.reason }
  }
}

export interface Told {
  readonly ids: readonly number[]
  readonly logprobs: readonly (number | null)[]
  readonly reason: 'stop' | 'length' | 'abort'
}

function send(response: ServerResponse, { status, body }: Reply): void {
  const isText = typeof body === 'string'
  response.writeHead(status, { 'content-type': isText ? 'text/plain' : 'application/json' })
  response.end(isText ? body : JSON.stringify(body))
}
