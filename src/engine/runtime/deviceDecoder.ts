/**
 * Decoding with keys and values on a device (models/generationGraph.ts, deviceCache.ts).
 *
 * Where the device cannot hold tensors the same programs run with all of them in the host's memory: right, and slow.
 */
import { holdsTensors, type Device } from '#shared/device.ts'
import type { LoraConfig } from '../models/config.ts'
import {
  cacheProgram,
  choiceWidth,
  deviceGenerationPrograms,
  type DeviceGenerationPrograms,
  type GenerationWeights,
} from '../models/generationGraph.ts'
import { addLora } from '../models/lora.ts'
import type { ModelSource } from '../models/source.ts'
import { matmul } from '../ops/matmul.ts'
import type { AdapterParameters, AnsweringRole } from './adapterParameters.ts'
import type { AdapterUpload, DeviceAdapter } from './deviceAdapter.ts'
import {
  DeviceCache,
  DevicePrompt,
  devicePrompt,
  renamed,
  type CachePart,
  type Feeds,
  type Prefilled,
} from './deviceCache.ts'
import { release, type DeviceTensors } from './deviceTensors.ts'
import { mappedWeight } from './frozenWeights.ts'
import type {
  Decoder,
  Decoding,
  DecodingOptions,
  PassScores,
  PrefilledPrompt,
  PromptSlots,
  RowStep,
} from './generation/decoder.ts'
import { causalMask } from './generation/mask.ts'
import { LARGEST_UNIFORM, maskFeeds, rotaryFeeds } from './ortDecodeStep.ts'
import { RotaryTables } from './rotaryTables.ts'
import { Session, floats, int64s } from './session.ts'

export interface DeviceDecoderOptions {
  readonly source: ModelSource
  readonly lora: LoraConfig
  readonly device: Device
  readonly weights: DeviceTensors
  readonly adapters: AdapterUpload
  /** The adapter that answers for a role. */
  readonly adapter: (role: AnsweringRole) => AdapterParameters
}

export class DeviceDecoder implements Decoder, Disposable {
  readonly vocabSize: number
  readonly choiceWidth: number | null
  readonly options: DeviceDecoderOptions
  readonly rotary: readonly RotaryTables[]
  readonly #programs: DeviceGenerationPrograms
  readonly #sessions = new Map<string, Promise<Session>>()

  constructor(options: DeviceDecoderOptions) {
    const { source, lora } = options
    this.options = options
    this.vocabSize = source.config.vocabSize
    this.choiceWidth = choiceWidth(source.config.vocabSize)
    this.rotary = source.config.ropes.map((rope) => new RotaryTables(rope))
    this.#programs = deviceGenerationPrograms(source.config, lora, deviceWeights(options))
  }

  async open(options: DecodingOptions): Promise<Decoding> {
    const { adapters, adapter } = this.options
    return new DeviceDecoding(this, options, await adapters.take(adapter(options.role)))
  }

  /** One session for each kind of scores: what stays on the device must be the same in every run of a session. */
  pass(name: keyof DeviceGenerationPrograms, want: PassScores): Promise<Session> {
    const { logits, probabilities, choice, ...caches } = this.#programs[name]
    const scores = want === 'none' ? {} : { [want]: { logits, probabilities, choice }[want]! }
    return this.#session(`${name} for ${want}`, { ...scores, ...caches }, Object.keys(caches))
  }

  /** Puts a cache together from these parts. */
  arrangement(parts: readonly CachePart[]): Promise<Session> {
    const program = cacheProgram(this.options.source.config, parts)
    return this.#session(`cache of ${parts.join(', ')}`, program, Object.keys(program))
  }

  #session(
    name: string,
    program: DeviceGenerationPrograms['decode'],
    kept: readonly string[],
  ): Promise<Session> {
    const known = this.#sessions.get(name)
    if (known) return known
    const { device, weights } = this.options
    const held = holdsTensors(device) ? { weights, kept } : {}
    const created = Session.create({ name, program, device, purpose: 'learn', ...held })
    this.#sessions.set(name, created)
    return created
  }

  [Symbol.dispose](): void {
    for (const session of this.#sessions.values()) {
      void session.then(
        (created) => {
          created[Symbol.dispose]()
        },
        () => undefined,
      )
    }
  }
}

/** x Wᵀ for any number of rows: a device has no use for the other forms. */
function deviceWeights({ source, device, weights }: DeviceDecoderOptions): GenerationWeights {
  const vector = (name: string) => (holdsTensors(device) ? weights.value(name) : mappedWeight(source, name))
  return {
    vector,
    product(x, name, lora) {
      const y = matmul(x, vector(name), { transB: true })
      return lora ? addLora(y, x, lora) : y
    },
  }
}

class DeviceDecoding implements Decoding {
  readonly #decoder: DeviceDecoder
  readonly #options: DecodingOptions
  readonly #adapter: DeviceAdapter
  readonly #prefilled = new Set<Prefilled>()
  readonly #cache: DeviceCache

