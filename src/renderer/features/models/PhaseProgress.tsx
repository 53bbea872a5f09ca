import { useEffect, useRef, useState } from 'react'
import { etaWords } from '#renderer/client/live.ts'
import { TaskProgress } from '#renderer/kit/states.tsx'

/** Progress of work in phases, with the time that its phase still takes. */
export function PhaseProgress({ progress }: { progress: Phase & { readonly unit: string } }) {
  const eta = usePhaseEta(progress)
  return (
    <>
      <TaskProgress progress={progress} />
      {eta !== null && <p className="mt-1 text-sm text-faint">About {eta} left for this part</p>}
    </>
  )
}

interface Phase {
  readonly phase: string
  readonly done: number
  readonly total: number | null
}

interface Start {
  readonly phase: string
  readonly done: number
  readonly at: number
}

const betweenLooksMs = 500

/** Estimates the rest of a phase from its own pace; null while unknown. */
function usePhaseEta(progress: Phase): string | null {
  const [words, setWords] = useState<string | null>(null)
  const latest = useRef(progress)
  useEffect(() => {
    latest.current = progress
  })
  useEffect(() => {
    let start: Start | null = null
    const timer = setInterval(() => {
      const [now, current] = [performance.now(), latest.current]
      if (start?.phase !== current.phase) start = { phase: current.phase, done: current.done, at: now }
      setWords(phaseEta(current, start, now))
    }, betweenLooksMs)
    return () => clearInterval(timer)
  }, [])
  return words
}

/** Formats the estimate as a range around the current pace. */
export function phaseEta({ phase, done, total }: Phase, start: Start, now: number): string | null {
  const gone = done - start.done
  if (total === null || phase !== start.phase || gone <= 0) return null
  const left = ((now - start.at) / gone) * (total - done)
  return left < 1000 ? null : etaWords({ lowMs: 0.8 * left, highMs: 1.25 * left })
}
