/** Charts of a run, selected by its metrics and its kind of learning. */
import type { ExperienceKind } from '#shared/experience.ts'
import { findDeclaration, metricDeclarations, metricLabel, type MetricChart } from '#shared/metrics.ts'
import { unitOf } from '#renderer/charts/units.ts'

export interface PlannedLine {
  readonly metric: string
  readonly label: string
}

export interface PlannedChart {
  readonly id: string
  readonly title: string
  readonly lines: readonly PlannedLine[]
  /** Metric of the standard deviation to either side of the first line. */
  readonly bandMetric?: string
  readonly size: 'wide' | 'small'
  readonly unit: string | undefined
  readonly better: 'higher' | 'lower' | 'none'
  readonly help: string
  /** Values that are always in view. */
  readonly include?: readonly number[]
  /** Magnitude below which values count as 0. */
  readonly noise: number
  readonly emptyText: string
}

interface ChartSpec extends Omit<MetricChart, 'line' | 'also'> {
  readonly metrics: readonly (readonly [metric: string, label: string])[]
  readonly noise?: number
}

export interface PlanFacts {
  readonly kinds: readonly ExperienceKind[]
  /** Steps between evaluations; null: no evaluations. */
  readonly evaluationEvery: number | null
}

const specsOf = (panel: 'overview' | 'learning'): readonly ChartSpec[] =>
  [...metricDeclarations].flatMap(([name, { label, chart }]) =>
    chart?.panel === panel
      ? [{ ...chart, metrics: [[name, chart.line ?? label] as const, ...(chart.also ?? [])] }]
      : [],
  )
const [overview, learning] = [specsOf('overview'), specsOf('learning')]

/** Noise of a mean of f32 numbers around 1. */
const lossNoise = 1e-7

/** Help on the loss of a policy gradient, which on its own samples measures nothing; on given answers it does. */
const lossHelp =
  'Near 0 is normal: on fresh samples the policy is compared with itself, so the value says little. Look at reward and gradient norm.'

/** Plans the charts; `names`: metrics that have values. */
export function planCharts(names: readonly string[], facts: PlanFacts): readonly PlannedChart[] {
  const known = new Set(names)
  const plans = overview.flatMap((spec) => planOf(spec, known, facts) ?? [])
  const parts = partsOf(names, facts)
  return parts === null ? plans : plans.toSpliced(plans.findIndex(({ id }) => id === 'reward') + 1, 0, parts)
}

/** Plans the charts for investigating problems. */
export const planLearning = (names: readonly string[], facts: PlanFacts): readonly PlannedChart[] =>
  [...learning, ...loggedSpecs(names)].flatMap((spec) => planOf(spec, new Set(names), facts) ?? [])

export function planLoss(names: readonly string[], facts: PlanFacts): PlannedChart | null {
  const isRewards = facts.kinds.includes('rollout')
  const spec: ChartSpec = {
    metrics: [
      ['loss', 'training'],
      ['eval_loss', 'eval'],
    ],
    size: 'wide',
    noise: lossNoise,
    expected: ['rollout', 'demonstrations', 'preferences', 'marks'],
    help: isRewards ? lossHelp : 'What the update minimised.',
  }
  return planOf(spec, new Set(names), facts)
}

/** Returns charts of numbers that reward code logs. */
const loggedSpecs = (names: readonly string[]): readonly ChartSpec[] =>
  names
    .filter((name) => name.startsWith('logged/'))
    .sort()
    .map((name) => ({ title: name.slice('logged/'.length), metrics: [[name, name]] as const }))

function partsOf(names: readonly string[], facts: PlanFacts): PlannedChart | null {
  if (!facts.kinds.includes('rollout')) return null
  const parts = names.flatMap((metric) => {
    const label = /^rewards\/(.+)\/mean$/.exec(metric)?.[1]
    return label === undefined ? [] : [{ metric, label }]
  })
  return {
    id: 'parts',
    title: 'Reward components',
    lines: parts.sort((a, b) => a.label.localeCompare(b.label)),
    size: 'wide',
    unit: undefined,
    better: 'higher',
    help: 'Mean of each reward function, before its weight. One that never moves teaches nothing.',
    include: [0],
    noise: 0,
    emptyText: 'One line per reward function, from the first step on.',
  }
}

function planOf(spec: ChartSpec, known: ReadonlySet<string>, facts: PlanFacts): PlannedChart | null {
  const [main] = spec.metrics
  const present = spec.metrics.filter(([metric]) => known.has(metric))
  const isExpected = !hasSteps(known) && isExpectedOf(spec, facts)
  if (main === undefined || (present.length === 0 && !isExpected)) return null
  return {
    id: main[0],
    noise: spec.noise ?? 0,
    lines: (present.length === 0 ? [main] : present).map(([metric, label]) => ({ metric, label })),
    ...(spec.band !== undefined && known.has(spec.band) ? { bandMetric: spec.band } : {}),
    ...(spec.include === undefined ? {} : { include: spec.include }),
    ...meaningOf(main[0], spec),
    emptyText: emptyWords(spec, facts),
  }
}

/** Tells whether a step was taken: an evaluation before the first one leaves every other chart to be expected. */
const hasSteps = (known: ReadonlySet<string>): boolean => [...known].some((name) => !name.startsWith('eval_'))

const isExpectedOf = ({ expected = [] }: ChartSpec, { kinds }: PlanFacts): boolean =>
  expected.some((kind) => kinds.includes(kind))

function meaningOf(metric: string, { title, size: asked, help }: ChartSpec) {
  const size = asked ?? 'small'
  const declaration = findDeclaration(metric)
  return {
    title: title ?? metricLabel(metric),
    size,
    unit: unitOf(metric),
    // A small chart has room for one number.
    better: size === 'wide' ? (declaration?.better ?? 'none') : 'none',
    help: help ?? declaration?.explanation ?? '',
  } as const
}

function emptyWords({ metrics }: ChartSpec, { evaluationEvery }: PlanFacts): string {
  const isEval = metrics.some(([metric]) => metric.startsWith('eval_'))
  const first = 'Appears after the first step.'
  return isEval && evaluationEvery !== null && evaluationEvery > 0
    ? `${first} The validation split is evaluated every ${String(evaluationEvery)} steps.`
    : first
}

export const metricsOf = (charts: readonly PlannedChart[]): readonly string[] => [
  ...new Set(
    charts.flatMap(({ lines, bandMetric }) => [
      ...lines.map(({ metric }) => metric),
      ...(bandMetric === undefined ? [] : [bandMetric]),
    ]),
  ),
]
