/** Whether a run takes longer than it used to. */

export interface Pace {
  /** Nothing has ended for so long. */
  readonly sinceMs: number
  /** How many times the usual that is. */
  readonly times: number
}

const slowTimes = 3
/** Short steps vary for reasons of the machine. */
const leastMs = 10_000

/** null: as usual, or nobody knows what is usual. */
export function slowPace(sinceMs: number, usualMs: number | null): Pace | null {
  if (usualMs === null || usualMs <= 0) return null
  const times = sinceMs / usualMs
  return times >= slowTimes && sinceMs >= leastMs ? { sinceMs, times } : null
}

/** The middle of the last durations; null of none. */
export function usualOf(durations: readonly number[]): number | null {
  const sorted = durations.filter((value) => Number.isFinite(value)).sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? null
}
