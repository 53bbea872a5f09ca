import type { Finding, FindingSeverity } from '#shared/diagnosis.ts'
import { type DiagnosedRun, type Measured, seriesOf, stepsOf } from '../diagnosedRun.ts'
import type { RewardFact } from '../facts.ts'
import { look, short } from '../rule.ts'
import { evidence } from '../series.ts'
import { earnsNothing, isFormatReward } from './formatMismatch.ts'

const window = 20

/** A reward function that says the same of every completion teaches nothing. */
export const deadReward = (run: DiagnosedRun): Finding[] =>
  run.facts.rewards.filter(({ weight }) => weight !== 0).flatMap((reward) => silence(run, reward))

function silence(run: DiagnosedRun, reward: RewardFact): Finding[] {
  const all = seriesOf(run, `rewards/${reward.name}/mean`)
  const means = all.slice(-window)
  const spreads = seriesOf(run, `rewards/${reward.name}/std`).slice(-window)
  if (means.length === 0) return neverApplied(run, reward)
  if (!areConstant(means, spreads) || isNamedElsewhere(run, reward)) return []
  const constant = means[0]?.value ?? 0
  const others = all.filter(({ value }) => !isSame(value, constant))
  const facts = [
    evidence(`rewards/${reward.name}/mean`, means),
    evidence(`rewards/${reward.name}/std`, spreads),
  ]
  if (others.length === 0) {
    const words = `The reward function "${reward.name}" says ${short(constant)} of every completion, so nothing can be learned from it.`
    return [finding(reward, constant > 0 ? 'note' : 'warning', { words, facts })]
  }
  // What has been learned and now holds is no fault.
  if (others.every(({ value }) => value < constant)) return []
  const words = `The reward function "${reward.name}" used to tell completions apart and now says ${short(constant)} of every one of them.`
  return [finding(reward, 'warning', { words, facts })]
}

const areConstant = (means: readonly Measured[], spreads: readonly Measured[]): boolean =>
  means.length === window &&
  spreads.every(({ value }) => isSame(value, 0)) &&
  means.every(({ value }) => isSame(value, means[0]?.value ?? 0))

/** Its answer was always null. */
function neverApplied(run: DiagnosedRun, reward: RewardFact): Finding[] {
  const { first, last } = stepsOf(run)
  const failures = seriesOf(run, 'reward/failures')
  const hasFailed = failures.some(({ value }) => value > 0)
  if (seriesOf(run, 'reward/unscored').length < window || hasFailed) return []
  const words = `The reward function "${reward.name}" applies to no completion: it gives no number for any row.`
  const facts = [{ of: `numbers from "${reward.name}"`, value: 0, fromStep: first, toStep: last }]
  return [finding(reward, 'warning', { words, facts })]
}

const finding = (
  { name }: RewardFact,
  severity: FindingSeverity,
  { words, facts }: { readonly words: string; readonly facts: Finding['evidence'] },
): Finding => ({
  id: 'dead-reward',
  severity,
  words,
  evidence: facts,
  proposals: [
    look(`Try "${name}" on the latest samples and see what it says and why.`, { kind: 'reward', name }),
  ],
})

const isNamedElsewhere = (run: DiagnosedRun, reward: RewardFact): boolean =>
  isFormatReward(reward) && earnsNothing(run, reward)

const isSame = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(b))
