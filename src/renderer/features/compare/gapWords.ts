/** “Is the gap real?” in words. */
import { formatNumber, plural } from '#renderer/client/format.ts'
import type { Difference } from '#renderer/charts/statistics.ts'
import { isProgress } from './measures.ts'
import type { Better } from '#renderer/charts/summary.ts'

export interface GapInWords {
  readonly verdict: 'better' | 'worse' | 'different' | 'open' | 'unknown'
  /** What was found. */
  readonly finding: string
  /** What it rests on, and what would tell more. */
  readonly ground: string
}

export interface GapContext {
  /** Its label. */
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
      verdict: 'unknown',
      finding: `Too little is known of “${metric}” to tell “${name}” from “${baseline}”.`,
      ground: 'At least four values of each, or two seeds of each, are needed.',
    }
  const { difference, interval, isReal } = found
  const size = `${formatNumber(Math.abs(difference))} ${difference < 0 ? 'lower' : 'higher'}`
  const range = `95 % interval of the difference: ${formatNumber(interval.low)} to ${formatNumber(interval.high)}`
  const finding = isReal
    ? `${metric} of “${name}” is ${size} than that of “${baseline}”, and that is more than chance. ${range}.`
    : `${metric} of “${name}” is ${size} than that of “${baseline}”, which may be chance. ${range}, so it may as well be 0.`
  return { verdict: verdictOf(found, better), finding, ground: groundOf(found) }
}

function verdictOf({ isReal, difference }: Difference, better: Better): GapInWords['verdict'] {
  if (!isReal) return 'open'
  const progress = isProgress(difference, better)
  return progress === null ? 'different' : progress ? 'better' : 'worse'
}

function groundOf({ method, counts: [mine, theirs] }: Difference): string {
  if (method === 'bootstrap')
    return `By bootstrap over the last ${String(mine)} and ${String(theirs)} values. It knows the noise of these two runs only: another seed may differ more. Three seeds of each tell for sure.`
  return mine === 1
    ? `By where another one of the ${plural(theirs, 'seed')} of the baseline would lie; more seeds would narrow the interval.`
    : `By the spread of ${plural(mine, 'seed')} against ${plural(theirs, 'seed')} (Welch’s t); more seeds would narrow the interval.`
}

/** How far seeds of the same settings lie apart: the yardstick for everything else. */
export function yardstick(metric: string, name: string, values: readonly number[]): string | null {
  if (values.length < 2) return null
  const [low, high] = [Math.min(...values), Math.max(...values)]
  return `${plural(values.length, 'seed')} of “${name}” lie between ${formatNumber(low)} and ${formatNumber(high)} in “${metric}”: that far apart the same settings end.`
}
