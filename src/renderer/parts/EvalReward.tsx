import { formatReward } from '#renderer/client/format.ts'
import type { RunEntry } from '#renderer/client/runs.ts'

/** Eval reward before and after training; one figure if it was measured once. */
export function EvalReward({ run }: { run: Pick<RunEntry, 'rewardBefore' | 'rewardAfter'> }) {
  const { rewardBefore: before, rewardAfter: after } = run
  if (before === null || after === null) {
    const when = before === null ? 'after' : 'before'
    return <span title={`Eval reward ${when} training`}>{formatReward(before ?? after)}</span>
  }
  return (
    <span title="Eval reward before and after training">
      <span className="font-normal text-faint">
        {before === after ? 'still ' : `${formatReward(before)} → `}
      </span>
      {formatReward(after)}
    </span>
  )
}
