/** Inputs of a plan. */
import type { JsonObject } from '#shared/config/paths.ts'
import type { Fitness, Search, Trial, TrialResult } from '#shared/studies.ts'

export interface StudySubject<Kind = Search> {
  readonly search: Kind
  readonly seed: number
  /** Length of a trial that trains to its end. */
  readonly steps: number
  /** Values of the searched settings in the config, defaults filled in. */
  readonly start: JsonObject
}

/** Trials that train from one step to another before they are compared; the next wave begins when all of them have. */
export interface Wave {
  readonly size: number
  readonly from: number
  readonly until: number
}

/** Expected cost of a trial's step; budgets count it. */
export interface StepCost {
  readonly tokens: number
  readonly seconds: number
}

/** One that begins as the config says. */
export const freshTrial = (index: number, generation: number, settings: JsonObject): Trial => ({
  index,
  member: index,
  generation,
  settings,
  parent: null,
  mutation: null,
})

export const resultsByTrial = (results: readonly TrialResult[]): ReadonlyMap<number, TrialResult[]> =>
  Map.groupBy(results, ({ trial }) => trial)

/** The best of those who got furthest: at other steps fitness means something else. Of equals the first trial, in whatever order results came. */
export function bestOf(results: readonly TrialResult[], { goal }: Fitness): TrialResult | null {
  const scored = results.flatMap((result) =>
    result.fitness === null ? [] : [{ result, worth: goal === 'max' ? result.fitness : -result.fitness }],
  )
  const furthest = Math.max(...scored.map(({ result }) => result.step))
  const [best] = scored
    .filter(({ result }) => result.step === furthest)
    .toSorted((a, b) => b.worth - a.worth || a.result.trial - b.result.trial)
  return best?.result ?? null
}
