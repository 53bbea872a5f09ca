/**
 * Decoding with keys and values on a device (models/generationGraph.ts). A step copies only the few latest slots; when
 * those are full, or rows enter or leave, caches are put together anew in one gather on the device.
 *
 * Where the device cannot hold tensors the same programs run with all of them in the host's memory: right, and slow.
 */
import type { Device } from '#shared/device.ts'
import type { LoraConfig } from '../models/config.ts'
import {
  cacheProgram,
  choiceWidth,
  deviceGenerationPrograms,
  latestNames,
  windowMaskName,
  type DeviceGenerationPrograms,
} from '../models/generationGraph.ts'
import type { ModelSource } from '../models/source.ts'
import type { AdapterParameters, AnsweringRole } from './adapterParameters.ts'
import type { AdapterUpload, DeviceAdapter } from './deviceAdapter.ts'
import { holdsTensors } from './device.ts'
import { release, type DeviceTensors } from './deviceTensors.ts'
import { generationWeights } from './frozenWeights.ts'
import { HIDDEN } from './generation/decodeStep.ts'
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
import { Session, floats, int64s, type Feed } from './session.ts'

export interface DeviceDecoderOptions {
  readonly source: ModelSource
  readonly lora: LoraConfig
  readonly device: Device
  readonly weights: DeviceTensors
  readonly adapters: AdapterUpload
  /** The adapter that answers for a role. */
  readonly adapter: (role: AnsweringRole) => AdapterParameters
}

/** W: slots that a step copies. More cost more in every step, fewer are put behind the others more often. */
const LATEST_SLOTS = 32

type Feeds = Readonly<Record<string, Feed>>
type CachePart = 'past' | 'latest' | 'incoming'

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
    // x Wᵀ for any number of rows: a device has no use for the other form.
    const weights = generationWeights(source, { rounded: false, isOneRow: true })
    this.#programs = deviceGenerationPrograms(source.config, lora, weights)
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

/** The caches of prompts computed together: `key i` and `value i`, [B, K, T, C]. */
interface Prefilled {
  readonly caches: Feeds
  readonly rows: number
  /** T */
  readonly slots: number
}

class DevicePrompt implements PromptSlots {
  readonly prefilled: Prefilled
  readonly row: number
  readonly length: number
  readonly sizeBytes: number

  constructor(prefilled: Prefilled, { row, length }: { readonly row: number; readonly length: number }) {
    this.prefilled = prefilled
    this.row = row
    this.length = length
    this.sizeBytes = bytesOf(prefilled.caches) / prefilled.rows
  }
}

const bytesOf = (tensors: Feeds): number =>
  Object.values(tensors).reduce((total, { size }) => total + size * Float32Array.BYTES_PER_ELEMENT, 0)

/** Rows of prompts computed together that enter together. */
interface Incoming {
  readonly prefilled: Prefilled
  readonly prompts: readonly DevicePrompt[]
}

class DeviceDecoding implements Decoding {
  readonly #decoder: DeviceDecoder
  readonly #options: DecodingOptions
  readonly #adapter: DeviceAdapter
  readonly #prefilled = new Set<Prefilled>()
  /** `key i` and `value i` [B, K, P, C] of the live rows. */
  #past: Feeds = {}
  /** P */
  #slots = 0
  /** Filled slots of each live row in `#past`. */
  #lengths: readonly number[] = []
  /** The latest slots [B, K, W, C], of which so many are filled; zeros before the first. */
  #latest: Feeds = {}
  #filled = 0
  /** Zeros for the latest slots of so many rows. */
  readonly #zeros = new Map<number, Feed>()

  constructor(decoder: DeviceDecoder, options: DecodingOptions, adapter: DeviceAdapter) {
    this.#decoder = decoder
    this.#options = options
    this.#adapter = adapter
  }

