/**
 * Decoding with keys and values on a device (models/generationGraph.ts, deviceCache.ts).
 *
 * Where the device cannot hold tensors the same programs run with all of them in the host's memory: right, and slow.
 */
import type { LoraConfig } from '../models/config.ts'
import {
  cacheProgram,
  deviceGenerationPrograms,
  type DeviceGenerationPrograms,
} from '../models/deviceGeneration.ts'
import type { DeviceWeights } from '../models/generationGraph.ts'
import { choiceWidth } from '../models/tokenChoice.ts'
import type { Program } from '../graph/onnx.ts'
import type { ModelSource } from '../models/source.ts'
import type { AdapterParameters, AnsweringRole } from './adapterParameters.ts'
import {
  cacheNames,
  cacheParts,
  DeviceCache,
  DevicePrompt,
  devicePrompt,
  renamed,
  type CachePart,
  type Prefilled,
} from './deviceCache.ts'
import { release, type HeldFeeds, type TensorHome } from './deviceTensors.ts'
import type {
  Decoder,
  Decoding,
  DecodingOptions,
  KeptRow,
  NewPrompt,
  PassScores,
  PrefilledPrompt,
  PromptSlots,
  RowScores,
  RowStep,
} from './generation/decoder.ts'
import { passMask } from './generation/mask.ts'
import { raggedPass } from './generation/prefill.ts'
import type { ParameterHome } from './parameterHome.ts'
import { maskFeeds, positionFeeds, type NewPositions, RotaryTables } from './passFeeds.ts'
import type { Feeds, ProgramDefinition, ProgramDefinitions, Programs } from './programs.ts'
import { int64s } from './session.ts'

export interface DeviceDecoderOptions {
  readonly source: ModelSource
  readonly home: TensorHome
  /** Programs of `decodingDefinitions`, perhaps among others. */
  readonly programs: Programs
  readonly parameters: Pick<ParameterHome, 'take'>
  readonly adapter: (role: AnsweringRole) => AdapterParameters
}

/** One program for each kind of scores: what stays on the device must be the same in every run of a session. */
export function decodingDefinitions(
  { config }: ModelSource,
  lora: LoraConfig,
  weights: DeviceWeights,
): ProgramDefinitions {
  const definitions: Record<string, ProgramDefinition> = {}
  for (const name of ['prompt', 'longPrompt', 'decode'] as const) {
    for (const want of ['logits', 'probabilities', 'best', 'choice', 'none'] as const) {
      const of = () => deviceGenerationPrograms(config, lora, weights)[name]
      definitions[passName(name, want)] = { program: () => scoresOf(of(), want), kept: cacheNames(config) }
    }
  }
  for (const parts of cacheParts) {
    definitions[arrangementName(parts)] = {
      program: () => cacheProgram(config, parts),
      kept: cacheNames(config),
    }
  }
  return definitions
}

const passName = (name: keyof DeviceGenerationPrograms, want: PassScores): string => `${name} for ${want}`
const arrangementName = (parts: readonly CachePart[]): string => `cache of ${parts.join(', ')}`

function scoresOf({ logits, probabilities, best, choice, ...caches }: Program, want: PassScores): Program {
  return want === 'none' ? caches : { [want]: { logits, probabilities, best, choice }[want]!, ...caches }
}

export class DeviceDecoder implements Decoder {
  readonly vocabSize: number
  readonly choiceWidth: number | null
  readonly leavesOut = false
  readonly maxTurns = 1
  readonly passCost = null
  readonly options: DeviceDecoderOptions
  readonly rotary: readonly RotaryTables[]

  constructor(options: DeviceDecoderOptions) {
    const { source } = options
    this.options = options
    this.vocabSize = source.config.vocabSize
    this.choiceWidth = choiceWidth(source.config.vocabSize)
    this.rotary = source.config.ropes.map((rope) => new RotaryTables(rope))
  }

  async open(options: DecodingOptions): Promise<Decoding> {
    const { parameters, adapter } = this.options
    return new DeviceDecoding(this, options, await parameters.take(adapter(options.role)))
  }
}

