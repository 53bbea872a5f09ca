/** Settings, needs and wiring shared by the algorithms that compare trajectories of one prompt. */
import {
  choiceSetting,
  flagSetting,
  numberOrPairSetting,
  numberSetting,
  optionalNumberSetting,
  type SettingsOf,
} from '#shared/settings.ts'
import type { Advantages, Experience, GroupAcceptance, Needs } from '../types.ts'
import { clipBounds } from '../losses/clipping.ts'
import { acceptanceSettings, groupAcceptance } from './groupAcceptance.ts'
import { groupAdvantages } from './groupAdvantages.ts'
import type { GroupSurrogate } from '../losses/groupSurrogate.ts'
import { klClampSetting, klEstimatorSetting } from '../losses/kl.ts'
import { lengthSettings } from './lengthShaping.ts'
import { noNeeds } from './needs.ts'
import type { RatioLevel } from './units.ts'

export const groupSize = { default: 8, minimum: 2 }

export const groupSettings = {
  klCoefficient: numberSetting({
    default: 0.001,
    minimum: 0,
    description: 'Weight β of the divergence from the reference policy; 0 needs no reference pass.',
  }),
  klAdvantageShaping: flagSetting(
    false,
    'Lets the divergence move the advantages instead of adding it to the loss.',
  ),
  klEstimator: klEstimatorSetting,
  klImportanceWeighting: flagSetting(
    true,
    'Multiplies the KL term by the importance ratio, so that its gradient is unbiased also after the first update of a step.',
  ),
  klClamp: klClampSetting,
  advantageNorm: choiceSetting(
    ['mean-std', 'mean-batch-std', 'mean-only'],
    'mean-std',
    'Rewards are centred in their group, then divided by the spread of the group, of the whole batch, or not at all.',
  ),
  advantageGranularity: choiceSetting(
    ['auto', 'trajectory', 'turn'],
    'auto',
    'One advantage per trajectory or one per turn; auto follows the level of the importance ratio.',
  ),
  turnAdvantageFallback: flagSetting(
    true,
    'A turn that only one trajectory of the group reached takes that trajectory’s advantage instead of 0.',
  ),
  whitenAdvantages: flagSetting(false, 'Standardises advantages once more over the whole batch.'),
  advantageClipRange: optionalNumberSetting({
    default: null,
    minimum: Number.MIN_VALUE,
    description: 'Limits advantages to ± this; null is off.',
  }),
  filterZeroAdvantages: flagSetting(
    false,
    'Leaves out trajectories that teach nothing, such as equal rewards.',
  ),
  advantageFilterEpsilon: numberSetting({
    default: 0,
    minimum: 0,
    description: 'An advantage counts as zero up to this size.',
  }),
  lossNorm: choiceSetting(
    ['trajectory-mean', 'token-mean', 'constant-length'],
    'trajectory-mean',
    'Whether every trajectory weighs the same (GRPO), every token of the minibatch (DAPO, BNPO), or every token of the run (Dr. GRPO).',
  ),
  topEntropyShare: numberSetting({
    default: 1,
    minimum: 0.01,
    maximum: 1,
    description: 'Only this share of tokens, those with the highest entropy, learns from rewards; 1 is all.',
  }),
  entropyCoefficient: numberSetting({
    default: 0,
    minimum: 0,
    description:
      'Weight of a bonus on the policy’s mean entropy per token, against giving up exploring; 0 is off.',
  }),
  offPolicyThreshold: optionalNumberSetting({
    default: null,
    minimum: 0,
    description:
      'A trajectory the policy has become less likely to write, by more than this many nats per token on average, no longer teaches by negative advantages; null is off.',
  }),
  ...lengthSettings,
  ...acceptanceSettings,
} as const

/** For the algorithms whose surrogate is clipped by a minimum. */
export const clipSetting = numberOrPairSetting({
  default: 0.2,
  description: 'How far the importance ratio may leave 1: c for [1−c, 1+c], or the two bounds themselves.',
})

/** For the same; CISPO bounds every ratio already. */
export const ratioLimitSetting = optionalNumberSetting({
  default: null,
  minimum: 1,
  description:
    'Two-sided clip: bounds the ratio itself, so that a token with a negative advantage costs at most this many times it; null is off.',
})

export type GroupSettings = SettingsOf<typeof groupSettings>

export function groupNeeds({ klCoefficient, topEntropyShare, entropyCoefficient }: GroupSettings): Needs {
  return {
    ...noNeeds,
    ratio: true,
    behaviorEntropies: topEntropyShare < 1,
    reference: klCoefficient !== 0,
    entropyGradient: entropyCoefficient !== 0,
  }
}

const granularityAt = ({ advantageGranularity }: GroupSettings, level: RatioLevel): 'trajectory' | 'turn' => {
  if (advantageGranularity !== 'auto') return advantageGranularity
  return level === 'turn' ? 'turn' : 'trajectory'
}

export const acceptanceAtLevel = (settings: GroupSettings, level: RatioLevel): GroupAcceptance | null =>
  groupAcceptance(settings, granularityAt(settings, level))

export function advantagesAtLevel(
  batch: readonly Experience[],
  settings: GroupSettings,
  level: RatioLevel,
): Advantages {
  return groupAdvantages(batch, {
    ...settings,
    granularity: granularityAt(settings, level),
    turnFallback: settings.turnAdvantageFallback,
  })
}

/** −min(ρA, clip(ρ)A) within the bounds of the settings. */
export const clippedWithin = ({
  clipCoefficient,
  ratioLimit,
}: SettingsOf<{
  clipCoefficient: typeof clipSetting
  ratioLimit: typeof ratioLimitSetting
}>): GroupSurrogate => ({
  kind: 'clipped',
  bounds: clipBounds(clipCoefficient, ratioLimit),
})
