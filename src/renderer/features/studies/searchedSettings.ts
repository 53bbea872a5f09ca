/** Trials of a study as lines over axes: one per searched setting, and one for the result. */
import { range } from 'd3-array'
import type { StudyEntry, StudyTrial } from '#shared/api/studies.ts'
import { labelOf } from '#shared/config/fields.ts'
import { isObject } from '#shared/config/paths.ts'
import { metricLabel } from '#shared/metrics.ts'
import { isLogRange, searchedParameters, type Parameter } from '#shared/studies.ts'
import type { AxisSpec, AxisValue } from '#renderer/charts/parallelAxes.ts'
import type { ParallelRun } from '#renderer/charts/ParallelCoordinates.tsx'
import { lastResult, lineId } from '#renderer/parts/lineage.ts'
import { trialTitle } from '#renderer/parts/studyWords.ts'

interface TrialLine extends ParallelRun {
  readonly trial: StudyTrial
}

interface TrialLines {
  readonly axes: readonly AxisSpec[]
  /** Worst first, preceded by failed ones, so that the best is drawn on top. */
  readonly lines: readonly TrialLine[]
}

/** Keys of axes for step and fitness, distinct from settings, whose keys start with letters. */
const [stepKey, fitnessKey] = ['1 step', '2 fitness']

export function trialLines(study: StudyEntry): TrialLines {
  const { search, start, trials } = study
  const searched = Object.entries(searchedParameters(search)).map(([key, parameter]) => {
    const names = 'values' in parameter ? namesOf(parameter.values) : null
    return { key, spec: specOf(key, parameter, names), names }
  })
  const sign = search.fitness.goal === 'max' ? 1 : -1
  const found = trials
    .flatMap((trial) => {
      const last = lastResult(trial)
      return last === undefined ? [] : [{ trial, step: last.step, fitness: last.fitness }]
    })
    .toSorted((a, b) => worthOf(a.fitness, sign) - worthOf(b.fitness, sign))
  const known = found.flatMap(({ fitness }) => fitness ?? [])
  const [worst, best] = [known[0] ?? 0, known.at(-1) ?? 0]
  const axes = [
    ...searched.map(({ spec }) => spec),
    ...stepAxis(found.map(({ step }) => step)),
    {
      key: fitnessKey,
      label: metricLabel(search.fitness.metric),
      range: { min: Math.min(worst, best), max: Math.max(worst, best), isLog: false },
      gradient: sign === 1 ? shades : shades.toReversed(),
    },
  ]
  const valueOf = ({ settings }: StudyTrial, { key, names }: (typeof searched)[number]): AxisValue => {
    const value = settings[key] ?? start[key] ?? null
    return names?.get(JSON.stringify(value)) ?? (typeof value === 'number' ? value : null)
  }
  const lines = found.map(({ trial, step, fitness }) => ({
    trial,
    color: colorOf(fitness, worst, best),
    id: lineId(trial),
    label: trialTitle(study, trial),
    values: {
      ...Object.fromEntries(searched.map((each) => [each.key, valueOf(trial, each)])),
      [stepKey]: step,
      [fitnessKey]: fitness,
    },
  }))
  return { axes, lines }
}

/** Signed fitness; failed trials get the smallest number. */
const worthOf = (fitness: number | null, sign: number): number =>
  fitness === null ? -Number.MAX_VALUE : sign * fitness

function colorOf(fitness: number | null, worst: number, best: number): string {
  const share = best === worst ? 1 : ((fitness ?? worst) - worst) / (best - worst)
  const shade = shades[Math.min(shades.length - 1, Math.floor(share * shades.length))]
  return fitness === null || shade === undefined ? 'var(--bad)' : shade
}

const shades: readonly string[] = range(10).map(
  (i) => `color-mix(in oklab, var(--accent) ${String(Math.round((100 * i) / 9))}%, var(--line-strong))`,
)

/** Axis of steps, only if trials ended at different steps, where fitness is not comparable. */
const stepAxis = (steps: readonly number[]): AxisSpec[] => {
  const [min, max] = [Math.min(...steps), Math.max(...steps)]
  return min < max ? [{ key: stepKey, label: 'Step', range: { min, max, isLog: false } }] : []
}

function specOf(key: string, parameter: Parameter, names: Names | null): AxisSpec {
  const label = labelOf(key)
  if ('values' in parameter) return { key, label, names: [...(names?.values() ?? [])] }
  const { min, max } = parameter
  return { key, label, range: { min, max, isLog: isLogRange(parameter) } }
}

type Names = ReadonlyMap<string, string>

/** Names values by their JSON, numbers in order, objects by their `id` if it is unique. */
function namesOf(values: readonly unknown[]): Names {
  const isNumeric = values.every((value) => typeof value === 'number')
  const ordered = isNumeric ? values.toSorted((a, b) => a - b) : values
  const idOf = (value: unknown) => (isObject(value) && typeof value['id'] === 'string' ? value['id'] : value)
  const isTold = new Set(ordered.map((value) => JSON.stringify(idOf(value)))).size === ordered.length
  return new Map(
    ordered.map((value) => {
      const shown = isTold ? idOf(value) : value
      return [JSON.stringify(value), typeof shown === 'string' ? shown : JSON.stringify(shown)]
    }),
  )
}
