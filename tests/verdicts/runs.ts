/** Verdicts on runs, seeds and trials. */
import type { SequentialRandom } from '#shared/random.ts'
import { meanEstimate, wilson } from '#shared/statistics.ts'
import { parseStudyConfig } from '#shared/studies.ts'
import { runDifference, seedDifference, singleDifference } from '#shared/runDifferences.ts'
import { errorBetween } from '#rl/diagnosis/rewardScale.ts'
import { importanceOf } from '#rl/studies/importance.ts'
import { freshTrial } from '#rl/studies/trials.ts'
import { average, holds, listOf, normals, successes, type Case, type Simulated } from './simulation.ts'

interface Series {
  readonly count: number
  /** Correlation of neighbours. */
  readonly rho: number
  /** Variance of quick noise on top, where the variance of the series is 1. */
  readonly noise?: number
}

function series(random: SequentialRandom, { count, rho, noise = 0 }: Series, level = 0): number[] {
  let slow = random.normal()
  return listOf(count, () => {
    const value = level + slow + (noise === 0 ? 0 : Math.sqrt(noise) * random.normal())
    slow = rho * slow + Math.sqrt(1 - rho * rho) * random.normal()
    return value
  })
}

const twoRuns = (a: Series, b: Series, gap: number) => (random: SequentialRandom) =>
  runDifference(series(random, a, gap), series(random, b))?.isReal === true

const lengths = [20, 50, 100, 200]
const correlations = [0, 0.5, 0.9]

const runsOf = (rows: readonly (readonly [Series, number])[]): Case[] =>
  rows.map(([each, gap]) => ({
    name: `${String(each.count)} values, ρ ${String(each.rho)}, gap ${String(gap)}`,
    isHit: twoRuns(each, each, gap),
  }))

export const betweenRuns: readonly Simulated[] = [
  ...lengths.map((count): Simulated => ({
    claim: 'two single runs (Compare)',
    about: `${String(count)} values each, neighbours correlated by ρ`,
    measure: 'level',
    bound: 0.07,
    portion: 3,
    cases: correlations.map((rho) => ({
      name: `ρ ${String(rho)}`,
      isHit: twoRuns({ count, rho }, { count, rho }, 0),
    })),
  })),
  {
    claim: 'two single runs (Compare)',
    about: 'one with ρ 0.2, one with ρ 0.9',
    measure: 'level',
    bound: 0.07,
    portion: 3,
    cases: lengths.map((count) => ({
      name: `${String(count)} values`,
      isHit: twoRuns({ count, rho: 0.2 }, { count, rho: 0.9 }, 0),
    })),
  },
  {
    claim: 'two single runs (Compare)',
    about: 'a slow movement (ρ 0.95) below quick noise of 2.3 times its variance',
    measure: 'level',
    bound: 0.36,
    cases: lengths.map((count) => ({
      name: `${String(count)} values`,
      isHit: twoRuns({ count, rho: 0.95, noise: 7 / 3 }, { count, rho: 0.95, noise: 7 / 3 }, 0),
    })),
  },
  {
    claim: 'two single runs (Compare)',
    about: 'a gap in standard deviations of single values',
    measure: 'power',
    bound: 0.8,
    cases: runsOf([
      [{ count: 20, rho: 0 }, 2],
      [{ count: 50, rho: 0 }, 1],
      [{ count: 50, rho: 0.5 }, 2],
      [{ count: 200, rho: 0.9 }, 4],
    ]),
  },
]

const seedsAgainst =
  (a: number, b: number, { spread = 1, gap = 0 } = {}) =>
  (random: SequentialRandom) =>
    seedDifference(normals(random, a, spread, gap), normals(random, b))?.isReal === true

/** Rewards are shares of so many rows, so that seeds may end exactly alike. */
const coarseSeeds = (count: number, rows: number, chance: number) => (random: SequentialRandom) => {
  const [a, b] = [0, 1].map(() => listOf(count, () => average(successes(random, rows, chance))))
  return seedDifference(a ?? [], b ?? [])?.isReal === true
}

