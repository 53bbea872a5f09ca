import type { Finding } from '#shared/diagnosis.ts'
import { type DiagnosedRun, seriesOf } from '../diagnosedRun.ts'
import { placeOn, rewardScaleOf } from '../rewardScale.ts'
import { changeSetting, numberSettingOf, short } from '../rule.ts'
import { averageOf, evidence, trendOf } from '../series.ts'

const enough = 20
/** A nat away from the reference costs as much as the whole span of a usual reward; 0.001 to 0.1 is usual. */
const heavy = 1
/** There is little to gain above this place on the reward scale. */
const good = 0.9

/** The policy is held so near to the reference that it cannot learn. */
export function klTooHeavy(run: DiagnosedRun): Finding[] {
  const weight = numberSettingOf(run, 'klCoefficient') ?? 0
  const rewards = seriesOf(run, 'reward')
  if (weight < heavy || rewards.length < enough) return []
  const { rise, isFlat } = trendOf(rewards)
  if ((rise > 0 && !isFlat) || placeOn(rewardScaleOf(run), averageOf(rewards.slice(-enough / 2))) >= good)
    return []
  return [
    {
      id: 'kl-too-heavy',
      severity: 'problem',
      words: `With a KL coefficient (β) of ${short(weight)} the loss is nearly all divergence, and the reward does not rise: the policy cannot leave the reference. 0.001 to 0.1 is usual.`,
      evidence: [
        evidence('reward, second half less first', rewards, rise),
        evidence('kl', seriesOf(run, 'kl').slice(-enough / 2)),
      ],
      proposals: [changeSetting('Lower the KL coefficient (β) to 0.01.', 'klCoefficient', 0.01)],
    },
  ]
}
