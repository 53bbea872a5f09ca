/** Means with their uncertainty, and tests of differences: evaluations by prompts, runs by seeds. Intervals are of 95 %. */
import { randomStream } from './random.ts'

export interface Interval {
  readonly low: number
  readonly high: number
}

export interface Estimate {
  readonly value: number
  /** Null if it cannot be bounded: a single value, or equal ones, unless all are proportions. */
  readonly interval: Interval | null
}

const level = 0.05

/** Standard deviations around the mean of a normal distribution that contain 95 % of it. */
const normalReach = 1.959963984540054

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

/** Sum of squared distances from the mean; exactly 0 if all values are equal. */
export function squares(values: readonly number[]): number {
  const [first = 0] = values
  const apart = values.map((value) => value - first)
  const middle = mean(apart)
  return apart.reduce((sum, value) => sum + (value - middle) ** 2, 0)
}

/** Sample variance, divided by n − 1. */
export const variance = (values: readonly number[]): number => squares(values) / (values.length - 1)

/** Student's t interval of the mean of independent values; null without any. */
export function meanEstimate(values: readonly number[]): Estimate | null {
  if (values.length === 0) return null
  const value = mean(values)
  if (values.length === 1 || values.every((each) => each === values[0])) return { value, interval: null }
  const reach = studentQuantile(values.length - 1) * Math.sqrt(variance(values) / values.length)
  return { value, interval: { low: value - reach, high: value + reach } }
}

/** Score interval of a proportion of independent draws: Wilson 1927, doi:10.2307/2276774. Without draws: 0 to 1. */
export function wilson(share: number, draws: number): Interval {
  if (draws === 0) return { low: 0, high: 1 }
  const square = normalReach ** 2
  const center = share + square / (2 * draws)
  const reach = normalReach * Math.sqrt((share * (1 - share) + square / (4 * draws)) / draws)
  const scale = 1 + square / draws
  // Exact at the ends, where rounding would leave a bound such as 2e-17.
  return { low: share === 0 ? 0 : (center - reach) / scale, high: share === 1 ? 1 : (center + reach) / scale }
}

/**
 * Mean of proportions, such as those of right answers to each prompt, from `draws` samples in all; null without any. The
 * interval is Wilson’s with the effective number of draws derived from the spread of the proportions: no fewer than there
 * are proportions, as if samples of one prompt were all alike, and no more than samples. The spread is that of the
 * proportions that are not at the nearer end; if these are few, Student’s t trusts it less (Korn and Graubard 1998).
 */
export function shareEstimate(shares: readonly number[], draws: number): Estimate | null {
  if (shares.length === 0) return null
  const value = mean(shares)
  const telling = Math.min(
    shares.filter((share) => share > 0).length,
    shares.filter((share) => share < 1).length,
  )
  if (telling < 2) return { value, interval: wilson(value, shares.length) }
  const spread = variance(shares) / shares.length
  const worth = Math.min(draws, (value * (1 - value)) / spread)
  const trusted = worth * (normalReach / studentQuantile(telling - 1)) ** 2
  return { value, interval: wilson(value, Math.max(shares.length, trusted)) }
}

/**
 * Chance that at least one of `k` samples passes, from `passes` of `samples` ≥ k, without bias: 1 − C(n−c, k) / C(n,
 * k). Chen et al. 2021, "Evaluating Large Language Models Trained on Code", equation 1.
 */
export function passAtK(samples: number, passes: number, k: number): number {
  let none = 1
  for (let i = samples - passes + 1; i <= samples; i++) none *= Math.max(0, 1 - k / i)
  return 1 - none
}

export interface Difference {
  readonly difference: number
  /** Null if there are too few values to bound it. */
  readonly interval: Interval | null
  /** Probability of a difference at least as large under the null hypothesis. */
  readonly pValue: number
}

/** Number of sign patterns drawn if there are more. */
const maxPatterns = 20_000

/**
 * Sign-flip permutation test of paired differences (Fisher 1935), two-sided: under the null hypothesis, each difference
 * could as well have the other sign. The interval holds every shift that the same test does not reject (Hartigan 1969),
 * so that it excludes 0 exactly if p < 0.05. Exact for few pairs, else by patterns drawn with the seed. Fewer than six
 * pairs can never reach 5 %: they have no interval.
 */
export function pairedDifference(differences: readonly number[], seed = 1): Difference | null {
  if (differences.length === 0) return null
  const difference = mean(differences)
  const isExact = 2 ** differences.length <= maxPatterns
  const shifts = isExact ? everyShift(differences) : drawnShifts(differences, seed)
  const [highs, lows] = [shifts.map(({ high }) => high), shifts.map(({ low }) => low)]
  // Equal sums may differ in the last bit.
  const rounding = 1e-12 * Math.max(...differences.map(Math.abs))
  const beyond =
    difference > 0 ? lows.filter((low) => low <= rounding) : highs.filter((high) => high >= -rounding)
  highs.sort((a, b) => b - a)
  lows.sort((a, b) => a - b)
  // The first rejected shift has fewer than 5 % of the patterns beyond it.
  const refused = Math.floor(level * shifts.length)
  const [low, high] = [lows[refused] ?? -Infinity, highs[refused] ?? Infinity]
  const isBounded = Number.isFinite(low) && Number.isFinite(high)
  return {
    difference,
    interval: isBounded ? { low, high } : null,
    pValue: beyond.length / shifts.length,
  }
}

