/**
 * Keys and values of live rows on a device, where outputs cannot be written in place: a step writes into a short window of
 * latest slots, the only part it copies. When the window is full, or rows enter or leave, one gather rebuilds the cache.
 */
import type { ModelConfig } from '../models/config.ts'
import { latestNames, latestPlacesName } from '../models/deviceGeneration.ts'
import { windowMaskName } from '../models/generationGraph.ts'
import { layerStates } from '../models/layerStates.ts'
import { HIDDEN } from '../ops/attention.ts'
import { release } from './deviceTensors.ts'
import type { PromptSlots } from './generation/decoder.ts'
import type { Feeds } from './programs.ts'
import { floats, int64s, type Feed } from './session.ts'

/** W. More cost more in every step, fewer are put behind the others more often. */
const LATEST_SLOTS = 32

/** Origin of the tensors in the slots of a cache that is put together. */
export type CachePart = 'past' | 'latest' | 'incoming'

/** Parts of the cache that are put together. */
export const cacheParts: readonly (readonly CachePart[])[] = [
  ['past'],
  ['past', 'latest'],
  ['incoming'],
  ['past', 'incoming'],
  ['past', 'latest', 'incoming'],
]

export const cacheNames = (config: ModelConfig): string[] => layerStates(config).map(({ name }) => name)

/** The states of prompts computed together: `key i`, `value i` and `convolved i`, [B, H, T, C]. */
export interface Prefilled {
  readonly caches: Feeds
  readonly rows: number
  /** T */
  readonly slots: number
}

export class DevicePrompt implements PromptSlots {
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

export function devicePrompt(prompt: PromptSlots): DevicePrompt {
  if (prompt instanceof DevicePrompt) return prompt
  throw new Error('Expected a prompt that this decoder computed.')
}

export const renamed = (tensors: Feeds, part: CachePart): Feeds =>
  Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [`${part} ${name}`, tensor]))

const bytesOf = (tensors: Feeds): number =>
  Object.values(tensors).reduce((total, { size }) => total + size * Float32Array.BYTES_PER_ELEMENT, 0)

/** Prompts computed together that enter together. */
interface Incoming {
  readonly prefilled: Prefilled
  readonly prompts: readonly DevicePrompt[]
}

interface Arrangement {
  readonly rows: readonly number[]
  readonly incoming: Incoming | undefined
  readonly lengths: readonly number[]
  readonly slots: number
  readonly parts: readonly CachePart[]
}

export interface DeviceCacheOptions {
  readonly config: ModelConfig
  /** Puts a cache together from these parts. */
  readonly arrange: (parts: readonly CachePart[], feeds: Feeds) => Promise<Feeds>
  /** A copy where the other tensors are. */
  readonly upload: (data: Float32Array, dims: readonly number[]) => Promise<Feed>
}

export class DeviceCache implements Disposable {
  readonly #options: DeviceCacheOptions
  /** `key i` and `value i` [B, K, P, C] of the live rows, and `convolved i` [B, 1, P, D], which each step replaces. */
  #past: Feeds = {}
  /** P */
  #slots = 0
  /** Filled slots of each live row in `#past`. */
  #lengths: readonly number[] = []
  /** The window of latest slots, [B, K, W, C] for each cache; zeros until a step fills one. */
  #latest: Feeds = {}
  /** Slots of the window that hold a token. */
  #filled = 0
  /** Empty windows by number of rows, shared by all layers. */
  readonly #zeros = new Map<number, Feed>()
  /** Names of the states of latest positions, and how many these are. */
  readonly #latestStates: ReadonlySet<string>
  readonly #positions: number

  constructor(options: DeviceCacheOptions) {
    this.#options = options
    const latest = layerStates(options.config).filter((state) => state.kind === 'latest')
    this.#latestStates = new Set(latest.map(({ name }) => name))
    this.#positions = latest[0]?.positions ?? 0
  }

  get rows(): number {
    return this.#lengths.length
  }

