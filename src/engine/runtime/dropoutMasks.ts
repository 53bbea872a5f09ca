import { randomStream } from '#shared/random.ts'
import type { LoraConfig, ModelConfig } from '../models/config.ts'
import { adaptedLinears, linearShape, linearsByInput } from '../models/config.ts'
import type { DropoutName } from '../models/learningGraphs.ts'
import { dropoutName } from '../models/learningGraphs.ts'
import type { TokenSequence } from '../policy.ts'
import { usedLength } from '../prefixes.ts'
import type { Feed } from './session.ts'
import { floats } from './session.ts'

/** Keeps dropout's numbers apart from others drawn from the same seed. */
const PURPOSE = 0xd409

/** Place that, together with the seed, determines a dropout mask. */
export interface DropoutPlace {
  /** Updates done so far. */
  readonly update: number
  /** Number of times the update has had each sequence before, as counted by `SequenceOccurrences`. */
  readonly occurrences: readonly number[]
}

/** Counts how many sequences with the same ids an update has had, so that each gets masks of its own. */
export class SequenceOccurrences {
  readonly #seen = new Map<number, number>()

  /** A new update begins, or the same one from its start. */
  restart(): void {
    this.#seen.clear()
  }

  /** Counts each sequence and returns how often it occurred before. */
  of(sequences: readonly TokenSequence[]): number[] {
    return sequences.map(({ ids }) => {
      const hash = hashOf(ids)
      const occurrence = this.#seen.get(hash) ?? 0
      this.#seen.set(hash, occurrence + 1)
      return occurrence
    })
  }
}

/** A sequence and how many with the same ids the update had before. */
interface KeyedSequence {
  readonly tokens: number
  readonly hash: number
  readonly occurrence: number
}

/** The masks of one micro-batch, layer by layer. */
export type LayerMasks = (layer: number) => Readonly<Record<DropoutName, Feed>>

/**
 * Masks over the inputs of adapters: 0 with probability p, else 1/(1 − p) (Srivastava et al. 2014, JMLR 15). An element
 * depends on (seed, update, layer, sequence, position, channel) alone, so the layers may be computed again, micro-batches
 * cut otherwise and runs resumed: the masks are the same.
 */
/** Number of a mask's random stream. Groups beyond the first four came later, and leave the numbers of those as they were. */
const placeOf = (layer: number, group: number): number =>
  4 * layer + (group % 4) + Math.floor(group / 4) * LATER_GROUPS
const LATER_GROUPS = 1 << 20

export class DropoutMasks {
  readonly #seed: number
  readonly #threshold: number
  readonly #kept: number
  /** Widths of the groups of each layer that have an adapter; null for the others. */
  readonly #widths: readonly (readonly (number | null)[])[]
  /** One buffer for each group, used again by every layer. */
  readonly #buffers: Float32Array[]

  constructor(config: ModelConfig, lora: LoraConfig, seed: number) {
    const { dropout = 0 } = lora
    this.#seed = seed
    this.#threshold = dropout * 2 ** 32
    this.#kept = 1 / (1 - dropout)
    this.#widths = Array.from({ length: config.layers }, (_, layer) => {
      const adapted = adaptedLinears(config, lora, layer)
      return linearsByInput.map((group) => {
        const reader = group.find((name) => adapted.includes(name))
        return reader === undefined ? null : linearShape(config, reader, layer)[1]
      })
    })
    this.#buffers = linearsByInput.map(() => new Float32Array(0))
  }

  /** Returns the masks of a micro-batch; feeds of one layer are valid until those of another are requested. */
  of(sequences: readonly TokenSequence[], { update, occurrences }: DropoutPlace): LayerMasks {
    const keyed = sequences.map((sequence, row): KeyedSequence => ({
      tokens: usedLength(sequence),
      hash: hashOf(sequence.ids),
      occurrence: occurrences[row] ?? 0,
    }))
    return (layer) => {
      const masks: Record<DropoutName, Feed> = {}
      this.#widths[layer]?.forEach((width, group) => {
        if (width === null) return
        masks[dropoutName(group)] = this.#mask(keyed, width, [group, update, placeOf(layer, group)])
      })
      return masks
    }
  }

  #mask(
    sequences: readonly KeyedSequence[],
    width: number,
    [group, update, place]: readonly [number, number, number],
  ): Feed {
    const tokens = sequences.reduce((total, sequence) => total + sequence.tokens, 0)
    if (this.#buffers[group]!.length < tokens * width) this.#buffers[group] = new Float32Array(tokens * width)
    const mask = this.#buffers[group]!.subarray(0, tokens * width)
    let start = 0
    for (const sequence of sequences) {
      const { hash, occurrence } = sequence
      const stream = randomStream(this.#seed, PURPOSE, update, place, hash, occurrence)
      for (let position = 0; position < sequence.tokens; position++, start += width) {
        const key = Math.floor(stream.uniformAt(position) * 2 ** 32)
        this.#fill(mask.subarray(start, start + width), key)
      }
    }
    return floats(mask, [tokens, width])
  }

  #fill(row: Float32Array, key: number): void {
    const [threshold, kept] = [this.#threshold, this.#kept]
    for (let channel = 0; channel < row.length; channel++) {
      row[channel] = mixed(key + Math.imul(channel, GOLDEN)) < threshold ? 0 : kept
    }
  }
}

/** 2³² over the golden ratio: neighbouring channels get numbers far apart. */
const GOLDEN = 0x9e3779b9

/** A bijection of 32-bit numbers in which every bit of the input changes about half of the output's (the finalizer of MurmurHash3). */
function mixed(value: number): number {
  let bits = value | 0
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}

const hashOf = (ids: Int32Array): number =>
  ids.reduce((hash, id) => mixed(Math.imul(hash, 31) + id + 1), ids.length)
