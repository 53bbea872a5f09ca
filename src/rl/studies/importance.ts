/**
 * Measures how much each searched setting matters: its share of the variance of fitness over the results of a study.
 *
 * A forest of trees is fitted to settings → fitness (Breiman 2001, «Random Forests»). Every result is then predicted by
 * the trees that did not see it, once as it is and once with one setting replaced by that of another result. The growth
 * of the squared error, divided by twice the variance of fitness, is the total effect of that setting (Jansen 1999,
 * «Analysis of variance designs for model output»): what it does alone and together with others. A setting without
 * influence comes to 0 on average; a forest that has seen few results underestimates the others. The interval is that
 * of a mean over results, as in the test of Watson and Wright 2021 («Testing conditional independence in supervised
 * learning algorithms»), with twice their variance, as here results predict each other: more trees do not narrow it,
 * more results do.
 */
import type { StudyImportance } from '#shared/api/studies.ts'
import type { JsonObject } from '#shared/config/paths.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { mean, meanEstimate, studentTails, variance, type Estimate } from '#shared/statistics.ts'
import {
  searchedParameters,
  type Parameter,
  type Search,
  type Trial,
  type TrialResult,
} from '#shared/studies.ts'
import { unitOfValue } from './ranges.ts'

/**
 * Least number of results: fewer than this, or than so many for each setting, do not show which of the settings it was.
 */
const leastResults = 12
const leastPerSetting = 4
/** Most results used; of more, this many are taken, evenly spread. */
const mostResults = 400
const trees = 100
const leastOfLeaf = 2
/** Values of other results that a setting is replaced by, for each result. */
const replacements = 10

export interface SearchOutcome {
  readonly search: Search
  /** Values of the searched settings in the config. */
  readonly start: JsonObject
  readonly trials: readonly Trial[]
  readonly results: readonly Found[]
}

type Found = Pick<TrialResult, 'trial' | 'step' | 'fitness'>

export function importanceOf(outcome: SearchOutcome): StudyImportance {
  const { search, start } = outcome
  const parameters = Object.entries(searchedParameters(search))
  const { step, rows: all } = search.kind === 'population' ? gains(outcome) : compared(outcome)
  const needed = Math.max(leastResults, leastPerSetting * parameters.length)
  const known = { results: all.length, needed, step }
  const rows = evenly(all, mostResults)
  const worth = rows.map((row) => row.worth)
  if (parameters.length === 0 || rows.length < needed || variance(worth) === 0)
    return { ...known, explained: null, settings: [] }
  const features = parameters.map(([key, parameter]) =>
    featureOf(
      parameter,
      rows.map(({ trial }) => trial.settings[key] ?? start[key]),
    ),
  )
  const { explained, effects } = effectsOf(features, worth)
  const settings = parameters.map(([key], i) => {
    const { value: share, interval } = effects[i]!
    const { correlation, better } = trendOf(features[i]!, worth)
    return { key, share, interval, correlation, better: (interval?.low ?? 0) > 0 ? better : null }
  })
  return { ...known, explained, settings: settings.toSorted((a, b) => b.share - a.share) }
}

interface Row {
  readonly trial: Trial
  /** Value of the result; more is better. */
  readonly worth: number
}

interface Rows {
  readonly step: number | null
  readonly rows: readonly Row[]
}

/**
 * Selects the results at the step that most trials reached, of several the last: where weak trials end early, fitness
 * at other steps means something else.
 */
function compared({ search, trials, results }: SearchOutcome): Rows {
  const bySteps = [...Map.groupBy(results, (result) => result.step)]
  const [step, found] = bySteps.reduce<[number | null, Found[]]>(
    (most, each) =>
      each[1].length > most[1].length || (each[1].length === most[1].length && each[0] > (most[0] ?? 0))
        ? each
        : most,
    [null, []],
  )
  const worth = worthOf(search, found, () => 0)
  return { step, rows: found.map((result, i) => ({ trial: trials[result.trial]!, worth: worth[i]! })) }
}

/**
 * Members inherit weights, so fitness alone tells of their ancestors too: a result counts as what its generation added to fitness,
 * against the mean of that generation.
 */
function gains({ search, trials, results }: SearchOutcome): Rows {
  const known = Map.groupBy(results, ({ trial }) => trial)
  const fitnessAt = (trial: number, isIt: (step: number) => boolean): number | null =>
    known.get(trial)?.findLast(({ step }) => isIt(step))?.fitness ?? null
  const before = ({ trial, step }: Found): number => {
    const { parent } = trials[trial]!
    const inherited = parent === null ? null : fitnessAt(parent.index, (at) => at === parent.step)
    return fitnessAt(trial, (at) => at < step) ?? inherited ?? 0
  }
  const rows = [...Map.groupBy(results, ({ step }) => step).values()].flatMap((generation) => {
    const worth = worthOf(search, generation, before)
    const middle = mean(worth)
    return generation.map((result, i) => ({ trial: trials[result.trial]!, worth: worth[i]! - middle }))
  })
  return { step: null, rows }
}

/** [results] One that failed counts as much as the worst; all are 0 where every one failed. */
function worthOf(
  { fitness: { goal } }: Search,
  results: readonly Found[],
  before: (result: Found) => number,
): number[] {
  const sign = goal === 'max' ? 1 : -1
  const worth = results.map((each) => (each.fitness === null ? null : sign * (each.fitness - before(each))))
  const worst = Math.min(...worth.filter((each) => each !== null))
  return worth.map((each) => each ?? (Number.isFinite(worst) ? worst : 0))
}

const evenly = <Item>(items: readonly Item[], most: number): readonly Item[] =>
  items.length <= most
    ? items
    : Array.from({ length: most }, (_, i) => items[Math.floor((i * items.length) / most)]!)

