/** From values to places on the screen and back. */
import { linearTicks, logTicks } from './ticks.ts'

export type ScaleKind = 'linear' | 'log'

export interface Scale {
  readonly kind: ScaleKind
  readonly domain: readonly [low: number, high: number]
  readonly ticks: readonly number[]
  /** 0 at the low end, 1 at the high end; what a logarithm does not have lies at the low end. */
  readonly share: (value: number) => number
  /** The value at a share. */
  readonly valueAt: (share: number) => number
}

/** Numbers a y axis must show; NaN and infinities are passed over. */
export interface Extent {
  readonly low: number
  readonly high: number
  /** Smallest value above 0; null where there is none. */
  readonly lowestPositive: number | null
}

export function extentOf(values: Iterable<number>): Extent | null {
  let [low, high, lowestPositive] = [Infinity, -Infinity, Infinity]
  for (const value of values) {
    if (!Number.isFinite(value)) continue
    if (value < low) low = value
    if (value > high) high = value
    if (value > 0 && value < lowestPositive) lowestPositive = value
  }
  if (low > high) return null
  return { low, high, lowestPositive: lowestPositive === Infinity ? null : lowestPositive }
}

/** A scale with room above and below, its ends on round numbers where that costs little. */
export function valueScale(extent: Extent, kind: ScaleKind, tickCount = 4): Scale {
  if (kind === 'log' && extent.lowestPositive !== null)
    return logScale(Math.max(extent.lowestPositive, extent.high / 10 ** maxDecades), extent.high)
  const { low, high } = padded(extent)
  return linearScale(low, high, tickCount)
}

/** Exactly from low to high. */
export function linearScale(low: number, high: number, tickCount = 4): Scale {
  const span = high - low || 1
  return {
    kind: 'linear',
    domain: [low, high],
    ticks: enoughTicks(low, high, tickCount),
    share: (value) => (value - low) / span,
    valueAt: (share) => low + share * span,
  }
}

/** A single tick says nothing of the scale. */
function enoughTicks(low: number, high: number, count: number): readonly number[] {
  const inside = (wanted: number) =>
    linearTicks(low, high, wanted).filter((tick) => tick >= low && tick <= high)
  const ticks = inside(count)
  return ticks.length < 2 ? inside(2 * count) : ticks
}

/** What is smaller still counts as 0: it would press everything else together. */
const maxDecades = 8

function logScale(lowest: number, highest: number): Scale {
  const room = Math.max(0.04, Math.log10(highest / lowest) * 0.05)
  const [from, to] = [Math.log10(lowest) - room, Math.log10(highest) + room]
  return {
    kind: 'log',
    domain: [10 ** from, 10 ** to],
    ticks: logTicks(10 ** from, 10 ** to),
    share: (value) => (value > 0 ? Math.max(0, (Math.log10(value) - from) / (to - from)) : 0),
    valueAt: (share) => 10 ** (from + share * (to - from)),
  }
}

/** Whether a value has no place on the scale of its own and is drawn at the edge with a mark. */
export const isClamped = (value: number, { kind, domain }: Scale): boolean =>
  kind === 'log' && value < domain[0]

/** What a value is drawn as. */
export const clamped = (value: number, scale: Scale): number =>
  isClamped(value, scale) ? scale.domain[0] : value

function padded({ low, high }: Extent): { readonly low: number; readonly high: number } {
  if (low === high) {
    const room = Math.abs(low) * 0.5 || 1
    return low >= 0
      ? { low: Math.max(0, low - room), high: high + room }
      : { low: low - room, high: high + room }
  }
  const room = (high - low) * 0.06
  // Shares and lengths begin at 0; a little room below would only raise questions.
  const bottom = low >= 0 && low - room < 0 ? 0 : low - room
  return { low: low >= 0 && low < (high - low) * 0.25 ? 0 : bottom, high: high + room }
}
