/** Differences of a fork from its parent. */
import type { JsonObject } from '#shared/config/paths.ts'
import type { RunConfig } from '#shared/runConfig.ts'

interface Length {
  /** Steps of the whole run; null: unknown. */
  readonly steps: number | null
  readonly stages: number
}

/**
 * Gives a fork from the last checkpoint, which has nothing left to do, as many steps again. Runs of several stages are
 * as long as their stages.
 */
export function lengthChange({ steps, stages }: Length, step: number): JsonObject {
  if (stages > 0 || steps === null || step < steps) return {}
  return { steps: step + steps }
}

export interface MemoryProposal {
  readonly words: string
  readonly price: string
  readonly changes: JsonObject
}

type MemorySettings = {
  readonly optimization: Pick<RunConfig['optimization'], 'tokenBudget' | 'memory'>
  readonly rollout: Pick<RunConfig['rollout'], 'maxNewTokens' | 'groupSize'>
}

/** Tokens per learning batch: the engine's own minimum, and the smallest one proposed. */
const [defaultTokens, minTokens] = [512, 64]

/** Proposes settings that use less memory, the cheapest first. */
export function memoryProposals({ optimization, rollout }: MemorySettings): readonly MemoryProposal[] {
  const { tokenBudget, memory } = optimization
  const { maxNewTokens, groupSize } = rollout
  const half = (value: number) => Math.max(1, Math.floor(value / 2))
  const proposals: (MemoryProposal | null)[] = [
    memory === 'recompute'
      ? null
      : {
          words: 'Recompute activations instead of keeping them.',
          price: 'Learning takes about a third longer; the result is the same.',
          changes: { 'optimization.memory': 'recompute' },
        },
    tokenBudget !== null && tokenBudget <= minTokens
      ? null
      : {
          words: `Learn from ${String(half(tokenBudget ?? defaultTokens))} tokens at once instead of ${tokenBudget === null ? 'as many as are fastest' : String(tokenBudget)}.`,
          price: 'Slightly slower; the result is the same.',
          changes: { 'optimization.tokenBudget': half(tokenBudget ?? defaultTokens) },
        },
    maxNewTokens <= 1
      ? null
      : {
          words: `Truncate completions at ${String(half(maxNewTokens))} tokens instead of ${String(maxNewTokens)}.`,
          price: 'Longer answers are truncated.',
          changes: { 'rollout.maxNewTokens': half(maxNewTokens) },
        },
    groupSize === null || groupSize < 4
      ? null
      : {
          words: `Compare ${String(half(groupSize))} completions per prompt instead of ${String(groupSize)}.`,
          price: 'A noisier comparison within each group.',
          changes: { 'rollout.groupSize': half(groupSize) },
        },
  ]
  return proposals.filter((proposal) => proposal !== null)
}
