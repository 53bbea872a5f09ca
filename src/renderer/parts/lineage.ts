/** Descent of the trials of a study, and the state of each. */
import type { StudyEntry, StudyTrial } from '#shared/api/studies.ts'

export type TrialResult = StudyTrial['results'][number]

/** A trial at a step where it was, or will be, compared with the others. */
export interface Place {
  /** “3@20”: trial 3 at step 20. */
  readonly key: string
  readonly trial: StudyTrial
  readonly step: number
  /** Undefined while it is on its way there. */
  readonly result: TrialResult | undefined
  /** Previous place of the trial; for a new one, the place of its parent. */
  readonly from: Place | null
  /** Next place of the trial itself, then those of its clones. */
  readonly next: readonly Place[]
}

/** Places of one step, best first, pending ones last. */
export interface Generation {
  readonly step: number
  readonly places: readonly Place[]
}

export interface Lineage {
  readonly generations: readonly Generation[]
  readonly byKey: ReadonlyMap<string, Place>
}

const keyOf = (trial: number, step: number): string => `${String(trial)}@${String(step)}`

/** Lineage of a population; a sweep with early stopping has its rungs as generations. */
export function lineageOf({ trials, pending, search }: StudyEntry): Lineage {
  const places = new Map<string, Place & { readonly next: Place[] }>()
  const untilOf = new Map(pending.map(({ trial, until }) => [trial, until]))
  // Parents come before their clones.
  for (const trial of trials) {
    const { index, parent } = trial
    let from = parent === null ? undefined : places.get(keyOf(parent.index, parent.step))
    const add = (step: number, result: TrialResult | undefined) => {
      const place = { key: keyOf(index, step), trial, step, result, from: from ?? null, next: [] }
      if (from?.trial === trial) from.next.unshift(place)
      else from?.next.push(place)
      places.set(place.key, place)
      from = place
    }
    for (const result of inOrder(trial.results)) add(result.step, result)
    const until = untilOf.get(index)
    if (until !== undefined) add(until, undefined)
  }
  const sign = search.fitness.goal === 'max' ? -1 : 1
  const order = ({ result }: Place) => (result?.fitness == null ? Infinity : sign * result.fitness)
  const generations = [...Map.groupBy(places.values(), ({ step }) => step)]
    .sort(([a], [b]) => a - b)
    .map(([step, some]) => ({
      step,
      places: some.toSorted((a, b) => compare(order(a), order(b)) || later(a, b)),
    }))
  return { generations, byKey: places }
}

/** Ranks the later of equal trials higher, as selection does. */
const later = (a: Place, b: Place): number => b.trial.index - a.trial.index

/** Compares numbers, including equal infinities, whose difference is NaN. */
const compare = (a: number, b: number): number => (a === b ? 0 : a - b)

const inOrder = (results: readonly TrialResult[]): readonly TrialResult[] =>
  results.toSorted((a, b) => a.step - b.step)

export const lastResult = ({ results }: StudyTrial): TrialResult | undefined => inOrder(results).at(-1)

/** Returns the path to a place from the first one, including both. */
export function wayTo(place: Place): readonly Place[] {
  const way: Place[] = []
  for (let at: Place | null = place; at !== null; at = at.from) way.unshift(at)
  return way
}

/** Last or upcoming place of a trial; undefined if it has not started. */
export const lastPlace = (lineage: Lineage, { index }: StudyTrial): Place | undefined =>
  lineage.generations
    .findLast(({ places }) => places.some(({ trial }) => trial.index === index))
    ?.places.find(({ trial }) => trial.index === index)

export type TrialState = 'waiting' | 'training' | 'failed' | 'finished' | 'ended' | 'left'

/** State of a trial. `ended`: it was not selected, or stopped early; `left`: the study ended before it did. */
export function stateOf(trial: StudyTrial, { pending, steps, status }: StudyEntry): TrialState {
  const last = lastResult(trial)
  if (last?.error !== undefined) return 'failed'
  if (pending.some((each) => each.trial === trial.index)) {
    if (status === 'running') return trial.runId === null ? 'waiting' : 'training'
    return status === 'waiting' ? 'waiting' : 'left'
  }
  return last !== undefined && last.step >= steps ? 'finished' : 'ended'
}

/** Tokens and seconds used by the trial itself. */
export const spentBy = ({ results }: StudyTrial): { readonly tokens: number; readonly seconds: number } =>
  results.reduce(
    (sum, { tokens, seconds }) => ({ tokens: sum.tokens + tokens, seconds: sum.seconds + seconds }),
    { tokens: 0, seconds: 0 },
  )

/** Id of a trial's line in charts: its run, as everywhere else. */
export const lineId = ({ runId, index }: StudyTrial): string => runId ?? `trial ${String(index)}`

/** Keys of all places of a line's trial, its ancestors and its descendants; null if there are none. */
export function familyOf(lineage: Lineage, line: string | null): ReadonlySet<string> | null {
  const place = [...lineage.byKey.values()].findLast(({ trial }) => lineId(trial) === line)
  if (line === null || place === undefined) return null
  const keys = new Set<string>()
  const [first = place] = wayTo(place).filter(({ trial }) => trial === place.trial)
  const addAll = (at: Place) => {
    keys.add(at.key)
    at.next.forEach(addAll)
  }
  wayTo(first).forEach(({ key }) => keys.add(key))
  addAll(first)
  return keys
}

/** Place that a key leads to: left to the origin, right to the successor, up and down within the generation. */
export function neighbourOf({ generations }: Lineage, place: Place, key: string): Place | null {
  const places = generations.find(({ step }) => step === place.step)?.places ?? []
  const rank = places.indexOf(place)
  const next: Readonly<Record<string, Place | null | undefined>> = {
    ArrowLeft: place.from,
    ArrowRight: place.next[0],
    ArrowUp: places[rank - 1],
    ArrowDown: places[rank + 1],
    Home: generations[0]?.places[0],
    End: generations.at(-1)?.places[0],
  }
  return next[key] ?? null
}
