/** What went wrong lately, in one sentence each. */
import type { RunEntry } from '#renderer/hooks/runs.ts'

export interface Trouble<Run> {
  readonly run: Run
  readonly words: string
}

type Ended = Pick<RunEntry, 'id' | 'status' | 'error' | 'lastWords' | 'updatedAt' | 'step'>

const most = 4
/** What is older has been seen, or nobody cares. */
const lookBackMs = 7 * 86_400_000

/** Runs that failed or were interrupted in the last week, the newest first; one that was resumed has another status. */
export const troublesOf = <Run extends Ended>(runs: readonly Run[], now: number): readonly Trouble<Run>[] =>
  runs
    .filter(({ status, updatedAt }) => isTrouble(status) && now - updatedAt < lookBackMs)
    .toSorted((a, b) => b.updatedAt - a.updatedAt)
    .slice(0, most)
    .map((run) => ({ run, words: wordsOf(run) }))

const isTrouble = (status: RunEntry['status']): boolean => status === 'failed' || status === 'interrupted'

function wordsOf({ status, error, step }: Ended): string {
  if (error !== null) return error.message
  return status === 'interrupted'
    ? `Its process ended after step ${String(step)}. It can be resumed.`
    : 'It ended without saying why.'
}
