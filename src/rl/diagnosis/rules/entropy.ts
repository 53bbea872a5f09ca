import type { Evidence, Finding, Proposal } from '#shared/diagnosis.ts'
import { errorOf, levelOf, surely, perhaps, rewardRise, placeOn, rewardScaleOf } from '../rewardScale.ts'
import {
  type DiagnosedRun,
  type Measured,
  samplesSince,
  seriesOf,
  averageOf,
  evidence,
  trendOf,
} from '../diagnosedRun.ts'
import {
  change,
  changeSetting,
  lowerLearningRate,
  numberSettingOf,
  percent,
  restart,
  restartSlower,
  short,
} from '../rule.ts'
import { exploded, riseOf, type Uncertainty, uncertaintiesOf, uncertaintyOf } from '../collapse.ts'

const window = 5
const collapsed = 0.1
const tooFewDistinct = 2
const manyAlike = 0.5
/** A policy that is nearly always right has reason to be sure. */
const solved = 0.9

/** The policy repeats itself before it is good: it has stopped exploring. */
export function entropyCollapse(run: DiagnosedRun): Finding[] {
  const exact = seriesOf(run, 'entropy')
  const [name, series] =
    exact.length > 0 ? (['entropy', exact] as const) : (['surprisal', seriesOf(run, 'surprisal')] as const)
  if (series.length < 2 * window || seriesOf(run, 'reward').length === 0) return []
  const [start, end] = [series.slice(0, window), series.slice(-window)]
  const hasCollapsed = averageOf(end) < collapsed * averageOf(start)
  if (!hasCollapsed || !isSurelyUnsolved(run)) return []
  const alike = sameness(run, end)
  if (alike === null) return []
  return [
    {
      id: 'entropy-collapse',
      severity: 'problem',
      words: `The policy has stopped exploring: its uncertainty is ${percent(averageOf(end) / averageOf(start))} of what it was at the start, and completions of one prompt are nearly identical.`,
      evidence: [evidence(name, start), evidence(name, end), alike],
      proposals: proposals(run),
    },
  ]
}

/** Farther below than it would be by chance, with the prompts that the last steps drew. */
function isSurelyUnsolved(run: DiagnosedRun): boolean {
  const scale = rewardScaleOf(run)
  const reward = levelOf(run, seriesOf(run, 'reward').slice(-2 * window))
  return placeOn(scale, reward.mean + surely * errorOf(scale, reward)) < solved
}

/**
 * Measures how alike the completions of a prompt are: counted in the samples of groups of which several were kept, else
 * taken from the groups whose rewards are equal.
 */
function sameness(run: DiagnosedRun, end: readonly Measured[]): Evidence | null {
  const groups = Map.groupBy(samplesSince(run, end[0]?.step ?? 0), ({ step, row }) => `${step} ${row}`)
  const kept = [...groups.values()].filter(({ length }) => length > 1)
  if (kept.length > 0) {
    const texts = kept.map((group) => new Set(group.map(({ completion }) => completion)))
    const distinct = texts.reduce((sum, { size }) => sum + size, 0) / texts.length
    return distinct < tooFewDistinct ? evidence('distinct completions per prompt', end, distinct) : null
  }
  const equal = seriesOf(run, 'frac_reward_zero_std').slice(-window)
  return equal.length > 0 && averageOf(equal) > manyAlike ? evidence('frac_reward_zero_std', equal) : null
}

function proposals(run: DiagnosedRun): Proposal[] {
  const { temperature, hasClipPair } = run.facts
  const clip = numberSettingOf(run, 'clipCoefficient')
  const warmer = Number((temperature + 0.2).toFixed(2))
  const raised = hasClipPair && clip !== null ? upperClip(clip) : []
  return [
    lowerLearningRate(run, 3),
    change(`Raise the temperature to ${warmer}.`, { 'rollout.temperature': warmer }),
    ...(numberSettingOf(run, 'entropyCoefficient') === 0
      ? [changeSetting('Add an entropy bonus.', 'entropyCoefficient', 0.01)]
      : []),
    ...raised,
  ]
}

/**
 * Proposes a higher upper clip, which lets unlikely tokens gain more than likely ones lose: clip-higher of DAPO,
 * arXiv:2503.14476, §3.1.
 */
function upperClip(clip: number): Proposal[] {
  const bounds = [Number((1 - clip).toFixed(3)), Number((1 + 1.4 * clip).toFixed(3))]
  return [changeSetting(`Raise the upper clip bound to ${bounds[1] ?? 0}.`, 'clipCoefficient', bounds)]
}

/** Advantages are about 1 in size: from here on a bonus on entropy counts as much as the reward does. */
export const largeBonus = 0.1
/** Nats that count beside none; a policy that learns becomes surer. */
const noticeable = 0.1

/** The policy becomes more and more random, although there was no reward to lose. */
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
      words: `The policy’s ${name} rose from ${short(averageOf(start))} to ${short(averageOf(end))} nats per token: it now chooses among ${short(Math.exp(riseOf(uncertainty)))} times as many tokens and is drifting towards random output.${bonusWords(run)}`,
      evidence: [evidence(name, start), evidence(name, end)],
      proposals: [...lessBonus(run, step), restartSlower(run, step)],
    },
  ]
}

/** Returns true if the entropy is driven by the bonus in the loss while the reward gains nothing. */
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
