/** Arithmetic on stretches of a series. */
import type { Evidence } from '#shared/diagnosis.ts'
import { mean, sampleVariance } from '../algorithms/terms/groups.ts'
import type { TrajectorySample } from '#shared/events.ts'
import type { MetricName } from '#shared/metrics.ts'
import type { RunFailure } from '#shared/runs.ts'
import type { RunFacts } from './facts.ts'

export const valuesOf = (series: readonly Measured[]): number[] => series.map(({ value }) => value)

/** NaN of nothing. */
export const averageOf = (series: readonly Measured[]): number => mean(valuesOf(series))

export const totalOf = (series: readonly Measured[]): number =>
  series.reduce((sum, { value }) => sum + value, 0)

/** Returns the median; NaN for an empty series. */
export function medianOf(series: readonly Measured[]): number {
  const sorted = valuesOf(series).sort((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] ?? NaN) + (sorted[Math.floor(middle)] ?? NaN)) / 2
}

/** Returns by how much the second half lies above the first, and the standard error of that. */
export function trendOf(series: readonly Measured[]): { readonly rise: number; readonly error: number } {
  const middle = Math.floor(series.length / 2)
  const [before, after] = [valuesOf(series.slice(0, middle)), valuesOf(series.slice(middle))]
  const error = noiseOf(series) * Math.sqrt(1 / before.length + 1 / after.length)
  return { rise: mean(after) - mean(before), error }
}

/** Standard deviation of single points, from how far neighbours lie apart: a trend does not add to it (von Neumann 1941). */
function noiseOf(series: readonly Measured[]): number {
  const steps = series.slice(1).map(({ value }, i) => value - (series[i]?.value ?? value))
  return Math.sqrt(mean(steps.map((step) => step ** 2)) / 2)
}

/** The mean over the stretch unless another value is given. */
export const evidence = (of: string, series: readonly Measured[], value = averageOf(series)): Evidence => ({
  of,
  value,
  fromStep: series[0]?.step ?? 0,
  toStep: series.at(-1)?.step ?? 0,
})

/** Sample standard deviation over the steps; 0 of fewer than two. */
export const spreadOf = (series: readonly Measured[]): number => Math.sqrt(sampleVariance(valuesOf(series)))

// Input of the rules: series of numbers, samples, and a few facts of the settings.

/** A metric at a step; null: it was no number. */
export interface Point {
  readonly step: number
  readonly value: number | null
}

export interface Measured {
  readonly step: number
  readonly value: number
}

/** A trajectory of a rollout that was kept. */
export type DiagnosedSample = Pick<
  TrajectorySample,
  'row' | 'prompt' | 'completion' | 'reward' | 'parts' | 'logged' | 'failures'
> & { readonly step: number }

/** Data of one training, as rules see it. */
export interface DiagnosedRun {
  readonly facts: RunFacts
  /** Metrics by name, in the order of their steps. */
  readonly metrics: ReadonlyMap<string, readonly Point[]>
  /** Samples of rollouts, in any order; not all trajectories are kept. */
  readonly samples: readonly DiagnosedSample[]
  /** Prompts of held-out rows, as far as trajectories of evaluations are kept. */
  readonly heldOutPrompts: readonly string[]
  /** Steps with a checkpoint, ascending. */
  readonly checkpoints: readonly number[]
  /** Reason why it ended early, where it did. */
  readonly failure: RunFailure | null
}

/** Everything known of a run, whatever its stages. */
export type RunHistory = Omit<DiagnosedRun, 'facts'>

export const pointsOf = ({ metrics }: DiagnosedRun, name: MetricName): readonly Point[] =>
  metrics.get(name) ?? []

/** The points that are numbers. */
export const seriesOf = (run: DiagnosedRun, name: MetricName): Measured[] =>
  pointsOf(run, name).flatMap(({ step, value }) => (value === null ? [] : [{ step, value }]))

/** Steps done, whatever they measured; the first is `first`. */
export function stepsOf({ metrics }: Pick<DiagnosedRun, 'metrics'>): {
  readonly first: number
  readonly last: number
} {
  const steps = (metrics.get('step_time' satisfies MetricName) ?? []).map(({ step }) => step)
  return { first: steps[0] ?? 0, last: steps.at(-1) ?? 0 }
}

export const samplesSince = ({ samples }: DiagnosedRun, step: number): readonly DiagnosedSample[] =>
  samples.filter((sample) => sample.step >= step)

const unread = /^(time|rollout|update\/t)|^(eval|step)_time$|^num_tokens$|^learning_rate$|_length$/
const readAnyway = new Set(['step_time', 'completions/mean_length', 'eval_completions/mean_length'])

/** Returns true if rules look at a metric at all: a long run would fill the memory with the others. */
export const isRead = (name: string): boolean => readAnyway.has(name) || !unread.test(name)
