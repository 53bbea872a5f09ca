/** A loss drawn: what one token costs, and its gradient, as the policy moves away from where it generated the token. */
import type { LossAxis } from '#shared/losses.ts'
import type { ConfiguredAlgorithm, LossRow } from '../algorithms/types.ts'

export interface Curve {
  /** Advantage +1 or −1; of pairs the answer whose gradient it is; of demonstrations the only one there is. */
  readonly of: 'positive' | 'negative' | 'chosen' | 'rejected' | 'token'
  /** At each point; not finite where the loss is not. */
  readonly loss: readonly number[]
  /** dLoss/dlogp of that token. */
  readonly gradient: readonly number[]
}

/** Log-probability with which the token was generated, nats; that of the reference policy too. */
const oldLogp = -3

/**
 * `points`, by axis: importance ratios above 0; margins by which the chosen answer has become likelier than the rejected one
 * since the reference, nats; log-probabilities.
 */
export function curvesOf(algorithm: ConfiguredAlgorithm, points: readonly number[]): Curve[] {
  switch (axisOf(algorithm)) {
    case 'ratio':
      return ([1, -1] as const).map((sign) => ({
        of: sign > 0 ? 'positive' : 'negative',
        ...drawn(algorithm, points, (ratio) => [token(oldLogp + Math.log(ratio), sign)], 0),
      }))
    case 'margin':
      return (['chosen', 'rejected'] as const).map((of, place) => ({
        of,
        ...drawn(
          algorithm,
          points,
          (margin) => [token(oldLogp + margin / 2, 1), token(oldLogp - margin / 2, 1)],
          place,
        ),
      }))
    case 'logp':
      return [{ of: 'token', ...drawn(algorithm, points, (logp) => [token(logp, 1)], 0) }]
  }
}

export const axisOf = ({ experience }: Pick<ConfiguredAlgorithm, 'experience'>): LossAxis =>
  experience === 'rollout' ? 'ratio' : experience === 'preferences' ? 'margin' : 'logp'

/** `place`: of the row whose gradient is asked. */
function drawn(
  algorithm: ConfiguredAlgorithm,
  points: readonly number[],
  rowsAt: (point: number) => LossRow[],
  place: number,
): Pick<Curve, 'loss' | 'gradient'> {
  const results = points.map((point) => {
    const rows = rowsAt(point)
    return algorithm.minibatchLoss(rows)(rows)
  })
  return {
    loss: results.map(({ loss }) => loss),
    gradient: results.map(({ coefficients }) => coefficients[place]!.logprobs[0]!),
  }
}

/** A sequence of one token that the policy chose, of a critic that expects nothing. */
function token(logp: number, advantage: 1 | -1): LossRow {
  const one = (value: number) => Float64Array.of(value)
  return {
    group: 0,
    actionMask: Uint8Array.of(1),
    turnIds: Int32Array.of(0),
    turnRewards: [advantage],
    tokenRewards: null,
    lastStateValue: null,
    truncated: false,
    tokenLimit: 1,
    baselineReward: 0,
    logprobs: one(logp),
    behaviorLogprobs: one(oldLogp),
    samplerLogprobs: one(oldLogp),
    referenceLogprobs: one(oldLogp),
    entropies: one(1),
    behaviorEntropies: one(1),
    values: one(0),
    behaviorValues: one(0),
    returns: one(0),
    advantages: one(advantage),
    correction: null,
  }
}
