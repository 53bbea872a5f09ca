/**
 * Remaining time of a run, estimated separately for steps, evaluations and checkpoints from the last durations of each.
 * The expectation of a trial before the run counts as one more sample. The range is correct in nine runs of ten; few
 * samples make it wide.
 */
import { meanOf } from './mean.ts'
import type { ScheduledStage } from './events.ts'

export interface Timed {
  /** Steps completed. */
  readonly step: number
  readonly seconds: number
}

export interface RunTimings {
  readonly stages: readonly ScheduledStage[]
  /** Steps completed. */
  readonly step: number
  /** Steps completed when this process took the run up: its first step also prepares programs. */
  readonly takenUpAt: number
  /** Latest ones, oldest first. */
  readonly steps: readonly Timed[]
  readonly evaluations: readonly Timed[]
  readonly checkpoints: readonly Timed[]
}

/** Seconds from the end of the last step, evaluation or checkpoint. */
export interface Remaining {
  /** Mean of the last steps; null before the first. */
  readonly secondsPerStep: number | null
  readonly low: number
  readonly high: number
  /** Expected duration of the current step, evaluation or checkpoint. */
  readonly current: number
  /** Number of later stages without measurement or expectation. */
  readonly laterStages: number
}

/** Null if a part of this stage's remainder has neither measurement nor expectation. */
export function remainingOf(timings: RunTimings): Remaining | null {
  const all = partsLeft(timings)
  const unknown = new Set(all.filter((part) => paceOf(part, timings) === null).map(({ stage }) => stage))
  const here = all[0]?.stage
  if (here !== undefined && unknown.has(here)) return null
  const parts = all.filter(({ stage }) => !unknown.has(stage))
  const paces = parts.map((part) => paceOf(part, timings) ?? nothing)
  let [expected, variance] = [0, 0]
  for (const [i, { count }] of parts.entries()) {
    const pace = paces[i] ?? nothing
    const drift = pace.expected * Math.min(maxDrift, normal * driftPerStep * Math.sqrt(count / 3))
    expected += count * pace.expected
    variance += count * pace.each ** 2 + count ** 2 * (pace.mean ** 2 + drift ** 2)
  }
  const spread = expected === 0 ? 1 : 1 + Math.sqrt(variance) / expected
  const low = expected / spread
  return {
    low,
    high: expected * spread,
    current: paces[0]?.expected ?? 0,
    laterStages: unknown.size,
    secondsPerStep: meanOf(secondsOf(timings.steps, timings)),
  }
}

/** Returns the range `elapsed` seconds later: the current part ends when due, and not before it is reported. */
export function rangeAfter(
  { low, high, current }: Remaining,
  elapsed: number,
): { low: number; high: number } {
  const gone = Math.min(Math.max(0, elapsed), current)
  return { low: Math.max(0, low - gone), high: Math.max(0, high - gone) }
}

interface Part {
  readonly kind: 'step' | 'evaluation' | 'checkpoint'
  readonly stage: ScheduledStage
  readonly count: number
}

/** Returns the remaining parts in run order, as far as the first is the current one. */
function partsLeft({ stages, step, takenUpAt, evaluations, checkpoints }: RunTimings): Part[] {
  let done = evaluations.filter((evaluation) => evaluation.step === step).length
  // A process resumes from a checkpoint.
  const isSaved = step === takenUpAt || checkpoints.some((checkpoint) => checkpoint.step === step)
  const parts = stages.flatMap((stage): Part[] => {
    const due = evaluationsAt(stage, step)
    const now = Math.max(0, due - done)
    done = Math.max(0, done - due)
    const begun = Math.max(step, stage.firstStep)
    const part = (kind: Part['kind'], count: number) => ({ kind, stage, count: Math.max(0, count) })
    return [
      part('evaluation', now),
      part('checkpoint', isSaved ? 0 : checkpointsAt(stage, step)),
      part('step', stage.lastStep - begun),
      part('evaluation', evaluationsAfter(stage, step)),
      part('checkpoint', checkpointsAfter(stage, step)),
    ]
  })
  return parts.filter(({ count }) => count > 0)
}

/** Returns the steps with an evaluation: before a stage, at regular intervals and at its end. */
function evaluationsAt({ firstStep, lastStep, evaluateEvery, heldOutRows }: ScheduledStage, step: number) {
  if (heldOutRows === 0) return 0
  const isBetween = step > firstStep && step < lastStep
  const isDue = isBetween && evaluateEvery > 0 && step % evaluateEvery === 0
  return Number(step === firstStep) + Number(step === lastStep) + Number(isDue)
}

