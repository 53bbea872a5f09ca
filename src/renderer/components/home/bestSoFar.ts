/** The best eval reward reached so far, run by run. */
import type { RunEntry } from '#renderer/hooks/runs.ts'

export interface BestPoint {
  readonly run: Pick<RunEntry, 'id' | 'name' | 'algorithm' | 'seed' | 'createdAt'>
  readonly reward: number
  /** Of this and all earlier runs. */
  readonly best: number
  readonly isRecord: boolean
}

type Measured = BestPoint['run'] & Pick<RunEntry, 'rewardAfter'>

/** Runs with an eval reward, the oldest first. */
export function bestSoFar(runs: readonly Measured[]): readonly BestPoint[] {
  let best = -Infinity
  return runs
    .toSorted((a, b) => a.createdAt - b.createdAt)
    .flatMap((run) => {
      const { rewardAfter: reward } = run
      if (reward === null) return []
      const isRecord = reward > best
      best = Math.max(best, reward)
      return [{ run, reward, best, isRecord }]
    })
}
