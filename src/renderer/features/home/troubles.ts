/** What went wrong lately, in one sentence each. */
import type { RunEntry } from '#renderer/client/runs.ts'

export interface Trouble<Run> {
  readonly run: Run
  readonly words: string
}

type Ended = Pick<RunEntry, 'id' | 'status' | 'error' | 'finding' | 'lastWords' | 'updatedAt' | 'step'>

const most = 4
/** What is older has been seen, or nobody cares. */
const lookBackMs = 7 * 86_400_000

/** Runs of the last week that failed, were interrupted or have a problem in their diagnosis, the newest first. */
export const troublesOf = <Run extends Ended>(runs: readonly Run[], now: number): readonly Trouble<Run>[] =>
  runs
    .filter((run) => isTrouble(run) && now - run.updatedAt < lookBackMs)
    .toSorted((a, b) => b.updatedAt - a.updatedAt)
    .slice(0, most)
    .map((run) => ({ run, words: wordsOf(run) }))

const isTrouble = ({ status, finding }: Ended): boolean =>
  status === 'failed' || status === 'interrupted' || finding?.severity === 'problem'

function wordsOf({ status, error, finding, step }: Ended): string {
  if (error !== null) return error.message
  if (finding !== null) return finding.words
  return status === 'interrupted'
    ? `Its process ended after step ${String(step)}. It can be resumed.`
    : 'It ended without saying why.'
}
