/** Settings shared by the algorithms that give a whole trajectory one advantage: RLOO, ReMax, REINFORCE++ with baseline. */
import { numberSetting, optionalNumberSetting } from '#shared/settings.ts'
import { lengthSettings } from './lengthShaping.ts'

const rewardClipRange = optionalNumberSetting({
  default: null,
  minimum: Number.MIN_VALUE,
  description: 'Limits rewards to ± this; null is off.',
})

export const symmetricClip = numberSetting({
  default: 0.2,
  minimum: 0,
  description: 'How far the importance ratio may leave 1.',
})

/** β as part of the reward. */
export const klInReward = (initial: number) =>
  numberSetting({
    default: initial,
    minimum: 0,
    description:
      'Weight β of the divergence from the reference policy, subtracted from rewards; 0 needs no reference pass.',
  })

export const trajectorySettings = { rewardClipRange, ...lengthSettings } as const
