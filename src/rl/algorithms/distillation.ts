import {
  choiceSetting,
  maxLikeliest,
  numberSetting,
  parseSettings,
  type SettingsOf,
} from '#shared/config/settings.ts'
import { arithmetic, clip } from './terms/differentiable.ts'
import { alternativesOf, teacherDivergence } from './terms/distribution.ts'
import { clipBounds } from './terms/groupSettings.ts'
import type { LossFormula } from './terms/loss.ts'
import { referenceLogRatio, surprisal, surrogateMetrics } from './terms/metrics.ts'
import { tally } from './terms/tally.ts'
import { symmetricClip, unitMean, unitRatios } from './terms/unitTerms.ts'
import { defineAlgorithm } from './define.ts'
import type { Experience, LearningRow } from './types.ts'

const { minimum, multiply, negative } = arithmetic

/** Settings by the way to compare that reads them. */
const settingsOf = {
  sampled: { clipCoefficient: symmetricClip },
  'top-k': {
    jsdBeta: numberSetting({
      default: 0.5,
      minimum: 0,
      maximum: 1,
      description: 'GKD: 0 is the forward KL, 1 the reverse, between them the Jensen–Shannon divergence.',
    }),
    topK: numberSetting({
      default: 64,
      minimum: 1,
      maximum: maxLikeliest,
      integer: true,
      description: 'GKD: tokens of the teacher’s top-k distribution; the rest counts as one token.',
    }),
  },
}

/**
 * Distillation on the policy's own completions. Either each token is judged by how much likelier a teacher finds it: the
 * reverse KL per token (k1) is the advantage, as a policy gradient Gu et al. 2023, arXiv:2306.08543, without returns. Or the
 * policy's distribution of each token is drawn to the teacher's: GKD, Agarwal et al. 2023, arXiv:2306.13649.
 */
export const distillation = defineAlgorithm({
  id: 'distillation',
  title: 'Distillation',
  description:
    'Learns from a teacher, a larger model with the same vocabulary, on completions of its own. No rewards are needed.',
  source: 'Agarwal et al. 2023, arXiv:2306.13649',
  experience: 'rollout',
  groupSize: { default: 1, minimum: 1 },
  settings: {
    ...settingsOf.sampled,
    compares: choiceSetting(
      ['sampled', 'top-k'],
      'sampled',
      'Whether the advantage compares the sampled token, or the loss the distributions over the teacher’s top-k tokens (GKD).',
    ),
    ...settingsOf['top-k'],
  },
  needs: ({ compares, topK }) => ({
    rewards: false,
    reference: true,
    teacher: true,
    ...(compares === 'sampled' ? { behavior: true, ratio: true } : { likeliest: topK }),
  }),
  // A = log π_teacher − log π_old of each token.
  advantages: (batch, { compares }) => ({
    tokens: batch.map(compares === 'sampled' ? gainOf : onesOf),
    returns: null,
    kept: batch.map((_, i) => i),
  }),
  loss: (minibatch, { compares, ...settings }) =>
    compares === 'sampled' ? gainLoss(minibatch, settings) : divergenceLoss(minibatch, settings),
})

/** Changed settings that have no effect, since only the other way to compare reads them; each with that way. */
export function unreadSettings(given: Readonly<Record<string, unknown>>): [name: string, reader: string][] {
  const own = (settings: typeof given): typeof given =>
    parseSettings(distillation.settings, settings, 'algorithm.settings')
  const [values, defaults] = [own(given), own({})]
  const other = values['compares'] === 'sampled' ? 'top-k' : 'sampled'
  const changed = Object.keys(settingsOf[other]).filter((name) => values[name] !== defaults[name])
  return changed.map((name) => [name, `compares: ${other}`])
}

function gainLoss(
  minibatch: readonly LearningRow[],
  { clipCoefficient }: SettingsOf<typeof settingsOf.sampled>,
): LossFormula {
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
}

function divergenceLoss(
  minibatch: readonly LearningRow[],
  { jsdBeta }: SettingsOf<(typeof settingsOf)['top-k']>,
): LossFormula {
  const average = unitMean(minibatch, 'token')
  return (tokens) => {
    const alternatives = alternativesOf(tokens)
    const { divergence, covered } = teacherDivergence(alternatives, jsdBeta)
    const metrics = { divergence: tally(divergence), teacher_coverage: tally({ data: covered }) }
    return {
      loss: average(divergence),
      metrics: { ...metrics, ...surprisal(tokens), ...referenceLogRatio(tokens) },
      likeliest: alternatives.map(({ logp }) => logp),
    }
  }
}

const onesOf = ({ actionMask }: Experience): Float64Array => Float64Array.from(actionMask)

function gainOf({ actionMask, behaviorLogprobs, referenceLogprobs }: Experience): Float64Array {
  if (behaviorLogprobs === null || referenceLogprobs === null)
    throw new Error('Expected the log-probabilities of policy and teacher of every row.')
  return Float64Array.from(actionMask, (isAction, t) =>
    isAction === 1 ? referenceLogprobs[t]! - behaviorLogprobs[t]! : 0,
  )
}
