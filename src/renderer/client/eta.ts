/** How long something still takes, in words. */
import { rangeWords, laterStagesWords, rangeAfter } from '#shared/remaining.ts'
import { useNow } from './live.ts'
import { useRemainingOf } from './runs.ts'

/** A range in words, as exact as it is known: “2–3 min”. */
export const etaWords = ({ lowMs, highMs }: { readonly lowMs: number; readonly highMs: number }): string =>
  rangeWords({ low: lowMs / 1000, high: highMs / 1000 })

interface Eta {
  /** null before the first step. */
  readonly secondsPerStep: number | null
  /** How long the rest takes, in words. */
  readonly left: string
  /** What follows it where later stages come besides, of which nothing is known. */
  readonly later: string
}

/** As it is now; null where nothing is known yet, nothing is left, or the run does not train. */
export function useEta(runId: string): Eta | null {
  const remaining = useRemainingOf(runId)
  const now = useNow(1000)
  if (remaining === undefined) return null
  const { low, high } = rangeAfter(remaining, (now - remaining.since) / 1000)
  if (high === 0) return null
  return {
    secondsPerStep: remaining.secondsPerStep,
    left: etaWords({ lowMs: 1000 * low, highMs: 1000 * high }),
    later: laterStagesWords(remaining.laterStages),
  }
}
