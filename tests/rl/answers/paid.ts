/** What a reward that compares answers pays. */
import { builtInReward } from '#rl/environments/registry.ts'

export type Pair = readonly [answer: string, completion: string]

export const paid = async (id: string, [answer, completion]: Pair): Promise<boolean> => {
  const [score] = await builtInReward(id).score([{ prompt: '', completion, row: { answer }, step: 0 }])
  return score !== undefined && 'value' in score && score.value === 1
}
