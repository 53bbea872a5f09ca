/**
 * Plans what a study does next. A pure function of its config and its results: nothing else has to be kept, so that
 * after any process dies, the next one goes on with the same trials. Reading guide:
 *
 *   plan.ts        (here) entrance; seeds
 *   population.ts  selection, cloning, mutation
 *   sweep.ts       grid, random, Bayesian; successive halving and Hyperband
 *   trials.ts      what they share
 *   tpe.ts         where the next trials of a Bayesian sweep lie
 *   ranges.ts      values of settings as points of the unit interval
 *   importance.ts  how much each setting matters, from what is known so far
 */
import type { Seeds, StudyPlan, TrialResult } from '#shared/studies.ts'
import { planPopulation, populationWaves } from './population.ts'
import { planSweep, sweepWaves } from './sweep.ts'
import { bestOf, freshTrial, resultsByTrial, type StepCost, type StudySubject, type Wave } from './trials.ts'

/** results: in the order in which they were found; at most one of each trial and step. */
export function planStudy(subject: StudySubject, results: readonly TrialResult[]): StudyPlan {
  const { search, ...rest } = subject
  if (search.kind === 'population') return planPopulation({ ...rest, search }, results)
  if (search.kind === 'sweep') return planSweep({ ...rest, search }, results)
  return planSeeds({ ...rest, search }, results)
}

/** Returns how many trials train over which steps if none fails: the outcome decides only which of them. */
export function wavesOf(subject: StudySubject, cost: StepCost = { tokens: 0, seconds: 0 }): Wave[] {
  const { search, ...rest } = subject
  if (search.kind === 'population') return populationWaves({ ...rest, search })
  if (search.kind === 'sweep') return sweepWaves({ ...rest, search }, cost)
  return [{ size: seedsOf({ ...rest, search }).length, from: 0, until: rest.steps }]
}

/** Steps of all trials together; fewer where trials fail or tokens or hours run out. */
export const stepsOf = (waves: readonly Wave[]): number =>
  waves.reduce((sum, { size, from, until }) => sum + size * (until - from), 0)

const seedsOf = ({ search: { values }, seed }: StudySubject<Seeds>): readonly number[] =>
  typeof values === 'number' ? Array.from({ length: values }, (_, i) => seed + i) : values

function planSeeds(subject: StudySubject<Seeds>, results: readonly TrialResult[]): StudyPlan {
  const { search, steps } = subject
  const trials = seedsOf(subject).map((each, index) => freshTrial(index, 0, { seed: each }))
  const known = resultsByTrial(results)
  const pending = trials.flatMap(({ index }) => (known.has(index) ? [] : [{ trial: index, until: steps }]))
  return { trials, pending, best: bestOf(results, search.fitness), isOver: pending.length === 0 }
}
