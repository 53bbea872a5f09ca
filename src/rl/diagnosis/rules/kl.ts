import type { Finding, Proposal } from '#shared/diagnosis.ts'
import { klBound } from '../collapse.ts'
import { type DiagnosedRun, type Measured, seriesOf, averageOf, evidence, medianOf } from '../diagnosedRun.ts'
import { rewardScaleOf, spanOf, placeOn, perhaps, rewardRise } from '../rewardScale.ts'
import { changeSetting, numberSettingOf, restartSlower, short } from '../rule.ts'

/** Steps that have to agree: the estimate of a single one may be off by any factor. */
const latest = 5
const enough = 10
const factor = 10
/** Nats per token: below it a tenfold rise is what learning looks like. */
const harmless = 0.5
/** Share of the reward scale that counts as a fall. */
const fallen = 0.1

/** The policy moves away from the reference much faster than before. */
export function klRunaway(run: DiagnosedRun): Finding[] {
  const series = seriesOf(run, 'kl')
  const now = series.slice(-latest)
  if (series.length < enough) return []
  const [size, usual] = [medianOf(now), medianOf(series)]
  const limit = Math.min(klBound, Math.max(harmless, factor * usual))
  if (!now.every(({ value }) => value > limit)) return []
  const begin = series.find(({ value }) => value > limit)
  return [
    {
      id: 'kl-runaway',
      severity: hasFallen(run, now) ? 'problem' : 'warning',
      words: `The policy is running away from the reference: ${short(size)} nats per token in the last steps, up from a typical ${short(usual)}. Rewards tend to break down next.`,
      evidence: [evidence('kl, median', now, size), evidence('kl, median', series, usual)],
      proposals: [restartSlower(run, (begin?.step ?? now[0]?.step ?? 0) - 1, 3), ...heavierKl(run)],
    },
  ]
}

function hasFallen(run: DiagnosedRun, now: readonly Measured[]): boolean {
  const rewards = seriesOf(run, 'reward')
  const best = rewards.reduce(
    (highest, _, i) => Math.max(highest, averageOf(rewards.slice(Math.max(0, i - latest + 1), i + 1))),
    -Infinity,
  )
  const end = rewards.slice(-now.length)
  return best - averageOf(end) > fallen * spanOf(rewardScaleOf(run))
}

function heavierKl(run: DiagnosedRun): Proposal[] {
  const weight = numberSettingOf(run, 'klCoefficient')
  if (weight === null) return []
  const heavier = weight === 0 ? 0.01 : Number((5 * weight).toPrecision(2))
  return [changeSetting(`Raise the KL coefficient (β) to ${heavier}.`, 'klCoefficient', heavier)]
}

const stepsToJudge = 20
/** A nat away from the reference costs as much as the whole span of a usual reward; 0.001 to 0.1 is usual. */
const heavy = 1
/** Place on the reward scale above which there is little to gain. */
const good = 0.9

/** Nats per token, median: a policy that learns is tens of times as far from the reference by then. */
const still = 0.02

/** The policy is held so close to the reference that it cannot learn. */
export function klTooHeavy(run: DiagnosedRun): Finding[] {
  const weight = numberSettingOf(run, 'klCoefficient') ?? 0
  const rewards = seriesOf(run, 'reward')
  const kl = seriesOf(run, 'kl').slice(-stepsToJudge / 2)
  if (weight < heavy || rewards.length < stepsToJudge || !(medianOf(kl) < still)) return []
  const { rise, error } = rewardRise(run, rewards)
  const isLearned = placeOn(rewardScaleOf(run), averageOf(rewards.slice(-stepsToJudge / 2))) >= good
  if (rise > perhaps * error || isLearned) return []
  return [
    {
      id: 'kl-too-heavy',
      severity: 'problem',
      words: `With a KL coefficient (β) of ${short(weight)} the loss is nearly all divergence, and the reward does not rise: the policy cannot move away from the reference. 0.001 to 0.1 is usual.`,
      evidence: [
        evidence('reward, second half less first', rewards, rise),
        evidence('kl, median', kl, medianOf(kl)),
      ],
      proposals: [changeSetting('Lower the KL coefficient (β) to 0.01.', 'klCoefficient', 0.01)],
    },
  ]
}
