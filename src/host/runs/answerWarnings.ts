/** Counts the answers that a run's rewards cannot compare, before the run. */
import { unwise } from '#shared/config/problems.ts'
import type { Problem } from '#shared/errors.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { expectedText } from '#rl/environments/common.ts'
import { builtInReward } from '#rl/environments/registry.ts'
import type { DataRow } from '#host/data/dataFile.ts'

/** Rewards that apply only to answers of a kind, and what to do about others. */
const kinds: Readonly<Record<string, { readonly answers: string; readonly advice: string }>> = {
  'numeric-equality': { answers: 'a number, list, ratio, date or time', advice: 'math-equality' },
  'math-equality': { answers: 'an expression or a few words', advice: 'a judge or your own code' },
}

/** The most rows looked at: enough to estimate a share. */
const mostRows = 5000
const longestExample = 40

/** One warning for each reward that says nothing about some of the rows. */
export const answerWarnings = async (
  { rewards }: Pick<RunConfig, 'rewards'>,
  rows: readonly DataRow[],
): Promise<Problem[]> =>
  (await Promise.all(rewards.map((reward, i) => warningOf(reward, `rewards[${i}].function`, rows)))).flat()

async function warningOf(
  { function: id, settings }: RunConfig['rewards'][number],
  path: string,
  all: readonly DataRow[],
): Promise<Problem[]> {
  const kind = kinds[id]
  if (kind === undefined) return []
  const rows = all.slice(0, mostRows)
  const others = await rowsLeftOut(id, settings, rows)
  const [first] = others
  if (first === undefined) return []
  const { column = 'answer' } = settings
  if (others.every((row) => row[String(column)] === undefined)) {
    const names = Object.keys(first).slice(0, 20).join(', ')
    const what = `${id}, but ${others.length} of ${rows.length} rows have no column “${String(column)}” (there are ${names})`
    return [
      unwise(path, `${what}: it gives no reward there. Its setting column names the one to compare with.`),
    ]
  }
  const advice = (await isBetter(kind.advice, settings, others)) ? `Use ${kind.advice} for them.` : ''
  const example = `“${shortened(expectedText(first, String(column)) ?? '')}”`
  const message = `${id}, but ${others.length} of ${rows.length} answers are not ${kind.answers} (such as ${example}): it gives no reward there. ${advice}`
  return [unwise(path, message.trim())]
}

/** Rows that a reward says nothing about, whatever the completion is. */
async function rowsLeftOut(id: string, settings: Settings, rows: readonly DataRow[]): Promise<DataRow[]> {
  const inputs = rows.map((row) => ({ prompt: '', completion: '', row, step: 0 }))
  const answers = await builtInReward(id, settings).score(inputs)
  return rows.filter((_, i) => {
    const answer = answers[i]
    return answer !== undefined && 'value' in answer && answer.value === null
  })
}

type Settings = RunConfig['rewards'][number]['settings']

/** Returns true if advice helps most of the rows; advice that is no built-in always may. */
const isBetter = async (id: string, settings: Settings, rows: readonly DataRow[]): Promise<boolean> =>
  id !== 'math-equality' || 2 * (await rowsLeftOut(id, settings, rows)).length < rows.length

const shortened = (text: string): string =>
  text.length > longestExample ? `${text.slice(0, longestExample)}…` : text
