/**
 * The loss of every algorithm as its paper writes it, straight from the heads, without weights, parts or coefficients.
 */
import {
  actions,
  clamp,
  k3,
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

// ---- GRPO family ----

interface GroupForm {
  readonly bounds: readonly [number, number]
  readonly level: Level
  readonly beta?: number
  readonly shaping?: number
  readonly cispo?: boolean
  readonly norm?: 'token-mean' | 'constant-length'
  readonly delta?: number
  readonly topShare?: number
  readonly entropy?: number
}

/** Entropy from which on a token is in the top share: the value below which 1 − share of them lie, interpolated. */
function entropyBar(rows: readonly Row[], share: number): number {
  const all = rows
    .flatMap((row) => actions(row).map((t) => row.behaviorEntropies![t]!))
    .toSorted((a, b) => a - b)
  const place = (1 - share) * (all.length - 1)
  const below = all[Math.floor(place)]!
  return below + (place % 1) * (all[Math.ceil(place)]! - below)
}

/** `bar`: the entropy from which on a token learns from its advantage. */
function tokenLoss(
  input: WrittenLossInput,
  [i, t]: readonly [number, number],
  form: GroupForm,
  bar: number,
): number {
  const [row, lp, constant] = [input.rows[i]!, input.logprobs[i]!, input.constant[i]!]
  const ratioUnder = (source: Float64Array) =>
    Math.exp(mean(sharers(row, t, form.level).map((s) => source[s]! - row.behaviorLogprobs[s]!)))
  const meanKl = form.shaping ? mean(actions(row).map((s) => k3(input, i, s))) : 0
  const advantage = row.advantages[t]! + (form.shaping ? form.shaping * (meanKl - k3(input, i, t)) : 0)
  const ratio = ratioUnder(lp)
  const capped = Math.min(ratio, form.delta ?? Infinity)
  const surrogate = form.cispo
    ? -clamp(ratioUnder(constant), form.bounds) * advantage * lp[t]!
    : -Math.min(capped * advantage, clamp(ratio, form.bounds) * advantage)
  return (
    (row.behaviorEntropies![t]! >= bar ? surrogate * (row.correction?.[t] ?? 1) : 0) +
    (form.beta ?? 0) * k3(input, i, t) -
    (form.entropy ?? 0) * input.entropies[i]![t]!
  )
}

const groupForm =
  (form: GroupForm): Loss =>
  (input) => {
    const bar = form.topShare ? entropyBar(input.rows, form.topShare) : -Infinity
    const perRow = input.rows.map((row, i) => actions(row).map((t) => tokenLoss(input, [i, t], form, bar)))
    if (form.norm === 'token-mean') return mean(perRow.flat())
    if (form.norm === 'constant-length')
      return mean(perRow.map((row, i) => sum(row) / input.rows[i]!.tokenLimit!))
    return mean(perRow.map(mean))
  }

const usual = [0.8, 1.2] as const

const groupLosses: readonly WrittenLoss[] = [
  ...levels.flatMap((level): WrittenLoss[] => [
    {
      algorithm: 'grpo',
      name: `${level} ratio, divergence added`,
      settings: { klCoefficient: 0.3, importanceSamplingLevel: level },
      loss: groupForm({ bounds: usual, level, beta: 0.3 }),
    },
    {
      algorithm: 'grpo',
      name: `${level} ratio, divergence in the advantage`,
      settings: { klCoefficient: 0.4, klAdvantageShaping: true, importanceSamplingLevel: level },
      loss: groupForm({ bounds: usual, level, shaping: 0.4 }),
    },
    {
      algorithm: 'grpo',
      name: `${level} ratio, token mean, limited ratio, bonus on entropy`,
      settings: {
        klCoefficient: 0.1,
        clipCoefficient: [0.9, 1.1],
        ratioLimit: 1.15,
        entropyCoefficient: 0.2,
        lossNorm: 'token-mean',
        importanceSamplingLevel: level,
      },
      loss: groupForm({
        bounds: [0.9, 1.1],
        delta: 1.15,
        level,
        beta: 0.1,
        entropy: 0.2,
        norm: 'token-mean',
      }),
    },
    {
      algorithm: 'grpo',
      name: `${level} ratio, constant length, top tokens only`,
      settings: {
        klCoefficient: 0.1,
        topEntropyShare: 0.3,
        entropyCoefficient: 0.1,
        lossNorm: 'constant-length',
        importanceSamplingLevel: level,
      },
      loss: groupForm({
        bounds: usual,
        level,
        beta: 0.1,
        entropy: 0.1,
        topShare: 0.3,
        norm: 'constant-length',
      }),
    },
    {
      algorithm: 'cispo',
      name: `${level} weight`,
      settings: { klCoefficient: 0.2, importanceSamplingLevel: level },
      loss: groupForm({ bounds: usual, level, beta: 0.2, cispo: true }),
    },
    {
      algorithm: 'cispo',
      name: `${level} weight, divergence in the advantage, top tokens, token mean`,
      settings: {
        klCoefficient: 0.2,
        klAdvantageShaping: true,
        topEntropyShare: 0.5,
        lossNorm: 'token-mean',
        importanceSamplingLevel: level,
      },
      loss: groupForm({ bounds: usual, level, shaping: 0.2, cispo: true, topShare: 0.5, norm: 'token-mean' }),
    },
  ]),
  {
    algorithm: 'gspo',
    name: 'trajectory ratio',
    settings: { klCoefficient: 0.1, clipCoefficient: 0.1 },
    loss: groupForm({ bounds: [0.9, 1.1], level: 'trajectory', beta: 0.1 }),
  },
]

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
          0.3 * mean(perToken(input, (i, t) => k3(input, i, t))) -
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
