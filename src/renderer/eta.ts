/** How long a run still takes, from its own last steps; never from those of an earlier session. */

export interface StepTime {
  readonly step: number
  /** Epoch ms. */
  readonly at: number
}

export interface Eta {
  readonly secondsPerStep: number
  readonly lowMs: number
  readonly highMs: number
}

const most = 20

/**
 * From the times at which the last steps ended, the oldest first. The range is from the first and third quartile of the
 * steps' durations; null until two steps have ended.
 */
export function estimate(times: readonly StepTime[], stepsLeft: number): Eta | null {
  const recent = times.slice(-most - 1)
  const durations = recent
    .slice(1)
    .map(({ step, at }, i) => (at - (recent[i]?.at ?? at)) / Math.max(1, step - (recent[i]?.step ?? step)))
    .sort((a, b) => a - b)
  if (durations.length === 0) return null
  const quartile = (share: number) => durations[Math.floor(share * (durations.length - 1))] ?? 0
  const [first, last] = [recent[0], recent.at(-1)]
  if (first === undefined || last === undefined) return null
  const mean = (last.at - first.at) / Math.max(1, last.step - first.step)
  return {
    secondsPerStep: mean / 1000,
    lowMs: Math.min(mean, quartile(0.25)) * stepsLeft,
    highMs: Math.max(mean, quartile(0.75)) * stepsLeft,
  }
}

/** A range in words, as exact as it is known: “2–3 min”. */
export function etaWords({ lowMs, highMs }: Pick<Eta, 'lowMs' | 'highMs'>): string {
  const scales = [
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1000],
  ] as const
  const [unit, size] = scales.find(([, ms]) => highMs >= 2 * ms) ?? scales[2]
  const [low, high] = [Math.max(1, Math.floor(lowMs / size)), Math.max(1, Math.ceil(highMs / size))]
  return low === high ? `${String(high)} ${unit}` : `${String(low)}–${String(high)} ${unit}`
}
