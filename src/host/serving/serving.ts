/** Keeps a model open for other programs: starts and stops it, and reports its state. */
import path from 'node:path'
import { z } from 'zod'
import { refusal } from '#shared/errors.ts'
import type { ServingStatus } from '#shared/api/serving.ts'
import type { ChangeNotifier } from '#host/store/changeNotifier.ts'
import { isOwnSeal, ownSeal } from '#host/files/ownSeals.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import type { OnFault } from '#host/faults.ts'
import { findModel } from '#host/models/modelLibrary.ts'
import { packFailure } from '#host/processes/messages.ts'
import type { ServingSetup } from './servedProcess.ts'
import { createToken } from '#host/transports/access.ts'
import type { LoopbackServer } from '#host/transports/loopbackServer.ts'
import type { Lease, OpenModels } from './openModels.ts'
import { startOpenAiServer } from './openaiServer.ts'
import { ServedNames, type NameSources } from './servedNames.ts'

interface KeyStore {
  /** Path of the history, in the data directory. */
  readonly file: string
  readonly settings: { get(key: string): unknown; set(key: string, value: unknown): void }
}

export interface ServingOptions extends NameSources {
  readonly dataDirectory: string
  readonly store: NameSources['store'] & KeyStore
  readonly notifier: ChangeNotifier
  readonly models: OpenModels
  readonly onFault: OnFault
}

export interface ServingRequest extends Omit<ServingSetup, 'directory' | 'cacheDirectory'> {
  /** A folder or the name of a model. */
  readonly model: string
  /** 0: any free one. */
  readonly port: number
}

interface Served {
  readonly lease: Lease
  readonly server: LoopbackServer
  readonly name: string
}

/** Settings that hold the keys of other programs: of those that use a model, and of the agents that a run trains. */
const keySettings = { models: 'host.openAiKey', agents: 'host.agentKey' } as const

const keptKey = z.object({ key: z.string(), seal: z.string() })

/**
 * The key of programs that use models of this data directory, or act as agents in its runs; made when it is first asked for, and kept
 * so that they need not be told a new one whenever a server starts. One that was not made here is known to whoever made it, and not used.
 */
export function programKey({ settings, file }: KeyStore, of: keyof typeof keySettings): string {
  const setting = keySettings[of]
  const place = path.dirname(file)
  const { data } = keptKey.safeParse(settings.get(setting))
  if (data !== undefined && isOwnSeal(data.seal, place, setting, data.key)) return data.key
  const key = createToken()
  settings.set(setting, { key, seal: ownSeal(place, setting, key) })
  return key
}

/** Both keys. */
export const programKeysOf = (store: KeyStore): readonly string[] =>
  (['models', 'agents'] as const).map((of) => programKey(store, of))

export class Serving implements AsyncDisposable {
  readonly #options: ServingOptions
  #served: Served | null = null
  #starting: string | null = null
  #failure: { readonly model: string; readonly error: unknown } | null = null
  #counts = { answered: 0, tokens: 0 }

  constructor(options: ServingOptions) {
    this.#options = options
  }

  get key(): string {
    return programKey(this.#options.store, 'models')
  }

  get agentKey(): string {
    return programKey(this.#options.store, 'agents')
  }

  get status(): ServingStatus {
    if (this.#starting !== null) return { state: 'starting', model: this.#starting }
    if (this.#served !== null) {
      const { lease, server, name } = this.#served
      const address = `${server.origin}/v1`
      const { contextLength, active } = lease.model
      return {
        state: 'on',
        model: name,
        address,
        key: this.key,
        contextLength,
        active,
        ...this.#counts,
      }
    }
    if (this.#failure === null) return { state: 'off' }
    return { state: 'failed', model: this.#failure.model, error: packFailure(this.#failure.error) }
  }

  /**
   * Starts the server; resolves when it answers. Errors: those of the model and of the port; AppError 'api/refused'
   * where one is on.
   */
  async start(request: ServingRequest): Promise<void> {
    if (this.#starting !== null || this.#served !== null) {
      throw refusal('The server is already on.', 'Stop it first.')
    }
    const { dataDirectory, notifier } = this.#options
    const names = new ServedNames(this.#options, findModel(request.model, dataDirectory))
    this.#change(() => {
      this.#starting = names.base
      this.#failure = null
    })
    try {
      const served = await this.#open(request, names)
      this.#served = served
      this.#counts = { answered: 0, tokens: 0 }
      void served.lease.model.ended.then((error) => this.#lost(served, error))
    } catch (error) {
      this.#failure = { model: names.base, error }
      throw error
    } finally {
      this.#starting = null
      notifier.notify()
    }
  }

  /** Rejects when the process of the model that is served dies. */
  async lost(): Promise<never> {
    throw (await this.#served?.lease.model.ended) ?? new Error('Expected a server that is on.')
  }

  async stop(): Promise<void> {
    const served = this.#served
    this.#served = null
    this.#failure = null
    if (served !== null) await close(served)
    this.#options.notifier.notify()
  }

  /** Programs and agents that have the old ones are locked out. Errors: AppError 'api/refused' while the server is on. */
  renewKey(): string {
    if (this.#served !== null || this.#starting !== null)
      throw refusal('The server is on.', 'Stop it first, then make a new key.')
    for (const setting of Object.values(keySettings)) this.#options.store.settings.set(setting, undefined)
    return this.key
  }

  async #open({ model: given, port, ...settings }: ServingRequest, names: ServedNames): Promise<Served> {
    const { dataDirectory, models, onFault } = this.#options
    const { key } = this
    const setup = {
      ...settings,
      directory: findModel(given, dataDirectory),
      cacheDirectory: dataFolders(dataDirectory).cache,
    }
    const lease = await models.lease(setup, { idleMs: 0 })
    try {
      const onAnswered = (tokens: number) => this.#answered(tokens)
      const server = await startOpenAiServer({ port, key, model: lease.model, names, onAnswered, onFault })
      return { lease, server, name: names.base }
    } catch (error) {
      lease[Symbol.dispose]()
      throw error
    }
  }

  #answered(tokens: number): void {
    this.#change(() => {
      this.#counts = { answered: this.#counts.answered + 1, tokens: this.#counts.tokens + tokens }
    })
  }

  #lost(served: Served, error: Error): void {
    if (this.#served !== served) return
    this.#change(() => {
      this.#served = null
      this.#failure = { model: served.name, error }
    })
    void served.server[Symbol.asyncDispose]()
  }

  #change(change: () => void): void {
    change()
    this.#options.notifier.notify()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}

async function close({ server, lease }: Served): Promise<void> {
  await server[Symbol.asyncDispose]()
  lease[Symbol.dispose]()
}
