/** Arithmetic on stretches of a series. */
import type { Evidence } from '#shared/diagnosis.ts'
import { mean, sampleVariance } from '../algorithms/terms/statistics.ts'
import type { Measured } from './diagnosedRun.ts'

export const valuesOf = (series: readonly Measured[]): number[] => series.map(({ value }) => value)

/** NaN of nothing. */
export const averageOf = (series: readonly Measured[]): number => mean(valuesOf(series))

export const totalOf = (series: readonly Measured[]): number =>
  series.reduce((sum, { value }) => sum + value, 0)

/** Half of the points lie below; NaN of nothing. */
export function medianOf(series: readonly Measured[]): number {
  const sorted = valuesOf(series).sort((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] ?? NaN) + (sorted[Math.floor(middle)] ?? NaN)) / 2
}

/** By how much the second half lies above the first, and the standard error of that. */
export function trendOf(series: readonly Measured[]): { readonly rise: number; readonly error: number } {
  const middle = Math.floor(series.length / 2)
  const [before, after] = [valuesOf(series.slice(0, middle)), valuesOf(series.slice(middle))]
  const error = noiseOf(series) * Math.sqrt(1 / before.length + 1 / after.length)
  return { rise: mean(after) - mean(before), error }
}

/** Standard deviation of single points, from how far neighbours lie apart: a trend does not add to it (von Neumann 1941). */
function noiseOf(series: readonly Measured[]): number {
  const steps = series.slice(1).map(({ value }, i) => value - (series[i]?.value ?? value))
  return Math.sqrt(mean(steps.map((step) => step ** 2)) / 2)
}

/** The mean over the stretch unless another value is given. */
export const evidence = (of: string, series: readonly Measured[], value = averageOf(series)): Evidence => ({
  of,
  value,
  fromStep: series[0]?.step ?? 0,
  toStep: series.at(-1)?.step ?? 0,
})

/** Sample standard deviation over the steps; 0 of fewer than two. */
export const spreadOf = (series: readonly Measured[]): number => Math.sqrt(sampleVariance(valuesOf(series)))
