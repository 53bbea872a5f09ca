import { choiceSetting, flagSetting, numberSetting, optionalNumberSetting } from '#shared/settings.ts'
import { clipBounds, clipConflicts } from './losses/clipping.ts'
import { generalizedAdvantages } from './common/generalizedAdvantages.ts'
import { ratioLimitSetting } from './common/groupSettings.ts'
import { klClampSetting, klEstimatorSetting } from './losses/kl.ts'
import { sumOfTerms } from './losses/lossTerm.ts'
import { noNeeds } from './common/needs.ts'
import { entropyBonus, klPenalty, surprisal } from './losses/penalties.ts'
import { rewardPlacementSetting } from './common/rewardTokens.ts'
import { symmetricClip } from './common/trajectorySettings.ts'
import { resolveAdvantageGranularity, type ReturnGranularity, turnOfTokens } from './common/turns.ts'
import { poolingAt, turnRatioPoolingSetting } from './common/units.ts'
import { unitSurrogate } from './losses/unitSurrogate.ts'
import { valueLoss } from './losses/valueLoss.ts'
import { defineAlgorithm } from './define.ts'
import type { LearningRow } from './types.ts'

/**
 * Proximal Policy Optimization: a critic tells what was to be expected. Schulman et al. 2017, arXiv:1707.06347, with
 * advantages of Schulman et al. 2016, arXiv:1506.02438. Turns or tokens are the steps of the episode.
 */
export const ppo = defineAlgorithm({
  id: 'ppo',
  title: 'PPO',
  description: 'A critic learns what to expect; what turns out better than expected becomes likelier.',
  source: 'Schulman et al. 2017, arXiv:1707.06347',
  experience: 'rollout',
  groupSize: { default: 1, minimum: 1 },
  settings: {
    klCoefficient: numberSetting({
      default: 0.01,
      minimum: 0,
      description:
        'Weight β of the divergence from the reference policy in the loss; 0 needs no reference pass.',
    }),
    klEstimator: klEstimatorSetting,
    klClamp: klClampSetting,
    clipCoefficient: symmetricClip,
    ratioLimit: ratioLimitSetting,
    discount: numberSetting({
      default: 1,
      minimum: 0,
      maximum: 1,
      description: 'γ from turn to turn or token to token.',
    }),
    gaeLambda: numberSetting({
      default: 1,
      minimum: 0,
      maximum: 1,
      description: 'λ: 1 trusts the rewards that came, 0 the critic.',
    }),
    valueCoefficient: numberSetting({
      default: 0.5,
      minimum: 0,
      description: 'Weight of the critic’s loss.',
    }),
    valueClipCoefficient: optionalNumberSetting({
      default: null,
      minimum: 0,
      description: 'How far a value may move from what it was before the update; null: as clipCoefficient.',
    }),
    advantageGranularity: choiceSetting(
      ['auto', 'turn', 'token'],
      'auto',
      'Whether turns or tokens are the steps; auto is tokens only when every trajectory has one turn.',
    ),
    importanceSamplingLevel: choiceSetting(
      ['auto', 'token', 'turn', 'trajectory'],
      'auto',
      'Which tokens share one importance ratio; auto is what advantages are for, see turnLevelClip.',
    ),
    turnLevelClip: flagSetting(
      true,
      'With importanceSamplingLevel auto: turns share a ratio where they are the steps; false: every token has its own.',
    ),
    turnRatioPooling: turnRatioPoolingSetting,
    turnValueReduction: choiceSetting(
      ['final-value', 'mean'],
      'final-value',
      'The value of a turn: that of its last token, or the mean.',
    ),
    whitenAdvantages: flagSetting(true, 'Standardises advantages over the batch.'),
    rewardPlacement: rewardPlacementSetting,
    entropyCoefficient: numberSetting({
      default: 0,
      minimum: 0,
      description: 'Weight of a bonus on the policy’s entropy, against giving up exploring; 0 is off.',
    }),
  },
  conflicts: ({ clipCoefficient, ratioLimit }) => clipConflicts(clipCoefficient, ratioLimit),
  needs: ({ klCoefficient, entropyCoefficient }) => ({
    ...noNeeds,
    ratio: true,
    reference: klCoefficient !== 0,
    values: true,
    entropyGradient: entropyCoefficient !== 0,
  }),
  advantages: (batch, settings) =>
    generalizedAdvantages(batch, { ...settings, granularity: settings.advantageGranularity }),
  minibatchLoss(minibatch, settings) {
    const granularity = granularityOf(minibatch, settings.advantageGranularity)
    const automatic = settings.turnLevelClip ? granularity : 'token'
    const level = settings.importanceSamplingLevel === 'auto' ? automatic : settings.importanceSamplingLevel
    return sumOfTerms([
      unitSurrogate(minibatch, {
        level,
        pooling: poolingAt(level, settings.turnRatioPooling),
        bounds: clipBounds(settings.clipCoefficient, settings.ratioLimit),
      }),
      valueLoss(minibatch, {
        granularity,
        reduction: settings.turnValueReduction,
        coefficient: settings.valueCoefficient,
        clipCoefficient: settings.valueClipCoefficient ?? settings.clipCoefficient,
      }),
      klPenalty(minibatch, settings.klCoefficient, settings),
      entropyBonus(minibatch, settings.entropyCoefficient),
      surprisal,
    ])
  },
})

/** A minibatch may hold single turns only although the batch it is from does not. */
function granularityOf(
  minibatch: readonly LearningRow[],
  setting: 'auto' | ReturnGranularity,
): ReturnGranularity {
  return minibatch[0]?.granularity ?? resolveAdvantageGranularity(setting, minibatch.map(turnOfTokens))
}
