/** The losses of the GRPO family as their papers write them. */
import {
  actions,
  clamp,
  type KlForm,
  klAt,
  type Level,
  levels,
  type Loss,
  mean,
  perToken,
  type Row,
  sharers,
  sum,
  type WrittenLoss,
  type WrittenLossInput,
} from './writtenLoss.ts'

interface GroupForm extends KlForm {
  readonly bounds?: readonly [number, number]
  readonly level: Level
  readonly beta?: number
  readonly shaping?: number
  /** The divergence is not multiplied by the ratio. */
  readonly isUnweighted?: boolean
  readonly cispo?: boolean
  readonly temperatures?: readonly [positive: number, negative: number]
  readonly norm?: 'token-mean' | 'constant-length'
  readonly delta?: number
  readonly topShare?: number
  readonly entropy?: number
  readonly offPolicy?: number
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

/** What a token earns by its advantage, before sampler and learner are reconciled. */
function surrogate(input: WrittenLossInput, [i, t]: readonly [number, number], form: GroupForm): number {
  const [row, lp, constant] = [input.rows[i]!, input.logprobs[i]!, input.constant[i]!]
  const shaped: KlForm = { ...form, beyond: form.clamp ?? 10 }
  const meanKl = form.shaping ? mean(actions(row).map((s) => klAt(input, i, s, shaped))) : 0
  const advantage =
    row.advantages[t]! + (form.shaping ? form.shaping * (meanKl - klAt(input, i, t, shaped)) : 0)
  const ratio = ratioAt(row, lp, t, form.level)
  const bounds = form.bounds ?? usual
  if (form.temperatures) {
    const temperature = form.temperatures[advantage > 0 ? 0 : 1]
    return (-4 / temperature / (1 + Math.exp(temperature * (1 - ratio)))) * advantage
  }
  if (form.cispo) return -clamp(ratioAt(row, constant, t, form.level), bounds) * advantage * lp[t]!
  const capped = Math.min(ratio, form.delta ?? Infinity)
  return -Math.min(capped * advantage, clamp(ratio, bounds) * advantage)
}

const ratioAt = (row: Row, lp: Float64Array, t: number, level: Level): number =>
  Math.exp(mean(sharers(row, t, level).map((s) => lp[s]! - row.behaviorLogprobs[s]!)))

/** Mean log-ratio of who wrote the row to the policy that learns; no gradient. */
const drift = ({ rows, constant }: WrittenLossInput, i: number): number =>
  mean(
    actions(rows[i]!).map(
      (t) => (rows[i]!.samplerLogprobs ?? rows[i]!.behaviorLogprobs)[t]! - constant[i]![t]!,
    ),
  )

/** `bar`: the entropy from which on a token learns from its advantage. */
function tokenLoss(
  input: WrittenLossInput,
  [i, t]: readonly [number, number],
  form: GroupForm,
  bar: number,
): number {
  const row = input.rows[i]!
  const isFar = row.advantages[t]! < 0 && drift(input, i) > (form.offPolicy ?? Infinity)
  const isHeard = row.behaviorEntropies![t]! >= bar && !isFar
  const weight = form.isUnweighted ? 1 : ratioAt(row, input.logprobs[i]!, t, form.level)
  return (
    (isHeard ? surrogate(input, [i, t], form) * (row.correction?.[t] ?? 1) : 0) +
    (form.beta ?? 0) * klAt(input, i, t, form) * weight
  )
}

const groupForm =
  (form: GroupForm): Loss =>
  (input) => {
    const bar = form.topShare ? entropyBar(input.rows, form.topShare) : -Infinity
    const perRow = input.rows.map((row, i) => actions(row).map((t) => tokenLoss(input, [i, t], form, bar)))
    const uncertain = perToken(input, (i, t) =>
      input.rows[i]!.behaviorEntropies![t]! >= bar ? [input.entropies[i]![t]!] : [],
    )
    return averaged(perRow, input, form) - (form.entropy ?? 0) * mean(uncertain.flat())
  }

function averaged(perRow: readonly number[][], { rows }: WrittenLossInput, { norm }: GroupForm): number {
  if (norm === 'token-mean') return mean(perRow.flat())
  if (norm === 'constant-length') return mean(perRow.map((row, i) => sum(row) / rows[i]!.tokenLimit!))
  return mean(perRow.map(mean))
}

const usual = [0.8, 1.2] as const
const klEstimators = ['k1', 'k2', 'k3', 'k3-reversed'] as const

export const groupLosses: readonly WrittenLoss[] = [
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
      loss: groupForm({ bounds: [0, 1.2], level, beta: 0.2, cispo: true }),
    },
    {
      algorithm: 'sapo',
      name: `${level} gate`,
      settings: { klCoefficient: 0.2, importanceSamplingLevel: level },
      loss: groupForm({ temperatures: [1, 1.05], level, beta: 0.2 }),
    },
    {
      algorithm: 'sapo',
      name: `${level} gate, divergence in the advantage, top tokens, token mean`,
      settings: {
        klCoefficient: 0.2,
        klAdvantageShaping: true,
        positiveTemperature: 2,
        negativeTemperature: 3,
        topEntropyShare: 0.5,
        lossNorm: 'token-mean',
        importanceSamplingLevel: level,
      },
      loss: groupForm({ temperatures: [2, 3], level, shaping: 0.2, topShare: 0.5, norm: 'token-mean' }),
    },
    {
      algorithm: 'grpo',
      name: `${level} ratio, what is far from its sampler left out`,
      settings: { klCoefficient: 0.1, offPolicyThreshold: 0.01, importanceSamplingLevel: level },
      loss: groupForm({ level, beta: 0.1, offPolicy: 0.01 }),
    },
    ...klEstimators.flatMap((estimator): WrittenLoss[] => [
      {
        algorithm: 'grpo',
        name: `${level} ratio, ${estimator}, clamped, not weighted by the ratio`,
        settings: {
          klCoefficient: 0.5,
          klEstimator: estimator,
          klClamp: 0.1,
          klImportanceWeighting: false,
          importanceSamplingLevel: level,
        },
        loss: groupForm({ level, beta: 0.5, estimator, clamp: 0.1, isUnweighted: true }),
      },
      {
        algorithm: 'grpo',
        name: `${level} ratio, ${estimator}, no clamp`,
        settings: {
          klCoefficient: 0.5,
          klEstimator: estimator,
          klClamp: null,
          importanceSamplingLevel: level,
        },
        loss: groupForm({ level, beta: 0.5, estimator, clamp: Infinity }),
      },
      {
        algorithm: 'gspo',
        name: `${level}: ${estimator}, clamped, in the advantage`,
        settings: { klCoefficient: 0.5, klAdvantageShaping: true, klEstimator: estimator, klClamp: 0.1 },
        loss: groupForm({ level: 'trajectory', shaping: 0.5, estimator, clamp: 0.1 }),
      },
    ]),
    {
      algorithm: 'cispo',
      name: `${level} weight, divergence in the advantage, top tokens, token mean`,
      settings: {
        klCoefficient: 0.2,
        klAdvantageShaping: true,
        clipCoefficient: [0.8, 1.2],
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
