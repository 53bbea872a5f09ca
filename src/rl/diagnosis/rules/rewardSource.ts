import type { Finding } from '#shared/diagnosis.ts'
import { mean, sampleVariance } from '#rl/algorithms/terms/groups.ts'
import {
  type DiagnosedRun,
  type DiagnosedSample,
  type Measured,
  seriesOf,
  averageOf,
  evidence,
  trendOf,
  valuesOf,
} from '../diagnosedRun.ts'
import { perhaps, placeOn, rewardScaleOf, spanOf } from '../rewardScale.ts'
import { lookAtSamples, percent, short } from '../rule.ts'
import { isFormatReward } from './formatMismatch.ts'

/** Finds what the reward depends on instead of the answer. Environments are left out: theirs depends on whole episodes. */
export function rewardSource(run: DiagnosedRun): Finding[] {
  if (run.facts.hasEnvironment) return []
  const [found] = [...byLength(run), ...byWord(run), ...byDice(run), ...byNothing(run)]
  return found === undefined ? [] : [found]
}

interface Scored {
  readonly row: number
  readonly completion: string
  readonly reward: number
}

const scoredOf = ({ samples }: DiagnosedRun): Scored[] =>
  samples.flatMap(({ row, completion, reward }) => (reward === null ? [] : [{ row, completion, reward }]))

/** Returns the completions of each prompt without repetitions. */
const distinct = (samples: readonly Scored[]): Scored[] => [
  ...new Map(samples.map((sample) => [`${sample.row} ${sample.completion}`, sample])).values(),
]

/** Distinct completions from which it can be told what their reward goes by. */
const enough = 30
/** Share of the variance of the reward: all but rounding. */
const nearlyAll = 0.98
/** Share of the reward scale that is worth a finding. */
const worthIt = 0.2
/** Share of pairs of lengths in the order of their rewards: a reward that grows with the length tells nearly all of them apart. */
const ordered = 0.8

const lengths: readonly (readonly [unit: string, of: (text: string) => number])[] = [
  ['characters', (text) => [...text].length],
  ['characters', (text) => text.trim().length],
  ['words', (text) => text.trim().split(/\s+/).length],
]

/** Completions of one length earn the same, whatever they say, and longer ones more, or less. */
function byLength(run: DiagnosedRun): Finding[] {
  const samples = distinct(scoredOf(run))
  if (samples.length < enough) return []
  const found = lengths.find(([, of]) => isLength(run, samples, of))
  if (found === undefined) return []
  const [unit, of] = found
  const explained = explainedBy(samples, ({ completion }) => of(completion))
  return [
    finding(run, {
      id: 'reward-is-length',
      words: `The reward is nothing but the length of the completion: its ${unit} explain ${percent(explained)} of the variance, so texts of one length earn the same whatever they say.`,
      of: `variance of the reward explained by the number of ${unit}`,
      value: explained,
    }),
  ]
}

function isLength(run: DiagnosedRun, samples: readonly Scored[], of: (text: string) => number): boolean {
  const groups = Map.groupBy(samples, ({ completion }) => of(completion))
  const repeated = [...groups.values()].reduce((sum, { length }) => sum + length - 1, 0)
  const levels = [...groups].map(([size, own]) => [size, mean(own.map(({ reward }) => reward))] as const)
  const rewards = levels.map(([, reward]) => reward)
  const span = Math.max(...rewards) - Math.min(...rewards)
  if (levels.length < 4 || repeated < enough / 2 || span < worthIt * spanOf(rewardScaleOf(run))) return false
  const signs = levels.flatMap(([size, reward], i) =>
    levels.slice(i + 1).map(([other, its]) => Math.sign(other - size) * Math.sign(its - reward)),
  )
  return (
    Math.abs(mean(signs)) >= ordered && explainedBy(samples, ({ completion }) => of(completion)) >= nearlyAll
  )
}

/** Share of the variance that lies between groups. */
function explainedBy(samples: readonly Scored[], key: (sample: Scored) => unknown): number {
  const groups = [...Map.groupBy(samples, key).values()]
  return 1 - groups.reduce((sum, own) => sum + squares(own), 0) / squares(samples)
}

