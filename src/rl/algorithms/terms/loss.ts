/**
 * Turns a loss written as a formula into what the trainer needs: its value, ∂loss/∂{log-probability, entropy, value} of
 * every token, and its metrics.
 */
import type { HeadCoefficients, LossRow, MinibatchLoss } from '../types.ts'
import { gradientsOf, type Units, type Value, variable } from './differentiable.ts'
import type { RatioLevel } from './groupSettings.ts'
import { addTallies, type Tallies } from './tally.ts'

/** The tokens of one trajectory that the policy chose, [n] each. */
export interface Tokens {
  readonly trajectory: LossRow
  /** [n] position of each token in the trajectory. */
  readonly positions: Int32Array
  /** Log-probabilities under the current policy. */
  readonly logp: Value
  readonly entropy: Value
  /** Values of the critic; null without one. */
  readonly values: Value | null
  /** Log-probabilities under the policy that generated the trajectory, π_old. */
  readonly oldLogp: Float64Array
  /** Log-probabilities under the reference policy; null without one. */
  readonly refLogp: Float64Array | null
  readonly oldEntropy: Float64Array | null
  readonly oldValues: Float64Array | null
  readonly advantages: Float64Array
  readonly returns: Float64Array | null
  /** Weight of each token's policy term that corrects the mismatch between sampler and learner; null = 1. */
  readonly correction: Float64Array | null
  /** Log-probabilities recorded by the sampler. */
  readonly samplerLogp: Float64Array
}

/** The tokens of each token, turn or trajectory; without turn ids all are in turn 0. */
export function unitsAt({ positions, trajectory }: Tokens, level: RatioLevel): Units {
  const count = positions.length
  if (level === 'token') return { of: positions.map((_, i) => i), sizes: new Int32Array(count).fill(1) }
  const turnIds = level === 'turn' ? trajectory.turnIds : null
  const units = new Map<number, number>()
  const sizes: number[] = []
  const of = positions.map((t) => {
    const turn = turnIds?.[t] ?? 0
    const unit = units.get(turn) ?? units.size
    units.set(turn, unit)
    sizes[unit] = (sizes[unit] ?? 0) + 1
    return unit
  })
  return { of, sizes: Int32Array.from(sizes) }
}

/** Contribution of one trajectory to the loss of its minibatch ([1]), and to the metrics. */
export interface LossShare {
  readonly loss: Value
  readonly metrics: Tallies
  /** Log-probabilities of the k-th likeliest token in the place of each, [n] for each k, if the loss reads them. */
  readonly likeliest?: readonly Value[]
}

/**
 * Computes the loss of one trajectory, or of those of one unit. Weights are fixed from the whole minibatch, so that
 * contributions add up.
 */
export type LossFormula = (...trajectories: Tokens[]) => LossShare

/** `unit`: number of trajectories that the formula receives at once. */
export const minibatchLoss =
  (formula: LossFormula, unit: number): MinibatchLoss =>
  (part) => {
    const shares = unitsOf(part.map(tokensOf), unit).map((tokens) => {
      const { loss, metrics, likeliest = [] } = formula(...tokens)
      const gradients = gradientsOf(loss)
      const coefficients = tokens.map((trajectory) => coefficientsOf(trajectory, likeliest, gradients))
      return { loss: loss.data[0]!, metrics, coefficients }
    })
    return {
      loss: shares.reduce((total, { loss }) => total + loss, 0),
      coefficients: shares.flatMap(({ coefficients }) => coefficients),
      tallies: addTallies(shares.map(({ metrics }) => metrics)),
    }
  }

const unitsOf = (rows: readonly Tokens[], unit: number): Tokens[][] =>
  Array.from({ length: Math.ceil(rows.length / unit) }, (_, k) => rows.slice(k * unit, (k + 1) * unit))

function tokensOf(trajectory: LossRow): Tokens {
  const { actionMask, behaviorLogprobs, correction, samplerLogprobs } = trajectory
  const positions = actionPositions(actionMask)
  const [first = 0, count] = [positions[0], positions.length]
  const isRun = count > 0 && positions[count - 1] === first + count - 1
  const at = (values: Float64Array) => {
    if (isRun) return values.subarray(first, first + count)
    const gathered = new Float64Array(positions.length)
    for (let i = 0; i < gathered.length; i++) gathered[i] = values[positions[i]!]!
    return gathered
  }
  const atEach = (values: Float64Array | null) => values && at(values)
  return {
    trajectory,
    positions,
    logp: variable(at(trajectory.logprobs)),
    entropy: variable(at(trajectory.entropies)),
    values: trajectory.values && variable(at(trajectory.values)),
    oldLogp: at(behaviorLogprobs),
    refLogp: atEach(trajectory.referenceLogprobs),
    oldEntropy: atEach(trajectory.behaviorEntropies),
    oldValues: atEach(trajectory.behaviorValues),
    advantages: at(trajectory.advantages),
    returns: atEach(trajectory.returns),
    correction: atEach(correction),
    samplerLogp: at(samplerLogprobs ?? behaviorLogprobs),
  }
}

function actionPositions(actionMask: Uint8Array): Int32Array {
  const positions = new Int32Array(actionMask.length)
  let count = 0
  for (let t = 0; t < actionMask.length; t++) if (actionMask[t] === 1) positions[count++] = t
  return positions.subarray(0, count)
}

function coefficientsOf(
  { trajectory, positions, logp, entropy, values }: Tokens,
  likeliest: readonly Value[],
  gradients: ReadonlyMap<Value, Float64Array>,
): HeadCoefficients {
  const head = (of: Value | null): Float64Array | null => {
    const gradient = of && gradients.get(of)
    if (!gradient) return null
    const coefficients = new Float64Array(trajectory.logprobs.length)
    positions.forEach((t, i) => (coefficients[t] = gradient[i]!))
    return coefficients
  }
  return {
    logprobs: head(logp) ?? new Float64Array(trajectory.logprobs.length),
    entropies: head(entropy),
    values: head(values),
    ...(likeliest.length > 0 && {
      alternatives: interleaved(likeliest.map(head), trajectory.actionMask.length),
    }),
  }
}

/** [T] for each k → [T·K]; 0 where the loss does not depend on one. */
const interleaved = (ranks: readonly (Float64Array | null)[], length: number): Float64Array =>
  Float64Array.from({ length: length * ranks.length }, (_, at) => {
    const rank = at % ranks.length
    return ranks[rank]?.[(at - rank) / ranks.length] ?? 0
  })
