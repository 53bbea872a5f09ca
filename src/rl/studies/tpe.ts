/**
 * A tree of Parzen estimators (Bergstra et al. 2011, «Algorithms for Hyper-Parameter Optimization», section 4): trials are divided into
 * good and bad ones, and the next trial is where good ones are dense and bad ones are not. Densities are over all settings together, as
 * in BOHB (Falkner et al. 2018), since settings depend on each other; every setting is a number of the unit interval.
 *
 * Written here because npm has no maintained sampler (looked for in November 2026): of what it lists for hyperparameters only
 * `hyperparameters` 0.25.6, a port of Hyperopt, is one, and it has grid and random search alone.
 */
import type { Parameter } from '#shared/studies.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { haltonPoint } from './ranges.ts'

export interface Observation {
  /** [settings] on the unit interval. */
  readonly point: readonly number[]
  /** Loss; less is better; Infinity: under way, or ended early. */
  readonly loss: number
}

/** Number of first trials from a quasi-random sequence; candidates are drawn for each later one. */
const firstTrials = 8
const candidates = 32
/** Divisor of the number of trials that gives the number of good ones, within limits. */
const goodShare = 6
const [leastGood, mostGood] = [3, 25]

/** [settings] The next point to try. `index`: number of the trial, which fixes its random numbers. */
export function proposePoint(
  parameters: readonly Parameter[],
  observations: readonly Observation[],
  { seed, index }: { readonly seed: number; readonly index: number },
): number[] {
  const finished = observations.filter(({ loss }) => loss < Infinity)
  if (finished.length < firstTrials) return haltonPoint(index, parameters.length, seed)
  const order = finished.toSorted((a, b) => a.loss - b.loss)
  const count = Math.min(mostGood, Math.max(leastGood, Math.ceil(finished.length / goodShare)))
  const bad = [...order.slice(count), ...observations.filter(({ loss }) => loss === Infinity)]
  const [among, others] = [density(order.slice(0, count), parameters), density(bad, parameters)]
  const random = new SequentialRandom(randomStream(seed, index, 1))
  let best: { readonly point: number[]; readonly gain: number } | null = null
  for (let i = 0; i < candidates; i++) {
    const point = among.draw(random)
    const gain = among.logAt(point) - others.logAt(point)
    if (best === null || gain > best.gain) best = { point, gain }
  }
  return best?.point ?? haltonPoint(index, parameters.length, seed)
}

interface Density {
  logAt(point: readonly number[]): number
  draw(random: SequentialRandom): number[]
}

/** Density of one setting, around one observed value. */
interface Kernel {
  at(unit: number): number
  draw(random: SequentialRandom): number
}

const uniform: Kernel = { at: () => 1, draw: (random) => random.uniform() }

/** A product of kernels around each point, all of equal weight, and one that is the same everywhere. */
function density(observations: readonly Observation[], parameters: readonly Parameter[]): Density {
  const { length: count } = observations
  // Scott's rule for a spread of 0.2.
  const width = Math.max(0.2 * Math.max(1, count) ** (-1 / (parameters.length + 4)), 1 / (count + 10))
  const products = observations.map(({ point }) =>
    parameters.map((parameter, i) =>
      'values' in parameter
        ? choiceKernel(point[i] ?? 0, parameter.values.length, count)
        : normalKernel(point[i] ?? 0.5, width),
    ),
  )
  const all = [...products, parameters.map(() => uniform)]
  return {
    logAt: (point) =>
      Math.log(
        all.reduce(
          (sum, kernels) =>
            sum + kernels.reduce((product, kernel, i) => product * kernel.at(point[i] ?? 0), 1),
          0,
        ) / all.length,
      ),
    draw: (random) => (all[random.integer(all.length)] ?? []).map((kernel) => kernel.draw(random)),
  }
}

/** Mostly the observed choice; the more observations there are, the less often another one. */
function choiceKernel(unit: number, choices: number, observations: number): Kernel {
  const choiceAt = (each: number) => Math.min(Math.floor(each * choices), choices - 1)
  const observed = choiceAt(unit)
  const other = 1 / (observations + choices)
  const own = 1 - other * (choices - 1)
  return {
    at: (each) => choices * (choiceAt(each) === observed ? own : other),
    draw(random) {
      const place = random.uniform()
      if (place < own) return (observed + 0.5) / choices
      const another = Math.floor((place - own) / other)
      return (another + (another >= observed ? 1 : 0) + 0.5) / choices
    },
  }
}

/** Cut off at 0 and 1. */
function normalKernel(center: number, width: number): Kernel {
  const mass = normalShare((1 - center) / width) - normalShare(-center / width)
  const scale = 1 / (width * Math.sqrt(2 * Math.PI) * mass)
  return {
    at: (unit) => scale * Math.exp(-0.5 * ((unit - center) / width) ** 2),
    draw(random) {
      for (;;) {
        const unit = center + width * random.normal()
        if (unit >= 0 && unit <= 1) return unit
      }
    },
  }
}

/** Share of a standard normal distribution below z (Abramowitz and Stegun 1964, 26.2.17: to 7.5e-8). */
function normalShare(z: number): number {
  if (z < 0) return 1 - normalShare(-z)
  const t = 1 / (1 + 0.2316419 * z)
  const tail =
    t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
  return 1 - (Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI)) * tail
}
