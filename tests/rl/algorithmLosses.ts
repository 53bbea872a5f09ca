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

/** −log(1 / (1 + e^−x)) */
const negativeLogSigmoid = (x: number): number => Math.log(1 + Math.exp(-x))

const preferenceForm =
  (beta: number, alpha: number, smoothing: number): Loss =>
  (input) => {
    const reward = (i: number) =>
      beta * sum(actions(input.rows[i]!).map((t) => logRatioToReference(input, i, t)))
    const chosen = input.rows.map((_, i) => i).filter((i) => i % 2 === 0)
    const preference = chosen.map((i) => {
      const margin = reward(i) - reward(i + 1)
      return (1 - smoothing) * negativeLogSigmoid(margin) + smoothing * negativeLogSigmoid(-margin)
    })
    const likelihood = chosen.flatMap((i) => actions(input.rows[i]!).map((t) => input.logprobs[i]![t]!))
    return mean(preference) - alpha * mean(likelihood)
  }

const otherLosses: readonly WrittenLoss[] = [
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
  {
    algorithm: 'dpo',
    name: 'with likelihood',
    settings: { beta: 0.5, nllAlpha: 0.7 },
    loss: preferenceForm(0.5, 0.7, 0),
  },
  {
    algorithm: 'dpo',
    name: 'smoothed labels',
    settings: { beta: 0.3, nllAlpha: 0, labelSmoothing: 0.2 },
    loss: preferenceForm(0.3, 0, 0.2),
  },
]

export const writtenLosses: readonly WrittenLoss[] = [
  ...groupLosses,
  ...unitLosses,
  ...ppoLosses,
  ...otherLosses,
]
