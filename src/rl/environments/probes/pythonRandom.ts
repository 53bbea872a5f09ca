/**
 * Python's `random.Random(seed)`, so that episodes are the same as those of programs written there: the Mersenne Twister
 * MT19937 (Matsumoto & Nishimura 1998) seeded by an array, and the draws that probes need.
 */
const N = 624
const M = 397

export class PythonRandom {
  readonly #state: Uint32Array
  #at = N

  /** `seed` is a whole number from 0 below 2⁵³. */
  constructor(seed: number) {
    const low = seed % 0x100000000
    const high = Math.floor(seed / 0x100000000)
    this.#state = seededByArray(high === 0 ? [low] : [low, high])
  }

  /** Uniform integer of `count` bits, 1 to 32. */
  bits(count: number): number {
    return this.#next() >>> (32 - count)
  }

  /** Uniform integer in [0, limit): draws again until one is below. */
  below(limit: number): number {
    const count = 32 - Math.clz32(limit)
    let drawn = this.bits(count)
    while (drawn >= limit) drawn = this.bits(count)
    return drawn
  }

  /** Uniform integer in [lowest, highest]. */
  integer(lowest: number, highest: number): number {
    return lowest + this.below(highest - lowest + 1)
  }

  choice<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!
  }

  #next(): number {
    if (this.#at === N) this.#twist()
    let y = this.#state[this.#at++]!
    y ^= y >>> 11
    y ^= (y << 7) & 0x9d2c5680
    y ^= (y << 15) & 0xefc60000
    return (y ^ (y >>> 18)) >>> 0
  }

  #twist(): void {
    const state = this.#state
    for (let i = 0; i < N; i++) {
      const y = (state[i]! & 0x80000000) | (state[(i + 1) % N]! & 0x7fffffff)
      state[i] = state[(i + M) % N]! ^ (y >>> 1) ^ ((y & 1) * 0x9908b0df)
    }
    this.#at = 0
  }
}

function seededByNumber(seed: number): Uint32Array {
  const state = new Uint32Array(N)
  state[0] = seed
  for (let i = 1; i < N; i++) state[i] = Math.imul(1812433253, mixed(state[i - 1]!)) + i
  return state
}

const mixed = (value: number): number => value ^ (value >>> 30)

function seededByArray(key: readonly number[]): Uint32Array {
  const state = seededByNumber(19650218)
  let i = 1
  const advance = () => {
    if (++i < N) return
    state[0] = state[N - 1]!
    i = 1
  }
  for (let k = 0; k < Math.max(N, key.length); k++) {
    const j = k % key.length
    state[i] = (state[i]! ^ Math.imul(mixed(state[i - 1]!), 1664525)) + key[j]! + j
    advance()
  }
  for (let k = 1; k < N; k++) {
    state[i] = (state[i]! ^ Math.imul(mixed(state[i - 1]!), 1566083941)) - i
    advance()
  }
  state[0] = 0x80000000
  return state
}
