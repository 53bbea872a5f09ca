/**
 * The loss of every algorithm as its paper writes it, straight from the heads, without weights, parts or coefficients.
 */
import {
  actions,
  clamp,
  klAt,
  type Level,
  levels,
  logRatioToReference,
  type Loss,
  mean,
  perToken,
  poolings,
  type Row,
  sharers,
  sum,
  type WrittenLoss,
  type WrittenLossInput,
} from './algorithms/writtenLoss.ts'
import { groupLosses } from './algorithms/writtenGroupLosses.ts'

const usual = [0.8, 1.2] as const

// ---- every unit weighs the same and has one ratio, one advantage ----

interface UnitForm {
  readonly level: Level
  readonly pooling: 'sum' | 'mean'
  readonly bounds?: readonly [number, number]
  readonly delta?: number
}

const unitsOf = (row: Row, level: Level): number[][] =>
  [...new Set(actions(row).map((t) => sharers(row, t, level).join()))].map((unit) =>
    unit.split(',').map(Number),
  )

function unitMean({ rows, logprobs }: WrittenLossInput, form: UnitForm): number {
  const losses = rows.flatMap((row, i) =>
    unitsOf(row, form.level).map((positions) => {
      const differences = positions.map((t) => logprobs[i]![t]! - row.behaviorLogprobs[t]!)
      const ratio = Math.exp(form.pooling === 'sum' ? sum(differences) : mean(differences))
      const advantage = mean(positions.map((t) => row.advantages[t]!))
      const correction = mean(positions.map((t) => row.correction?.[t] ?? 1))
      const capped = Math.min(ratio, form.delta ?? Infinity)
      return correction * Math.max(-advantage * capped, -advantage * clamp(ratio, form.bounds ?? usual))
    }),
  )
  return mean(losses)
}

const poolingOf = (level: Level, pooling: 'sum' | 'mean') => (level === 'turn' ? pooling : 'mean')

const unitLosses: readonly WrittenLoss[] = levels.flatMap((level) => [
  ...poolings.flatMap((pooling): WrittenLoss[] => [
    {
      algorithm: 'reinforce',
      name: `${level} units, ${pooling} in a turn`,
      settings: { importanceSamplingLevel: level, turnRatioPooling: pooling },
      loss: (input) => unitMean(input, { level, pooling: poolingOf(level, pooling) }),
    },
    {
      algorithm: 'rloo',
      name: `${level} units, ${pooling}`,
      settings: { importanceSamplingLevel: level, ratioPooling: pooling },
      loss: (input) => unitMean(input, { level, pooling }),
    },
  ]),
  {
    algorithm: 'reinforce-plus-plus',
    name: `${level} units`,
    settings: { importanceSamplingLevel: level, klCoefficient: 0.3 },
    loss: (input) =>
      unitMean(input, { level, pooling: 'mean' }) +
      0.3 * mean(perToken(input, (i, t) => logRatioToReference(input, i, t) ** 2 / 2)),
  },
])

// ---- PPO ----

/** ½·v·max((R−V)², (R−V_clip)²), averaged over turns or tokens. */
function criticLoss(
  { rows, values }: WrittenLossInput,
  level: 'token' | 'turn',
  [coefficient, limit, isMean]: readonly [number, number, boolean],
): number {
  const losses = rows.flatMap((row, i) =>
    unitsOf(row, level).map((unit) => {
      const read = (from: Float64Array) => (isMean ? mean(unit.map((t) => from[t]!)) : from[unit.at(-1)!]!)
      const [now, before] = [read(values[i]!), read(row.behaviorValues!)]
      const target = mean(unit.map((t) => row.returns![t]!))
      const limited = before + clamp(now - before, [-limit, limit])
      return Math.max((target - now) ** 2, (target - limited) ** 2)
    }),
  )
  return (coefficient / 2) * mean(losses)
}