  get #config() {
    return this.#decoder.options.source.config
  }

  get sizeBytes(): number {
    return bytesOf(this.#past) + bytesOf(this.#latest)
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
    const pass = { ids, positions, rows, length, masks: maskFeeds(seen, this.#config), last }
    const { scores, caches } = await this.#pass('prompt', want, pass)
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
      const masks = maskFeeds(seen, this.#config)
      const pass = { ids, positions, rows: 1, length, masks, last: Int32Array.of(length - 1) }
      const name = start === 0 ? 'prompt' : 'longPrompt'
      const { scores, caches } = await this.#pass(name, isLast ? want : 'none', pass, renamed(past, 'past'))
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

  async enter(prompts: readonly PromptSlots[]): Promise<void> {
    for (const incoming of runsOf(prompts as readonly DevicePrompt[])) {
      await this.#arrange([...this.#lengths.keys()], incoming)
    }
  }

  async step({ ids, uniforms, want }: RowStep): Promise<Float32Array> {
    if (this.#filled === LATEST_SLOTS) await this.#arrange([...this.#lengths.keys()])
    const rows = this.#lengths.length
    const positions = Int32Array.from(this.#lengths, (length) => length + this.#filled)
    const isFresh = Float32Array.from({ length: LATEST_SLOTS }, (_, slot) => Number(slot === this.#filled))
    const flags = [1, 1, LATEST_SLOTS, 1]
    const pass = {
      ids,
      positions,
      rows,
      length: 1,
      masks: this.#masks(),
      last: Int32Array.from(ids, (_, row) => row),
      uniforms,
    }
    const { scores, caches } = await this.#pass('decode', want, pass, {
      ...renamed(this.#past, 'past'),
      ...renamed(this.#latest, 'latest'),
      [latestNames.fresh]: floats(isFresh, flags),
      [latestNames.kept]: floats(
        isFresh.map((flag) => 1 - flag),
        flags,
      ),
    })
    this.#releaseLatest()
    this.#latest = caches
    this.#filled++
    return scores
  }

  /** What each row sees through each window, [B, 1, 1, P+W]: positions before the window, and slots without one, are hidden. */
  #masks(): Feeds {
    const width = this.#slots + LATEST_SLOTS
    return Object.fromEntries(
      this.#config.windows.map((window, index) => {
        const mask = new Float32Array(this.#lengths.length * width).fill(HIDDEN)
        this.#lengths.forEach((length, row) => {
          const first = window === null ? 0 : Math.max(0, length + this.#filled + 1 - window)
          const [past, latest] = [row * width, row * width + this.#slots]
          mask.fill(0, past + Math.min(first, length), past + length)
          mask.fill(0, latest + Math.max(0, first - length), latest + this.#filled + 1)
        })
        return [windowMaskName(index), floats(mask, [this.#lengths.length, 1, 1, width])]
      }),
    )
  }

  async keep(rows: readonly number[]): Promise<void> {
    if (rows.length === this.#lengths.length) return
    await this.#arrange(rows)
  }

  retain(prompts: ReadonlySet<PromptSlots>): void {
    const held = new Set([...prompts].map((prompt) => (prompt as DevicePrompt).prefilled))
    for (const prefilled of this.#prefilled) {
      if (held.has(prefilled)) continue
      Object.values(prefilled.caches).forEach(release)
      this.#prefilled.delete(prefilled)
    }
  }

  /** The live rows become these, by their old numbers, and behind them new ones; the latest slots go behind the others. */
  async #arrange(rows: readonly number[], incoming?: Incoming): Promise<void> {
    const lengths = [
      ...rows.map((row) => this.#lengths[row]! + this.#filled),
      ...(incoming?.prompts.map(({ length }) => length) ?? []),
    ]
    const parts: CachePart[] = [
      ...(rows.length > 0 ? (['past', ...(this.#filled > 0 ? ['latest'] : [])] as CachePart[]) : []),
      ...(incoming ? (['incoming'] as const) : []),
    ]
    if (parts.length === 0) {
      this.#forgetRows()
      return
    }
    const slots = Math.ceil(Math.max(...lengths) / LATEST_SLOTS) * LATEST_SLOTS
    const session = await this.#decoder.arrangement(parts)
    const caches = await session.runTensors({
      ...renamed(this.#past, 'past'),
      ...renamed(this.#latest, 'latest'),
      ...(incoming ? renamed(incoming.prefilled.caches, 'incoming') : {}),
      places: this.#places({ rows, incoming, lengths, slots, parts }),
    })
    this.#forgetRows()
    this.#past = caches
    this.#slots = slots
    this.#lengths = lengths
    const zeros = await this.#zerosFor(lengths.length)
    this.#latest = Object.fromEntries(Object.keys(caches).map((name) => [name, zeros]))
  }

  /** [B, K, S] where each slot comes from; what a row has no use for repeats the first. */
  #places({ rows, incoming, lengths, slots, parts }: Arrangement): Feed {
    const { kvHeads } = this.#config
    const before = this.#lengths.length * kvHeads
    const latestFrom = parts.includes('past') ? before * this.#slots : 0
    const incomingFrom = latestFrom + (parts.includes('latest') ? before * LATEST_SLOTS : 0)
    const placeOf = (row: number, head: number, slot: number): number => {
      const old = rows[row]
      if (old === undefined) {
        const prompt = incoming!.prompts[row - rows.length]!
        return incomingFrom + (prompt.row * kvHeads + head) * prompt.prefilled.slots + slot
      }
      const past = this.#lengths[old]!
      if (slot < past) return (old * kvHeads + head) * this.#slots + slot
      return latestFrom + (old * kvHeads + head) * LATEST_SLOTS + slot - past
    }
    const places = new Int32Array(lengths.length * kvHeads * slots)
    lengths.forEach((length, row) => {
      for (let head = 0; head < kvHeads; head++) {
        const start = (row * kvHeads + head) * slots
        for (let slot = 0; slot < length; slot++) places[start + slot] = placeOf(row, head, slot)
      }
    })
    return int64s(places, [lengths.length, kvHeads, slots])
  }

  async #zerosFor(rows: number): Promise<Feed> {
    const known = this.#zeros.get(rows)
    if (known) return known
    const { kvHeads, headDim } = this.#config
    const dims = [rows, kvHeads, LATEST_SLOTS, headDim]
    const data = new Float32Array(dims.reduce((size, dim) => size * dim, 1))
    const { device, weights } = this.#decoder.options
    const zeros = holdsTensors(device) ? await weights.upload(data, dims) : floats(data, dims)
    this.#zeros.set(rows, zeros)
    return zeros
  }

  async #pass(
    name: keyof DeviceGenerationPrograms,
    want: PassScores,
    pass: DevicePass,
    own: Feeds = {},
  ): Promise<{ readonly scores: Float32Array; readonly caches: Feeds }> {
    this.#options.onPass(name === 'decode' ? 'decode' : 'prefill')
    const session = await this.#decoder.pass(name, want)
    const { [want]: scores, ...caches } = await session.runTensors({
      ...passFeeds(pass, this.#options.inverseTemperature),
      ...rotaryFeeds(this.#decoder.rotary, pass),
      ...pass.masks,
      ...this.#adapter.feeds,
      ...own,
    })
    return { scores: (scores?.data as Float32Array | undefined) ?? new Float32Array(0), caches }
  }

  #forgetRows(): void {
    Object.values(this.#past).forEach(release)
    this.#releaseLatest()
    this.#past = {}
    this.#latest = {}
    this.#lengths = []
    this.#filled = 0
  }

  /** Zeros are shared by all layers and stay. */
  #releaseLatest(): void {
    const zeros = new Set(this.#zeros.values())
    for (const tensor of Object.values(this.#latest)) if (!zeros.has(tensor)) release(tensor)
  }

  [Symbol.dispose](): void {
    this.#forgetRows()
    this.retain(new Set())
    for (const zeros of this.#zeros.values()) release(zeros)
    this.#adapter[Symbol.dispose]()
  }
}

interface Arrangement {
  readonly rows: readonly number[]
  readonly incoming: Incoming | undefined
  readonly lengths: readonly number[]
  readonly slots: number
  readonly parts: readonly CachePart[]
}

/** T new positions of B rows. */
interface DevicePass {
  /** [N = B·T] */
  readonly ids: Int32Array
  /** [B, T] */
  readonly positions: Int32Array
  readonly rows: number
  readonly length: number
  readonly masks: Feeds
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

const renamed = (tensors: Feeds, part: CachePart): Feeds =>
  Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [`${part} ${name}`, tensor]))

/** Prompts in their order, those together that were computed together. */
function runsOf(prompts: readonly DevicePrompt[]): Incoming[] {
  const runs: { prefilled: Prefilled; prompts: DevicePrompt[] }[] = []
  for (const prompt of prompts) {
    const run = runs.at(-1)
    if (run?.prefilled === prompt.prefilled) run.prompts.push(prompt)
    else runs.push({ prefilled: prompt.prefilled, prompts: [prompt] })
  }
  return runs
}
