import { useState } from 'react'
import { estimate, type Eta, type StepTime } from '../eta.ts'
import type { RunEntry } from './runs.ts'

interface Watched {
  readonly runId: string
  readonly times: readonly StepTime[]
}

const most = 21

function watchedNext(before: Watched, run: RunEntry): Watched {
  const now = { step: run.step, at: run.updatedAt }
  const last = before.times.at(-1)
  if (before.runId !== run.id || (last !== undefined && now.step < last.step))
    return { runId: run.id, times: [now] }
  return now.step === last?.step ? before : { runId: run.id, times: [...before.times, now].slice(-most) }
}

/** Watches a run's steps go by and says how long the rest takes; null until two steps were seen. */
export function useEta(run: RunEntry | undefined): Eta | null {
  const [watched, setWatched] = useState<Watched>({ runId: '', times: [] })
  if (run?.status !== 'running') return null
  const next = watchedNext(watched, run)
  if (next !== watched) setWatched(next)
  return run.steps === null ? null : estimate(next.times, run.steps - run.step)
}
