import type { Finding, FindingSeverity } from '#shared/diagnosis.ts'
import {
  type DiagnosedRun,
  type Measured,
  samplesSince,
  seriesOf,
  stepsOf,
  evidence,
  totalOf,
  averageOf,
  spreadOf,
} from '../diagnosedRun.ts'
import { change, look, lookAtSamples, percent, short } from '../rule.ts'
import type { MetricName } from '#shared/metrics.ts'
import { reasonWords } from '#shared/reasons.ts'
import type { RewardFact } from '../facts.ts'
import { isPenalty } from '../rewardScale.ts'
import { earnsNothing, isFormatReward } from './formatMismatch.ts'

const window = 10
/** Share of the trajectories from which failures make learning pointless. */
const grave = 0.1
const tooManyUnscored = 0.5

/** Reward functions that fail, and completions to which none applies. */
export function rewardFailures(run: DiagnosedRun): Finding[] {
  const failures = seriesOf(run, 'reward/failures').slice(-window)
  if (run.failure?.code === 'reward/failed') return [ended(run, run.failure.message)]
  return totalOf(failures) > 0 ? [failed(run, failures)] : unscored(run)
}

function ended(run: DiagnosedRun, message: string): Finding {
  const { last } = stepsOf(run)
  return {
    id: 'reward-failures',
    severity: 'problem',
    words: `A reward function failed and ended the run: ${message}`,
    evidence: [{ of: 'failed reward function', value: 1, fromStep: last + 1, toStep: last + 1 }],
    proposals: [
      change('Correct its code, or leave out completions on which it fails.', { rewardFailures: 'null' }),
    ],
  }
}

function failed(run: DiagnosedRun, failures: readonly Measured[]): Finding {
  const share = totalOf(failures) / trajectoriesIn(run, failures)
  const messages = samplesSince(run, failures[0]?.step ?? 0).flatMap((sample) => sample.failures ?? [])
  const said = messages.length === 0 ? '' : ` They say: ${reasonWords(messages)}`
  const name = run.facts.rewards.find((reward) => messages[0]?.includes(reward.name))?.name
  return {
    id: 'reward-failures',
    severity: share > grave ? 'problem' : 'warning',
    words: `Reward functions failed ${totalOf(failures)} times in the last ${failures.length === 1 ? 'step' : `${failures.length} steps`}, ${percent(share)} of the completions.${said}`,
    evidence: [evidence('reward/failures', failures, totalOf(failures))],
    proposals: [
      lookAtSamples('Look at the samples that failed.', failures),
      ...(name === undefined ? [] : [look(`Correct “${name}”.`, { kind: 'reward', name })]),
    ],
  }
}

function unscored(run: DiagnosedRun): Finding[] {
  const missing = seriesOf(run, 'reward/unscored').slice(-window)
  const share = totalOf(missing) / trajectoriesIn(run, missing)
  if (missing.length === 0 || share <= tooManyUnscored || !run.facts.needsReward) return []
  return [
    {
      id: 'no-reward',
      severity: share > 0.99 ? 'problem' : 'warning',
      words: `No reward function applies to ${percent(share)} of the completions, and completions without a reward take no part in learning.`,
      evidence: [evidence('reward/unscored', missing, totalOf(missing))],
      proposals: [
        lookAtSamples(
          'Look at the samples without a reward; often the column of the expected answer is empty.',
          missing,
        ),
      ],
    },
  ]
}

const trajectoriesIn = ({ facts }: DiagnosedRun, series: readonly Measured[]): number =>
  Math.max(1, facts.promptsPerStep * facts.groupSize * series.length)

const enough = 3
/**
 * Losses weigh rewards against a divergence and an entropy of a few nats, and numbers have seven digits: from here on
 * nothing but the reward counts, and differences between rewards begin to be rounded away.
 */
const absurd = 1e4

/** Rewards so large that they swamp everything else in the loss. */
export function rewardSize(run: DiagnosedRun): Finding[] {
  const sizes = (name: MetricName) =>
    seriesOf(run, name)
      .map(({ step, value }) => ({ step, value: Math.abs(value) }))
      .filter(({ value }) => value > absurd)
  // An evaluation is many rows, and there is one before the first update.
  const large =
    [sizes('reward'), sizes('reward_std')].find(({ length }) => length >= enough) ?? sizes('eval_reward')
  if (large.length === 0) return []
  const size = large.reduce((top, { value }) => Math.max(top, value), 0)
  const heaviest = run.facts.rewards.toSorted((a, b) => Math.abs(b.weight) - Math.abs(a.weight))[0]
  return [
    {
      id: 'reward-size',
      severity: 'problem',
      words: `Rewards reach ${short(size)}; 0 to 1 is usual. At that scale KL coefficient, entropy bonus and clipping have no effect, and small differences are rounded away.`,
      evidence: [evidence('reward, size', large, size)],
      proposals:
        heaviest === undefined
          ? []
          : [
              look(
                `Bring “${heaviest.name}” to a scale of 0 to 1, or lower its weight of ${short(heaviest.weight)}.`,
                {
                  kind: 'reward',
                  name: heaviest.name,
                },
              ),
            ],
    },
  ]
}

