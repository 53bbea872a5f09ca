/** Whether the prompts of a run leave room for its completions, found out on the longest and the shortest rows alone. */
import { AppError } from '#shared/errors.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { encodePrompt, type DataRow } from '#rl/rollout/prompts.ts'
import { withSwitches } from '#rl/rollout/templateSwitches.ts'
import type { LoadedTokenizer } from '../artifacts/tokenizerFolder.ts'

/** Text and tokens do not grow quite alike: of so many rows with the most text one has the most tokens. */
const looked = 3

/**
 * A sentence where rows will be left out that nobody asked to leave out. Errors: AppError 'config/invalid' where hardly
 * a row can stay, 'data/invalid' for a row without a prompt.
 */
export function promptRoomWarnings(
  { data, rollout }: RunConfig,
  rows: readonly DataRow[],
  { tokenizer, chatTemplate, contextLength }: LoadedTokenizer & { readonly contextLength: number },
): string[] {
  const room = contextLength - rollout.maxNewTokens
  const { prompt: form, tools, templateVariables } = data
  const encoder = { form, tools, tokenizer, chatTemplate: withSwitches(chatTemplate, templateVariables) }
  const bySize = rows
    .map((columns, row) => ({ row, columns, size: JSON.stringify(columns).length }))
    .sort((a, b) => b.size - a.size)
  const tokensOf = (some: typeof bySize) =>
    some.map(({ columns, row }) => encodePrompt(columns, row, encoder).ids.length)
  const longest = Math.max(...tokensOf(bySize.slice(0, looked)))
  if (longest <= room || (data.maxPromptTokens !== null && data.maxPromptTokens <= room)) return []
  const shortest = Math.min(...tokensOf(bySize.slice(-looked)))
  const together = `together they are more than the ${contextLength} tokens the model reads`
  if (shortest > room) {
    throw new AppError(
      'config/invalid',
      `The run config does not fit together: rollout.maxNewTokens is ${rollout.maxNewTokens}, and even short prompts have ${shortest} tokens: ${together}, and no row could be trained on.`,
    )
  }
  return [
    `rollout.maxNewTokens is ${rollout.maxNewTokens}, and the longest prompt has ${longest} tokens: ${together}, so that such rows are left out.`,
  ]
}
