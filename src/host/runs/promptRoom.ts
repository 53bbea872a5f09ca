/** Whether the prompts of a run leave room for its completions, found out on the longest and the shortest rows alone. */
import { AppError } from '#shared/errors.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { DataRow } from '#host/data/dataFile.ts'

/** Text and tokens do not grow quite alike: of so many rows with the most text one has the most tokens. */
const looked = 3

export interface PromptModel {
  readonly contextLength: number
  /** Tokens of the rows' prompts; null for a row that makes none. */
  readonly lengthsOf: (rows: readonly DataRow[]) => Promise<readonly (number | null)[]>
}

/**
 * A sentence where rows will be left out that nobody asked to leave out. Errors: AppError 'config/invalid' where hardly
 * a row can stay; as `lengthsOf`.
 */
export async function promptRoomWarnings(
  { data, rollout }: RunConfig,
  rows: readonly DataRow[],
  { contextLength, lengthsOf }: PromptModel,
): Promise<string[]> {
  const room = contextLength - rollout.maxNewTokens
  const bySize = rows
    .map((row) => ({ row, size: JSON.stringify(row).length }))
    .sort((a, b) => b.size - a.size)
    .map(({ row }) => row)
  const known = async (some: readonly DataRow[]) =>
    (await lengthsOf(some)).filter((length) => length !== null)
  const longest = Math.max(...(await known(bySize.slice(0, looked))))
  if (longest <= room || (data.maxPromptTokens !== null && data.maxPromptTokens <= room)) return []
  const shortest = Math.min(...(await known(bySize.slice(-looked))))
  const together = `together they are more than the ${contextLength} tokens the model reads`
  if (shortest > room && shortest < Infinity) {
    throw new AppError(
      'config/invalid',
      `The run config does not fit together: rollout.maxNewTokens is ${rollout.maxNewTokens}, and even short prompts have ${shortest} tokens: ${together}, and no row could be trained on.`,
    )
  }
  return [
    `rollout.maxNewTokens is ${rollout.maxNewTokens}, and the longest prompt has ${longest} tokens: ${together}, so that such rows are left out.`,
  ]
}
