/** What rules look at: series of numbers, samples, and a few facts of the settings. */
import type { TrajectorySample } from '#shared/events.ts'
import type { MetricName } from '#shared/metrics.ts'
import type { RunFailure } from '#shared/runs.ts'
import type { RunFacts } from './facts.ts'

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

/** One training. */
export interface DiagnosedRun {
  readonly facts: RunFacts
  /** By name, in the order of their steps. */
  readonly metrics: ReadonlyMap<string, readonly Point[]>
  /** Of rollouts, in any order; not all trajectories are kept. */
  readonly samples: readonly DiagnosedSample[]
  /** Prompts of held-out rows, as far as trajectories of evaluations are kept. */
  readonly heldOutPrompts: readonly string[]
  /** Steps with a checkpoint, ascending. */
  readonly checkpoints: readonly number[]
  /** Why it ended early, where it did. */
  readonly failure: RunFailure | null
}

/** All that is known of a run, whatever its stages. */
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

/** The samples of the steps from `step` on. */
export const samplesSince = ({ samples }: DiagnosedRun, step: number): readonly DiagnosedSample[] =>
  samples.filter((sample) => sample.step >= step)

const unread = /^(time|rollout|update\/t)|^(eval|step)_time$|^num_tokens$|^learning_rate$|_length$/
const readAnyway = new Set(['step_time', 'completions/mean_length'])

/** Whether rules look at a metric at all: a long run would fill the memory with the others. */
export const isRead = (name: string): boolean => readAnyway.has(name) || !unread.test(name)
