/**
 * Single source of randomness: a counter-based generator (Philox-2×32, 10 rounds; Salmon et al. 2011, "Parallel random
 * numbers: as easy as 1, 2, 3"). A number depends only on (key, counter), so a trajectory's stream can be replayed
 * alone, whatever else was in its batch.
 */
const MULTIPLIER = 0xd256d193
const WEYL = 0x9e3779b9
const ROUNDS = 10

/** Returns the high and low 32 bits of a 32×32-bit product, without BigInt. */
function multiplyHigh(a: number, b: number): number {
  const aHigh = a >>> 16
  const aLow = a & 0xffff
  const bHigh = b >>> 16
  const bLow = b & 0xffff
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16)
  const carry = (middle & 0xffff) + aLow * bHigh
  return (aHigh * bHigh + Math.floor(middle / 0x10000) + Math.floor(carry / 0x10000)) >>> 0
}

function philox(key: number, low: number, high: number): readonly [number, number] {
  let [x0, x1, roundKey] = [low >>> 0, high >>> 0, key >>> 0]
  for (let round = 0; round < ROUNDS; round++) {
    const upper = multiplyHigh(MULTIPLIER, x0)
    const lower = Math.imul(MULTIPLIER, x0) >>> 0
    x0 = (upper ^ roundKey ^ x1) >>> 0
    x1 = lower
    roundKey = (roundKey + WEYL) >>> 0
  }
  return [x0, x1]
}

/** A reproducible stream of numbers, addressed by position: the i-th number is the same however often it is read. */
export interface RandomStream {
  /** Uniform in [0, 1), 53 bits, at position `index` ≥ 0. */
  uniformAt(index: number): number
}

/** Mixes the parts of an address, such as (run seed, step, prompt, sample), into one independent stream. */
export function randomStream(...address: readonly number[]): RandomStream {
  let [key, low] = [0x243f6a88, 0x85a308d3]
  for (const part of address) {
    const partHigh = Math.floor(part / 0x100000000) >>> 0
    ;[key, low] = philox(key ^ partHigh, part >>> 0, low)
  }
  return {
    uniformAt(index) {
      const [a, b] = philox(key, index >>> 0, low ^ (Math.floor(index / 0x100000000) >>> 0))
      return ((a >>> 5) * 0x4000000 + (b >>> 6)) / 0x20000000000000
    },
  }
}

/** Reads the same numbers one after another, for initialization, shuffling and data generation. */
export class SequentialRandom {
  #position: number
  readonly #stream: RandomStream

  constructor(stream: RandomStream, position = 0) {
    this.#stream = stream
    this.#position = position
  }

  /** Position of the next number; store it to resume. */
  get position(): number {
    return this.#position
  }

  /** Uniform in [0, 1). */
  uniform(): number {
    return this.#stream.uniformAt(this.#position++)
  }

  /** Uniform integer in [0, limit). */
  integer(limit: number): number {
    return Math.floor(this.uniform() * limit)
  }

  /** Standard normal (Box–Muller; the second value is discarded so that the position advances evenly). */
  normal(): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.uniform()))
    return radius * Math.cos(2 * Math.PI * this.uniform())
  }

  /** Fisher–Yates; returns a new array. */
  shuffled<T>(items: readonly T[]): T[] {
    const result = [...items]
    for (let last = result.length - 1; last > 0; last--) {
      const other = this.integer(last + 1)
      const held = result[last] as T
      result[last] = result[other] as T
      result[other] = held
    }
    return result
  }
}