export const betweenSeeds: readonly Simulated[] = [
  {
    claim: 'seeds against seeds (Compare)',
    about: 'seeds on each side',
    measure: 'level',
    bound: 0.06,
    cases: [
      { name: '2 and 2', isHit: seedsAgainst(2, 2) },
      { name: '3 and 3', isHit: seedsAgainst(3, 3) },
      { name: '5 and 20, spread 3 to 1', isHit: seedsAgainst(5, 20, { spread: 3 }) },
      { name: '2 and 2, shares of 32 rows, mean 0.98', isHit: coarseSeeds(2, 32, 0.98) },
      { name: '3 and 3, the same', isHit: coarseSeeds(3, 32, 0.98) },
    ],
  },
  {
    claim: 'seeds against seeds (Compare)',
    about: 'a gap of 5 standard deviations between seeds',
    measure: 'power',
    bound: 0.8,
    cases: [3, 5].map((count) => ({
      name: `${String(count)} and ${String(count)}`,
      isHit: seedsAgainst(count, count, { gap: 5 }),
    })),
  },
  {
    claim: 'one run against seeds (Compare)',
    about: 'seeds of the baseline',
    measure: 'level',
    bound: 0.07,
    cases: [3, 5, 10].map((count) => ({
      name: String(count),
      isHit: (random) => singleDifference(random.normal(), normals(random, count))?.isReal === true,
    })),
  },
  {
    claim: 'mean over seeds (Runs, Compare, Studies, `runs`, `seeds`)',
    about: 'seeds',
    measure: 'coverage',
    bound: 0.93,
    cases: [2, 3, 5, 10].map((count) => ({
      name: String(count),
      isHit: (random) => holds(meanEstimate(normals(random, count))?.interval, 0),
    })),
  },
]

/** Whether a setting that does nothing is said to matter. */
function isImportant(random: SequentialRandom, trials: number): boolean {
  const { search } = parseStudyConfig({ sweep: { parameters: { x: { min: 0, max: 1 } } } })
  const settings = listOf(trials, (index) => freshTrial(index, 0, { x: random.uniform() }))
  const results = settings.map(({ index: trial }) => ({ trial, step: 1, fitness: random.normal() }))
  const found = importanceOf({ search, start: {}, trials: settings, results })
  return found.settings.some(({ interval }) => (interval?.low ?? 0) > 0)
}

/** Mean rewards of 0 and 1 over so many prompts, in both of two stretches of a run. */
const areApart = (errors: number, prompts: number, chance: number) => (random: SequentialRandom) => {
  const level = () => ({ mean: average(successes(random, prompts, chance)), prompts })
  const [before, after] = [level(), level()]
  return Math.abs(before.mean - after.mean) > errors * errorBetween({ low: 0, high: 1 }, before, after)
}

export const others: readonly Simulated[] = [
  {
    claim: 'a setting matters (Studies, `studies show`)',
    about: 'trials of a setting that does nothing',
    measure: 'level',
    bound: 0.07,
    portion: 0.15,
    cases: [12, 40, 120].map((trials) => ({
      name: String(trials),
      isHit: (random) => isImportant(random, trials),
    })),
  },
  {
    claim: 'win rate (blind vote)',
    about: 'votes of which a fifth are ties; chance to win the others',
    measure: 'coverage',
    bound: 0.92,
    cases: [10, 50].flatMap((votes) =>
      [0.5, 0.9].map((chance) => ({
        name: `${String(votes)}, ${String(chance)}`,
        isHit: (random: SequentialRandom) => {
          const won = listOf(votes, () => (random.uniform() < 0.2 ? 0.5 : Number(random.uniform() < chance)))
          return holds(wilson(average(won), votes), 0.1 + 0.8 * chance)
        },
      })),
    ),
  },
  {
    claim: 'rewards differ, in one look of a rule (diagnosis)',
    about: 'standard errors that the rule asks for, prompts, mean reward',
    measure: 'level',
    bound: 0.06,
    cases: (
      [
        [3, 20, 0.5],
        [3, 20, 0.1],
        [2, 20, 0.5],
        [2, 80, 0.1],
      ] as const
    ).map(([errors, prompts, chance]) => ({
      name: [errors, prompts, chance].map(String).join(', '),
      isHit: areApart(errors, prompts, chance),
    })),
  },
]