/** Share of the parts' variation: less is left of it in their sum only where one takes what the other gives. */
const remainder = 0.05

/** Components that each distinguish completions, but whose weighted sum does not. */
export function rewardsCancel(run: DiagnosedRun): Finding[] {
  const rewards = seriesOf(run, 'reward').slice(-window)
  const spreads = seriesOf(run, 'reward_std').slice(-window)
  const parts = run.facts.rewards.flatMap(({ name, weight }) => {
    const means = seriesOf(run, `rewards/${name}/mean`).slice(-window)
    const spread = Math.abs(weight) * averageOf(seriesOf(run, `rewards/${name}/std`).slice(-window))
    return spread > 0 ? [{ name, means, weight, spread }] : []
  })
  const within = parts.reduce((sum, { spread }) => sum + spread, 0)
  const across = parts.reduce((sum, { means, weight }) => sum + Math.abs(weight) * spreadOf(means), 0)
  const isSilent = averageOf(spreads) < remainder * within && spreadOf(rewards) < remainder * across
  if (rewards.length < window || parts.length < 2 || !isSilent) return []
  const names = parts.map(({ name }) => `“${name}”`).join(' and ')
  return [
    {
      id: 'rewards-cancel',
      severity: 'problem',
      words: `The rewards ${names} cancel each other: each distinguishes completions, but their weighted sum is ${short(averageOf(rewards))} for all of them, so nothing can be learned.`,
      evidence: [evidence('reward_std', spreads), ...parts.map(({ name }) => standardDeviation(run, name))],
      proposals: parts.slice(0, 1).map(({ name }) =>
        look(`Change the sign or the size of a weight, so that ${names} do not undo each other.`, {
          kind: 'reward',
          name,
        }),
      ),
    },
  ]
}

const standardDeviation = (run: DiagnosedRun, name: string) => {
  const series: readonly Measured[] = seriesOf(run, `rewards/${name}/std`).slice(-window)
  return evidence(`rewards/${name}/std`, series)
}

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
  // Something learned that now holds is no fault.
  if (others.every(({ value }) => value < constant)) return []
  const words = `The reward “${reward.name}” used to distinguish completions and is now ${short(constant)} for every one of them.`
  return [finding(reward, 'warning', { words, facts })]
}

function alwaysWords(run: DiagnosedRun, reward: RewardFact, constant: number): string {
  if (isPenalty(reward) && constant === 0)
    return `The penalty “${reward.name}” is 0 for every completion, which is its best value: none has incurred it.`
  const so = isWholeReward(run)
    ? 'so all advantages are 0 and nothing can be learned'
    : 'so it teaches nothing'
  return `The reward “${reward.name}” is ${short(constant)} for every completion, ${so}.`
}

const weighted = (run: DiagnosedRun): RewardFact[] => run.facts.rewards.filter(({ weight }) => weight !== 0)

/** Returns true if no part of the reward tells completions apart. */
const isWholeReward = (run: DiagnosedRun): boolean =>
  weighted(run).every(({ name }) => {
    const { means, spreads } = lastOf(run, name)
    return areConstant(means, spreads)
  })

/**
 * Chooses the severity: a penalty of 0 is at its best, and so is a reward at its ceiling; neither is a fault while
 * other parts vary.
 */
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

/** Finds a reward whose answer was always null. */
function neverApplied(run: DiagnosedRun, reward: RewardFact): Finding[] {
  const { first, last } = stepsOf(run)
  const failures = seriesOf(run, 'reward/failures')
  const hasFailed = failures.some(({ value }) => value > 0)
  if (seriesOf(run, 'reward/unscored').length < window || hasFailed) return []
  const words = `The reward “${reward.name}” applies to no completion: it returns no number for any row.`
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
    look(`Run “${name}” on the latest samples to see what it returns and why.`, { kind: 'reward', name }),
  ],
})

const isNamedElsewhere = (run: DiagnosedRun, reward: RewardFact): boolean =>
  isFormatReward(reward) && earnsNothing(run, reward)

const isSame = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(b))