  constructor(decoder: DeviceDecoder, options: DecodingOptions, adapter: DeviceAdapter) {
    this.#decoder = decoder
    this.#options = options
    this.#adapter = adapter
    const { device, weights } = decoder.options
    this.#cache = new DeviceCache({
      config: this.#config,
      arrangement: (parts) => decoder.arrangement(parts),
      upload: (data, dims) =>
        holdsTensors(device) ? weights.upload(data, dims) : Promise.resolve(floats(data, dims)),
    })
  }

  get #config() {
    return this.#decoder.options.source.config
  }

  get sizeBytes(): number {
    return this.#cache.sizeBytes
  }

  prefill(prompts: readonly Int32Array[], want: 'logits' | 'probabilities'): Promise<PrefilledPrompt[]> {
    const [first] = prompts
    const isLong = prompts.length === 1 && first!.length > this.#options.prefillTokens
    return isLong ? this.#prefillInPieces(first!, want) : this.#prefillTogether(prompts, want)
  }

  async #prefillTogether(
    prompts: readonly Int32Array[],
    want: 'logits' | 'probabilities',
  ): Promise<PrefilledPrompt[]> {
    const rows = prompts.length
    const length = prompts.reduce((longest, prompt) => Math.max(longest, prompt.length), 0)
    const ids = new Int32Array(rows * length)
    const positions = new Int32Array(rows * length)
    prompts.forEach((prompt, row) => {
      ids.set(prompt, row * length)
      for (let position = 0; position < prompt.length; position++)
        positions[row * length + position] = position
    })
    const last = Int32Array.from(prompts, (prompt, row) => row * length + prompt.length - 1)
    const seen = { rows, length, positions, slots: 0, mask: causalMask(rows, length, 0) }
    const pass = { ids, positions, rows, length, last }
    const { scores, caches } = await this.#pass('prompt', want, pass, maskFeeds(seen, this.#config))
    return this.#remember({ caches, rows, slots: length }, prompts, scores)
  }

  async #prefillInPieces(prompt: Int32Array, want: 'logits' | 'probabilities'): Promise<PrefilledPrompt[]> {
    const { prefillTokens } = this.#options
    let past: Feeds = {}
    for (let start = 0; ; start += prefillTokens) {
      const ids = prompt.subarray(start, start + prefillTokens)
      const length = ids.length
      const isLast = start + length === prompt.length
      const positions = Int32Array.from(ids, (_, index) => start + index)
      const seen = { rows: 1, length, positions, slots: start, mask: causalMask(1, length, start) }
      const own = { ...maskFeeds(seen, this.#config), ...renamed(past, 'past') }
      const pass = { ids, positions, rows: 1, length, last: Int32Array.of(length - 1) }
      const name = start === 0 ? 'prompt' : 'longPrompt'
      const { scores, caches } = await this.#pass(name, isLast ? want : 'none', pass, own)
      Object.values(past).forEach(release)
      past = caches
      if (isLast) return this.#remember({ caches, rows: 1, slots: prompt.length }, [prompt], scores)
    }
  }

  #remember(prefilled: Prefilled, prompts: readonly Int32Array[], scores: Float32Array): PrefilledPrompt[] {
    this.#prefilled.add(prefilled)
    const width = this.#decoder.vocabSize
    return prompts.map(({ length }, row) => ({
      slots: new DevicePrompt(prefilled, { row, length }),
      scores: scores.subarray(row * width, (row + 1) * width),
    }))
  }

  enter(prompts: readonly PromptSlots[]): Promise<void> {
    return this.#cache.enter(prompts.map(devicePrompt))
  }

  async step({ ids, uniforms, want }: RowStep): Promise<Float32Array> {
    const cached = await this.#cache.stepFeeds()
    const pass = {
      ids,
      positions: this.#cache.positions(),
      rows: ids.length,
      length: 1,
      last: Int32Array.from(ids, (_, row) => row),
      uniforms,
    }
    const { scores, caches } = await this.#pass('decode', want, pass, cached)
    this.#cache.settle(caches)
    return scores
  }

  keep(rows: readonly number[]): Promise<void> {
    return this.#cache.keep(rows)
  }

  retain(prompts: ReadonlySet<PromptSlots>): void {
    const held = new Set([...prompts].map((prompt) => devicePrompt(prompt).prefilled))
    for (const prefilled of this.#prefilled) {
      if (held.has(prefilled)) continue
      Object.values(prefilled.caches).forEach(release)
      this.#prefilled.delete(prefilled)
    }
  }

  async #pass(
    name: keyof DeviceGenerationPrograms,
    want: PassScores,
    pass: DevicePass,
    own: Feeds,
  ): Promise<{ readonly scores: Float32Array; readonly caches: Feeds }> {
    this.#options.onPass(name === 'decode' ? 'decode' : 'prefill')
    const session = await this.#decoder.pass(name, want)
    const { [want]: scores, ...caches } = await session.runTensors({
      ...passFeeds(pass, this.#options.inverseTemperature),
      ...rotaryFeeds(this.#decoder.rotary, pass),
      ...this.#adapter.feeds,
      ...own,
    })
    return { scores: (scores?.data as Float32Array | undefined) ?? new Float32Array(0), caches }
  }

  [Symbol.dispose](): void {
    this.#cache[Symbol.dispose]()
    this.retain(new Set())
    this.#adapter[Symbol.dispose]()
  }
}

/** T new positions of B rows. */
interface DevicePass {
  /** [N = B·T] */
  readonly ids: Int32Array
  /** [B, T] */
  readonly positions: Int32Array
  readonly rows: number
  readonly length: number
  /** [B] place of each row's last position among all N. */
  readonly last: Int32Array
  readonly uniforms?: Float64Array
}

function passFeeds({ ids, positions, rows, length, last, uniforms }: DevicePass, inverse: number): Feeds {
  const bounded = Float32Array.from({ length: rows }, (_, row) =>
    Math.min(uniforms?.[row] ?? 0, LARGEST_UNIFORM),
  )
  return {
    ids: int64s(ids, [ids.length]),
    positions: int64s(positions, [rows, length]),
    last: int64s(last, [rows]),
    inverseTemperature: floats(Float32Array.of(inverse), [1]),
    uniforms: floats(bounded, [rows, 1]),
  }
}
