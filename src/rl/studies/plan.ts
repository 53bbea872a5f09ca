/**
 * What a study does next. A pure function of its config and its results: nothing else has to be kept, so that whoever dies, the next
 * process goes on with the same trials. Reading guide:
 *
 *   plan.ts        (here) entrance; seeds
 *   population.ts  selection, cloning, mutation
 *   sweep.ts       grid, random, Bayesian; successive halving and Hyperband
 *   trials.ts      what they share
 *   tpe.ts         where the next trials of a Bayesian sweep lie
 *   ranges.ts      values of settings as points of the unit interval
 */
import type { Seeds, StudyPlan, TrialResult } from '#shared/studies.ts'
import { planPopulation } from './population.ts'
import { planSweep } from './sweep.ts'
import { bestOf, freshTrial, resultsByTrial, type StudySubject } from './trials.ts'

/** results: in the order in which they were found; at most one of each trial and step. */
export function planStudy(subject: StudySubject, results: readonly TrialResult[]): StudyPlan {
  const { search, ...rest } = subject
  if (search.kind === 'population') return planPopulation({ ...rest, search }, results)
  if (search.kind === 'sweep') return planSweep({ ...rest, search }, results)
  return planSeeds({ ...rest, search }, results)
}

function planSeeds({ search, seed, steps }: StudySubject<Seeds>, results: readonly TrialResult[]): StudyPlan {
  const { values } = search
  const seeds = typeof values === 'number' ? Array.from({ length: values }, (_, i) => seed + i) : values
  const trials = seeds.map((each, index) => freshTrial(index, 0, { seed: each }))
  const known = resultsByTrial(results)
  const pending = trials.flatMap(({ index }) => (known.has(index) ? [] : [{ trial: index, until: steps }]))
  return { trials, pending, best: bestOf(results, search.fitness), isOver: pending.length === 0 }
}
