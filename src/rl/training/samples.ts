import type { TrajectorySample } from '#shared/events.ts'
import type { Trajectory } from '../rollout/trajectory.ts'
import type { TrainingRow } from './experience.ts'

/**
 * `count` trajectories, evenly spaced over the step, as a person reads them. One that was left out of the update has no
 * advantage.
 */
export function shownSamples(
  trajectories: readonly Trajectory[],
  rows: readonly TrainingRow[],
  count: number,
): TrajectorySample[] {
  const learned = new Map(rows.map((row) => [row.trajectory, row]))
  return evenlySpaced(trajectories, count).map((trajectory) => {
    const row = learned.get(trajectory)
    return {
      row: trajectory.prompt.row,
      prompt: trajectory.prompt.text,
      completion: trajectory.completion,
      reward: trajectory.reward.total,
      parts: trajectory.reward.parts,
      advantage: row ? meanAdvantage(row) : null,
      tokens: trajectory.completionTokens,
      stopReason: trajectory.stopReason,
    }
  })
}

function meanAdvantage({ learning }: TrainingRow): number {
  const actions = learning.actionMask.reduce((count, isAction) => count + isAction, 0)
  return learning.advantages.reduce((sum, advantage) => sum + advantage, 0) / Math.max(actions, 1)
}

function evenlySpaced<T>(items: readonly T[], count: number): T[] {
  const shown = Math.min(count, items.length)
  return Array.from({ length: shown }, (_, k) => items[Math.floor((k * items.length) / shown)]!)
}
