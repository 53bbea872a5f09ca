/** What is kept of a run of the corpus: all that diagnosis looks at, small enough to stand in the repository. */
import { parseRunConfig } from '#shared/runConfig.ts'
import type { Diagnosis, FindingId } from '#shared/diagnosis.ts'
import { diagnose } from '#rl/diagnosis/diagnose.ts'
import type { DiagnosedSample, Point } from '#rl/diagnosis/diagnosedRun.ts'

/** Numbers of consecutive steps from `from` on, or where steps are not consecutive, each with its step; null: no number. */
export type RecordedSeries =
  | { readonly from: number; readonly values: readonly (number | null)[] }
  | readonly (readonly [step: number, value: number | null])[]

export interface RecordedRun {
  readonly name: string
  readonly seed: number
  readonly expected: readonly FindingId[] | null
  readonly config: object
  readonly series: Readonly<Record<string, RecordedSeries>>
  readonly samples: readonly DiagnosedSample[]
  readonly heldOutPrompts: readonly string[]
  readonly checkpoints: readonly number[]
}

export function diagnoseRecorded({ config, series, ...rest }: RecordedRun): Diagnosis {
  const metrics = new Map(Object.entries(series).map(([name, values]) => [name, pointsOf(values)]))
  return diagnose(parseRunConfig(config), { ...rest, metrics, failure: null })
}

const pointsOf = (series: RecordedSeries): Point[] =>
  'from' in series
    ? series.values.map((value, i) => ({ step: series.from + i, value }))
    : series.map(([step, value]) => ({ step, value }))

/** As it stood after a step. */
function upTo(run: RecordedRun, last: number): RecordedRun {
  const cut = (series: RecordedSeries): RecordedSeries =>
    pointsOf(series).flatMap(({ step, value }) => (step <= last ? [[step, value] as const] : []))
  return {
    ...run,
    series: Object.fromEntries(Object.entries(run.series).map(([name, series]) => [name, cut(series)])),
    samples: run.samples.filter(({ step }) => step <= last),
    checkpoints: run.checkpoints.filter((step) => step <= last),
  }
}

export interface Verdict {
  readonly run: RecordedRun
  /** The first that is no note; of a healthy run at any of its steps. */
  readonly first: FindingId | null
  readonly isRight: boolean
}

const firstOf = (run: RecordedRun): FindingId | null =>
  diagnoseRecorded(run).findings.find(({ severity }) => severity !== 'note')?.id ?? null

/** A broken run has to be understood when it is over; a healthy one may not be accused at any of its steps. */
export function judge(run: RecordedRun): Verdict {
  const steps = pointsOf(run.series['step_time'] ?? []).map(({ step }) => step)
  if (run.expected !== null) {
    const first = firstOf(run)
    return { run, first, isRight: first !== null && run.expected.includes(first) }
  }
  const accused = steps.map((step) => firstOf(upTo(run, step))).find((first) => first !== null)
  return { run, first: accused ?? null, isRight: accused === undefined }
}