const ppoLosses: readonly WrittenLoss[] = (['token', 'turn'] as const).flatMap((granularity) =>
  (['auto', ...levels] as const).flatMap((chosen): WrittenLoss[] => {
    const level = chosen === 'auto' ? granularity : chosen
    const pooling = chosen === 'turn' ? 'mean' : 'sum'
    const isMean = level === 'trajectory'
    return [
      {
        algorithm: 'ppo',
        name: `steps are ${granularity}s, ratio of ${chosen}`,
        settings: {
          klCoefficient: 0.3,
          klClamp: 0.1,
          entropyCoefficient: 0.05,
          valueCoefficient: 0.7,
          valueClipCoefficient: chosen === 'auto' ? null : 0.5,
          clipCoefficient: 0.15,
          ratioLimit: 1.3,
          advantageGranularity: granularity,
          importanceSamplingLevel: chosen,
          turnRatioPooling: pooling,
          turnValueReduction: isMean ? 'mean' : 'final-value',
        },
        loss: (input) =>
          unitMean(input, { level, pooling: poolingOf(level, pooling), bounds: [0.85, 1.15], delta: 1.3 }) +
          criticLoss(input, granularity, [0.7, chosen === 'auto' ? 0.15 : 0.5, isMean]) +
          0.3 * mean(perToken(input, (i, t) => klAt(input, i, t, { clamp: 0.1 }))) -
          0.05 * mean(perToken(input, (i, t) => input.entropies[i]![t]!)),
      },
    ]
  }),
)

// ---- plain policy gradient, likelihood, preferences ----

const correctionAt = ({ correction }: Row, t: number): number => correction?.[t] ?? 1

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x))
const negativeLogSigmoid = (x: number): number => Math.log(1 + Math.exp(-x))

/** What a pair costs, by its two log-ratios to the reference and the lengths of its answers. */
type Preference = (c: number, r: number, lengths: readonly [number, number]) => number

const preferenceForm =
  (alpha: number, preference: Preference): Loss =>
  (input) => {
    const logRatio = (i: number) => sum(actions(input.rows[i]!).map((t) => logRatioToReference(input, i, t)))
    const length = (i: number) => Math.max(actions(input.rows[i]!).length, 1)
    const chosen = input.rows.map((_, i) => i).filter((i) => i % 2 === 0)
    const costs = chosen.map((i) => preference(logRatio(i), logRatio(i + 1), [length(i), length(i + 1)]))
    const likelihood = chosen.flatMap((i) => actions(input.rows[i]!).map((t) => input.logprobs[i]![t]!))
    return mean(costs) - alpha * mean(likelihood)
  }

/** As the papers and TRL's trainer write them. */
const preferences: Readonly<Record<string, (beta: number, e: number) => Preference>> = {
  sigmoid: (beta) => (c, r) => negativeLogSigmoid(beta * (c - r)),
  hinge: (beta) => (c, r) => Math.max(0, 1 - beta * (c - r)),
  ipo: (beta) => (c, r, lengths) => (c / lengths[0] - r / lengths[1] - 1 / (2 * beta)) ** 2,
  robust: (beta, e) => (c, r) =>
    ((1 - e) * negativeLogSigmoid(beta * (c - r)) - e * negativeLogSigmoid(beta * (r - c))) / (1 - 2 * e),
  conservative: (beta, e) => (c, r) =>
    (1 - e) * negativeLogSigmoid(beta * (c - r)) + e * negativeLogSigmoid(beta * (r - c)),
  exo: (beta, e) => (c, r) => {
    const p = sigmoid(beta * (c - r))
    return p * Math.log(p / (1 - e)) + (1 - p) * Math.log((1 - p) / e)
  },
  sppo: (beta) => (c, r) => (c - 1 / (2 * beta)) ** 2 + (r + 1 / (2 * beta)) ** 2,
  'apo-zero': (beta) => (c, r) => 1 - sigmoid(beta * c) + sigmoid(beta * r),
  'apo-down': (beta) => (c, r) => sigmoid(beta * c) + 1 - sigmoid(beta * (c - r)),
}
const smoothed = ['robust', 'conservative', 'exo']

const preferenceLosses: readonly WrittenLoss[] = Object.entries(preferences).flatMap(([loss, form]) =>
  [0.1, 0.7].map((beta): WrittenLoss => {
    const labelSmoothing = smoothed.includes(loss) ? 0.2 : 0
    return {
      algorithm: 'dpo',
      name: `${loss}, β ${beta}`,
      settings: { loss, beta, labelSmoothing, nllAlpha: 0.3 },
      loss: preferenceForm(0.3, form(beta, labelSmoothing)),
    }
  }),
)

