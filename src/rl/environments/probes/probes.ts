import { defineTask, isTurns } from '../tasks/common.ts'
import { invalidConfig } from '#shared/errors.ts'

/**
 * Reimplements Python's `random.Random(seed)`, so that episodes are the same as in programs written in Python: the
 * Mersenne Twister MT19937 (Matsumoto & Nishimura 1998) seeded by an array, and the draws that probes need.
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

/** The simplest thing that can be learned: always the same prompt, always the same right digit. */
export const constantTarget = defineTask({
  id: 'probe-constant',
  description: 'Probe: a fixed prompt, +1 if the turn holds the target digit, else −1.',
  settings: { target: '3', prompt: '11' },
  create: ({ target, prompt }) => ({
    maxTurns: 1,
    reset: () => ({ state: null, observation: prompt }),
    step({ action }) {
      const isRight = action.includes(target)
      return { reward: isRight ? 1 : -1, terminated: true, metrics: { correct: Number(isRight) } }
    },
  }),
})

/** The right digit depends on the one that is shown: (digit mod 3) + 1. A column `digit` of a row is taken instead. */
export const conditionalTarget = defineTask({
  id: 'probe-conditional',
  description: 'Probe: one digit d, +1 if the turn holds (d mod 3) + 1, else −1.',
  settings: { digits: '123' },
  create: ({ digits }) => ({
    maxTurns: 1,
    reset({ row, seed }) {
      const drawn = Number(new PythonRandom(seed).choice([...digits]))
      const digit = typeof row['digit'] === 'number' ? row['digit'] : drawn
      return { state: String((digit % 3) + 1), observation: String(digit) }
    },
    step({ state, action }) {
      const isRight = action.includes(state)
      return { reward: isRight ? 1 : -1, terminated: true, metrics: { correct: Number(isRight) } }
    },
  }),
})

/** The right digit depends on two that are shown: (sum mod 3) + 1. Columns `first` and `second` of a row are taken instead. */
export const multiInput = defineTask({
  id: 'probe-multi-input',
  description: 'Probe: two digits, +1 if the turn holds (their sum mod 3) + 1, else −1.',
  settings: { digits: '123' },
  create: ({ digits }) => ({
    maxTurns: 1,
    reset({ row, seed }) {
      const random = new PythonRandom(seed)
      const choices = [...digits].map(Number)
      const drawn = [random.choice(choices), random.choice(choices)] as const
      const first = typeof row['first'] === 'number' ? row['first'] : drawn[0]
      const second = typeof row['second'] === 'number' ? row['second'] : drawn[1]
      return { state: String(((first + second) % 3) + 1), observation: `${first}${second}` }
    },
    step({ state, action }) {
      const isRight = action.includes(state)
      return { reward: isRight ? 1 : -1, terminated: true, metrics: { correct: Number(isRight) } }
    },
  }),
})

/** Whatever the policy does is worth 1: nothing to learn for it, but a critic must foresee it. */
export const constantReward = defineTask({
  id: 'probe-value',
  description: 'Probe: a fixed prompt, +1 for every turn.',
  settings: { prompt: '11' },
  create: ({ prompt }) => ({
    maxTurns: 1,
    reset: () => ({ state: null, observation: prompt }),
    step: () => ({ reward: 1, terminated: true, metrics: { correct: 1 } }),
  }),
})

interface GridState {
  readonly position: number
  readonly target: number
  readonly turn: number
}

/**
 * A walk on a line: 1 is left, 2 stays, 3 is right. Start and target are shown once, then the position alone, so the target
 * must be remembered. Columns `position` and `target` of a row are taken instead of drawn ones.
 */
export const gridNavigation = defineTask({
  id: 'probe-grid',
  description:
    'Probe of several turns: walk to a target that is shown once. +1 there, −1 when turns run out.',
  settings: { size: 4, turns: 5, stepCost: -0.1 },
  create: ({ size, turns, stepCost }) => {
    if (!(Number.isInteger(size) && size >= 2 && size <= 10) || !isTurns(turns))
      throw invalidConfig('The environment “probe-grid” has 2 to 10 cells and 1 to 1000 turns.')
    return {
      maxTurns: turns,
      reset({ row, seed }) {
        const random = new PythonRandom(seed)
        const drawn = random.integer(0, size - 1)
        const position = typeof row['position'] === 'number' ? row['position'] : drawn
        const others = Array.from({ length: size }, (_, cell) => cell).filter((cell) => cell !== position)
        const aim = random.choice(others)
        const target = typeof row['target'] === 'number' ? row['target'] : aim
        return {
          state: { position, target, turn: 0 } satisfies GridState,
          observation: `${position}${target}`,
        }
      },
      step({ state, action }) {
        const move = { '1': -1, '2': 0, '3': 1 }[/[123]/.exec(action)?.[0] ?? '2'] ?? 0
        const position = Math.min(Math.max(state.position + move, 0), size - 1)
        const next = { ...state, position, turn: state.turn + 1 }
        const told = { state: next, observation: String(position) }
        if (position === state.target)
          return { ...told, reward: 1, terminated: true, metrics: { correct: 1 } }
        if (next.turn >= turns) return { ...told, reward: -1, terminated: true, metrics: { correct: 0 } }
        return { ...told, reward: stepCost }
      },
    }
  },
})
