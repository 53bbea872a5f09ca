/** Trajectories for inspection: texts, rewards, and per-token arrays packed for the log. */
import type { TokenArrays, TrajectorySample } from '#shared/events.ts'
import { packArray } from '#shared/packedArray.ts'
import { groupsOf } from '../algorithms/terms/groups.ts'
import { turnOfTokens } from '../algorithms/terms/turns.ts'
import { alignSamplerLogprobs } from './samplingMismatch.ts'
import type { Reward, Trajectory } from '../rollout/trajectory.ts'
import type { TrainingRow } from './experience.ts'
import type { ShownHeads } from './update.ts'

/** `rows` and `heads` hold the trajectories of the update; any other has no advantage and no arrays of the learner. */
export function shownSamples(
  trajectories: readonly Trajectory[],
  rows: readonly TrainingRow[],
  heads: ReadonlyMap<Trajectory, ShownHeads>,
): TrajectorySample[] {
  const learned = new Map(rows.map((row) => [row.trajectory, row]))
  return trajectories.map((trajectory) => {
    const row = learned.get(trajectory)
    return {
      row: trajectory.prompt.row,
      prompt: trajectory.prompt.text,
      completion: trajectory.completion,
      reward: trajectory.reward.total,
      parts: trajectory.reward.parts,
      advantage: row ? meanAdvantage(row) : null,
      tokens: trajectory.completionTokens,
      stopReason: stopReasonOf(trajectory),
      ...(trajectory.version === undefined ? {} : { version: trajectory.version }),
      ...loggedBy(trajectory.reward),
      arrays: tokenArrays(trajectory, row, heads.get(trajectory)),
    }
  })
}

/**
 * Returns the end of an episode that was cut short, about which the stop reason of its last turn says nothing; else the
 * stop reason.
 */
const stopReasonOf = ({ episode, stopReason }: Trajectory): TrajectorySample['stopReason'] =>
  episode === null || episode.end === 'terminated' ? stopReason : episode.end

const loggedBy = ({ logged, failures }: Reward): Pick<TrajectorySample, 'logged' | 'failures'> => ({
  ...(logged === undefined ? {} : { logged }),
  ...(failures.length === 0 ? {} : { failures: failures.map(({ name, message }) => `${name}: ${message}`) }),
})

function meanAdvantage({ learning }: TrainingRow): number {
  const actions = learning.actionMask.reduce((count, isAction) => count + isAction, 0)
  return learning.advantages.reduce((sum, advantage) => sum + advantage, 0) / Math.max(actions, 1)
}

export function tokenArrays(trajectory: Trajectory, row?: TrainingRow, heads?: ShownHeads): TokenArrays {
  const { ids, actionMask, samplerLogprobs } = trajectory
  const zeros = new Float64Array(actionMask.length)
  const sampled = alignSamplerLogprobs(zeros, actionMask, samplerLogprobs)
  const rewards = placedRewards(trajectory)
  return {
    ids: packArray(ids),
    actionMask: packArray(Float32Array.from(actionMask)),
    logprobs: packed(heads?.logprobs),
    behaviorLogprobs: sampled.skipped ? null : packed(sampled.logprobs),
    referenceLogprobs: packed(row?.learning.referenceLogprobs),
    entropies: packed(heads?.entropies),
    advantages: packed(row?.learning.advantages),
    ...(rewards === null ? {} : { rewards: packArray(rewards) }),
  }
}

/** Returns null if no token or turn earned anything of its own. */
function placedRewards(trajectory: Trajectory): Float32Array | null {
  const { tokenRewards, turnRewards, turnIds, actionMask } = trajectory
  if (tokenRewards !== null) return Float32Array.from(tokenRewards)
  if (turnIds === null || turnRewards.length === 0) return null
  const turns = turnOfTokens(trajectory)
  return Float32Array.from(actionMask, (isAction, t) => (isAction === 1 ? (turnRewards[turns[t]!] ?? 0) : 0))
}

const packed = (values: Float32Array | Float64Array | null | undefined): string | null =>
  values ? packArray(Float32Array.from(values)) : null

/**
 * Selects at most `count` trajectories to show, from groups spread over the step: as many whole groups as fit, since an
 * answer is best judged beside the others of its group; if not even one fits, a part of the first.
 */
export function spreadGroups<T extends Pick<Trajectory, 'group'>>(
  trajectories: readonly T[],
  count: number,
): T[] {
  const groups = groupsOf(trajectories)
  const [first] = groups
  if (first === undefined || count === 0) return []
  const fitting = Math.max(1, Math.floor(count / first.length))
  return evenlySpaced(groups, fitting).flat().slice(0, count)
}

/** `count` of the items, evenly spaced, or all where there are fewer. */
function evenlySpaced<T>(items: readonly T[], count: number): T[] {
  const shown = Math.min(count, items.length)
  return Array.from({ length: shown }, (_, k) => items[Math.floor((k * items.length) / shown)]!)
}
