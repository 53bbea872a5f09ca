import { useAnswer } from '#renderer/client/api.tsx'
import { formatDuration, noNumber } from '#renderer/client/format.ts'
import type { RunEntry } from '#renderer/client/runs.ts'

/** Sum of the durations of its steps, evaluations and checkpoints: pauses do not count. */
export function RunDuration({ run }: { run: RunEntry }) {
  const parts = [useTotal(run, 'step_time'), useTotal(run, 'eval_time'), useTotal(run, 'checkpoint_time')]
  const seconds = parts.reduce<number>((sum, part) => sum + (part ?? 0), 0)
  return <>{parts[0] === undefined ? noNumber : formatDuration(seconds * 1000)}</>
}

/** Sum of a metric over all steps; undefined while loading. */
function useTotal(run: RunEntry, metric: string): number | undefined {
  const { data } = useAnswer(
    'metrics.series',
    { runIds: [run.id], metric, toStep: Math.max(1, run.step), maxPoints: 2 },
    { enabled: run.step > 0, keep: true },
  )
  return data?.runs[0]?.points.reduce((sum, { mean, count }) => sum + mean * count, 0)
}
