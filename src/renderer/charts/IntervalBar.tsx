import type { Estimate, Interval } from '#shared/statistics.ts'
import { formatReward } from '#renderer/client/format.ts'

/** Returns a common scale for the bars of a list, so that they compare by eye: 0 to 1 unless values exceed it. */
export function scaleOf(estimates: readonly (Estimate | null | undefined)[]): Interval {
  const ends = estimates.flatMap((estimate) =>
    estimate === null || estimate === undefined
      ? []
      : [estimate.value, estimate.interval?.low ?? estimate.value, estimate.interval?.high ?? estimate.value],
  )
  return { low: Math.min(0, ...ends), high: Math.max(1, ...ends) }
}

interface IntervalBarProps {
  readonly estimate: Estimate
  readonly scale: Interval
}

/** Draws a mean as a tick on its 95 % interval, with the numbers beside it. */
export function IntervalBar({ estimate: { value, interval }, scale }: IntervalBarProps) {
  const place = (at: number) => `${String((100 * (at - scale.low)) / (scale.high - scale.low || 1))}%`
  const { low, high } = interval ?? { low: value, high: value }
  return (
    <span aria-hidden className="relative block h-4 w-full">
      <span className="absolute inset-x-0 top-1/2 h-px bg-line" />
      <span
        className="absolute top-1/2 h-2 -translate-y-1/2 rounded-full bg-accent opacity-30"
        style={{ left: place(low), right: `calc(100% - ${place(high)})` }}
      />
      <span
        className="absolute top-1/2 h-3 w-1 -translate-x-1/2 -translate-y-1/2 rounded-full bg-accent"
        style={{ left: place(value) }}
      />
    </span>
  )
}

/** Formats an interval as “0.812 to 0.874”, or a dash if there is none. */
export const intervalWords = (
  estimate: Estimate | null | undefined,
  format: (value: number) => string = formatReward,
): string =>
  estimate?.interval == null ? '–' : `${format(estimate.interval.low)} to ${format(estimate.interval.high)}`
