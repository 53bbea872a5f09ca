import { arithmetic, clip } from './terms/differentiable.ts'
import { clipBounds } from './terms/groupSettings.ts'
import { referenceLogRatio, surprisal, surrogateMetrics } from './terms/metrics.ts'
import { symmetricClip, unitMean, unitRatios } from './terms/unitTerms.ts'
import { defineAlgorithm } from './define.ts'
import type { Experience } from './types.ts'

const { minimum, multiply, negative } = arithmetic

/**
 * Distillation on the policy's own completions: each token judged by how much likelier a teacher finds it. The
 * reverse KL per token (k1) is the advantage. Agarwal et al. 2023, arXiv:2306.13649; as a policy gradient Gu et al. 2023,
 * arXiv:2306.08543, without returns.
 */
export const distillation = defineAlgorithm({
  id: 'distillation',
  title: 'Distillation',
  description:
    'Learns from a teacher, a larger model with the same vocabulary, on completions of its own. No rewards are needed.',
  source: 'Agarwal et al. 2023, arXiv:2306.13649',
  experience: 'rollout',
  groupSize: { default: 1, minimum: 1 },
  settings: { clipCoefficient: symmetricClip },
  needs: () => ({ behavior: true, ratio: true, reference: true, teacher: true }),
  // A = log π_teacher − log π_old of each token.
  advantages: (batch) => ({ tokens: batch.map(gainOf), returns: null, kept: batch.map((_, i) => i) }),
  loss(minibatch, { clipCoefficient }) {
    const bounds = clipBounds(clipCoefficient)
    const average = unitMean(minibatch, 'token')
    return (tokens) => {
      const { ratio, advantages: A, correction } = unitRatios(tokens, 'token', 'mean')
      const gain = minimum(multiply(ratio, A), multiply(clip(ratio, bounds), A))
      const loss = negative(multiply(correction, gain))
      return {
        loss: average(loss),
        metrics: {
          ...surrogateMetrics(loss, ratio, bounds),
          ...surprisal(tokens),
          ...referenceLogRatio(tokens),
        },
      }
    }
  },
})

function gainOf({ actionMask, behaviorLogprobs, referenceLogprobs }: Experience): Float64Array {
  if (behaviorLogprobs === null || referenceLogprobs === null)
    throw new Error('Expected the log-probabilities of policy and teacher of every row.')
  return Float64Array.from(actionMask, (isAction, t) =>
    isAction === 1 ? referenceLogprobs[t]! - behaviorLogprobs[t]! : 0,
  )
}
