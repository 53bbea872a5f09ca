/**
 * How often a verdict or an interval of the product is right, by simulation: how often it finds a difference where there
 * is none (level), how often one that is there (power), and how often an interval holds the truth (coverage).
 */
import { randomStream, SequentialRandom } from '#shared/random.ts'
import type { Interval } from '#shared/statistics.ts'

export interface Case {
  readonly name: string
  /** Whether the verdict finds a difference, or the interval holds the truth. */
  readonly isHit: (random: SequentialRandom) => boolean
}

export interface Simulated {
  /** The verdict or the interval, and where the product gives it. */
  readonly claim: string
  readonly about: string
  readonly measure: 'level' | 'power' | 'coverage'
  /** The most that a level may be, the least that power or coverage may be. */
  readonly bound: number
  /** Of the usual repetitions: some cases are quick, some take long. */
  readonly portion?: number
  readonly cases: readonly Case[]
}

export const listOf = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i))

export const holds = (interval: Interval | null | undefined, truth: number): boolean =>
  interval != null && interval.low <= truth + 1e-12 && truth <= interval.high + 1e-12

export const normals = (random: SequentialRandom, count: number, spread = 1, level = 0) =>
  listOf(count, () => level + spread * random.normal())

export const successes = (random: SequentialRandom, count: number, chance: number) =>
  listOf(count, () => Number(random.uniform() < chance))

export const average = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / values.length

export const repetitionsOf = ({ portion = 1 }: Simulated, repetitions: number): number =>
  Math.ceil(portion * repetitions)

/** Shares of hits, in the order of the cases; the same whenever they are asked for. */
export const hitsOf = (simulated: Simulated, repetitions: number): readonly number[] =>
  simulated.cases.map(({ isHit }, i) => {
    const random = new SequentialRandom(randomStream(17, i))
    return average(listOf(repetitionsOf(simulated, repetitions), () => Number(isHit(random))))
  })
