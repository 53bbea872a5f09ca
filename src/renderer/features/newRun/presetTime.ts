/** How long a preset takes on this machine, from what steps with the same model took here. */
import type { RunConfig } from '#shared/runConfig.ts'
import type { Answer } from '#renderer/client/api.tsx'
import type { Calibration } from './useDraft.ts'
import type { Preset } from './presets.ts'

export interface Measured {
  /** Of whole steps, for each token of prompts and completions. */
  readonly secondsPerToken: number
  readonly promptTokens: number
  /** Mean length. */
  readonly completionTokens: number
  readonly secondsPerEvaluation: number
  /** What was measured: “the run “sums””. */
  readonly source: string
}

export interface Seconds {
  readonly low: number
  readonly high: number
}

/**
 * `low`: completions are as long as they were; `high`: all reach the limit. null: the preset generates nothing, and what
 * was measured says nothing of it.
 */
export function presetSeconds({ values }: Preset, measured: Measured): Seconds | null {
  const value = (key: string) => Number(values[key])
  if (values['rollout.groupSize'] === undefined) return null
  const longest = value('rollout.maxNewTokens')
  const [steps, rows] = [value('steps'), value('rollout.promptsPerStep') * value('rollout.groupSize')]
  const evaluations = 1 + Math.floor(steps / value('evaluation.every'))
  const secondsFor = (length: number) =>
    steps * rows * (measured.promptTokens + length) * measured.secondsPerToken +
    evaluations * measured.secondsPerEvaluation
  return { low: secondsFor(Math.min(longest, measured.completionTokens)), high: secondsFor(longest) }
}

type Table = Answer<'metrics.table'>

/** From the steps of a run; null: it has none with completions. `groupSize`: where its settings leave it to the algorithm. */
export function measuredByRun(
  { metrics, rows }: Table,
  { rollout }: Pick<RunConfig, 'rollout'>,
  { groupSize, source }: { readonly groupSize: number; readonly source: string },
): Measured | null {
  const column = (name: string) => {
    const at = metrics.indexOf(name)
    return rows.flatMap(({ values }) => values[at] ?? [])
  }
  const [times, totals] = [column('step_time'), column('num_tokens')]
  const completionTokens = meanOf(column('completions/mean_length'))
  // The first step also prepares programs.
  const tokens = ((totals.at(-1) ?? 0) - (totals[0] ?? 0)) / (totals.length - 1)
  const seconds = meanOf(times.slice(1))
  if (times.length !== totals.length || !(tokens > 0) || seconds === null || completionTokens === null)
    return null
  const completions = rollout.promptsPerStep * (rollout.groupSize ?? groupSize)
  return {
    ...{ secondsPerToken: seconds / tokens, completionTokens, source },
    promptTokens: Math.max(0, tokens / completions - completionTokens),
    secondsPerEvaluation: meanOf(column('eval_time')) ?? 0,
  }
}

/** From a check of settings with so many completions per step; null: it generated nothing. */
export function measuredByCheck(check: Calibration, completions: number): Measured | null {
  const completionTokens = meanOf(check.samples.map(({ tokens }) => tokens))
  const { promptTokens } = check.longest
  if (completionTokens === null || !(completions > 0)) return null
  return {
    ...{ promptTokens, completionTokens, source: 'the check' },
    secondsPerToken: check.secondsPerStep / (completions * (promptTokens + completionTokens)),
    secondsPerEvaluation: check.secondsPerEvaluation,
  }
}

const meanOf = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
