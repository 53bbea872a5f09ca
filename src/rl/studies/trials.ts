/** What a plan is made of. */
import type { JsonObject } from '#shared/config/paths.ts'
import type { Fitness, Search, Trial, TrialResult } from '#shared/studies.ts'

export interface StudySubject<Kind = Search> {
  readonly search: Kind
  /** Of the config. */
  readonly seed: number
  /** Length of a trial that trains to its end. */
  readonly steps: number
  /** What the searched settings are in the config, defaults filled in. */
  readonly start: JsonObject
}

/** One that begins as the config says. */
export const freshTrial = (index: number, generation: number, settings: JsonObject): Trial => ({
  ...{ index, member: index, generation, settings, parent: null, mutation: null },
})

export const resultsByTrial = (results: readonly TrialResult[]): ReadonlyMap<number, TrialResult[]> =>
  Map.groupBy(results, ({ trial }) => trial)

/** The best of those who got furthest: at other steps fitness means something else. */
export function bestOf(results: readonly TrialResult[], { goal }: Fitness): TrialResult | null {
  const scored = results.filter(({ fitness }) => fitness !== null)
  const furthest = Math.max(...scored.map(({ step }) => step))
  const sign = goal === 'max' ? 1 : -1
  return scored
    .filter(({ step }) => step === furthest)
    .reduce<TrialResult | null>((best, result) => {
      const gain = best === null ? 1 : sign * ((result.fitness ?? 0) - (best.fitness ?? 0))
      return gain > 0 ? result : best
    }, null)
}
