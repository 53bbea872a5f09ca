import { choiceSetting, numberSetting } from '#shared/settings.ts'
import { clipBounds } from './common/clipping.ts'
import { returnAdvantages } from './common/returnAdvantages.ts'
import { addTallies, type Tallies } from './common/tally.ts'
import { unitSurrogate } from './common/unitSurrogate.ts'
import { ratioLevelSetting } from './common/units.ts'
import { defineAlgorithm } from './define.ts'
import type { LossRow } from './types.ts'

/**
 * REINFORCE with return batch normalisation: returns standardised over the batch instead of a baseline, clipped ratio.
 * Williams 1992; normalisation as in Hu et al. 2025, arXiv:2501.03262.
 */
export const reinforce = defineAlgorithm({
  id: 'reinforce',
  title: 'REINFORCE',
  description: 'One completion per prompt; what returns more than the batch average becomes likelier.',
  source: 'Williams 1992; Hu et al. 2025, arXiv:2501.03262',
  experience: 'rollout',
  groupSize: { default: 1, minimum: 1 },
  settings: {
    klCoefficient: numberSetting({
      default: 0.01,
      minimum: 0,
      description:
        'Weight β of the divergence from the reference policy, subtracted from rewards; 0 needs no reference pass.',
    }),
    clipCoefficient: numberSetting({
      default: 0.2,
      minimum: 0,
      description: 'How far the importance ratio may leave 1.',
    }),
    discount: numberSetting({
      default: 1,
      minimum: 0,
      maximum: 1,
      description: 'γ from turn to turn or token to token.',
    }),
    advantageGranularity: choiceSetting(
      ['auto', 'turn', 'token'],
      'auto',
      'Returns per turn or per token; auto is per token only when every trajectory has one turn.',
    ),
    rewardPlacement: choiceSetting(
      ['every-token', 'terminal'],
      'every-token',
      'Per-token returns: whether a turn’s reward counts on each of its tokens or only on the last.',
    ),
    importanceSamplingLevel: ratioLevelSetting,
    turnRatioPooling: choiceSetting(
      ['sum', 'mean'],
      'sum',
      'How the log-ratios of a turn’s tokens become one.',
    ),
  },
  needs: ({ klCoefficient }) => ({
    behavior: klCoefficient !== 0,
    reference: klCoefficient !== 0,
    values: false,
    entropyGradient: false,
    unit: 1,
  }),
  advantages: (batch, settings) =>
    returnAdvantages(batch, { ...settings, granularity: settings.advantageGranularity }),
  minibatchLoss(minibatch, { importanceSamplingLevel, turnRatioPooling, clipCoefficient }) {
    const bounds = clipBounds(clipCoefficient)
    const surrogate = unitSurrogate(minibatch, { level: importanceSamplingLevel, turnRatioPooling, bounds })
    return (part) => {
      const rows = part.map(surrogate)
      return {
        loss: rows.reduce((sum, { loss }) => sum + loss, 0),
        coefficients: rows.map(({ slopes }) => ({ logprobs: slopes, entropies: null, values: null })),
        tallies: addTallies(rows.map(({ losses, clipped }, i) => rowTallies(part[i]!, { losses, clipped }))),
      }
    }
  },
})

function rowTallies(
  row: LossRow,
  { losses, clipped }: Pick<ReturnType<ReturnType<typeof unitSurrogate>>, 'losses' | 'clipped'>,
): Tallies {
  let [count, surprisal, divergence] = [0, 0, 0]
  row.actionMask.forEach((isAction, t) => {
    if (isAction !== 1) return
    count += 1
    surprisal -= row.logprobs[t]!
    divergence += row.logprobs[t]! - (row.referenceLogprobs?.[t] ?? 0)
  })
  return {
    policy_loss: losses,
    'clip_ratio/region_mean': clipped,
    surprisal: { sum: surprisal, count },
    ...(row.referenceLogprobs === null ? {} : { kl: { sum: divergence, count } }),
  }
}
