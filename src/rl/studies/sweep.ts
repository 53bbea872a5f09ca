/** Sweeps: which settings are tried, and how long each trial trains. */
import type { JsonObject } from '#shared/config/paths.ts'
import type { StudyPlan, Sweep, Trial, TrialResult } from '#shared/studies.ts'
import { bestOf, freshTrial, resultsByTrial, type StepCost, type StudySubject, type Wave } from './trials.ts'
import { gridValues, haltonPoint, unitOfValue, valueAtUnit } from './ranges.ts'
import { proposePoint, type Observation } from './tpe.ts'

/** Trials where the file says nothing. */
const defaultTrials = 20

type SweepSubject = StudySubject<Sweep>

/** Trials that begin together; with early stopping, where they are compared. */
interface Bracket {
  readonly size: number
  /** Steps after which the worse ones end; the last one is where the best end too. */
  readonly rungs: readonly number[]
}

/** Bracket after bracket, rung after rung, as far as the results go. */
export function planSweep(subject: SweepSubject, results: readonly TrialResult[]): StudyPlan {
  const { search } = subject
  const known = resultsByTrial(results)
  const trials: Trial[] = []
  // Results counted before a rung begins, in the order in which the plan comes to it: a plan made later says the same.
  const counted: TrialResult[] = []
  const end = (pending: StudyPlan['pending']): StudyPlan => {
    return { trials, pending, best: bestOf(results, search.fitness), isOver: pending.length === 0 }
  }
  let number = -1
  for (const { size, rungs } of bracketsOf(subject)) {
    number++
    let living = spent(search, counted) ? [] : begin(subject, { number, size, trials, counted })
    if (living.length === 0) return end([])
    trials.push(...living)
    for (const [rung, until] of rungs.entries()) {
      if (rung > 0 && spent(search, counted)) return end([])
      const resultAt = ({ index }: Trial) => known.get(index)?.find(({ step }) => step === until)
      const missing = living.filter((trial) => resultAt(trial) === undefined)
      if (missing.length > 0) return end(missing.map(({ index: trial }) => ({ trial, until })))
      counted.push(...living.flatMap((trial) => resultAt(trial) ?? []))
      living = survivors(search, living, (trial) => resultAt(trial)?.fitness ?? null)
      if (living.length === 0) break
    }
  }
  return end([])
}

/** The best 1/keep of them, at least one; failed ones never. In the order in which they began. */
function survivors(
  { early, fitness: { goal } }: Sweep,
  living: readonly Trial[],
  fitnessOf: (trial: Trial) => number | null,
): Trial[] {
  if (early === null) return []
  const scored = living.flatMap((trial) => {
    const fitness = fitnessOf(trial)
    return fitness === null ? [] : [{ trial, worth: goal === 'max' ? fitness : -fitness }]
  })
  return scored
    .toSorted((a, b) => b.worth - a.worth || a.trial.index - b.trial.index)
    .slice(0, survivorsOf(living.length, early.keep))
    .map(({ trial }) => trial)
    .toSorted((a, b) => a.index - b.index)
}

function spent({ budget }: Sweep, results: readonly TrialResult[]): boolean {
  const sum = (of: (result: TrialResult) => number) => results.reduce((total, each) => total + of(each), 0)
  // A trial's result counts from its last one on.
  const last = new Map<number, number>()
  for (const { trial, step } of results) last.set(trial, Math.max(step, last.get(trial) ?? 0))
  const steps = [...last.values()].reduce((total, step) => total + step, 0)
  return isSpent(budget, { steps, tokens: sum((each) => each.tokens), seconds: sum((each) => each.seconds) })
}

const isSpent = (
  { steps, tokens, hours }: Sweep['budget'],
  used: StepCost & { readonly steps: number },
): boolean =>
  (steps !== null && used.steps >= steps) ||
  (tokens !== null && used.tokens >= tokens) ||
  (hours !== null && used.seconds / 3600 >= hours)

/** Rung after rung, as far as the budget goes if a step costs so much. No trial is assumed to fail. */
export function sweepWaves(subject: SweepSubject, cost: StepCost): Wave[] {
  const { budget, early } = subject.search
  const waves: Wave[] = []
  let steps = 0
  for (const { size, rungs } of bracketsOf(subject)) {
    let [living, from] = [size, 0]
    for (const until of rungs) {
      if (isSpent(budget, { steps, tokens: steps * cost.tokens, seconds: steps * cost.seconds })) return waves
      waves.push({ size: living, from, until })
      steps += living * (until - from)
      living = survivorsOf(living, early?.keep ?? 1)
      from = until
    }
  }
  return waves
}

const survivorsOf = (living: number, keep: number): number => Math.max(1, Math.floor(living / keep))