class DeviceDecoding implements Decoding {
  readonly #decoder: DeviceDecoder
  readonly #options: DecodingOptions
  readonly #adapter: HeldFeeds
  readonly #prefilled = new Set<Prefilled>()
  readonly #cache: DeviceCache

  constructor(decoder: DeviceDecoder, options: DecodingOptions, adapter: HeldFeeds) {
    this.#decoder = decoder
    this.#options = options
    this.#adapter = adapter
    const { home, programs } = decoder.options
    this.#cache = new DeviceCache({
      config: this.#config,
      arrange: (parts, feeds) => programs.run(arrangementName(parts), feeds),
      upload: (data, dims) => home.upload(data, dims),
    })
  }

  get #config() {
    return this.#decoder.options.source.config
  }

  get sizeBytes(): number {
    return this.#cache.sizeBytes
  }

  prefill(prompts: readonly NewPrompt[], want: 'logits' | 'probabilities'): Promise<PrefilledPrompt[]> {
    const [first] = prompts
    const isLong = prompts.length === 1 && first!.ids.length > this.#options.prefillTokens
    return isLong ? this.#prefillInPieces(first!, want) : this.#prefillTogether(prompts, want)
  }

  async #prefillTogether(
    given: readonly NewPrompt[],
    want: 'logits' | 'probabilities',
  ): Promise<PrefilledPrompt[]> {
    const pass = raggedPass(given)
    const { scores, caches } = await this.#pass('prompt', want, pass, this.#masks(pass, 0))
    const prompts = given.map(({ ids }) => ids)
    return this.#remember({ caches, rows: pass.rows, slots: pass.length }, prompts, scores)
  }

  async #prefillInPieces(
    { ids: prompt, inverseTemperature }: NewPrompt,
    want: 'logits' | 'probabilities',
  ): Promise<PrefilledPrompt[]> {
    const { prefillTokens } = this.#options
    let past: Feeds = {}
    for (let start = 0; ; start += prefillTokens) {
      const ids = prompt.subarray(start, start + prefillTokens)
      const length = ids.length
      const isLast = start + length === prompt.length
      const positions = Int32Array.from(ids, (_, index) => start + index)
      const inverseTemperatures = Float64Array.of(inverseTemperature)
      const pass = { ids, positions, rows: 1, length, scored: Int32Array.of(length - 1), inverseTemperatures }
      const own = { ...this.#masks(pass, start), ...renamed(past, 'past') }
      const name = start === 0 ? 'prompt' : 'longPrompt'
      const { scores, caches } = await this.#pass(name, isLast ? want : 'none', pass, own)
      Object.values(past).forEach(release)
      past = caches
      if (isLast) return this.#remember({ caches, rows: 1, slots: prompt.length }, [prompt], scores)
    }
  }

  /** Builds the masks of prompts, or of what comes behind all `past` positions of one. */
  #masks(pass: DevicePass, past: number): Feeds {
    const behind = { ...pass, lengths: new Array<number>(pass.rows).fill(past), slots: past }
    return maskFeeds(this.#config, pass, (window) => passMask(behind, window))
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

  async step({ ids, uniforms, inverseTemperatures, want }: RowStep): Promise<RowScores> {
    const cached = await this.#cache.stepFeeds()
    const pass = {
      ids,
      positions: this.#cache.positions(),
      rows: ids.length,
      length: 1,
      scored: ids.map((_, row) => row),
      inverseTemperatures,
      uniforms,
    }
    const { scores, caches } = await this.#pass('decode', want, pass, cached)
    this.#cache.settle(caches)
    return { turns: [scores], ids: [] }
  }

  keep(rows: readonly KeptRow[]): Promise<void> {
    return this.#cache.keep(rows.map(({ row }) => row))
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
    const { [want]: scores, ...caches } = await this.#decoder.options.programs.run(passName(name, want), {
      ids: int64s(pass.ids, [pass.ids.length]),
      ...positionFeeds(pass, this.#decoder.rotary),
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

interface DevicePass extends NewPositions {
  /** [N = B·T] */
  readonly ids: Int32Array
}
