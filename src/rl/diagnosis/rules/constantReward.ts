import type { Finding, FindingSeverity } from '#shared/diagnosis.ts'
import { type DiagnosedRun, type Measured, seriesOf, stepsOf } from '../diagnosedRun.ts'
import type { RewardFact } from '../facts.ts'
import { isPenalty } from '../rewardScale.ts'
import { look, short } from '../rule.ts'
import { evidence } from '../series.ts'
import { earnsNothing, isFormatReward } from './formatMismatch.ts'

/** A sound function tells hundreds of completions apart within so many steps, if it ever does. */
const window = 10

/** A reward function that says the same of every completion teaches nothing. */
export const constantReward = (run: DiagnosedRun): Finding[] =>
  weighted(run).flatMap((reward) => silence(run, reward))

function silence(run: DiagnosedRun, reward: RewardFact): Finding[] {
  const all = seriesOf(run, `rewards/${reward.name}/mean`)
  const { means, spreads } = lastOf(run, reward.name)
  if (means.length === 0) return neverApplied(run, reward)
  if (!areConstant(means, spreads) || isNamedElsewhere(run, reward)) return []
  const constant = means[0]?.value ?? 0
  const others = all.filter(({ value }) => !isSame(value, constant))
  const facts = [
    evidence(`rewards/${reward.name}/mean`, means),
    evidence(`rewards/${reward.name}/std`, spreads),
  ]
  if (others.length === 0) {
    const words = alwaysWords(run, reward, constant)
    return [finding(reward, severityOf(run, reward, constant), { words, facts })]
  }
  // What has been learned and now holds is no fault.
  if (others.every(({ value }) => value < constant)) return []
  const words = `The reward “${reward.name}” used to tell completions apart and is now ${short(constant)} for every one of them.`
  return [finding(reward, 'warning', { words, facts })]
}

function alwaysWords(run: DiagnosedRun, reward: RewardFact, constant: number): string {
  if (isPenalty(reward) && constant === 0)
    return `The penalty “${reward.name}” is 0 for every completion, which is its best value: none has earned it.`
  const so = isWholeReward(run)
    ? 'so all advantages are 0 and nothing can be learned'
    : 'so it teaches nothing'
  return `The reward “${reward.name}” is ${short(constant)} for every completion, ${so}.`
}

const weighted = (run: DiagnosedRun): RewardFact[] => run.facts.rewards.filter(({ weight }) => weight !== 0)

/** No part of the reward tells completions apart. */
const isWholeReward = (run: DiagnosedRun): boolean =>
  weighted(run).every(({ name }) => {
    const { means, spreads } = lastOf(run, name)
    return areConstant(means, spreads)
  })

/** A penalty of 0 is at its best, and so is a reward at its ceiling; neither is a fault beside parts that vary. */
function severityOf(run: DiagnosedRun, reward: RewardFact, constant: number): FindingSeverity {
  if (isPenalty(reward) ? constant * reward.weight >= 0 : constant >= 1) return 'note'
  return isWholeReward(run) ? 'problem' : constant > 0 ? 'note' : 'warning'
}

const lastOf = (run: DiagnosedRun, name: string) => ({
  means: seriesOf(run, `rewards/${name}/mean`).slice(-window),
  spreads: seriesOf(run, `rewards/${name}/std`).slice(-window),
})

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
  const words = `The reward “${reward.name}” applies to no completion: it gives no number for any row.`
  const facts = [{ of: `numbers from “${reward.name}”`, value: 0, fromStep: first, toStep: last }]
  return [finding(reward, 'warning', { words, facts })]
}

const finding = (
  { name }: RewardFact,
  severity: FindingSeverity,
  { words, facts }: { readonly words: string; readonly facts: Finding['evidence'] },
): Finding => ({
  id: 'constant-reward',
  severity,
  words,
  evidence: facts,
  proposals: [
    look(`Run “${name}” on the latest samples and see what it gives and why.`, { kind: 'reward', name }),
  ],
})

const isNamedElsewhere = (run: DiagnosedRun, reward: RewardFact): boolean =>
  isFormatReward(reward) && earnsNothing(run, reward)

const isSame = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(b))
