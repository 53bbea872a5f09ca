import type { Finding } from '#shared/diagnosis.ts'
import { perhaps, rewardRise } from '../chance.ts'
import { type DiagnosedRun, seriesOf } from '../diagnosedRun.ts'
import { placeOn, rewardScaleOf } from '../rewardScale.ts'
import { changeSetting, numberSettingOf, short } from '../rule.ts'
import { averageOf, evidence, medianOf } from '../series.ts'

const enough = 20
/** A nat away from the reference costs as much as the whole span of a usual reward; 0.001 to 0.1 is usual. */
const heavy = 1
/** There is little to gain above this place on the reward scale. */
const good = 0.9

/** Nats per token, median: a policy that learns is tens of times as far from the reference by then. */
const still = 0.02

/** The policy is held so near to the reference that it cannot learn. */
export function klTooHeavy(run: DiagnosedRun): Finding[] {
  const weight = numberSettingOf(run, 'klCoefficient') ?? 0
  const rewards = seriesOf(run, 'reward')
  const kl = seriesOf(run, 'kl').slice(-enough / 2)
  if (weight < heavy || rewards.length < enough || !(medianOf(kl) < still)) return []
  const { rise, error } = rewardRise(run, rewards)
  const isLearned = placeOn(rewardScaleOf(run), averageOf(rewards.slice(-enough / 2))) >= good
  if (rise > perhaps * error || isLearned) return []
  return [
    {
      id: 'kl-too-heavy',
      severity: 'problem',
      words: `With a KL coefficient (β) of ${short(weight)} the loss is nearly all divergence, and the reward does not rise: the policy cannot leave the reference. 0.001 to 0.1 is usual.`,
      evidence: [
        evidence('reward, second half less first', rewards, rise),
        evidence('kl, median', kl, medianOf(kl)),
      ],
      proposals: [changeSetting('Lower the KL coefficient (β) to 0.01.', 'klCoefficient', 0.01)],
    },
  ]
}
