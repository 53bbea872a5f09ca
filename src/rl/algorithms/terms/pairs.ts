/** Losses of preference pairs: what DPO and its relatives without a reference share. */
import type { LearningRow } from '../types.ts'
import { arithmetic, mean, sum, type Value } from './differentiable.ts'
import type { LossFormula, Tokens } from './loss.ts'
import { actionTotal } from './turns.ts'
import type { Tallies } from './tally.ts'

const { multiply, subtract } = arithmetic

/** One answer of a pair. */
export interface Answer {
  /** [1] nats; β times this is the implicit reward. */
  readonly score: Value
  /** Number of its tokens. */
  readonly tokens: number
}

/** A loss of pairs: how an answer is scored, and what a pair of scores costs ([1]). */
interface PairForm {
  readonly scoreOf: (answer: Tokens) => Value
  readonly preference: (chosen: Answer, rejected: Answer) => Value
}

interface PairSettings {
  readonly beta: number
  /** Weight of the chosen answers' log-likelihood per token of the minibatch. */
  readonly nllAlpha: number
}

/** The mean of what pairs cost, less the weighted log-likelihood per token of the chosen answers. */
export function pairLoss(
  minibatch: readonly LearningRow[],
  { beta, nllAlpha }: PairSettings,
  { scoreOf, preference }: PairForm,
): LossFormula {
  const chosenOnes = minibatch.filter((_, i) => i % 2 === 0)
  const pairs = Math.max(chosenOnes.length, 1)
  const chosenTokens = Math.max(actionTotal(chosenOnes), 1)
  const answerOf = (answer: Tokens): Answer => ({ score: scoreOf(answer), tokens: answer.positions.length })
  return (chosen, rejected?: Tokens) => {
    if (rejected?.trajectory.group !== chosen.trajectory.group)
      throw new Error('Expected a rejected answer after each chosen one.')
    const [better, worse] = [answerOf(chosen), answerOf(rejected)]
    const likelihood = sum(chosen.logp)
    return {
      loss: subtract(
        multiply(preference(better, worse), 1 / pairs),
        multiply(likelihood, nllAlpha / chosenTokens),
      ),
      metrics: pairMetrics([chosen, better], [rejected, worse], beta),
    }
  }
}

/** [1] log π − log π_ref, summed over the answer. */
export function logRatioOf({ logp, refLogp }: Tokens): Value {
  if (refLogp === null) throw new Error('Expected the reference’s log-probabilities of every row.')
  return sum(subtract(logp, refLogp))
}

/** [1] log-probability of the answer, per token. */
export const meanLogprobOf = ({ logp }: Tokens): Value => mean(logp)

function pairMetrics(
  [chosen, better]: readonly [Tokens, Answer],
  [rejected, worse]: readonly [Tokens, Answer],
  beta: number,
): Tallies {
  const margin = beta * (better.score.data[0]! - worse.score.data[0]!)
  return {
    ...answerMetrics('chosen', chosen, beta * better.score.data[0]!),
    ...answerMetrics('rejected', rejected, beta * worse.score.data[0]!),
    'rewards/margins': { sum: margin, count: 1 },
    'rewards/accuracies': { sum: margin > 0 ? 1 : 0, count: 1 },
  }
}

/** Implicit reward and log-probability of a chosen (good) or rejected (bad) answer. */
export function answerMetrics(
  side: 'chosen' | 'rejected',
  { logp, positions }: Tokens,
  reward: number,
): Tallies {
  const total = sum(logp).data[0]!
  return {
    [`rewards/${side}`]: { sum: reward, count: 1 },
    [`logps/${side}`]: { sum: total, count: 1 },
    ...(side === 'chosen' && { surprisal: { sum: -total, count: positions.length } }),
  }
}