/** Without a reference: mean log-probabilities of the two answers, and the likelihood of the chosen ones. */
const referenceFree =
  (alpha: number, preference: (c: number, r: number) => number): Loss =>
  (input) => {
    const per = (i: number) => mean(actions(input.rows[i]!).map((t) => input.logprobs[i]![t]!))
    const chosen = input.rows.map((_, i) => i).filter((i) => i % 2 === 0)
    const likelihood = chosen.flatMap((i) => actions(input.rows[i]!).map((t) => input.logprobs[i]![t]!))
    return mean(chosen.map((i) => preference(per(i), per(i + 1)))) - alpha * mean(likelihood)
  }

/** P/(1 − P); an answer of no tokens counts as nearly certain. */
function odds(logp: number): number {
  const p = Math.exp(Math.min(logp, -1e-8))
  return p / -Math.expm1(Math.min(logp, -1e-8))
}

const referenceFreeLosses: readonly WrittenLoss[] = [
  {
    algorithm: 'orpo',
    name: 'odds ratio and likelihood',
    settings: { beta: 0.7 },
    loss: referenceFree(1, (c, r) => 0.7 * negativeLogSigmoid(Math.log(odds(c) / odds(r)))),
  },
  {
    algorithm: 'simpo',
    name: 'target margin',
    settings: { beta: 2.5, targetMargin: 1.4 },
    loss: referenceFree(0, (c, r) => negativeLogSigmoid(2.5 * c - 2.5 * r - 1.4)),
  },
  {
    algorithm: 'simpo',
    name: 'with likelihood',
    settings: { beta: 0.5, targetMargin: 0, nllAlpha: 0.3 },
    loss: referenceFree(0.3, (c, r) => negativeLogSigmoid(0.5 * (c - r))),
  },
]

/** λ_D − v of good answers and λ_U − v of bad ones, where v = λ·σ(±β(r − z₀)). */
const kahnemanTversky =
  (beta: number, good: number, bad: number): Loss =>
  (input) => {
    const z0 = Math.max(0, mean(input.rows.map(({ mismatchedLogRatio }) => mismatchedLogRatio ?? Number.NaN)))
    return mean(
      input.rows.map((row, i) => {
        const r = sum(actions(row).map((t) => logRatioToReference(input, i, t)))
        return row.turnRewards[0] === 1
          ? good - good * sigmoid(beta * (r - z0))
          : bad - bad * sigmoid(beta * (z0 - r))
      }),
    )
  }

const markLosses: readonly WrittenLoss[] = [
  { algorithm: 'kto', name: 'usual', settings: {}, loss: kahnemanTversky(0.1, 1, 1) },
  {
    algorithm: 'kto',
    name: 'weighted',
    settings: { beta: 0.6, desirableWeight: 1.3, undesirableWeight: 0.4 },
    loss: kahnemanTversky(0.6, 1.3, 0.4),
  },
]

const otherLosses: readonly WrittenLoss[] = [
  {
    algorithm: 'distillation',
    name: 'clipped',
    settings: {},
    loss: (input) => unitMean(input, { level: 'token', pooling: 'mean' }),
  },
  {
    algorithm: 'remax',
    name: 'plain policy gradient',
    settings: {},
    loss: (input) =>
      mean(
        perToken(input, (i, t) => {
          const row = input.rows[i]!
          return -row.advantages[t]! * correctionAt(row, t) * input.logprobs[i]![t]!
        }),
      ),
  },
  {
    algorithm: 'remax',
    name: 'clipped',
    settings: { clipCoefficient: 0.2 },
    loss: (input) => unitMean(input, { level: 'token', pooling: 'mean' }),
  },
  {
    algorithm: 'sft',
    name: 'token mean',
    settings: {},
    loss: (input) => mean(perToken(input, (i, t) => -input.logprobs[i]![t]!)),
  },
  {
    algorithm: 'sft',
    name: 'answer mean',
    settings: { lossNorm: 'trajectory-mean' },
    loss: (input) => mean(input.rows.map((row, i) => mean(actions(row).map((t) => -input.logprobs[i]![t]!)))),
  },
]

export const writtenLosses: readonly WrittenLoss[] = [
  ...groupLosses,
  ...unitLosses,
  ...ppoLosses,
  ...preferenceLosses,
  ...referenceFreeLosses,
  ...markLosses,
  ...otherLosses,
]