const squares = (samples: readonly Scored[]): number =>
  sampleVariance(samples.map(({ reward }) => reward)) * Math.max(0, samples.length - 1)

/** Completions that have to have a word, and to lack it, for it to tell anything. */
const several = 3

/** Steps in which wrong completions earned well, and the place on the reward scale that is well. */
const [few, well] = [3, 0.5]

/**
 * Completions with a certain word earn one thing and all others another. A policy that has learned a form may always be right
 * where it uses it, so completions without the row’s answer have to have earned well too.
 */
function byWord(run: DiagnosedRun): Finding[] {
  const samples = distinct(scoredOf(run))
  if (samples.length < enough || !paysWrongOnes(run) || run.facts.rewards.some(isFormatReward)) return []
  const found = decidingWord(samples)
  if (found === null) return []
  const { word, explained } = found
  return [
    finding(run, {
      id: 'reward-is-one-word',
      words: `The reward is nothing but whether the completion has the word “${word}”, which explains ${percent(explained)} of its variance, whatever else the completion says.`,
      of: `variance of the reward explained by “${word}”`,
      value: explained,
    }),
  ]
}

/** The word that explains the most of the variance, where that is nearly all. */
function decidingWord(
  samples: readonly Scored[],
): { readonly word: string; readonly explained: number } | null {
  const having = new Map<string, number[]>()
  for (const { completion, reward } of samples) {
    for (const word of new Set(wordsOf(completion))) {
      const rewards = having.get(word)
      if (rewards === undefined) having.set(word, [reward])
      else rewards.push(reward)
    }
  }
  const [average, total] = [mean(samples.map(({ reward }) => reward)), squares(samples)]
  const best = [...having]
    .filter(([, { length }]) => length >= several && length <= samples.length - several)
    .map(([word, rewards]) => {
      const between = (mean(rewards) - average) ** 2 / (1 / rewards.length - 1 / samples.length)
      return { word, explained: between / total }
    })
    .reduce<ReturnType<typeof decidingWord>>(
      (top, each) => (each.explained > (top?.explained ?? 0) ? each : top),
      null,
    )
  return best !== null && best.explained >= nearlyAll ? best : null
}

