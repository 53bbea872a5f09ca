import { useEffect, useRef, useState } from 'react'
import { etaWords } from '#renderer/client/eta.ts'

interface PhaseProgress {
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

/** How long a phase of long work still takes, from its own pace so far; null while nobody can tell. */
export function usePhaseEta(progress: PhaseProgress | null): string | null {
  const [words, setWords] = useState<string | null>(null)
  const latest = useRef(progress)
  useEffect(() => {
    latest.current = progress
  })
  useEffect(() => {
    let start: Start | null = null
    const timer = setInterval(() => {
      const [now, current] = [performance.now(), latest.current]
      if (current !== null && start?.phase !== current.phase) {
        start = { phase: current.phase, done: current.done, at: now }
      }
      setWords(current === null || start === null ? null : phaseEta(current, start, now))
    }, betweenLooksMs)
    return () => clearInterval(timer)
  }, [])
  return words
}

/** In words, some way to either side of what the pace says. */
export function phaseEta({ phase, done, total }: PhaseProgress, start: Start, now: number): string | null {
  const gone = done - start.done
  if (total === null || phase !== start.phase || gone <= 0) return null
  const left = ((now - start.at) / gone) * (total - done)
  return left < 1000 ? null : etaWords({ lowMs: 0.8 * left, highMs: 1.25 * left })
}
