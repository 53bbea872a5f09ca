/** Comparison of runs with the baseline, and its evidence. */
import { formatNumber } from './formatNumber.ts'
import { metricLabel, type MetricDeclaration } from './metrics.ts'
import { plural } from './plural.ts'
import {
  leastValues,
  runDifference,
  seedDifference,
  singleDifference,
  type Difference,
} from './runDifferences.ts'

type Better = MetricDeclaration['better']

export interface RunGroup {
  readonly id: string
  readonly label: string
  readonly runIds: readonly string[]
}

interface GapRun {
  readonly id: string
  readonly label: string
  readonly isBaseline: boolean
  readonly value: number | null
}

export interface GapQuestion {
  readonly metric: string
  readonly better: Better
  readonly runs: readonly GapRun[]
  /** Runs that are identical except for their seed. */
  readonly groups: readonly RunGroup[]
  /** Last values of each run, unsmoothed. */
  readonly tails: ReadonlyMap<string, readonly number[]>
}

type Told = GapInWords & { readonly id: string }

/** Compares every other run, or group of seeds, with the baseline. Seeds of the baseline itself are the yardstick. */
export function gapsOf({ metric, better, runs, groups, tails }: GapQuestion): readonly Told[] {
  const base = runs.find(({ isBaseline }) => isBaseline)
  if (!base) return []
  const own = groups.find(({ runIds }) => runIds.includes(base.id))
  const ownValues = valuesOf(runs, own)
  const others = groups.filter((group) => group !== own)
  const words = (name: string, baseline: string) => ({ metric: metricLabel(metric), better, name, baseline })
  return others.flatMap((group): readonly Told[] => {
    const values = valuesOf(runs, group)
    const found =
      values.length > 1 ? seedDifference(values, ownValues) : singleDifference(values[0] ?? NaN, ownValues)
    if (found && own) return [{ id: group.id, ...gapInWords(found, words(group.label, own.label)) }]
    return group.runIds.map((id) => ({
      id,
      ...gapInWords(
        runDifference(tails.get(id) ?? [], tails.get(base.id) ?? []),
        words(runs.find((run) => run.id === id)?.label ?? id, base.label),
      ),
    }))
  })
}

const valuesOf = (runs: GapQuestion['runs'], group: RunGroup | undefined): readonly number[] =>
  runs.flatMap(({ id, value }) => (group?.runIds.includes(id) === true && value !== null ? [value] : []))

/** Describes the spread over the baseline's seeds; null if it has only one. */
export function yardstickOf({ metric, runs, groups }: GapQuestion): string | null {
  const own = groups.find(({ runIds }) =>
    runs.some(({ id, isBaseline }) => isBaseline && runIds.includes(id)),
  )
  return own
    ? yardstick(metricLabel(metric), own.label.replace(/ · \d+ seeds$/, ''), valuesOf(runs, own))
    : null
}

/* “Is the gap real?” in words. */

export interface GapInWords {
  readonly verdict: 'better' | 'worse' | 'different' | 'open'
  /** True if it compares two single runs, so that another seed may give a different result. */
  readonly isOneSeed: boolean
  readonly finding: string
  /** Evidence, and what would tell more. */
  readonly ground: string
}

interface GapContext {
  readonly metric: string
  readonly better: Better
  readonly name: string
  readonly baseline: string
}

export function gapInWords(
  found: Difference | null,
  { metric, better, name, baseline }: GapContext,
): GapInWords {
  if (found === null)
    return {
      verdict: 'open',
      isOneSeed: true,
      finding: `“${metric}” has too few values to tell “${name}” from “${baseline}”.`,
      ground: `Each needs at least ${String(leastValues)} values at its end, or several seeds. Run three seeds of each to be sure.`,
    }
  const { difference } = found
  const size = `${formatNumber(Math.abs(difference))} ${difference < 0 ? 'lower' : 'higher'}`
  return {
    verdict: verdictOf(found, better),
    isOneSeed: found.method === 'runs',
    finding: `${metric} of “${name}” is ${size} than that of “${baseline}”, ${meaningOf(found)}`,
    ground: groundOf(found),
  }
}

function meaningOf({ interval, isReal, method }: Difference): string {
  const noise = method === 'seeds' ? 'the spread between seeds' : 'the noise within these two runs'
  if (interval === null) return `but their last values move too slowly to tell it from ${noise}.`
  const range = `95 % interval of the difference: ${formatNumber(interval.low)} to ${formatNumber(interval.high)}`
  if (!isReal) return `which ${noise} may explain. ${range}, which includes 0.`
  const limit =
    method === 'seeds'
      ? ''
      : ' Whether the settings make the difference is open: another seed may turn out otherwise.'
  return `more than ${noise} explains. ${range}.${limit}`
}

function verdictOf({ isReal, difference }: Difference, better: Better): GapInWords['verdict'] {
  if (!isReal) return 'open'
  const progress = isProgress(difference, better)
  return progress === null ? 'different' : progress ? 'better' : 'worse'
}

function groundOf({ method, counts: [mine, theirs] }: Difference): string {
  if (method === 'runs')
    return `By Student’s t over the last ${String(mine)} and ${String(theirs)} values, which count as fewer where neighbouring values are alike. It is about the noise within these two runs only, not about what another seed would do. Run three seeds of each to be sure.`
  return mine === 1
    ? `By the prediction interval from ${plural(theirs, 'seed')} of the baseline; more seeds would narrow it.`
    : `By Welch’s t interval, ${plural(mine, 'seed')} against ${plural(theirs, 'seed')}; more seeds would narrow it.`
}

/** Describes how far seeds of the same settings spread: the yardstick for everything else. */
export function yardstick(metric: string, name: string, values: readonly number[]): string | null {
  if (values.length < 2) return null
  const [low, high] = [Math.min(...values), Math.max(...values)]
  return `${plural(values.length, 'seed')} of “${name}” end between ${formatNumber(low)} and ${formatNumber(high)} in “${metric}”: this is the variation between seeds alone.`
}

/** True if a difference is an improvement; null if neither direction is better. */
export function isProgress(delta: number, better: Better): boolean | null {
  if (better === 'none' || delta === 0) return null
  return better === 'higher' ? delta > 0 : delta < 0
}

/** Number of values to average at the end: a tenth, but enough for a steady mean. */
export const tailLength = (count: number): number => Math.min(count, Math.max(5, Math.round(count / 10)))

/** First step of the values that two single runs are compared by: enough to show the noise, but none from before the run had settled. */
export function tailStart(steps: number): number {
  // Changes only with every sixteenth to thirty-second part of a live run's length.
  const unit = 2 ** Math.max(0, Math.floor(Math.log2(Math.max(1, steps))) - 4)
  const last = Math.floor(steps / unit) * unit
  return Math.max(0, last - Math.min(4999, Math.max(20, 2 * tailLength(last))))
}
