/** Builds the feeds that generation programs read about new positions. */
import {
  kvHeadsOfWindows,
  ropeFactor,
  type AttentionWindow,
  type ModelConfig,
  type RopeConfig,
} from '../models/config.ts'
import { isRecord, slotsBehind, type LayerState } from '../models/layerStates.ts'
import { chunkNames, GENERATION_CHUNK } from '../models/chunkInputs.ts'
import { windowMaskName } from '../models/generationGraph.ts'
import { promptNames } from '../models/stateInputs.ts'
import { rotaryNames } from '../models/rotaryInputs.ts'
import { leftOutNames } from '../models/tokenChoice.ts'
import type { DecodePass, PassPrompts } from './generation/decoder.ts'
import { StateCache } from './generation/stateCache.ts'
import type { Feeds } from './programs.ts'
import { floats, int64s, type Feed } from './session.ts'

/** T new positions of B rows. */
export type NewPositions = Pick<
  DecodePass,
  'rows' | 'length' | 'positions' | 'scored' | 'inverseTemperatures' | 'uniforms'
>

/** The largest whose f32 product with any total stays below that total. */
const LARGEST_UNIFORM = 1 - 2 ** -23

export const boundedUniforms = (uniforms: ArrayLike<number>): Float32Array =>
  Float32Array.from(uniforms, (uniform) => Math.min(uniform, LARGEST_UNIFORM))

export function positionFeeds(
  { rows, length, positions, scored, inverseTemperatures, uniforms }: NewPositions,
  tables: readonly RotaryTables[],
): Feeds {
  return {
    positions: int64s(positions, [rows, length]),
    scored: int64s(scored, [scored.length]),
    inverseTemperature: floats(Float32Array.from(inverseTemperatures), [scored.length, 1]),
    uniforms: floats(boundedUniforms(uniforms ?? new Float64Array(scored.length)), [scored.length, 1]),
    ...rotaryFeeds(tables, Math.max(length, ...positions)),
  }
}

/** The same pass for a graph that reads shared prompts: there is one of a single slot, which no row sees. */
export const withoutPrompts = (
  { mask: _, ...pass }: DecodePass,
  states: readonly LayerState[],
): DecodePass => ({
  ...pass,
  prompts: {
    cache: new StateCache(states, 1, 1),
    promptOf: new Array<number>(pass.rows).fill(-1),
  },
})

/** The rows that read each of `count` prompts: its own, and rows without one, which see nothing of it. */
function readersOf(promptOf: readonly number[], count: number): readonly (readonly number[])[] {
  const readers = Array.from({ length: count }, (): number[] => [])
  promptOf.forEach((prompt, row) => readers[prompt]?.push(row))
  promptOf.forEach((prompt, row) => {
    if (prompt < 0) readers.reduce((least, those) => (those.length < least.length ? those : least)).push(row)
  })
  return readers
}

/** Inputs of prompts that rows share, as `promptNames` has them. */
export function promptFeeds(
  config: Pick<ModelConfig, 'kvHeads' | 'windows' | 'mixers'>,
  { rows, length, cache: own }: Pick<DecodePass, 'rows' | 'length' | 'cache'>,
  { cache, promptOf }: PassPrompts,
): Feeds {
  const readers = readersOf(promptOf, cache.rows)
  const feeds: Record<string, Feed> = {}
  for (const kvHeads of new Set(kvHeadsOfWindows(config))) {
    Object.assign(feeds, readerFeeds(readers, rows, kvHeads))
  }
  config.windows.forEach((window, index) => {
    const sizes = [slotsBehind(window, cache.capacity), slotsBehind(window, own.capacity), length]
    feeds[promptNames.sizes(index)] = int64s(Int32Array.from(sizes), [3])
  })
  return { ...feeds, ...stateFeeds(cache, cache.rows, { prefix: 'prompt ', only: 'slots' }) }
}

/** The rows that read each prompt, of layers with this number of key-value heads. */
function readerFeeds(readers: readonly (readonly number[])[], rows: number, kvHeads: number): Feeds {
  const count = readers.length
  const most = Math.max(...readers.map((those) => those.length))
  const read = new Int32Array(count * kvHeads * most)
  const places = new Int32Array(rows * kvHeads)
  for (const [prompt, those] of readers.entries()) {
    for (let head = 0; head < kvHeads; head++) {
      those.forEach((row, place) => {
        const at = (prompt * kvHeads + head) * most + place
        read[at] = row * kvHeads + head
        places[row * kvHeads + head] = at
      })
    }
  }
  return {
    [promptNames.rows(kvHeads)]: int64s(read, [count, kvHeads, most]),
    [promptNames.places(kvHeads)]: int64s(places, [rows, kvHeads]),
  }
}

/** Feeds the states of the first `rows` rows of a cache under their names; those of one kind if `only` says so. */
export function stateFeeds(
  cache: StateCache,
  rows: number,
  { prefix = '', only }: { readonly prefix?: string; readonly only?: LayerState['kind'] } = {},
): Feeds {
  const feeds: Record<string, Feed> = {}
  cache.states.forEach((state, index) => {
    const { kind, name } = state
    if ((only !== undefined && kind !== only) || isRecord(state)) return
    const { data, dims } = cache.view(index, rows)
    feeds[`${prefix}${name}`] = floats(data, dims)
  })
  return feeds
}

