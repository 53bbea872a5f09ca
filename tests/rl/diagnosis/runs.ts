/** Runs to diagnose: a sound one, and what may be changed about it. */
import type { Diagnosis, Finding } from '#shared/diagnosis.ts'
import type { MetricName } from '#shared/metrics.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { diagnose } from '#rl/diagnosis/diagnose.ts'
import type { DiagnosedSample, Point, RunHistory } from '#rl/diagnosis/diagnosedRun.ts'

/** From the number of the step, from 1, to its value; null: no number. */
type Curve = (step: number) => number | null

export interface RunOptions {
  readonly steps?: number
  /** Over those of the sound run; undefined leaves the metric out. */
  readonly curves?: Readonly<Partial<Record<MetricName, Curve | undefined>>>
  /** [step, held-out reward] */
  readonly evaluations?: readonly (readonly [step: number, reward: number])[]
  readonly samples?: readonly DiagnosedSample[]
  readonly heldOutPrompts?: readonly string[]
  readonly config?: Readonly<Record<string, unknown>>
  readonly checkpoints?: readonly number[]
  readonly failure?: RunHistory['failure']
}

/** Straight from one value at the first step to another at step 40, with a small tooth so that no two steps are alike. */
export const line =
  (from: number, to: number): Curve =>
  (step) =>
    from + ((to - from) * (step - 1)) / 39 + (step % 2 === 0 ? 1 : -1) * 0.01 * (from + to)

export const flat =
  (value: number | null): Curve =>
  () =>
    value

/** One value before a step, another from there on. */
export const from =
  (begin: number, before: Curve, after: Curve): Curve =>
  (step) =>
    step < begin ? before(step) : after(step)

const sound: Readonly<Partial<Record<MetricName, Curve>>> = {
  loss: line(0.02, 0.04),
  grad_norm: line(0.2, 0.4),
  reward: line(0.3, 0.8),
  reward_std: line(0.3, 0.2),
  frac_reward_zero_std: line(0.05, 0.4),
  'rewards/correct/mean': line(0.2, 0.78),
  'rewards/correct/std': line(0.4, 0.4),
  'rewards/format/mean': line(0.6, 0.9),
  'rewards/format/std': line(0.4, 0.3),
  'reward/failures': flat(0),
  'reward/unscored': flat(0),
  'completions/mean_length': line(40, 50),
  'completions/clipped_ratio': line(0.1, 0.05),
  entropy: line(1.2, 0.6),
  kl: line(0.001, 0.05),
  'clip_ratio/region_mean': line(0.01, 0.02),
  'sampling/sampling_logp_difference/mean': flat(4e-7),
  'update/count': flat(4),
  step_time: flat(2),
  epoch: (step) => step / 10,
}

const settings = {
  model: 'model',
  data: { train: 'rows.jsonl', prompt: { template: 'Question: {question}' } },
  rewards: [
    { function: 'exact-match', name: 'correct', weight: 0.8 },
    { function: 'format', weight: 0.2, settings: { pattern: '<answer>.*</answer>' } },
  ],
  rollout: { promptsPerStep: 8, groupSize: 4, maxNewTokens: 64 },
  optimization: { learningRate: 0.001, epochs: 2 },
}

export function diagnosisOf(options: RunOptions = {}): Diagnosis {
  const { steps = 40, curves = {}, evaluations = defaultEvaluations } = options
  const numbers = Array.from({ length: steps }, (_, i) => i + 1)
  const drawn = Object.entries({ ...sound, ...curves }).flatMap(([name, curve]): [string, Point[]][] =>
    curve === undefined ? [] : [[name, numbers.map((step) => ({ step, value: curve(step) }))]],
  )
  const heldOut = evaluations.map(([step, value]) => ({ step, value }))
  return diagnose(parseRunConfig({ ...settings, ...options.config }), {
    metrics: new Map([...drawn, ['eval_reward', heldOut]]),
    samples: options.samples ?? [],
    heldOutPrompts: options.heldOutPrompts ?? [],
    checkpoints: options.checkpoints ?? [10, 20, 30],
    failure: options.failure ?? null,
  })
}

const defaultEvaluations = [
  [0, 0.32],
  [20, 0.6],
  [40, 0.82],
] as const

const findingsOf = (options: RunOptions): readonly Finding[] => diagnosisOf(options).findings

export const idsOf = (options: RunOptions): string[] => findingsOf(options).map(({ id }) => id)

/** The only finding. */
export function findingOf(options: RunOptions): Finding {
  const [finding, ...others] = findingsOf(options)
  if (finding === undefined || others.length > 0) {
    throw new Error(`Expected one finding, got: ${idsOf(options).join(', ') || 'none'}.`)
  }
  return finding
}

/** Every change that a finding proposes. */
export const changesOf = ({ proposals }: Finding): Readonly<Record<string, unknown>> =>
  Object.assign({}, ...proposals.map(({ changes }) => changes)) as Record<string, unknown>

export const sample = (step: number, changes: Partial<DiagnosedSample> = {}): DiagnosedSample => ({
  step,
  row: step % 7,
  prompt: 'Question: 1+1',
  completion: `It is ${step}.`,
  reward: 0.5,
  parts: { correct: 0.5, format: 0.5 },
  logged: {},
  failures: [],
  ...changes,
})

/** `perStep` samples of each of the last ten steps. */
export const samplesOf = (
  perStep: number,
  changes: (index: number) => Partial<DiagnosedSample>,
): DiagnosedSample[] =>
  Array.from({ length: 10 * perStep }, (_, i) => sample(31 + Math.floor(i / perStep), changes(i)))
