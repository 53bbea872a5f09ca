import type { Finding, Proposal } from '#shared/diagnosis.ts'
import { perhaps, rewardRise } from '../chance.ts'
import { exploded, riseOf, type Uncertainty, uncertaintiesOf, uncertaintyOf } from '../collapse.ts'
import { type DiagnosedRun, seriesOf } from '../diagnosedRun.ts'
import { numberSettingOf, restart, restartSlower, short } from '../rule.ts'
import { averageOf, evidence, trendOf } from '../series.ts'

/** Advantages are about 1 in size: from here on a bonus on entropy counts as much as the reward does. */
export const largeBonus = 0.1
/** Nats that count beside none; a policy that learns becomes surer. */
const noticeable = 0.1

/** The policy knows less and less what to say, though there was no reward to lose. */
export function entropyExplosion(run: DiagnosedRun): Finding[] {
  const uncertainty = uncertaintyOf(run)
  if (uncertainty === null) return []
  if (riseOf(uncertainty) <= exploded && !isDriven(run, uncertainty)) return []
  const { name, start, end } = uncertainty
  const step = start.at(-1)?.step ?? 0
  return [
    {
      id: 'entropy-explosion',
      severity: 'problem',
      words: `The policy’s ${name} rose from ${short(averageOf(start))} to ${short(averageOf(end))} nats per token: it now chooses among ${short(Math.exp(riseOf(uncertainty)))} times as many tokens, on the way to choosing at random.${bonusWords(run)}`,
      evidence: [evidence(name, start), evidence(name, end)],
      proposals: [...lessBonus(run, step), restartSlower(run, step)],
    },
  ]
}

/** By the bonus in the loss, while the reward gains nothing. */
function isDriven(run: DiagnosedRun, { end }: Uncertainty): boolean {
  const rewards = seriesOf(run, 'reward')
  if (bonusOf(run) < largeBonus || rewards.length < 2 * end.length) return false
  const [reward, uncertainty] = [rewardRise(run, rewards), trendOf(uncertaintiesOf(run).series)]
  const isUnpaid = reward.rise <= perhaps * reward.error
  return isUnpaid && uncertainty.rise > Math.max(noticeable, perhaps * uncertainty.error)
}

const bonusOf = (run: DiagnosedRun): number => numberSettingOf(run, 'entropyCoefficient') ?? 0

const bonusWords = (run: DiagnosedRun): string =>
  bonusOf(run) >= largeBonus ? ` The entropy bonus of ${short(bonusOf(run))} outweighs the reward.` : ''

function lessBonus(run: DiagnosedRun, step: number): Proposal[] {
  const bonus = bonusOf(run)
  const less = Number((bonus / 100).toPrecision(2))
  return bonus === 0
    ? []
    : [restart(run, step, `an entropy bonus of ${less}`, { 'algorithm.settings.entropyCoefficient': less })]
}