/** The places of new positions in chunks; those that only fill up a shorter row stand in none, so that nothing goes on behind it. */
export function chunkFeeds({
  rows,
  length,
  positions,
}: Pick<NewPositions, 'rows' | 'length' | 'positions'>): Feeds {
  const chunks = Math.ceil(length / GENERATION_CHUNK)
  const slots = new Int32Array(chunks * rows * GENERATION_CHUNK).fill(rows * length)
  const places = new Int32Array(rows * length)
  places.forEach((_, index) => {
    const [row, at] = [Math.floor(index / length), index % length]
    const place =
      (Math.floor(at / GENERATION_CHUNK) * rows + row) * GENERATION_CHUNK + (at % GENERATION_CHUNK)
    places[index] = place
    if (positions[index] === positions[row * length]! + at) slots[place] = index
  })
  return {
    [chunkNames.slots]: int64s(slots, [chunks, rows, GENERATION_CHUNK]),
    [chunkNames.places]: int64s(places, [places.length]),
  }
}

/** Builds the feeds for a choice among blocks of `width` ids; `leftOut` lists the ids that each row may not take. */
export function leftOutFeeds(leftOut: readonly (readonly number[])[], width: number): Feeds {
  const blockOf = (id: number) => Math.floor(id / width)
  const blocks = [...new Set(leftOut.flat().map(blockOf))]
  const kept = new Float32Array(leftOut.length * blocks.length * width).fill(1)
  leftOut.forEach((ids, row) => {
    for (const id of ids) {
      const place = row * blocks.length + blocks.indexOf(blockOf(id))
      kept[place * width + (id % width)] = 0
    }
  })
  const dims = [leftOut.length, blocks.length]
  return {
    [leftOutNames.blocks]: int64s(Int32Array.from(leftOut.flatMap(() => blocks)), dims),
    [leftOutNames.kept]: floats(kept, [...dims, width]),
  }
}

/** The rotary tables up to a position. */
export function rotaryFeeds(tables: readonly RotaryTables[], highest: number): Feeds {
  const feeds: Record<string, Feed> = {}
  tables.forEach((rope, index) => {
    // The kernel also refuses more new positions than table rows.
    const { cos, sin } = rope.feeds(highest + 1)
    const names = rotaryNames(index)
    feeds[names.cos] = cos
    feeds[names.sin] = sin
  })
  return feeds
}

/** The mask of each window of the model; `maskThrough` gives [B, T, P+T]. */
export function maskFeeds(
  config: Pick<ModelConfig, 'windows' | 'heads' | 'kvHeads' | 'mixers'>,
  pass: Pick<NewPositions, 'rows' | 'length'>,
  maskThrough: (window: AttentionWindow) => Float32Array,
): Feeds {
  const counts = kvHeadsOfWindows(config)
  return Object.fromEntries(
    config.windows.map((window, index) => [
      windowMaskName(index),
      maskFeed(maskThrough(window), pass, config.heads / (counts[index] as number)),
    ]),
  )
}

/** One mask row for all query heads; several positions repeat it for each query head of a key head. mask [B, T, P+T]. */
function maskFeed(
  mask: Float32Array,
  { rows, length }: Pick<NewPositions, 'rows' | 'length'>,
  copies: number,
): Feed {
  const width = mask.length / (rows * length)
  if (length === 1) return floats(mask, [rows, 1, 1, width])
  const block = length * width
  const repeated = new Float32Array(rows * copies * block)
  for (let row = 0; row < rows; row++) {
    const source = mask.subarray(row * block, (row + 1) * block)
    for (let copy = 0; copy < copies; copy++) repeated.set(source, (row * copies + copy) * block)
  }
  return floats(repeated, [rows, 1, copies * length, width])
}

/** Cosines and sines of every position, [P, C/2]; grows when a longer sequence comes. */
export class RotaryTables {
  readonly #rope: RopeConfig
  #length = 0
  #feeds: { readonly cos: Feed; readonly sin: Feed } | null = null

  constructor(rope: RopeConfig) {
    this.#rope = rope
  }

  /**
   * One table row per packed token, [N, C/2]: the runtime's kernel refuses more tokens than table rows, and packed
   * sequences together are longer than any position.
   */
  packed(positions: Int32Array): { readonly cos: Feed; readonly sin: Feed } {
    const half = this.#rope.inverseFrequencies.length
    const tables = this.feeds(positions.reduce((longest, at) => Math.max(longest, at), 0) + 1)
    const gatherRows = (table: Feed): Feed => {
      const rows = new Float32Array(positions.length * half)
      const data = table.data as Float32Array
      positions.forEach((at, row) => rows.set(data.subarray(at * half, (at + 1) * half), row * half))
      return floats(rows, [positions.length, half])
    }
    return { cos: gatherRows(tables.cos), sin: gatherRows(tables.sin) }
  }

  /** Tables of at least `length` positions. */
  feeds(length: number): { readonly cos: Feed; readonly sin: Feed } {
    if (this.#feeds && length <= this.#length) return this.#feeds
    const { inverseFrequencies } = this.#rope
    const half = inverseFrequencies.length
    this.#length = Math.max(64, 2 ** Math.ceil(Math.log2(length)))
    const cos = new Float32Array(this.#length * half)
    const sin = new Float32Array(this.#length * half)
    for (let position = 0; position < this.#length; position++) {
      const factor = ropeFactor(this.#rope, position)
      for (let pair = 0; pair < half; pair++) {
        // The reference computes the angle in f32; following it keeps long positions equal to the last digit.
        const angle = Math.fround(position * Math.fround(inverseFrequencies[pair]!))
        cos[position * half + pair] = Math.cos(angle) * factor
        sin[position * half + pair] = Math.sin(angle) * factor
      }
    }
    this.#feeds = { cos: floats(cos, [this.#length, half]), sin: floats(sin, [this.#length, half]) }
    return this.#feeds
  }
}