/**
 * Returns the shifts between which a pattern's mean is less extreme than the measured one: the means of the differences
 * whose sign it keeps and of those whose sign it flips. The pattern that flips none or all is never less extreme.
 */
function shiftOf(differences: readonly number[], isKept: (i: number) => boolean): Interval {
  let [kept, flipped, count] = [0, 0, 0]
  for (const [i, each] of differences.entries()) {
    if (isKept(i)) {
      kept += each
      count++
    } else flipped += each
  }
  if (count === 0 || count === differences.length) return { low: -Infinity, high: Infinity }
  const [a, b] = [kept / count, flipped / (differences.length - count)]
  return { low: Math.min(a, b), high: Math.max(a, b) }
}

const everyShift = (differences: readonly number[]): Interval[] =>
  Array.from({ length: 2 ** differences.length }, (_, pattern) =>
    shiftOf(differences, (i) => ((pattern >> i) & 1) === 0),
  )

/** Draws shifts, including the measured one, so that no p value is 0. */
function drawnShifts(differences: readonly number[], seed: number): Interval[] {
  const stream = randomStream(seed, differences.length)
  const words = Math.ceil(differences.length / 32)
  const drawn = Array.from({ length: maxPatterns - 1 }, (_, pattern) => {
    const bits = Array.from({ length: words }, (__, word) =>
      Math.floor(stream.uniformAt(pattern * words + word) * 2 ** 32),
    )
    return shiftOf(differences, (i) => (((bits[i >> 5] ?? 0) >>> (i & 31)) & 1) === 0)
  })
  return [{ low: -Infinity, high: Infinity }, ...drawn]
}

/**
 * Compares means of independent values with possibly unequal variances; null if a side has fewer than two, or if so few
 * are all equal on both sides that nothing is known of their variance.
 */
export function welchDifference(a: readonly number[], b: readonly number[]): Difference | null {
  if (a.length < 2 || b.length < 2) return null
  const [knownA, knownB] = [a, b].map(knownMean) as [KnownMean, KnownMean]
  if (knownA.error + knownB.error === 0 && a.length + b.length < 6) return null
  return meanDifference(knownA, knownB)
}

/**
 * Compares two mean proportions, with a success and a failure added to each side, without which few of either would
 * underestimate the spread: Agresti and Caffo 2000, "Simple and effective confidence intervals for proportions and
 * differences of proportions result from adding two successes and two failures". Null if a side has fewer than two.
 */
export function shareDifference(a: readonly number[], b: readonly number[]): Difference | null {
  if (a.length < 2 || b.length < 2) return null
  const found = welchDifference([...a, 0, 1], [...b, 0, 1])
  return found && { ...found, difference: mean(a) - mean(b) }
}

/** Mean with the uncertainty of its estimate. */
export interface KnownMean {
  readonly value: number
  /** Variance of the mean. */
  readonly error: number
  readonly freedom: number
}

const knownMean = (values: readonly number[]): KnownMean => ({
  value: mean(values),
  error: variance(values) / values.length,
  freedom: values.length - 1,
})

/** Welch 1947, "The generalization of 'Student's' problem when several different population variances are involved". */
export function meanDifference(a: KnownMean, b: KnownMean): Difference {
  const difference = a.value - b.value
  const square = a.error + b.error
  const error = Math.sqrt(square)
  const freedom =
    error === 0 ? a.freedom + b.freedom : square ** 2 / (a.error ** 2 / a.freedom + b.error ** 2 / b.freedom)
  const reach = studentQuantile(freedom) * error
  return {
    difference,
    interval: { low: difference - reach, high: difference + reach },
    pValue: error === 0 ? Number(difference === 0) : studentTails(Math.abs(difference) / error, freedom),
  }
}

/** The t within which 95 % of Student's distribution lie. */
export function studentQuantile(freedom: number): number {
  let [low, high] = [0, 1]
  while (studentTails(high, freedom) > level) high *= 2
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2
    if (studentTails(middle, freedom) > level) low = middle
    else high = middle
  }
  return (low + high) / 2
}

/** Fraction of Student's distribution beyond ±t: I_x(ν/2, 1/2) at x = ν / (ν + t²). */
export const studentTails = (t: number, freedom: number): number =>
  incompleteBeta(freedom / (freedom + t * t), freedom / 2, 0.5)

/** Regularized incomplete beta function. */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0 || x >= 1) return Number(x >= 1)
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a)
  const scale = logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x)
  return (Math.exp(scale) * betaFraction(x, a, b)) / a
}

/** Continued fraction DLMF 8.17.22, evaluated as in Lentz 1976. */
function betaFraction(x: number, a: number, b: number): number {
  const apart = (value: number) => (value === 0 ? 1e-300 : value)
  let [c, d] = [1, 1 / apart(1 - ((a + b) * x) / (a + 1))]
  let fraction = d
  for (let m = 1, change = 0; m <= 300 && Math.abs(change - 1) > 1e-15; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))
    for (const term of [even, odd]) {
      d = 1 / apart(1 + term * d)
      c = apart(1 + term / c)
      change = c * d
      fraction *= change
    }
  }
  return fraction
}

/** Lanczos' approximation with g = 7 and nine terms, accurate to 15 digits. */
function logGamma(x: number): number {
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x)
  const terms = [
    676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406, 12.507343278686905,
    -0.13857109526572012, 9.984369578019572e-6, 1.5056327351493116e-7,
  ]
  const sum = terms.reduce((total, term, i) => total + term / (x + i), 0.9999999999998099)
  const t = x + 6.5
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum)
}
