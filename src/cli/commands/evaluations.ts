/** Commands that list, show, compare, resume and delete evaluations. */
import { Command } from '@commander-js/extra-typings'
import type { Comparison, EvaluatedPrompt, EvaluationEntry } from '#shared/api/evaluations.ts'
import { plural } from '#shared/plural.ts'
import { createHost } from '#host/createHost.ts'
import { compareEvaluations } from '#host/evaluations/compareEvaluations.ts'
import { comparedOf } from '#host/api/evaluationsService.ts'
import type { Host } from '#host/host.ts'
import { whole, type Context, group } from '../command.ts'
import {
  estimateWords,
  followAndReport,
  groupLines,
  groupsOf,
  intervalWords,
  percent,
  summaryLines,
} from '../evaluations.ts'
import { formatReward, tableLines, type Output } from '../output.ts'
import { findEntry } from './studies.ts'

export const evaluations = (context: Context) =>
  group(context, 'evaluations', 'Look at evaluations and compare them', [list, show, compare, resume, remove])

const header = ['evaluation', 'of', 'status', 'prompts', 'reward', '95 % CI', 'pass@1', 'made']

const list = (context: Context) =>
  new Command('list').description('List the evaluations of this data directory').action(async () => {
    const { dataDirectory, output } = context()
    await using host = createHost({ dataDirectory, servesQueue: false })
    const all = host.evaluations.list().toReversed()
    output.json({ evaluations: all })
    if (all.length === 0) output.line('No evaluations yet. turnwise evaluate --run RUN makes one.')
    else for (const line of tableLines(header, all.map(row))) output.line(line)
  })

const row = ({ id, title, status, done, total, summary, createdAt }: EvaluationEntry): string[] => [
  ...[id, title, status, done === total ? `${total}` : `${done}/${total}`],
  ...[formatReward(summary?.reward?.value ?? null), intervalWords(summary?.reward ?? null)],
  ...[
    percent(summary?.pass[0]?.value ?? null),
    new Date(createdAt).toISOString().slice(0, 16).replace('T', ' '),
  ],
]

const evaluationArgument = ['<EVALUATION>', 'its id, or an unambiguous beginning or end of it'] as const

/** Errors: AppError 'run/not-found'. */
const findEvaluation = ({ evaluations: all }: Host, part: string): EvaluationEntry =>
  findEntry(all.list(), part, ['evaluation', 'evaluations'])

const show = (context: Context) =>
  new Command('show')
    .description('Show one evaluation: its results, by a column, and its completions')
    .argument(...evaluationArgument)
    .option('--by <COLUMN>', 'also show means by the values of a column')
    .option('--prompts <N>', 'how many prompts with their completions to show', whole(0), 0)
    .action(async (part, { by, prompts: count }) => {
      const { dataDirectory, output } = context()
      await using host = createHost({ dataDirectory, servesQueue: false })
      const entry = findEvaluation(host, part)
      const prompts = host.evaluations.answers(entry.id).prompts.slice(0, count)
      const groups = by === undefined ? [] : groupsOf(host, entry, by)
      output.json({ ...entry, ...(by === undefined ? {} : { by, groups }), prompts })
      output.line(`Evaluation  ${entry.id} of ${entry.title}`)
      output.line(`Status      ${entry.status}, ${entry.done} of ${plural(entry.total, 'prompt')}`)
      if (entry.error !== null) output.line(`Problem     ${entry.error.message}`)
      const lines = [...summaryLines(entry), ...(by === undefined ? [] : groupLines(by, groups))]
      for (const line of lines) output.line(line)
      for (const prompt of prompts) tellPrompt(prompt, output)
    })

function tellPrompt({ row: number, prompt, samples }: EvaluatedPrompt, output: Output): void {
  output.line('')
  output.line(`Row ${number + 1}`)
  output.text(prompt)
  for (const { reward, completion } of samples) {
    output.line(`— ${formatReward(reward)} —`)
    output.text(completion)
  }
}

const compare = (context: Context) =>
  new Command('compare')
    .description(
      'Test whether one evaluation is better than another.\n\nA two-sided sign-flip permutation test of the mean rewards, paired by prompt; Welch’s t test where they have no prompts in common.',
    )
    .argument('<A>', 'an evaluation, such as that of the base model')
    .argument('<B>', 'the one to test against it, such as that of a checkpoint')
    .action(async (a, b) => {
      const { dataDirectory, output } = context()
      await using host = createHost({ dataDirectory, servesQueue: false })
      const [first, second] = [findEvaluation(host, a), findEvaluation(host, b)]
      const comparison = compareEvaluations(comparedOf(host, first.id), comparedOf(host, second.id))
      output.json({ a: first.id, b: second.id, ...comparison })
      output.line(`A  ${first.title}: ${rewardWords(first)}`)
      output.line(`B  ${second.title}: ${rewardWords(second)}`)
      for (const line of comparisonLines(comparison)) output.line(line)
    })

const rewardWords = ({ summary }: EvaluationEntry): string =>
  summary === null || summary.reward === null ? 'no reward' : `reward ${estimateWords(summary.reward)}`

const comparisonLines = ({ words, notes }: Comparison): string[] => [
  words,
  ...notes.map((note) => `  ${note}`),
]

const resume = (context: Context) =>
  new Command('resume')
    .description('Resume an evaluation that was stopped, failed or interrupted')
    .argument(...evaluationArgument)
    .action(async (part) => {
      const here = context()
      await using host = createHost({ dataDirectory: here.dataDirectory, servesQueue: false })
      const { id, title, done, total } = findEvaluation(host, part)
      host.evaluations.resume(id)
      here.output.line(`Resuming ${title}: ${total - done} of ${plural(total, 'prompt')} left.`)
      await followAndReport(host, id, null, here)
    })

const remove = (context: Context) =>
  new Command('delete')
    .description('Delete an evaluation and its completions for good')
    .argument(...evaluationArgument)
    .action(async (part) => {
      const { dataDirectory, output } = context()
      await using host = createHost({ dataDirectory, servesQueue: false })
      const { id, title } = findEvaluation(host, part)
      host.evaluations.remove(id)
      output.json({ evaluation: id, deleted: true })
      output.line(`Deleted the evaluation of ${title}.`)
    })
