/**
 * Statistics that a training script reports, with AReaL's semantics: names in scopes joined by “/”, timings below
 * `timeperf/`, and means of masked values as their sum over their count in the whole step, never a mean of means.
 */
import { performance } from 'node:perf_hooks'

interface Gathered {
  sum: number
  count: number
  least: number
  greatest: number
}

/** Selects which of mean, minimum, maximum and sum become metrics. */
export type StatReduction = 'mean' | 'mean-min-max' | 'sum'

/** Statistics reported by a script; they become metrics of the step, as `logged/<name>`. */
export class Stats {
  readonly #scopes: string[] = []
  readonly #gathered = new Map<string, Gathered & { readonly reduction: StatReduction }>()

  /** Runs `work`; the names that it reports begin with `name/`. */
  async scope<Result>(name: string, work: () => Result | Promise<Result>): Promise<Result> {
    this.#scopes.push(name)
    try {
      return await work()
    } finally {
      this.#scopes.pop()
    }
  }

  /** Reports the seconds that `work` takes, as `timeperf/<name>`; of several calls the sum. */
  async time<Result>(name: string, work: () => Result | Promise<Result>): Promise<Result> {
    const startedAt = performance.now()
    try {
      return await work()
    } finally {
      this.#take(`timeperf/${name}`, 'sum', (performance.now() - startedAt) / 1000)
    }
  }

  /** Reports one number each; of several reports the mean. */
  scalar(values: Readonly<Record<string, number>>): void {
    for (const [name, value] of Object.entries(values)) this.#take(this.#named(name), 'mean', value)
  }

  /** Reports `<name>/avg`, `/min` and `/max` of the values whose mask is not 0; of all of them without a mask. */
  masked(
    values: Readonly<Record<string, ArrayLike<number>>>,
    mask?: ArrayLike<number>,
    reduction: StatReduction = 'mean-min-max',
  ): void {
    for (const [name, list] of Object.entries(values)) {
      if (mask !== undefined && mask.length !== list.length)
        throw new RangeError(`The mask has ${mask.length} entries, “${name}” has ${list.length}.`)
      for (let i = 0; i < list.length; i++)
        if (mask === undefined || mask[i] !== 0) this.#take(this.#named(name), reduction, list[i] ?? NaN)
    }
  }

  /** Returns the metrics reported since the last call, without those that had no finite number. @internal */
  flush(): Record<string, number> {
    const metrics: Record<string, number> = {}
    for (const [name, { reduction, sum, count, least, greatest }] of this.#gathered) {
      if (count === 0) continue
      if (reduction === 'sum') metrics[name] = sum
      else if (reduction === 'mean') metrics[name] = sum / count
      else
        Object.assign(metrics, {
          [`${name}/avg`]: sum / count,
          [`${name}/min`]: least,
          [`${name}/max`]: greatest,
        })
    }
    this.#gathered.clear()
    return metrics
  }

  #named(name: string): string {
    return [...this.#scopes, name].join('/')
  }

  #take(name: string, reduction: StatReduction, value: number): void {
    const known = this.#gathered.get(name) ?? {
      sum: 0,
      count: 0,
      least: Infinity,
      greatest: -Infinity,
      reduction,
    }
    this.#gathered.set(name, known)
    if (!Number.isFinite(value)) return
    known.sum += value
    known.count++
    known.least = Math.min(known.least, value)
    known.greatest = Math.max(known.greatest, value)
  }
}
