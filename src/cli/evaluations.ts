/** Follows an evaluation on the command line and reports its result. Shared by evaluate and evaluations. */
import { evaluationProblems, type EvaluationEntry, type EvaluationGroup } from '#shared/api/evaluations.ts'
import { AppError } from '#shared/errors.ts'
import { plural } from '#shared/plural.ts'
import type { Estimate } from '#shared/statistics.ts'
import { groupsBy } from '#host/evaluations/summary.ts'
import type { Host } from '#host/host.ts'
import type { CommandContext } from './command.ts'
import { watchInterrupts } from './interrupt.ts'
import { formatReward, tableLines } from './output.ts'
import { createProgress } from './progress.ts'

/** Follows to the end, or to a Ctrl-C. Errors: the evaluation's own; AppError 'run/stopped'. */
export async function followAndReport(
  host: Host,
  id: string,
  by: string | null,
  { json, output }: CommandContext,
): Promise<void> {
  const entry = await followed(host, id, { json, output })
  const isTold = by !== null && entry.summary !== null
  const groups = isTold ? groupsOf(host, entry, by) : []
  output.json({ ...entry, ...(by === null ? {} : { by, groups }) })
  for (const line of [...summaryLines(entry), ...(isTold ? groupLines(by, groups) : [])]) output.line(line)
  if (entry.status !== 'finished') throw notFinished(entry)
  if (entry.summary?.reward === null && entry.summary.failures > 0) {
    throw new AppError(
      'reward/failed',
      'Every reward failed, so that the evaluation says nothing.',
      'Correct the reward; the answers are kept.',
    )
  }
}

function notFinished({ id, done, total, error, summary }: EvaluationEntry): AppError {
  if (error !== null && summary === null)
    return new AppError(error.code ?? 'runtime/failed', error.message, error.hint ?? undefined)
  const prompts = `${done} of ${plural(total, 'prompt')}`
  const command = `To resume: turnwise evaluations resume ${id}`
  if (error === null)
    return new AppError(
      'run/stopped',
      `The evaluation was stopped after ${prompts}; their results are kept.`,
      { command },
    )
  const hint = error.hint === null ? {} : { text: error.hint }
  return new AppError(error.code ?? 'runtime/failed', `${error.message} Results of ${prompts} are kept.`, {
    ...hint,
    command,
  })
}

async function followed(
  { evaluations, notifier }: Host,
  id: string,
  { json, output }: Pick<CommandContext, 'json' | 'output'>,
): Promise<EvaluationEntry> {
  const progress = createProgress(output, json)
  const stopping = () => {
    progress.note('Stopping; finished prompts are kept.')
    evaluations.stop(id)
  }
  using _interrupt = watchInterrupts(stopping, () => undefined)
  const never = new AbortController().signal
  try {
    for (;;) {
      const { notifications } = notifier
      const entry = evaluations.get(id)
      const { done, total, status } = entry
      if (status === 'running') progress.update({ done, total, unit: 'prompt', facts: [] })
      if (status !== 'waiting' && status !== 'running') return entry
      await notifier.after(notifications, never)
    }
  } finally {
    progress.end()
  }
}

export function groupsOf(
  { evaluations }: Host,
  { id, summary }: EvaluationEntry,
  by: string,
): EvaluationGroup[] {
  return groupsBy(evaluations.answers(id).prompts, by, summary?.passRule ?? 1)
}

export const percent = (share: number | null): string =>
  share === null ? '–' : `${(100 * share).toFixed(1)} %`

export const estimateWords = ({ value, interval }: Estimate): string =>
  interval === null
    ? formatReward(value)
    : `${formatReward(value)}  95 % CI ${formatReward(interval.low)} to ${formatReward(interval.high)}`

/** Empty while it is running. */
export function summaryLines({ samples, greedy, summary }: EvaluationEntry): string[] {
  if (summary === null) return []
  const { reward, prompts, pass, passRule, truncated, tokens, turns, parts, metrics = {} } = summary
  const how = greedy ? 'greedy' : `${plural(samples, 'sample')} each`
  const passes = passRule === 'correct' ? 'the metric correct' : `a reward of at least ${passRule}`
  const named = Object.entries(parts)
  return [
    reward === null
      ? 'Reward      none: no reward function applied to any completion'
      : `Reward      ${estimateWords(reward)}  (over ${plural(prompts, 'prompt')}, ${how})`,
    ...pass.map(
      ({ k, ...estimate }, i) =>
        `${`pass@${k}`.padEnd(10)}  ${estimateWords(estimate)}${i === 0 ? `  (a pass is ${passes})` : ''}`,
    ),
    `Truncated   ${percent(truncated)}, mean length ${(tokens ?? 0).toFixed(1)} tokens${turns === null ? '' : `, ${turns.toFixed(1)} turns`}`,
    ...(named.length < 2 ? [] : named.map(([name, mean]) => `  ${name}  ${formatReward(mean)}`)),
    ...Object.entries(metrics).map(([name, mean]) => `${name.padEnd(10)}  ${formatReward(mean)}  (metric)`),
    ...evaluationProblems(summary),
  ]
}

export function groupLines(by: string, groups: readonly EvaluationGroup[]): string[] {
  const rows = groups.map(({ value, prompts, reward, pass }) => [
    ...[value, String(prompts), formatReward(reward?.value ?? null), intervalWords(reward), percent(pass)],
  ])
  return ['', ...tableLines([by, 'prompts', 'reward', '95 % CI', 'pass@1'], rows)]
}

export const intervalWords = (estimate: Estimate | null): string =>
  estimate === null || estimate.interval === null
    ? '–'
    : `${formatReward(estimate.interval.low)} to ${formatReward(estimate.interval.high)}`
