/** Stored samples under another version of the reward code: what the change would have paid. */
import { scoreRewards } from '#rl/rewards.ts'
import type { Reward } from '#rl/rollout/trajectory.ts'
import { chosenFunctions, openSandbox, sandboxedReward, type CodeSource } from '../sandbox/sandbox.ts'
import type { DryRunOptions } from './dryRun.ts'

export interface StoredSample {
  readonly prompt: string
  readonly completion: string
  /** Every column of the data set row it came from. */
  readonly row: Readonly<Record<string, unknown>>
  readonly step: number
  /** What it earned then, from this reward alone. */
  readonly reward: number | null
}

export interface Rescore {
  /** In the order of the samples. */
  readonly rewards: readonly Reward[]
  /** Samples that now earn something else, or nothing. */
  readonly changed: number
  readonly failed: number
  /** Over samples that had and have a reward; null without any. */
  readonly meanBefore: number | null
  readonly meanAfter: number | null
}

/** Errors as dryRun. */
export async function rescore(
  source: CodeSource,
  samples: readonly StoredSample[],
  options: DryRunOptions = {},
): Promise<Rescore> {
  await using sandbox = await openSandbox(source, options.limits)
  const specs = chosenFunctions(sandbox, options.function ?? null).map((name) => ({
    function: sandboxedReward(sandbox, name, options.settings ?? {}),
    weight: 1,
    name,
  }))
  const rewards = await scoreRewards(specs, samples, 'null')
  const pairs = samples.map(({ reward }, i) => ({ before: reward, after: rewards[i]?.total ?? null }))
  const both = pairs.filter(({ before, after }) => before !== null && after !== null)
  return {
    rewards,
    changed: pairs.filter(({ before, after }) => !isSame(before, after)).length,
    failed: rewards.filter(({ failures }) => failures.length > 0).length,
    meanBefore: meanOf(both.map(({ before }) => before ?? 0)),
    meanAfter: meanOf(both.map(({ after }) => after ?? 0)),
  }
}

const isSame = (a: number | null, b: number | null): boolean =>
  a === b || (a !== null && b !== null && Math.abs(a - b) < 1e-12)

const meanOf = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