/** A setting as trees see it. */
interface Feature {
  /** Values have no order: a tree divides one from all others. */
  readonly isChoice: boolean
  /** [results] on the unit interval. */
  readonly units: readonly number[]
}

function featureOf(parameter: Parameter, values: readonly unknown[]): Feature {
  const isChoice = 'values' in parameter && parameter.values.some((value) => typeof value !== 'number')
  const ordered =
    'values' in parameter && !isChoice
      ? { values: parameter.values.toSorted((a, b) => Number(a) - Number(b)) }
      : parameter
  return { isChoice, units: values.map((value) => unitOfValue(ordered, value)) }
}

/** Returns which way is better, where that is more than chance (p < 0.05). */
function trendOf(
  { isChoice, units }: Feature,
  worth: readonly number[],
): Pick<StudyImportance['settings'][number], 'correlation' | 'better'> {
  const spread = Math.sqrt(variance(units) * variance(worth))
  if (isChoice || spread === 0) return { correlation: null, better: null }
  const [middle, average] = [mean(units), mean(worth)]
  const products = units.map((unit, i) => (unit - middle) * (worth[i]! - average))
  const correlation = products.reduce((sum, each) => sum + each, 0) / (units.length - 1) / spread
  const freedom = units.length - 2
  const t = Math.abs(correlation) * Math.sqrt(freedom / Math.max(1 - correlation ** 2, Number.EPSILON))
  const isClear = studentTails(t, freedom) < 0.05
  return { correlation, better: isClear ? (correlation > 0 ? 'more' : 'less') : null }
}

interface Effects {
  /** 1 − squared error of results a tree did not see / variance. */
  readonly explained: number
  /** [settings] */
  readonly effects: readonly Estimate[]
}

/** worth: [results] */
function effectsOf(features: readonly Feature[], worth: readonly number[]): Effects {
  const random = new SequentialRandom(randomStream(features.length, worth.length))
  const forest = Array.from({ length: trees }, () => {
    const rows = worth.map(() => random.integer(worth.length))
    return { seen: new Set(rows), tree: grow({ features, worth, random }, rows) }
  })
  const spread = variance(worth)
  const errors: number[] = []
  const growth = features.map((): number[] => [])
  for (const [row, value] of worth.entries()) {
    const unseen = forest.filter(({ seen }) => !seen.has(row))
    if (unseen.length === 0) continue
    const error = (replaced: number | null, other: number): number => {
      const unitOf = (feature: number) => features[feature]!.units[feature === replaced ? other : row]!
      const sum = unseen.reduce((total, { tree }) => total + predicted(tree, features, unitOf), 0)
      return (value - sum / unseen.length) ** 2
    }
    const own = error(null, row)
    errors.push(own)
    for (const [feature, list] of growth.entries()) {
      const others = Array.from({ length: replacements }, () => random.integer(worth.length))
      list.push((mean(others.map((other) => error(feature, other))) - own) / (2 * spread))
    }
  }
  return {
    explained: 1 - mean(errors) / spread,
    effects: growth.map(effectOf),
  }
}

/**
 * Results with like settings predict each other, so the same product of two deviations is in the growth of both: under
 * noise alone the mean has twice the variance that it would have of independent values.
 */
function effectOf(growth: readonly number[]): Estimate {
  const { value, interval } = meanEstimate(growth) ?? { value: 0, interval: null }
  if (interval === null) return { value, interval }
  const reach = Math.SQRT2 * (interval.high - value)
  return { value, interval: { low: value - reach, high: value + reach } }
}

interface Soil {
  readonly features: readonly Feature[]
  readonly worth: readonly number[]
  readonly random: SequentialRandom
}

/** A leaf is the mean of its results. */
type Tree = number | (Division & { readonly below: Tree; readonly above: Tree })

interface Division {
  /** Number of the setting. */
  readonly feature: number
  readonly cut: number
}

/**
 * Grows a tree: takes the best of one random division by each setting (Geurts et al. 2006, «Extremely randomized
 * trees»).
 */
function grow(soil: Soil, rows: readonly number[]): Tree {
  const { features, worth, random } = soil
  const sumOf = (part: readonly number[]) => part.reduce((sum, row) => sum + worth[row]!, 0)
  let best: (Division & { gain: number; below: number[]; above: number[] }) | null = null
  if (rows.length >= 2 * leastOfLeaf)
    for (const [feature, each] of features.entries()) {
      const cut = drawnCut(each, rows, random)
      const below = rows.filter((row) => isBelow(each, each.units[row]!, cut))
      const above = rows.filter((row) => !isBelow(each, each.units[row]!, cut))
      if (Math.min(below.length, above.length) < leastOfLeaf) continue
      const gain = sumOf(below) ** 2 / below.length + sumOf(above) ** 2 / above.length
      if (best === null || gain > best.gain) best = { feature, cut, gain, below, above }
    }
  if (best === null) return sumOf(rows) / rows.length
  const { feature, cut, below, above } = best
  return { feature, cut, below: grow(soil, below), above: grow(soil, above) }
}

function drawnCut({ isChoice, units }: Feature, rows: readonly number[], random: SequentialRandom): number {
  if (isChoice) return units[rows[random.integer(rows.length)]!]!
  const own = rows.map((row) => units[row]!)
  const [low, high] = [Math.min(...own), Math.max(...own)]
  return low + random.uniform() * (high - low)
}

const isBelow = ({ isChoice }: Feature, unit: number, cut: number): boolean =>
  isChoice ? unit === cut : unit < cut

function predicted(tree: Tree, features: readonly Feature[], unitOf: (feature: number) => number): number {
  let at = tree
  while (typeof at !== 'number')
    at = isBelow(features[at.feature]!, unitOf(at.feature), at.cut) ? at.below : at.above
  return at
}
