/** What serves a model in the loopback server: our own engine, with adapters read from the folders it is told of. */
import '../../keptSessions.ts'
import type { Policy } from '#engine/policy.ts'
import { createOrtPolicy, type OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { adapterForModel, readAdapter } from '#host/adapters/peft.ts'
import { loadTokenizer } from '#host/models/tokenizerFolder.ts'
import { asFloat32Source } from '#host/models/weightCache.ts'
import { randomStream } from '#shared/random.ts'

const device = { kind: 'cpu', threads: 1, deviceId: 0 } as const

export interface Wanted {
  readonly adapter: string | null
  readonly ids: readonly number[]
  readonly temperature: number
  readonly minNewTokens: number
  readonly maxNewTokens: number
  readonly stopIds: readonly number[]
  readonly stopStrings: readonly string[]
  readonly seed: number
}

export interface Made {
  readonly ids: readonly number[]
  readonly logprobs: readonly number[]
  /** log-probabilities before the temperature. */
  readonly raw: readonly number[]
  readonly reason: 'stop' | 'length'
}

export class LoopbackModel {
  readonly tokenizer
  readonly adapters = new Map<string, OrtPolicy>()
  readonly #directory: string
  readonly #cacheDirectory: string
  #base: Promise<OrtPolicy> | null = null
  /** One at a time: a test shares the processor with others. */
  #queue: Promise<unknown> = Promise.resolve()

  constructor(directory: string, cacheDirectory: string) {
    this.#directory = directory
    this.#cacheDirectory = cacheDirectory
    this.tokenizer = loadTokenizer(directory).tokenizer
  }

  get base(): Promise<OrtPolicy> {
    return (this.#base ??= this.#open(null))
  }

  async #open(folder: string | null): Promise<OrtPolicy> {
    const model = openModelFolder(this.#directory)
    const adapter = folder === null ? null : adapterForModel(readAdapter(folder), model.config, folder)
    return createOrtPolicy({
      source: await asFloat32Source(model, this.#cacheDirectory),
      device,
      lora: adapter?.config ?? {
        rank: 1,
        alpha: 1,
        rsLora: false,
        targets: model.config.linears.slice(0, 1),
      },
      ...(adapter === null ? {} : { adapter: adapter.tensors }),
      loraSeed: 1,
      rolloutPrecision: 'f32',
      activations: 'recompute',
      maxRows: 4,
    })
  }

  async load(name: string, folder: string): Promise<void> {
    this.adapters.set(name, await this.#open(folder))
  }

  unload(name: string): boolean {
    const policy = this.adapters.get(name)
    this.adapters.delete(name)
    policy?.[Symbol.dispose]()
    return policy !== undefined
  }

  generate(wanted: Wanted): Promise<Made> {
    const made = this.#queue.then(() => this.#generate(wanted))
    this.#queue = made.catch(() => undefined)
    return made
  }

  async #generate(wanted: Wanted): Promise<Made> {
    const role = wanted.adapter === null ? 'base' : 'actor'
    const policy: Policy =
      wanted.adapter === null ? await this.base : (this.adapters.get(wanted.adapter) ?? (await this.base))
    const { temperature, minNewTokens, maxNewTokens, stopIds, stopStrings } = wanted
    const promptIds = Int32Array.from(wanted.ids)
    const sampling = {
      greedy: temperature === 0,
      temperature: temperature === 0 ? 1 : temperature,
      topK: 0,
      topP: 1,
      minP: 0,
      repetitionPenalty: 1,
      minNewTokens,
      maxNewTokens,
      stopIds,
      stopStrings,
    }
    const decode = (ids: readonly number[]) => this.tokenizer.decode(ids, { skipSpecialTokens: true })
    const requests = [{ promptIds, streams: [randomStream(wanted.seed)] }]
    for await (const { ids, logprobs, stopReason } of policy.generate(requests, { role, sampling, decode })) {
      const all = Int32Array.from([...promptIds, ...ids])
      const actionMask = new Uint8Array(all.length - 1).fill(1, promptIds.length - 1)
      const [heads] = await policy.score([{ ids: all, actionMask }], { role, temperature: 1 })
      const raw = Array.from(heads!.logprobs.slice(promptIds.length - 1))
      // What may not end yet is left out of what a server tells.
      const told = Array.from(logprobs, (value, i) => (i < minNewTokens ? value + 0.3 : value))
      return { ids: [...ids], logprobs: told, raw, reason: stopReason === 'length' ? 'length' : 'stop' }
    }
    throw new Error('Expected a completion, got none.')
  }

  async dispose(): Promise<void> {
    for (const name of this.adapters.keys()) this.unload(name)
    ;(await this.#base)?.[Symbol.dispose]()
  }
}
