/**
 * Curves of a loss: the loss of one token, and its gradient, as the policy moves away from the one that generated the
 * token.
 */
import type { LossAxis } from '#shared/losses.ts'
import type { ConfiguredAlgorithm, LossRow } from '../algorithms/types.ts'

export interface Curve {
  /** Advantage +1 or −1; for pairs the answer whose gradient is drawn; for demonstrations there is only one. */
  readonly of: 'positive' | 'negative' | 'chosen' | 'rejected' | 'token'
  /** Loss at each point; not finite where the loss is not. */
  readonly loss: readonly number[]
  /** dLoss/dlogp of that token. */
  readonly gradient: readonly number[]
}

/** Log-probability of the token when it was generated, nats; also under the reference policy. */
const oldLogp = -3

/**
 * `points`, along the axis: importance ratios above 0; margins, in nats, by which the chosen answer has become more
 * likely than the rejected one relative to the reference; or log-probabilities.
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

/** `place`: index of the row whose gradient is drawn. */
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

/** A sequence of one action token, with a value of 0 from the critic. */
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
    likeliest: { ids: Int32Array.of(0), logprobs: one(oldLogp) },
    likeliestLogprobs: one(logp),
  }
}
