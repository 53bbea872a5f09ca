import type { Finding, Proposal } from '#shared/diagnosis.ts'
import { type DiagnosedRun, type Measured, seriesOf, averageOf, evidence } from '../diagnosedRun.ts'
import { placeOn, rewardScaleOf } from '../rewardScale.ts'
import { change, lookAtSamples, percent, short } from '../rule.ts'

const window = 10
export const tooManyAlike = 0.8
/** Places on the reward scale from which a whole window counts as right or as wrong. */
const [wrong, right] = [0.25, 0.75]

/** Finds that most groups have one reward for all: no completion is better than the others of its prompt. */
export function groupCollapse(run: DiagnosedRun): Finding[] {
  const alike = seriesOf(run, 'frac_reward_zero_std').slice(-window)
  const rewards = seriesOf(run, 'reward').slice(-window)
  if (alike.length < window || rewards.length === 0 || averageOf(alike) <= tooManyAlike) return []
  const place = placeOn(rewardScaleOf(run), averageOf(rewards))
  const facts = [evidence('frac_reward_zero_std', alike), evidence('reward', rewards)]
  const share = percent(averageOf(alike))
  const found = { share, reward: averageOf(rewards), facts }
  if (place >= right) return [allRight(run, found)]
  if (place <= wrong) return [allWrong(run, found)]
  return [mixed(run, rewards, share, facts)]
}

interface Found {
  /** Share of the groups, as text. */
  readonly share: string
  readonly reward: number
  readonly facts: Finding['evidence']
}

/**
 * Finding for groups that are all right: what the run has learned is no fault of it, but rows that taught nothing from
 * the start are.
 */
const allRight = (run: DiagnosedRun, { share, reward, facts }: Found): Finding => ({
  id: 'groups-all-right',
  severity: hasLearned(run) ? 'note' : 'warning',
  words: `In ${share} of the groups all completions got the same reward, and it is high (${short(reward)} on average), so there is nothing left to learn from these rows.`,
  evidence: facts,
  proposals: [change('Train on harder rows, or end the run here.', {})],
})

const hasLearned = (run: DiagnosedRun): boolean =>
  placeOn(rewardScaleOf(run), averageOf(seriesOf(run, 'reward').slice(0, window / 2))) < right

const allWrong = (run: DiagnosedRun, { share, reward, facts }: Found): Finding => ({
  id: 'groups-all-wrong',
  severity: 'problem',
  words: `In ${share} of the groups all completions got the same reward, and it is low (${short(reward)} on average), so there is nothing to learn from.`,
  evidence: facts,
  proposals: [
    change('Train on easier rows, or give partial credit.', {}),
    change('Warm up on demonstrations first (sft), so that some completions are right.', {}),
    ...moreVaried(run),
  ],
})

const mixed = (
  run: DiagnosedRun,
  rewards: readonly Measured[],
  share: string,
  facts: Finding['evidence'],
): Finding => ({
  id: 'groups-alike',
  severity: 'warning',
  words: `In ${share} of the groups all completions got the same reward, so there is little to learn from: prompts are either always or never solved, or the reward has too few levels.`,
  evidence: facts,
  proposals: [
    lookAtSamples('Check whether completions of one prompt differ at all.', rewards),
    ...moreVaried(run),
    change('Leave out rows that are always or never solved.', {}),
  ],
})

function moreVaried({ facts: { temperature, groupSize } }: DiagnosedRun): Proposal[] {
  const warmer = Number((temperature + 0.2).toFixed(2))
  return [
    ...(temperature < 1.2
      ? [change(`Raise the temperature to ${warmer}.`, { 'rollout.temperature': warmer })]
      : []),
    change(`Make groups larger: ${2 * groupSize} completions.`, { 'rollout.groupSize': 2 * groupSize }),
  ]
}
