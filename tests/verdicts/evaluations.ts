/** Intervals and comparisons of evaluations. */
import type { SequentialRandom } from '#shared/random.ts'
import {
  meanEstimate,
  pairedDifference,
  passAtK,
  shareDifference,
  shareEstimate,
  welchDifference,
} from '#shared/statistics.ts'
import { holds, listOf, successes, type Simulated } from './simulation.ts'

/** By Jöhnk 1964; for small parameters, and one of them not too small. */
function beta(random: SequentialRandom, a: number, b: number): number {
  for (;;) {
    const [x, y] = [random.uniform() ** (1 / a), random.uniform() ** (1 / b)]
    if (x + y > 0 && x + y <= 1) return x / (x + y)
  }
}

interface Asked {
  readonly prompts: number
  readonly samples: number
  /** Correlation of the samples of one prompt. */
  readonly within: number
}

/** How many samples of each prompt are right. */
function passesOf(random: SequentialRandom, { prompts, samples, within }: Asked, chance: number): number[] {
  const scale = 1 / within - 1
  return listOf(prompts, () => {
    const own = within === 0 ? chance : beta(random, chance * scale, (1 - chance) * scale)
    return successes(random, samples, own).filter((passed) => passed === 1).length
  })
}

const chances = [0.02, 0.05, 0.1, 0.3, 0.5, 0.9, 0.98]

const shareRows = [32, 100, 150].flatMap((prompts) =>
  [
    { prompts, samples: 1, within: 0 },
    { prompts, samples: 4, within: 0.3 },
    { prompts, samples: 16, within: 0.7 },
  ].map((asked): Simulated => {
    const { samples, within } = asked
    const each = samples === 1 ? 'one sample' : `${String(samples)} samples, correlated by ${String(within)}`
    return {
      claim: 'mean reward, all 0 or 1, and pass@1 (evaluations)',
      about: `${String(prompts)} prompts, ${each}; the share of right answers`,
      measure: 'coverage',
      bound: 0.92,
      portion: samples === 1 ? 1 : 0.5,
      cases: chances.map((chance) => ({
        name: String(chance),
        isHit: (random) => {
          const shares = passesOf(random, asked, chance).map((passes) => passes / samples)
          return holds(shareEstimate(shares, prompts * samples)?.interval, chance)
        },
      })),
    }
  }),
)

/** Chance that one of k samples passes, where the chance of a sample has a beta distribution with a + b = `scale`. */
const passChance = (chance: number, scale: number, k: number): number =>
  1 - listOf(k, (i) => ((1 - chance) * scale + i) / (scale + i)).reduce((product, each) => product * each, 1)

const passRow: Simulated = {
  claim: 'pass@4 (evaluations)',
  about: '100 prompts, 8 samples, correlated by 0.3; the share of right answers',
  measure: 'coverage',
  bound: 0.92,
  portion: 0.5,
  cases: chances.map((chance) => ({
    name: String(chance),
    isHit: (random) => {
      const asked = { prompts: 100, samples: 8, within: 0.3 }
      const found = passesOf(random, asked, chance).map((passes) => passAtK(8, passes, 4))
      return holds(shareEstimate(found, 200)?.interval, passChance(chance, 1 / 0.3 - 1, 4))
    },
  })),
}

/** Of 0, a half and 1. */
const graded = (random: SequentialRandom, count: number) =>
  listOf(count, () => (random.uniform() < 0.5 ? 0.5 : Number(random.uniform() < 0.3)))

const gradedRow: Simulated = {
  claim: 'mean reward, other values (evaluations)',
  about: 'rewards of 0, a half and 1; prompts',
  measure: 'coverage',
  bound: 0.93,
  cases: [10, 32, 100].map((count) => ({
    name: String(count),
    isHit: (random) => holds(meanEstimate(graded(random, count))?.interval, 0.4),
  })),
}

/** Of B − A, where both are right on a prompt by the chances of its own difficulty. */
const pairs = (random: SequentialRandom, count: number, gain: number) =>
  listOf(count, () => {
    const own = random.uniform() * (1 - gain)
    return Number(random.uniform() < own + gain) - Number(random.uniform() < own)
  })

const compared: readonly Simulated[] = [
  {
    claim: 'B against A, the same prompts (evaluations)',
    about: 'rewards of 0 and 1; prompts',
    measure: 'level',
    bound: 0.06,
    portion: 0.2,
    cases: [6, 8, 10].map((count) => ({
      name: String(count),
      isHit: (random) => (pairedDifference(pairs(random, count, 0))?.pValue ?? 1) < 0.05,
    })),
  },
  {
    claim: 'B against A, the same prompts (evaluations)',
    about: 'B right on 30 % more; prompts',
    measure: 'coverage',
    bound: 0.92,
    portion: 0.2,
    cases: [8, 10].map((count) => ({
      name: String(count),
      isHit: (random) => holds(pairedDifference(pairs(random, count, 0.3))?.interval, 0.3),
    })),
  },
  {
    claim: 'B against A, the same prompts (evaluations)',
    about: 'drawn sign patterns, for 20 prompts; B right on that share of prompts more',
    measure: 'coverage',
    bound: 0.92,
    portion: 0.05,
    cases: [0, 0.3].map((gain) => ({
      name: String(gain),
      isHit: (random) => holds(pairedDifference(pairs(random, 20, gain))?.interval, gain),
    })),
  },
  {
    claim: 'B against A, other prompts (evaluations)',
    about: 'rewards of 0 and 1; prompts of A and B, share of right answers',
    measure: 'level',
    bound: 0.06,
    cases: (
      [
        [2, 2, 0.5],
        [10, 10, 0.5],
        [20, 100, 0.1],
        [20, 100, 0.5],
        [100, 100, 0.02],
        [100, 100, 0.5],
      ] as const
    ).map(([a, b, chance]) => ({
      name: `${String(a)} and ${String(b)}, ${String(chance)}`,
      isHit: (random) =>
        (shareDifference(successes(random, a, chance), successes(random, b, chance))?.pValue ?? 1) < 0.05,
    })),
  },
  {
    claim: 'B against A, other prompts (evaluations)',
    about: 'rewards of 0, a half and 1; prompts of A and B',
    measure: 'level',
    bound: 0.06,
    cases: [10, 32, 100].map((count) => ({
      name: `${String(count)} and ${String(count)}`,
      isHit: (random) => (welchDifference(graded(random, count), graded(random, count))?.pValue ?? 1) < 0.05,
    })),
  },
]

export const ofEvaluations: readonly Simulated[] = [...shareRows, passRow, gradedRow, ...compared]
