/**
 * Replay of unsolved rows: a part of each step's prompts are rows that the policy did not solve when they were last drawn,
 * oldest first: a threshold on the success rate, where prioritised sampling draws rows in proportion to their failures (Kimi k1.5,
 * arXiv:2501.12599, section 2.3.3).
 */
import type { UnsolvedRow } from '#shared/events.ts'
import { meanOf } from '#shared/mean.ts'
import type { Metrics } from '#shared/metrics.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { Trajectory } from '../rollout/trajectory.ts'

type Settings = RunConfig['rollout']

/** Rows that wait at most; the oldest leave. */
const maxUnsolved = 10_000

/** Prompts of a step that may be rows drawn before. */
export const replaysOf = ({ replayShare, promptsPerStep }: Settings): number =>
  Math.floor(replayShare * promptsPerStep)

/**
 * The rows that wait after a step, in the order in which they come again. A row is solved when the mean reward of its trajectories
 * reaches `replaySolvedAt`, those without a reward left aside; one that was replayed `replayTries` times in vain waits for its next pass. Returns undefined
 * where none is replayed.
 */
export function unsolvedAfter(
  waiting: readonly UnsolvedRow[] = [],
  trajectories: readonly Pick<Trajectory, 'prompt' | 'reward'>[],
  settings: Settings,
): readonly UnsolvedRow[] | undefined {
  if (replaysOf(settings) === 0) return undefined
  const { replaySolvedAt, replayTries } = settings
  const known = new Map(waiting.map(({ row, tries }) => [row, tries]))
  const drawn = Map.groupBy(trajectories, ({ prompt: { row } }) => row)
  const unsolved = [...drawn]
    .filter(([, own]) => (meanOf(own.map(({ reward }) => reward.total)) ?? -Infinity) < replaySolvedAt)
    .map(([row]) => ({ row, tries: known.has(row) ? known.get(row)! + 1 : 0 }))
    .filter(({ tries }) => tries < replayTries)
  return [...waiting.filter(({ row }) => !drawn.has(row)), ...unsolved].slice(-maxUnsolved)
}

export const replayMetrics = (replayed: number, unsolved: readonly UnsolvedRow[]): Metrics => ({
  'rollout/replayed_prompts': replayed,
  'rollout/unsolved_prompts': unsolved.length,
})