function evaluationsAfter({ firstStep, lastStep, evaluateEvery, heldOutRows }: ScheduledStage, step: number) {
  if (heldOutRows === 0) return 0
  const from = Math.max(step, firstStep)
  const multiples = (upTo: number) => (evaluateEvery > 0 ? Math.floor(upTo / evaluateEvery) : 0)
  const between = Math.max(0, multiples(lastStep - 1) - multiples(from))
  return between + Number(lastStep > step) + Number(firstStep > step)
}

/** Returns the steps with a checkpoint: at regular intervals and at the end of a stage. */
function checkpointsAt({ firstStep, lastStep, checkpointEvery = 0 }: ScheduledStage, step: number): number {
  const isDue = checkpointEvery > 0 && step % checkpointEvery === 0
  return Number(step === lastStep || (step > firstStep && step < lastStep && isDue))
}

function checkpointsAfter(
  { firstStep, lastStep, checkpointEvery = 0 }: ScheduledStage,
  step: number,
): number {
  const multiples = (upTo: number) => (checkpointEvery > 0 ? Math.floor(upTo / checkpointEvery) : 0)
  return Math.max(0, multiples(lastStep - 1) - multiples(Math.max(step, firstStep))) + Number(lastStep > step)
}

/** Duration of one part of a kind. */
interface Pace {
  readonly expected: number
  /** Half-widths of the range of a single part, and of the mean of all. */
  readonly each: number
  readonly mean: number
}

const nothing: Pace = { expected: 0, each: 0, mean: 0 }

/** Typical relative spread of a run's steps, and its weight in samples. */
const defaultSpread = 0.35
const spreadWeight = 3
/** Relative drift of a run's pace per step, since completions grow and shrink. */
const driftPerStep = 0.01
const maxDrift = 0.4

/** Two-sided 90 % quantiles: of the normal distribution, and of Student's within 0.5 % from 3 degrees of freedom on. */
const normal = 1.645
const quantile = (freedom: number): number => normal + 1.52 / freedom + 1.7 / freedom ** 2

/** Estimates the pace; the trial's expectation is one more sample with its stated uncertainty. Null: nothing is known. */
function paceOf({ kind, stage }: Part, timings: RunTimings): Pace | null {
  const isOfStage = ({ step }: Timed) => step >= stage.firstStep && step <= stage.lastStep
  const timed = {
    step: () => secondsOf(timings.steps.filter(isOfStage), timings),
    evaluation: () => timings.evaluations.filter(isOfStage).map((evaluation) => evaluation.seconds),
    // Equally large in every stage.
    checkpoint: () => timings.checkpoints.map((checkpoint) => checkpoint.seconds),
  }
  const seconds = timed[kind]()
  const prior = stage.expected?.[kind] ?? null
  const samples = prior === null ? seconds : [prior.expected, ...seconds]
  const expected = meanOf(samples)
  // Usually a small part: a missing measurement is no reason to report nothing.
  if (expected === null) return kind === 'checkpoint' ? nothing : null
  const freedom = spreadWeight + samples.length - 1
  const deviations = samples.reduce((sum, value) => sum + (value - expected) ** 2, 0)
  const spread = Math.sqrt((spreadWeight * (defaultSpread * expected) ** 2 + deviations) / freedom)
  const each = quantile(freedom) * spread
  const own = prior === null ? 0 : (prior.high - prior.expected) ** 2
  return { expected, each, mean: Math.sqrt(own + seconds.length * each ** 2) / samples.length }
}

/** Returns durations without the first step of this process, once others are available. */
function secondsOf(steps: readonly Timed[], { takenUpAt }: RunTimings): number[] {
  const others = steps.filter(({ step }) => step !== takenUpAt + 1)
  return (others.length >= 2 ? others : steps).map(({ seconds }) => seconds)
}

/** Formats a range of seconds as precisely as it is known: `2–3 min`. */
export function rangeWords(range: { readonly low: number; readonly high: number }): string {
  const scales = [
    ['h', 3600],
    ['min', 60],
    ['s', 1],
  ] as const
  const [unit, size] = scales.find(([, seconds]) => range.high >= 2 * seconds) ?? scales[2]
  const [low, high] = [Math.max(1, Math.floor(range.low / size)), Math.max(1, Math.ceil(range.high / size))]
  return low === high ? `${String(high)} ${unit}` : `${String(low)}–${String(high)} ${unit}`
}

/** Suffix of the range if stages without any estimate follow. */
export const laterStagesWords = (stages: number): string =>
  stages === 0 ? '' : stages === 1 ? ', then another stage' : `, then ${String(stages)} more stages`
