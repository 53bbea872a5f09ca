/** Summarizes the answers of an evaluation. Prompts are the unit: samples of one prompt are not independent. */
import type { EvaluatedPrompt, EvaluationGroup, EvaluationSummary } from '#shared/api/evaluations.ts'
import { invalidData } from '#shared/errors.ts'
import { meanOf } from '#shared/mean.ts'
import { meanEstimate, passAtK, shareEstimate, type Estimate } from '#shared/statistics.ts'
import type { Answers } from './answers.ts'

type Sample = EvaluatedPrompt['samples'][number]
type PassRule = EvaluationSummary['passRule']

interface Asked {
  /**
   * Samples of each prompt. A workflow may return several trajectories for one, each of which is a sample of its own.
   */
  readonly samples: number
  /** The least reward that passes; null: as the metric `correct` says where every sample has it, else 1. */
  readonly passAt: number | null
}

export function summarize(
  { prompts, problems }: Answers,
  { passAt, samples: asked }: Asked,
): EvaluationSummary {
  const samples = prompts.flatMap((prompt) => prompt.samples)
  const failures = samples.flatMap((sample) => sample.failures ?? [])
  const passRule = passRuleOf(samples, passAt)
  return {
    prompts: promptRewards(prompts).length,
    samples: samples.length,
    unscored: samples.filter(({ reward }) => reward === null).length,
    failures: failures.length,
    failure: failures[0] ?? null,
    leftOut: problems.length,
    problem: problems[0]?.problem ?? null,
    reward: rewardEstimate(prompts),
    passRule,
    pass: passesOf(prompts, passRule, asked),
    truncated: meanOf(samples.map(({ truncated }) => Number(truncated))),
    tokens: meanOf(samples.map(({ tokens }) => tokens)),
    turns: meanOf(samples.map(({ turns }) => turns)),
    parts: meansOf(samples.map(({ parts }) => parts)),
    metrics: meansOf(samples.map(({ metrics = {} }) => metrics)),
  }
}

/** Mean of the samples that have a reward; null where none has. */
export const promptReward = ({ samples }: EvaluatedPrompt): number | null =>
  meanOf(samples.map(({ reward }) => reward))

const promptRewards = (prompts: readonly EvaluatedPrompt[]): number[] =>
  prompts.map(promptReward).filter((reward) => reward !== null)

const rewardsOf = (prompts: readonly EvaluatedPrompt[]): number[] =>
  prompts.flatMap(({ samples }) => samples.flatMap(({ reward }) => reward ?? []))

/** Returns true if every reward is 0 or 1, so that means are shares. */
export const areShares = (prompts: readonly EvaluatedPrompt[]): boolean =>
  rewardsOf(prompts).every((reward) => reward === 0 || reward === 1)

/** Mean over prompts. */
const rewardEstimate = (prompts: readonly EvaluatedPrompt[]): Estimate | null =>
  areShares(prompts)
    ? shareEstimate(promptRewards(prompts), rewardsOf(prompts).length)
    : meanEstimate(promptRewards(prompts))

function passRuleOf(samples: readonly Sample[], passAt: number | null): PassRule {
  if (passAt !== null) return passAt
  const scored = samples.filter(({ reward }) => reward !== null)
  const isTold = scored.length > 0 && scored.every(({ metrics }) => metrics?.['correct'] !== undefined)
  return isTold ? 'correct' : 1
}

const hasPassed = ({ reward, metrics }: Sample, rule: PassRule): boolean =>
  rule === 'correct' ? (metrics?.['correct'] ?? 0) > 0 : (reward ?? -Infinity) >= rule

/**
 * pass@k for 1, 2, 4, … and all samples that were asked for; prompts with fewer samples that have a reward are left out of a
 * k. Trajectories of one episode are not independent, so more of them allow no larger k.
 */
function passesOf(
  prompts: readonly EvaluatedPrompt[],
  rule: PassRule,
  asked: number,
): EvaluationSummary['pass'] {
  const most = Math.min(asked, Math.max(0, ...prompts.map(({ samples }) => samples.length)))
  const powers = Array.from({ length: 10 }, (_, i) => 2 ** i).filter((k) => k < most)
  return [...powers, ...(most === 0 ? [] : [most])].flatMap((k) => {
    const chances = prompts.flatMap((prompt) => passOf(prompt, rule, k))
    // Number of times that k of the samples can be drawn without drawing one twice.
    const estimate = shareEstimate(chances, (chances.length * asked) / k)
    return estimate === null ? [] : [{ k, ...estimate }]
  })
}

function passOf({ samples }: EvaluatedPrompt, rule: PassRule, k: number): number[] {
  const scored = samples.filter(({ reward }) => reward !== null)
  const passes = scored.filter((sample) => hasPassed(sample, rule)).length
  return scored.length < k ? [] : [passAtK(scored.length, passes, k)]
}

/** Means by name, over the samples that have the name. */
function meansOf(
  samples: readonly Readonly<Record<string, number | null>>[],
): Readonly<Record<string, number | null>> {
  const names = [...new Set(samples.flatMap((sample) => Object.keys(sample)))]
  return Object.fromEntries(
    names.map((name) => [name, meanOf(samples.map((sample) => sample[name] ?? null))]),
  )
}

/** A column with more values than this is of no use to tell groups apart. */
const maxGroups = 50

interface WithColumns {
  readonly columns: Readonly<Record<string, unknown>>
}

/** Columns that occur in the rows, in their order. */
export const columnsOf = (rows: readonly WithColumns[]): string[] => [
  ...new Set(rows.flatMap(({ columns }) => Object.keys(columns))),
]

/**
 * Groups by the values of a column, the largest first. Errors: AppError 'data/invalid' for a column that tells no
 * groups.
 */
export function groupsBy(
  prompts: readonly EvaluatedPrompt[],
  column: string,
  rule: PassRule,
): EvaluationGroup[] {
  requireGroups(prompts, column)
  const groups = Map.groupBy(prompts, ({ columns }) => valueWords(columns[column]))
  return [...groups]
    .map(([value, members]) => ({
      value,
      prompts: members.length,
      reward: rewardEstimate(members),
      pass: meanOf(members.flatMap((member) => passOf(member, rule, 1))),
    }))
    .sort((a, b) => b.prompts - a.prompts || a.value.localeCompare(b.value))
}

/** Errors: AppError 'data/invalid' where rows have no such column, or too many values in it. */
export function requireGroups(rows: readonly WithColumns[], wanted: string): void {
  const columns = columnsOf(rows)
  if (!columns.includes(wanted)) {
    const hint = columns.length === 0 ? undefined : `They have ${columns.join(', ')}.`
    throw invalidData(`The rows have no column “${wanted}”.`, hint)
  }
  const { size } = new Set(rows.map((row) => valueWords(row.columns[wanted])))
  if (size <= maxGroups) return
  throw invalidData(
    `The column “${wanted}” has ${size} different values, too many to compare groups by (at most ${maxGroups}).`,
    'Choose a column with few values, such as a category or a level.',
  )
}

const valueWords = (value: unknown): string =>
  value === undefined || value === null ? '–' : typeof value === 'string' ? value : JSON.stringify(value)