  get sizeBytes(): number {
    return bytesOf(this.#past) + bytesOf(this.#latest)
  }

  /** [B] the place of each row's next token. */
  positions(): Int32Array {
    return Int32Array.from(this.#lengths, (length) => length + this.#filled)
  }

  /** New rows behind the live ones. */
  async enter(prompts: readonly DevicePrompt[]): Promise<void> {
    for (const incoming of runsOf(prompts)) await this.#arrange([...this.#lengths.keys()], incoming)
  }

  /** The live rows become these, by their old numbers. */
  async keep(rows: readonly number[]): Promise<void> {
    if (rows.length < this.rows) await this.#arrange(rows)
  }

  /** Returns the feeds of a step: the slots, and which of the latest it fills. */
  async stepFeeds(): Promise<Feeds> {
    if (this.#filled === LATEST_SLOTS) await this.#arrange([...this.#lengths.keys()])
    const fresh = Float32Array.from({ length: LATEST_SLOTS }, (_, slot) => Number(slot === this.#filled))
    const kept = fresh.map((flag) => 1 - flag)
    return {
      ...this.#masks(),
      ...renamed(this.#past, 'past'),
      ...renamed(this.#latest, 'latest'),
      [latestNames.fresh]: floats(fresh, [1, 1, LATEST_SLOTS, 1]),
      [latestNames.kept]: floats(kept, [1, 1, LATEST_SLOTS, 1]),
    }
  }

  /** Takes over the latest slots that a step gave. */
  settle(latest: Feeds): void {
    this.#releaseLatest()
    const replaced = Object.entries(latest).filter(([name]) => this.#latestStates.has(name))
    for (const [name] of replaced) release(this.#past[name]!)
    this.#past = { ...this.#past, ...Object.fromEntries(replaced) }
    this.#latest = Object.fromEntries(
      Object.entries(latest).filter(([name]) => !this.#latestStates.has(name)),
    )
    this.#filled++
  }

  /** Builds the mask of each window, [B, 1, 1, P+W]: slots before the window and unfilled ones are hidden. */
  #masks(): Feeds {
    const width = this.#slots + LATEST_SLOTS
    return Object.fromEntries(
      this.#options.config.windows.map((window, index) => {
        const mask = new Float32Array(this.rows * width).fill(HIDDEN)
        this.#lengths.forEach((length, row) => {
          const first = window === null ? 0 : Math.max(0, length + this.#filled + 1 - window)
          const [past, latest] = [row * width, row * width + this.#slots]
          mask.fill(0, past + Math.min(first, length), past + length)
          mask.fill(0, latest + Math.max(0, first - length), latest + this.#filled + 1)
        })
        return [windowMaskName(index), floats(mask, [this.rows, 1, 1, width])]
      }),
    )
  }

  async #arrange(rows: readonly number[], incoming?: Incoming): Promise<void> {
    const lengths = [
      ...rows.map((row) => this.#lengths[row]! + this.#filled),
      ...(incoming?.prompts.map(({ length }) => length) ?? []),
    ]
    if (lengths.length === 0) {
      this.#forget()
      return
    }
    const parts: CachePart[] = []
    if (rows.length > 0) parts.push('past')
    if (rows.length > 0 && this.#filled > 0) parts.push('latest')
    if (incoming) parts.push('incoming')
    const slots = Math.ceil(Math.max(...lengths) / LATEST_SLOTS) * LATEST_SLOTS
    const caches = await this.#options.arrange(parts, {
      ...renamed(this.#past, 'past'),
      ...renamed(this.#latest, 'latest'),
      ...(incoming ? renamed(incoming.prefilled.caches, 'incoming') : {}),
      places: this.#places({ rows, incoming, lengths, slots, parts }),
      ...(this.#positions > 0 && { [latestPlacesName]: this.#latestPlaces(rows, incoming) }),
    })
    this.#forget()
    this.#past = caches
    this.#slots = slots
    this.#lengths = lengths
    const zeros = await this.#zerosFor(lengths.length)
    this.#latest = Object.fromEntries(
      Object.keys(caches).flatMap((name) => (this.#latestStates.has(name) ? [] : [[name, zeros]])),
    )
  }

  /** [B, K, S] where each slot comes from; what a row has no use for repeats the first. */
  #places({ rows, incoming, lengths, slots, parts }: Arrangement): Feed {
    const { kvHeads } = this.#options.config
    const before = this.rows * kvHeads
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

  /** [B, 1, P] where the latest positions of each row come from; those that a prompt does not have are zeros. */
  #latestPlaces(rows: readonly number[], incoming: Incoming | undefined): Feed {
    const count = this.#positions
    const before = rows.length > 0 ? this.rows * count : 0
    const none = before + (incoming ? incoming.prefilled.rows * incoming.prefilled.slots : 0)
    const ofRow = (place: (index: number) => number) =>
      Array.from({ length: count }, (_, index) => place(index))
    const places = [
      ...rows.flatMap((row) => ofRow((index) => row * count + index)),
      ...(incoming?.prompts ?? []).flatMap(({ prefilled, row, length }) =>
        ofRow((index) => {
          const position = length - count + index
          return position < 0 ? none : before + row * prefilled.slots + position
        }),
      ),
    ]
    return int64s(Int32Array.from(places), [places.length / count, 1, count])
  }

  async #zerosFor(rows: number): Promise<Feed> {
    const known = this.#zeros.get(rows)
    if (known) return known
    const { kvHeads, headDim } = this.#options.config
    const dims = [rows, kvHeads, LATEST_SLOTS, headDim]
    const size = dims.reduce((product, dim) => product * dim, 1)
    const zeros = await this.#options.upload(new Float32Array(size), dims)
    this.#zeros.set(rows, zeros)
    return zeros
  }

  #forget(): void {
    Object.values(this.#past).forEach(release)
    this.#releaseLatest()
    this.#past = {}
    this.#latest = {}
    this.#lengths = []
    this.#filled = 0
  }

  #releaseLatest(): void {
    const zeros = new Set(this.#zeros.values())
    for (const tensor of Object.values(this.#latest)) if (!zeros.has(tensor)) release(tensor)
  }

  [Symbol.dispose](): void {
    this.#forget()
    for (const zeros of this.#zeros.values()) release(zeros)
  }
}

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