/** Returns true if completions without the row's answer earned well in several steps. */
function paysWrongOnes(run: DiagnosedRun): boolean {
  const [scale, paid] = [rewardScaleOf(run), seriesOf(run, 'reward/without_answer')]
  const best = paid.toSorted((a, b) => b.value - a.value).slice(0, few)
  return best.length === few && placeOn(scale, averageOf(best)) >= well
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? []

/** Completions that occur again, of the same prompt. */
const repetitions = 10
/** Shares of the variance between completions of a prompt. */
const [half, most] = [0.5, 0.8]

/** The same completion of the same prompt earns now this, now that. */
function byDice(run: DiagnosedRun): Finding[] {
  const samples = scoredOf(run)
  const within = pooled(samples, ({ row }) => row)
  const again = pooled(samples, ({ row, completion }) => `${row} ${completion}`)
  const share = again.variance / within.variance
  const isLarge = Math.sqrt(again.variance) >= seenSpan(run) / 10
  if (again.degrees < repetitions || !(share >= half) || !isLarge || isSolved(run)) return []
  return [
    finding(run, {
      id: 'reward-is-noise',
      severity: share >= most ? 'problem' : 'warning',
      words: `The reward is mostly noise: the same completion of the same prompt earns now this, now that, which is ${percent(Math.min(1, share))} of the variance within prompts.`,
      of: `share of the variance within prompts that repeated completions have, of ${again.degrees}`,
      value: share,
    }),
  ]
}

/** Returns the distance between the worst and the best reward seen, of completions or on average over a step. */
function seenSpan(run: DiagnosedRun): number {
  const seen = [...scoredOf(run).map(({ reward }) => reward), ...valuesOf(seriesOf(run, 'reward'))]
  return Math.max(...seen) - Math.min(...seen)
}

/** Returns true if nearly all completions are right, so that only noise is left between them. */
const isSolved = (run: DiagnosedRun): boolean =>
  placeOn(rewardScaleOf(run), averageOf(seriesOf(run, 'reward').slice(-10))) >= 0.9

/** Variance within groups, all taken together. */
function pooled(samples: readonly Scored[], key: (sample: Scored) => unknown) {
  const groups = [...Map.groupBy(samples, key).values()].filter(({ length }) => length > 1)
  const degrees = groups.reduce((sum, { length }) => sum + length - 1, 0)
  return { degrees, variance: groups.reduce((sum, own) => sum + squares(own), 0) / degrees }
}

/** Number of steps that have to agree. */
const steps = 15
/**
 * Difference in standard deviations of the reward within groups: one of this size explains an eighth of its variance at
 * most.
 */
const small = 0.75

/** Mean extra reward of completions with the row's answer; null without both kinds. */
function answerGap(
  run: DiagnosedRun,
): { readonly mean: number; readonly error: number; readonly of: Measured[] } | null {
  const without = new Map(seriesOf(run, 'reward/without_answer').map(({ step, value }) => [step, value]))
  const gaps = seriesOf(run, 'reward/with_answer').flatMap(({ step, value }) => {
    const other = without.get(step)
    return other === undefined ? [] : [{ step, value: value - other }]
  })
  if (gaps.length < steps) return null
  const error = Math.sqrt(sampleVariance(gaps.map(({ value }) => value)) / gaps.length)
  return { mean: averageOf(gaps), error, of: gaps }
}

/** The answer of the row makes no difference to the reward, nor does anything else that the policy could learn. */
function byNothing(run: DiagnosedRun): Finding[] {
  const gap = answerGap(run)
  const rewards = seriesOf(run, 'reward')
  // Share of the groups whose rewards differ.
  const varied = 1 - averageOf(seriesOf(run, 'frac_reward_zero_std'))
  const spread = averageOf(seriesOf(run, 'reward_std')) / (varied || 1)
  const isNoticed = spread >= seenSpan(run) / 10 && !isSolved(run)
  if (gap === null || rewards.length < 20 || !isNoticed || run.facts.rewards.some(isFormatReward)) return []
  const trend = trendOf(rewards)
  const isUnrelated = Math.abs(gap.mean) + perhaps * gap.error <= small * spread
  if (!isUnrelated || trend.rise > perhaps * trend.error) return []
  return [
    {
      ...finding(run, {
        id: 'reward-is-noise',
        words: `The reward looks like noise: it differs between completions of a prompt by ${short(spread)}, but those with the answer of their row earn no more than the others, and in ${rewards.length} steps the policy found nothing that it rises with.`,
        of: 'reward with the answer of the row, less without',
        value: gap.mean,
      }),
      evidence: [
        evidence('reward with the answer of the row, less without', gap.of),
        evidence('reward', rewards),
      ],
    },
  ]
}

interface Said {
  readonly id: Finding['id']
  readonly severity?: Finding['severity']
  readonly words: string
  readonly of: string
  readonly value: number
}

function finding(run: DiagnosedRun, { id, severity = 'problem', words, of, value }: Said): Finding {
  const looked: readonly Pick<DiagnosedSample, 'step'>[] = run.samples
  const span = looked.map(({ step }) => ({ step, value }))
  const name = run.facts.rewards[0]?.name
  return {
    id,
    severity,
    words,
    evidence: [
      evidence(
        of,
        span.toSorted((a, b) => a.step - b.step),
        value,
      ),
    ],
    proposals: [
      ...(name === undefined
        ? []
        : [
            {
              words: `Have “${name}” judge what the completion says.`,
              changes: {},
              from: 'newest' as const,
              lookAt: { kind: 'reward' as const, name },
            },
          ]),
      lookAtSamples('Compare completions of one prompt that earned different rewards.', span.slice(-1)),
    ],
  }
}
