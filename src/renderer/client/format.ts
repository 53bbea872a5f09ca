/** Formats of numbers, sizes and times, the same everywhere. */
import { formatNumber, minus, noNumber } from '#shared/formatNumber.ts'
import { noun } from '#shared/plural.ts'
import type { Estimate } from '#shared/statistics.ts'

export { formatNumber, noNumber } from '#shared/formatNumber.ts'

/** Formats a fixed number of decimals, for numbers in a column. */
export const formatFixed = (value: number | null | undefined, decimals = 3): string =>
  value === null || value === undefined || Number.isNaN(value)
    ? noNumber
    : minus(value.toFixed(decimals).replace(/^-(?=0\.?0*$)/, ''))

/** Formats rewards for a column: a fixed number of decimals, unless they are large. */
export const formatReward = (value: number | null | undefined): string =>
  typeof value === 'number' && Math.abs(value) >= 1000 ? formatNumber(value) : formatFixed(value)

/** Formats the half-width of the 95 % interval of a mean as ` ± 0.062`; empty if it has none. */
export const formatReach = (mean: Estimate | null | undefined): string =>
  mean?.interval == null ? '' : ` ± ${formatNumber(mean.interval.high - mean.value, 2)}`

export const formatDelta = (value: number | null | undefined): string =>
  typeof value === 'number' && value > 0 ? `+${formatNumber(value)}` : formatNumber(value)

/** Formats a difference of rewards with its sign. */
export const formatRewardDelta = (value: number | null | undefined): string =>
  typeof value === 'number' && value > 0 ? `+${formatReward(value)}` : formatReward(value)

/** Formats whole numbers with grouped thousands. */
export const formatCount = (value: number | null | undefined): string =>
  value === null || value === undefined
    ? noNumber
    : minus(Math.round(value).toLocaleString('en-US').replaceAll(',', ' '))

/** Rounds a size as it will be written, so that 999 900 000 becomes 1 B rather than 1000 M. */
const asWritten = (value: number): number => Number(Math.abs(value).toPrecision(3))

/** Formats 1 940 000 as 1.94 M. */
export function formatShort(value: number | null | undefined): string {
  if (value === null || value === undefined) return noNumber
  const size = asWritten(value)
  if (size >= 1e9) return `${formatNumber(value / 1e9)} B`
  if (size >= 1e6) return `${formatNumber(value / 1e6)} M`
  if (size >= 1e4) return `${formatNumber(value / 1e3)} k`
  return formatCount(value)
}

export const formatPercent = (share: number | null | undefined): string =>
  share === null || share === undefined || Number.isNaN(share) ? noNumber : `${formatNumber(share * 100)} %`

/** Formats a fraction as a whole percentage, if it is not known more precisely. */
export const formatShare = (share: number): string =>
  share > 0 && share < 0.01 ? 'less than 1 %' : `${String(Math.round(100 * share))} %`

/**
 * Formats the shares of a whole, rounded so that they add up to 100 % (largest remainder): rounded one by one, three thirds
 * make 99 %. What is rounded to nothing reads `< 1 %`. `unit`: what is rounded to, in percent.
 */
export function formatShares(amounts: readonly number[], unit: 1 | 0.1 = 1): readonly string[] {
  const whole = amounts.reduce((sum, amount) => sum + amount, 0)
  if (whole === 0) return amounts.map(() => noNumber)
  const exact = amounts.map((amount) => ((amount / whole) * 100) / unit)
  const missing = 100 / unit - exact.reduce((sum, share) => sum + Math.floor(share), 0)
  const largestRemainders = exact.map((share, at) => ({ at, remainder: share % 1 }))
  largestRemainders.sort((a, b) => b.remainder - a.remainder)
  const roundedUp = new Set(largestRemainders.slice(0, Math.round(missing)).map(({ at }) => at))
  return exact.map((share, at) => {
    const rounded = Math.floor(share) + (roundedUp.has(at) ? 1 : 0)
    return rounded === 0 && share > 0 ? `< ${String(unit)} %` : `${formatNumber(rounded * unit)} %`
  })
}

const sizes = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const

export function formatBytes(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return noNumber
  let value = bytes
  let unit = 0
  while ((unit === 0 ? value : asWritten(value)) >= 1000 && unit < sizes.length - 1) {
    value /= 1000
    unit += 1
  }
  return `${unit === 0 ? String(value) : formatNumber(value)} ${sizes[unit] ?? ''}`
}

/** Formats 72.4 s as 1 min 12 s. */
/** Describes the memory of a process: its own, and the pages of files that the system may drop. */
export const memoryWords = (memory: {
  readonly privateBytes: number
  readonly mappedBytes: number
}): string =>
  `${formatBytes(memory.privateBytes)} private + ${formatBytes(memory.mappedBytes)} mapped weights`

export function formatDuration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return noNumber
  if (ms < 1000) return `${formatNumber(ms, 2)} ms`
  const seconds = ms / 1000
  if (seconds < 60) return `${formatNumber(seconds, seconds < 10 ? 2 : 3)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${String(minutes)} min ${String(Math.floor(seconds % 60))} s`
  const hours = Math.floor(minutes / 60)
  return hours < 48
    ? `${String(hours)} h ${String(minutes % 60)} min`
    : `${String(Math.floor(hours / 24))} d ${String(hours % 24)} h`
}

/** Formats an instant in epoch ms relative to `now`. */
export function formatAgo(at: number, now: number): string {
  const seconds = Math.max(0, (now - at) / 1000)
  if (seconds < 45) return 'just now'
  if (seconds < 3600) return `${String(Math.max(1, Math.round(seconds / 60)))} min ago`
  if (seconds < 86_400) return `${String(Math.round(seconds / 3600))} h ago`
  return formatDate(at)
}

const dates = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
const times = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })

export const formatDate = (at: number): string => dates.format(at)
export const formatTime = (at: number): string => times.format(at)

/** Formats date and minute, for what may be of another day. */
export const formatMoment = (at: number): string => `${formatDate(at)} ${formatTime(at).slice(0, 5)}`

/** Returns the last part of a path of any system: the name of a folder or file. */
export const lastPart = (path: string): string => path.split(/[\\/]/).findLast(Boolean) ?? path

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${noun(count, one, many)}`
