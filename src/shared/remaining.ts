/**
 * How long a run still takes: steps, evaluations and checkpoints apart, from what the last of each took. What a trial before the run
 * expected counts as one more of them. The range holds the truth in nine runs of ten; few samples make it wide.
 */
import { meanOf } from './mean.ts'
import type { ScheduledStage } from './events.ts'

export interface Timed {
  /** Steps completed. */
  readonly step: number
  readonly seconds: number
}

/** What is known of a run that trains. */
export interface RunTimings {
  readonly stages: readonly ScheduledStage[]
  /** Steps completed. */
  readonly step: number
  /** Steps completed when this process took the run up: its first step also prepares programs. */
  readonly takenUpAt: number
  /** The last ones, the oldest first. */
  readonly steps: readonly Timed[]
  readonly evaluations: readonly Timed[]
  readonly checkpoints: readonly Timed[]
}

/** Seconds, from the end of the last step, evaluation or checkpoint on. */
export interface Remaining {
  /** Mean of the last steps; null before the first. */
  readonly secondsPerStep: number | null
  readonly low: number
  readonly high: number
  /** Expected of the step, evaluation or checkpoint that goes on. */
  readonly current: number
  /** How many later stages come besides, of which nothing was measured or expected. */
  readonly laterStages: number
}

/** null: a part of what is left of this stage was neither measured nor expected. */
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
    ...{ low, high: expected * spread, current: paces[0]?.expected ?? 0, laterStages: unknown.size },
    secondsPerStep: meanOf(secondsOf(timings.steps, timings)),
  }
}

/** The range as it is `elapsed` seconds later: what goes on is over when it should be, and not before it is told. */
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

/** In the order of the run, as far as the first is what goes on now. */
function partsLeft({ stages, step, takenUpAt, evaluations, checkpoints }: RunTimings): Part[] {
  let done = evaluations.filter((evaluation) => evaluation.step === step).length
  // A process goes on from a checkpoint.
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

/** A stage is evaluated before it, every so many steps and at its end. */
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

/** There is one every so many steps and at the end of a stage. */
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

/** What one of a kind takes. */
interface Pace {
  readonly expected: number
  /** Half of the range that one of them lies in, and of the one that the mean of them all lies in. */
  readonly each: number
  readonly mean: number
}

const nothing: Pace = { expected: 0, each: 0, mean: 0 }

/** How much steps of one run usually differ, and as how many samples that counts. */
const defaultSpread = 0.35
const spreadWeight = 3
/** A run's pace wanders by about this share of itself from step to step: completions grow and shrink. */
const driftPerStep = 0.01
const maxDrift = 0.4

/** Of nine in ten, two-sided: the normal distribution's quantile, and Student's within 0.5 % from 3 degrees of freedom on. */
const normal = 1.645
const quantile = (freedom: number): number => normal + 1.52 / freedom + 1.7 / freedom ** 2

/** The trial's expectation is one more sample, as uncertain as the trial said. null: nothing is known. */
function paceOf({ kind, stage }: Part, timings: RunTimings): Pace | null {
  const isOfStage = ({ step }: Timed) => step >= stage.firstStep && step <= stage.lastStep
  const timed = {
    step: () => secondsOf(timings.steps.filter(isOfStage), timings),
    evaluation: () => timings.evaluations.filter(isOfStage).map((evaluation) => evaluation.seconds),
    // As large in every stage.
    checkpoint: () => timings.checkpoints.map((checkpoint) => checkpoint.seconds),
  }
  const seconds = timed[kind]()
  const prior = stage.expected?.[kind] ?? null
  const samples = prior === null ? seconds : [prior.expected, ...seconds]
  const expected = meanOf(samples)
  // Mostly a small part: that none was written yet is no reason to tell nothing.
  if (expected === null) return kind === 'checkpoint' ? nothing : null
  const freedom = spreadWeight + samples.length - 1
  const deviations = samples.reduce((sum, value) => sum + (value - expected) ** 2, 0)
  const spread = Math.sqrt((spreadWeight * (defaultSpread * expected) ** 2 + deviations) / freedom)
  const each = quantile(freedom) * spread
  const own = prior === null ? 0 : (prior.high - prior.expected) ** 2
  return { expected, each, mean: Math.sqrt(own + seconds.length * each ** 2) / samples.length }
}

/** Without the first one of this process, as soon as others tell more. */
function secondsOf(steps: readonly Timed[], { takenUpAt }: RunTimings): number[] {
  const others = steps.filter(({ step }) => step !== takenUpAt + 1)
  return (others.length >= 2 ? others : steps).map(({ seconds }) => seconds)
}

/** A range of seconds in words, as exact as it is known: `2–3 min`. */
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

/** What follows the range where stages come besides that nothing is known of. */
export const laterStagesWords = (stages: number): string =>
  stages === 0 ? '' : stages === 1 ? ', then another stage' : `, then ${String(stages)} more stages`
