/**
 * Which trajectories are learned from together: minibatches (one update each) and micro-batches (what is computed at
 * once).
 */
import { randomStream, SequentialRandom } from '#shared/random.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { Policy } from '#engine/policy.ts'

/** Keeps the shuffle's random numbers apart from those of trajectories and of the prompt order. */
const SHUFFLE_PURPOSE = 0x5eed

export interface MinibatchPlan {
  /** Trajectories per update; null = all. */
  readonly size: number | null
  /** Passes over the trajectories. */
  readonly epochs: number
  /** Adjacent rows that must stay together, such as 2 for pairs. */
  readonly unit: number
  readonly seed: number
  readonly step: number
}

/** Row indices of every update of a step, all epochs: shuffled, then split; the last of an epoch may be smaller. */
export function planMinibatches(rows: number, { size, epochs, unit, seed, step }: MinibatchPlan): number[][] {
  const units = unitsOfRows(rows, unit)
  const perUpdate = Math.max(1, Math.floor((size ?? rows) / unit))
  if (units.length === 0) return []
  return Array.from({ length: epochs }, (_, epoch) => {
    const isWhole = perUpdate >= units.length
    const random = new SequentialRandom(randomStream(seed, SHUFFLE_PURPOSE, step, epoch))
    const order = isWhole ? units : random.shuffled(units)
    return chunk(order, perUpdate).map((part) => part.flat())
  }).flat()
}

/** How many tokens are computed at once. */
export interface LearningLoad {
  readonly tokens: number
  /** Whether the run sets it, so that it is never exceeded; otherwise long sequences may exceed it slightly. */
  readonly isLimit: boolean
  /** Micro-batches that can be computed in parallel. */
  readonly replicas: number
}

/** The run's budget, or else the one that is fastest for its policy. */
export function learningLoad({
  config,
  policy,
}: {
  readonly config: Pick<RunConfig, 'optimization'>
  readonly policy: Pick<Policy, 'learningTokens' | 'replicas'>
}): LearningLoad {
  const { tokenBudget } = config.optimization
  const { learningTokens, replicas } = policy
  return { tokens: tokenBudget ?? learningTokens, isLimit: tokenBudget !== null, replicas }
}

export interface MicroBatches {
  /** Row indices; those that may exceed memory come first. */
  readonly batches: readonly (readonly number[])[]
  /** Whether they may all be submitted at once; otherwise one after the other. */
  readonly together: boolean
}

interface Unit {
  readonly rows: number[]
  tokens: number
}

/**
 * Splits rows into micro-batches: equal ones, the same number for each replica; or, if not every replica may have its
 * longest row at once, as few as possible. A unit longer than a micro-batch gets one of its own. lengths: [rows].
 */
export function microBatches(lengths: readonly number[], load: LearningLoad, unit: number): MicroBatches {
  const longest = (rows: readonly number[]) => Math.max(...rows.map((row) => lengths[row]!))
  const units = unitsOfRows(lengths.length, unit)
    .toSorted((a, b) => longest(b) - longest(a) || a[0]! - b[0]!)
    .map((rows): Unit => ({ rows, tokens: rows.reduce((sum, row) => sum + lengths[row]!, 0) }))
  const share = Math.floor(load.tokens / load.replicas)
  const fits = units.every(({ tokens }) => tokens <= share)
  const together = load.replicas > 1 && (fits || !load.isLimit)
  const batches = together ? levelled(units, share, load.replicas) : firstFit(units, load.tokens)
  return { batches: batches.map(({ rows }) => rows), together }
}

/** Runs all micro-batches; throws the first error once all have ended. */
export async function forMicroBatches(
  { batches, together }: MicroBatches,
  work: (rows: readonly number[], batch: number) => Promise<void>,
): Promise<void> {
  if (!together) {
    for (const [batch, rows] of batches.entries()) await work(rows, batch)
    return
  }
  const outcomes = await Promise.allSettled(batches.map(work))
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
}

/** Puts each unit into the first micro-batch with room for it (first-fit decreasing). */
function firstFit(units: readonly Unit[], limit: number): Unit[] {
  const batches: Unit[] = []
  for (const { rows, tokens } of units) {
    const roomy = batches.find((batch) => batch.tokens + tokens <= limit)
    const batch = roomy ?? { rows: [], tokens: 0 }
    if (!roomy) batches.push(batch)
    batch.rows.push(...rows)
    batch.tokens += tokens
  }
  return batches
}

/** Puts each unit into the emptiest micro-batch, with as few as keep all within the limit. */
function levelled(units: readonly Unit[], limit: number, replicas: number): Unit[] {
  const total = units.reduce((sum, { tokens }) => sum + tokens, 0)
  const rounds = Math.max(1, Math.ceil(total / limit / replicas))
  for (let count = rounds * replicas; count < units.length; count += replicas) {
    const batches = Array.from({ length: count }, (): Unit => ({ rows: [], tokens: 0 }))
    for (const { rows, tokens } of units) {
      const emptiest = batches.reduce((a, b) => (b.tokens < a.tokens ? b : a))
      emptiest.rows.push(...rows)
      emptiest.tokens += tokens
    }
    const fits = batches.every(({ rows, tokens }) => tokens <= limit || rows.length === units[0]?.rows.length)
    if (fits) return batches
  }
  return units.slice()
}

function unitsOfRows(rows: number, unit: number): number[][] {
  if (rows % unit !== 0) throw new Error(`Expected rows in units of ${unit}, got ${rows}.`)
  return chunk(
    Array.from({ length: rows }, (_, row) => row),
    unit,
  )
}

const chunk = <T>(items: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size))

interface Stopwatch {
  /** Seconds since the last lap. */
  lap(): number
  /** Seconds since the start. */
  total(): number
}

export function stopwatch(): Stopwatch {
  const start = performance.now()
  let last = start
  return {
    lap() {
      const before = last
      last = performance.now()
      return (last - before) / 1000
    },
    total: () => (performance.now() - start) / 1000,
  }
}