function* bracketsOf(subject: SweepSubject): Generator<Bracket> {
  const { search, steps } = subject
  const { early, batch } = search
  const total = trialLimit(subject)
  if (early === null) {
    // If nothing depends on results, all begin together.
    const { method, budget } = search
    const isOpen = method !== 'bayes' && Object.values(budget).every((limit) => limit === null)
    const together = isOpen ? total : batch
    for (let begun = 0; begun < total; begun += together)
      yield { size: Math.min(together, total - begun), rungs: [steps] }
    return
  }
  if (early.method === 'halving') {
    yield { size: total, rungs: rungsFrom(early.from, early.keep, steps) }
    return
  }
  const brackets = hyperbandBrackets(early.from, early.keep, steps)
  for (let begun = 0, i = 0; begun < total && (search.trials !== null || i < brackets.length); i++) {
    const { size, rungs } = brackets[i % brackets.length]!
    yield { size: Math.min(size, total - begun), rungs }
    begun += size
  }
}

/**
 * Returns the rungs from the first comparison to the end, each about `keep` times as far as the one before: no rung
 * lies just before the end.
 */
export function rungsFrom(from: number, keep: number, steps: number): number[] {
  if (from >= steps) return [steps]
  const count = Math.max(1, Math.round(Math.log(steps / from) / Math.log(keep)))
  return Array.from({ length: count + 1 }, (_, i) => Math.round(from * (steps / from) ** (i / count)))
}

/** Li et al. 2018, «Hyperband», algorithm 1: the most aggressive bracket first. */
export function hyperbandBrackets(from: number, keep: number, steps: number): Bracket[] {
  const most = Math.max(0, Math.floor(Math.log(steps / from) / Math.log(keep) + 1e-9))
  return Array.from({ length: most + 1 }, (_, i) => {
    const s = most - i
    const size = Math.ceil(((most + 1) / (s + 1)) * keep ** s)
    const rungs = Array.from({ length: s + 1 }, (_, k) => Math.max(1, Math.round(steps * keep ** (k - s))))
    return { size, rungs }
  })
}

function trialLimit({ search }: SweepSubject): number {
  const { method, trials, early, points, parameters } = search
  if (method !== 'grid') return trials ?? (early?.method === 'hyperband' ? Infinity : defaultTrials)
  const whole = Object.values(parameters).reduce((n, each) => n * gridValues(each, points).length, 1)
  return Math.min(whole, trials ?? Infinity)
}

interface Beginning {
  readonly number: number
  readonly size: number
  /** Trials so far. */
  readonly trials: readonly Trial[]
  /** Results known when they begin. */
  readonly counted: readonly TrialResult[]
}

function begin(subject: SweepSubject, { number, size, trials, counted }: Beginning): Trial[] {
  const { search, seed } = subject
  const parameters = Object.entries(search.parameters)
  const settingsAt = (units: readonly number[]) =>
    Object.fromEntries(
      parameters.map(([key, each], i) => [key, valueAtUnit(each, units[i] ?? 0)]),
    ) as JsonObject
  const observations = search.method === 'bayes' ? observationsOf(search, trials, counted) : []
  const begun: Trial[] = []
  for (let i = 0; i < size; i++) {
    const index = trials.length + i
    const settings =
      search.method === 'grid'
        ? combination(search, index)
        : search.method === 'random'
          ? settingsAt(haltonPoint(index, parameters.length, seed))
          : settingsAt(
              proposePoint(
                parameters.map(([, each]) => each),
                observations,
                { seed, index },
              ),
            )
    if (settings === null) break
    begun.push(freshTrial(index, number, settings))
    // Trials of one batch keep away from each other: those under way count as the worst seen (Ginsbourger et al. 2010).
    observations.push({ point: pointOf(search, settings), loss: Infinity })
  }
  return begun
}

const pointOf = ({ parameters }: Sweep, settings: JsonObject): number[] =>
  Object.entries(parameters).map(([key, each]) => unitOfValue(each, settings[key]))

/** The furthest result of each trial; less loss is better. Results at fewer steps count below all further ones. */
function observationsOf(
  search: Sweep,
  trials: readonly Trial[],
  results: readonly TrialResult[],
): Observation[] {
  const { goal } = search.fitness
  const furthest = new Map<number, TrialResult>()
  for (const result of results) furthest.set(result.trial, result)
  const most = Math.max(...[...furthest.values()].map(({ step }) => step))
  return trials.flatMap(({ index, settings }) => {
    const result = furthest.get(index)
    if (result === undefined) return []
    const { fitness, step } = result
    const loss = fitness === null || step < most ? Infinity : goal === 'max' ? -fitness : fitness
    return [{ point: pointOf(search, settings), loss }]
  })
}

/** Number `index` of all combinations, the last setting changing fastest; null beyond the last. */
function combination({ parameters, points }: Sweep, index: number): JsonObject | null {
  let rest = index
  const settings = Object.entries(parameters)
    .toReversed()
    .map(([key, each]) => {
      const values = gridValues(each, points)
      const value = values[rest % values.length]
      rest = Math.floor(rest / values.length)
      return [key, value] as const
    })
  return rest > 0 ? null : Object.fromEntries(settings.toReversed())
}
