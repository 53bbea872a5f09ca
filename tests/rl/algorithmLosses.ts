/**
 * The loss of every algorithm as its paper writes it, straight from log-probabilities, without weights, parts or
 * coefficients. `constant` holds the log-probabilities of factors the gradient must not pass through.
 */
import type { LossRow } from '#rl/algorithms/types.ts'

type Row = Omit<LossRow, 'logprobs'>
export interface WrittenLossInput {
  readonly rows: readonly Row[]
  readonly logprobs: readonly Float64Array[]
  readonly constant: readonly Float64Array[]
}

export interface WrittenLoss {
  readonly algorithm: string
  readonly name: string
  readonly settings: Readonly<Record<string, unknown>>
  readonly loss: (input: WrittenLossInput) => number
}

interface GroupForm {
  readonly bounds: readonly [number, number]
  readonly level: 'token' | 'turn' | 'trajectory'
  readonly beta?: number
  readonly shaping?: number
  readonly cispo?: boolean
  readonly tokenMean?: boolean
}

const actions = ({ actionMask }: Row): number[] =>
  [...actionMask].flatMap((isAction, t) => (isAction === 1 ? [t] : []))
const mean = (values: readonly number[]): number =>
  values.reduce((a, b) => a + b, 0) / Math.max(values.length, 1)
const k3 = (row: Row, logprobs: Float64Array, t: number): number => {
  const difference = logprobs[t]! - row.referenceLogprobs![t]!
  return Math.exp(difference) - difference - 1
}

/** Positions whose mean log-ratio is the ratio of token t. */
function sharers(row: Row, t: number, level: GroupForm['level']): number[] {
  if (level === 'token') return [t]
  return actions(row).filter(
    (s) => level === 'trajectory' || row.turnIds === null || row.turnIds[s] === row.turnIds[t],
  )
}

function tokenLoss(input: WrittenLossInput, i: number, t: number, form: GroupForm): number {
  const [row, lp, constant] = [input.rows[i]!, input.logprobs[i]!, input.constant[i]!]
  const ratioUnder = (source: Float64Array) =>
    Math.exp(mean(sharers(row, t, form.level).map((s) => source[s]! - row.behaviorLogprobs[s]!)))
  const clamp = (ratio: number) => Math.min(Math.max(ratio, form.bounds[0]), form.bounds[1])
  const meanKl = form.shaping ? mean(actions(row).map((s) => k3(row, lp, s))) : 0
  const advantage = row.advantages[t]! + (form.shaping ? form.shaping * (meanKl - k3(row, lp, t)) : 0)
  const ratio = ratioUnder(lp)
  const surrogate = form.cispo
    ? -clamp(ratioUnder(constant)) * advantage * lp[t]!
    : -Math.min(ratio * advantage, clamp(ratio) * advantage)
  return surrogate * (row.correction?.[t] ?? 1) + (form.beta ? form.beta * k3(row, lp, t) : 0)
}

const groupForm =
  (form: GroupForm): WrittenLoss['loss'] =>
  (input) => {
    const perRow = input.rows.map((row, i) => actions(row).map((t) => tokenLoss(input, i, t, form)))
    return form.tokenMean ? mean(perRow.flat()) : mean(perRow.map(mean))
  }

/** REINFORCE and PPO: every unit weighs the same and has one ratio, one advantage. */
function unitMean(
  { rows, logprobs }: WrittenLossInput,
  level: GroupForm['level'],
  pooling: 'sum' | 'mean',
): number {
  const losses = rows.flatMap((row, i) => {
    const units = new Set(actions(row).map((t) => sharers(row, t, level).join()))
    return [...units].map((unit) => {
      const positions = unit.split(',').map(Number)
      const differences = positions.map((t) => logprobs[i]![t]! - row.behaviorLogprobs[t]!)
      const ratio = Math.exp(mean(differences) * (pooling === 'sum' ? positions.length : 1))
      const advantage = mean(positions.map((t) => row.advantages[t]!))
      const correction = mean(positions.map((t) => row.correction?.[t] ?? 1))
      return correction * Math.max(-advantage * ratio, -advantage * Math.min(Math.max(ratio, 0.8), 1.2))
    })
  })
  return mean(losses)
}

export const writtenLosses: readonly WrittenLoss[] = [
  {
    algorithm: 'grpo',
    name: 'token ratio, divergence added',
    settings: { klCoefficient: 0.3 },
    loss: groupForm({ bounds: [0.8, 1.2], level: 'token', beta: 0.3 }),
  },
  {
    algorithm: 'grpo',
    name: 'asymmetric bounds, token mean',
    settings: { klCoefficient: 0, clipCoefficient: [0.9, 1.4], lossNorm: 'token-mean' },
    loss: groupForm({ bounds: [0.9, 1.4], level: 'token', tokenMean: true }),
  },
  {
    algorithm: 'grpo',
    name: 'turn ratio, divergence in the advantage',
    settings: { klCoefficient: 0.4, klAdvantageShaping: true, importanceSamplingLevel: 'turn' },
    loss: groupForm({ bounds: [0.8, 1.2], level: 'turn', shaping: 0.4 }),
  },
  {
    algorithm: 'gspo',
    name: 'trajectory ratio',
    settings: { klCoefficient: 0.1, clipCoefficient: 0.1 },
    loss: groupForm({ bounds: [0.9, 1.1], level: 'trajectory', beta: 0.1 }),
  },
  {
    algorithm: 'cispo',
    name: 'constant weight',
    settings: { klCoefficient: 0.2 },
    loss: groupForm({ bounds: [0.8, 1.2], level: 'token', beta: 0.2, cispo: true }),
  },
  {
    algorithm: 'cispo',
    name: 'constant weight of a turn, divergence in the advantage',
    settings: { klCoefficient: 0.2, klAdvantageShaping: true, importanceSamplingLevel: 'turn' },
    loss: groupForm({ bounds: [0.8, 1.2], level: 'turn', shaping: 0.2, cispo: true }),
  },
  {
    algorithm: 'reinforce',
    name: 'token units',
    settings: {},
    loss: (input) => unitMean(input, 'token', 'mean'),
  },
  {
    algorithm: 'reinforce',
    name: 'turn units, product of ratios',
    settings: { importanceSamplingLevel: 'turn' },
    loss: (input) => unitMean(input, 'turn', 'sum'),
  },
  {
    algorithm: 'reinforce',
    name: 'trajectory units',
    settings: { importanceSamplingLevel: 'trajectory' },
    loss: (input) => unitMean(input, 'trajectory', 'mean'),
  },
]
