import { numberSetting } from '#shared/config/settings.ts'
import { arithmetic } from './terms/differentiable.ts'
import { answerMetrics, logRatioOf } from './terms/pairs.ts'
import { mean } from './terms/groups.ts'
import { defineAlgorithm } from './define.ts'

const { multiply, sigmoid, subtract } = arithmetic

const weight = (description: string) => numberSetting({ default: 1, minimum: 0, description })

/**
 * Kahneman-Tversky Optimization: raises the likelihood of answers that are marked as good and lowers that of bad ones,
 * relative to the reference policy and to the answers in general. Ethayarajh et al. 2024, arXiv:2402.01306, eq. 7 and 8.
 */
export const kto = defineAlgorithm({
  id: 'kto',
  title: 'KTO',
  description: 'Learns from single answers that are marked as good or bad, without pairs.',
  source: 'Ethayarajh et al. 2024, arXiv:2402.01306',
  experience: 'marks',
  groupSize: { default: 1, minimum: 1 },
  settings: {
    beta: numberSetting({
      default: 0.1,
      minimum: 0,
      description: 'β: the larger, the closer the policy stays to the reference.',
    }),
    desirableWeight: weight(
      'Weight of good answers; times their number, it should be 1 to 4/3 of the same for bad ones.',
    ),
    undesirableWeight: weight('Weight of bad answers.'),
  },
  needs: () => ({ reference: true, mismatched: true }),
  loss(minibatch, { beta, desirableWeight, undesirableWeight }) {
    const rows = Math.max(minibatch.length, 1)
    // z₀: how far the policy is from the reference on answers to other prompts; no gradient flows through it.
    const z0 = Math.max(0, mean(minibatch.map(({ mismatchedLogRatio }) => required(mismatchedLogRatio))))
    return (answer) => {
      const isGood = answer.trajectory.turnRewards[0] === 1
      const logRatio = logRatioOf(answer)
      const gain = multiply(subtract(logRatio, z0), isGood ? beta : -beta)
      const share = (isGood ? desirableWeight : undesirableWeight) / rows
      return {
        loss: multiply(subtract(1, sigmoid(gain)), share),
        metrics: {
          ...answerMetrics(isGood ? 'chosen' : 'rejected', answer, beta * logRatio.data[0]!),
          reference_point: { sum: z0, count: 1 },
        },
      }
    }
  },
})

function required(logRatio: number | null | undefined): number {
  if (logRatio == null) throw new Error('Expected the log-ratio of a mismatched answer for every row.')
  return logRatio
}
