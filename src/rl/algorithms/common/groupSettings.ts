/** Settings, needs and wiring shared by the algorithms that compare trajectories of one prompt. */
import {
  choiceSetting,
  flagSetting,
  numberOrPairSetting,
  numberSetting,
  optionalNumberSetting,
  type SettingsOf,
} from '#shared/settings.ts'
import type { Advantages, Experience, Needs } from '../types.ts'
import { clipBounds } from './clipping.ts'
import { groupAdvantages } from './groupAdvantages.ts'
import type { GroupLossSettings } from './groupLoss.ts'
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
  clipCoefficient: numberOrPairSetting({
    default: 0.2,
    description: 'How far the importance ratio may leave 1: c for [1−c, 1+c], or the two bounds themselves.',
  }),
  advantageNorm: choiceSetting(
    ['mean-std', 'mean-only'],
    'mean-std',
    'Whether rewards are divided by their spread in the group, or only centred.',
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
    ['trajectory-mean', 'token-mean'],
    'trajectory-mean',
    'Whether every trajectory weighs the same, or every token of the minibatch.',
  ),
} as const

export type GroupSettings = SettingsOf<typeof groupSettings>

export function groupNeeds({ klCoefficient }: GroupSettings): Needs {
  return { behavior: false, reference: klCoefficient !== 0, values: false, entropyGradient: false, unit: 1 }
}

export function advantagesAtLevel(
  batch: readonly Experience[],
  settings: GroupSettings,
  level: RatioLevel,
): Advantages {
  const automatic = level === 'turn' ? 'turn' : 'trajectory'
  const granularity = settings.advantageGranularity === 'auto' ? automatic : settings.advantageGranularity
  return groupAdvantages(batch, { ...settings, granularity, turnFallback: settings.turnAdvantageFallback })
}

export function lossSettings(
  settings: GroupSettings,
  level: RatioLevel,
  surrogate: GroupLossSettings['surrogate'],
): GroupLossSettings {
  return { ...settings, level, surrogate, bounds: clipBounds(settings.clipCoefficient) }
}
