/** Axes side by side, one line per run: parallel coordinates. */
import { linearTicks, logTicks } from './ticks.ts'

export type AxisValue = number | string | boolean | null

export interface ParallelAxis {
  readonly key: string
  readonly kind: 'number' | 'log' | 'category'
  readonly ticks: readonly { readonly share: number; readonly text: string }[]
  /** 0 at the bottom, 1 at the top; null where the run has no such value. */
  readonly share: (value: AxisValue) => number | null
}

/** Numbers that span more than this factor, all above 0, get a logarithmic axis. */
const logFactor = 50

export function parallelAxis(
  key: string,
  values: readonly AxisValue[],
  write: (value: number) => string,
): ParallelAxis {
  const numbers = values
    .filter((value) => typeof value === 'number')
    .filter((value) => Number.isFinite(value))
  const known = values.filter((value) => value !== null)
  if (known.length === 0 || numbers.length < known.length) return categoryAxis(key, known)
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)]
  return low > 0 && high / low > logFactor
    ? logAxis(key, low, high, write)
    : numberAxis(key, low, high, write)
}

function numberAxis(key: string, low: number, high: number, write: (value: number) => string): ParallelAxis {
  const share = (value: number) => (high > low ? (value - low) / (high - low) : 0.5)
  const ticks = high > low ? linearTicks(low, high, 4) : [low]
  return {
    key,
    kind: 'number',
    ticks: ticks.map((tick) => ({ share: share(tick), text: write(tick) })),
    share: ofNumber(share),
  }
}

function logAxis(key: string, low: number, high: number, write: (value: number) => string): ParallelAxis {
  const share = (value: number) => Math.log(value / low) / Math.log(high / low)
  return {
    key,
    kind: 'log',
    ticks: logTicks(low, high).map((tick) => ({ share: share(tick), text: write(tick) })),
    share: ofNumber(share),
  }
}

function categoryAxis(key: string, known: readonly AxisValue[]): ParallelAxis {
  const names = [...new Set(known.map(String))].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
  const shareOf = (name: string) => (names.length > 1 ? names.indexOf(name) / (names.length - 1) : 0.5)
  return {
    key,
    kind: 'category',
    ticks: names.map((name) => ({ share: shareOf(name), text: name })),
    share: (value) => (value === null || !names.includes(String(value)) ? null : shareOf(String(value))),
  }
}

const ofNumber = (share: (value: number) => number) => (value: AxisValue) =>
  typeof value === 'number' && Number.isFinite(value) ? share(value) : null
