import type { LossMetricName } from '#shared/lossMetrics.ts'

/** Sums that become means only at the end, so that a minibatch can be split in any way. */
export interface Tally {
  readonly sum: number
  readonly count: number
  /** The metric is e to the mean. */
  readonly isExponent?: true
}

/** Tallies by metric name. */
export type Tallies = Readonly<Partial<Record<LossMetricName, Tally>>>

export const tally = ({ data }: { readonly data: Float64Array }): Tally => ({
  sum: sumOf(data),
  count: data.length,
})

function sumOf(data: Float64Array): number {
  let total = 0
  for (let i = 0; i < data.length; i++) total += data[i]!
  return total
}

/** Adds tallies name by name. */
export function addTallies(parts: readonly Tallies[]): Tallies {
  const total: Partial<Record<LossMetricName, Tally>> = {}
  for (const [name, added] of parts.flatMap(entriesOf)) {
    const before = total[name]
    total[name] = before
      ? { ...added, sum: before.sum + added.sum, count: before.count + added.count }
      : added
  }
  return total
}

/** The means, or e to them; a metric that counted nothing is left out. */
export function tallyMeans(tallies: Tallies): Readonly<Partial<Record<LossMetricName, number>>> {
  const counted = entriesOf(tallies).filter(([, { count }]) => count > 0)
  return Object.fromEntries(counted.map(([name, counts]) => [name, valueOf(counts)]))
}

/** The exponent is limited to 100, so that charts stay readable and numbers finite. */
const valueOf = ({ sum, count, isExponent }: Tally): number =>
  isExponent ? Math.exp(Math.min(sum / count, 100)) : sum / count

const entriesOf = (tallies: Tallies): [LossMetricName, Tally][] =>
  Object.entries(tallies) as [LossMetricName, Tally][]
