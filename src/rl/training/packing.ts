/** Which trajectories are learned from together: minibatches (one update each) and micro-batches (what fits at once). */
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

/** Row indices of every update of a step, all epochs: shuffled, then cut; the last of an epoch may be smaller. */
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

/** Tokens of a micro-batch: what the run says, else what is fastest for its policy. */
export const tokenBudgetOf = ({
  config,
  policy,
}: {
  readonly config: Pick<RunConfig, 'optimization'>
  readonly policy: Pick<Policy, 'learningTokens'>
}): number => config.optimization.tokenBudget ?? policy.learningTokens

/**
 * Cuts rows into micro-batches of at most `tokenBudget` tokens, each unit in the first with room for it, longest first
 * (first-fit decreasing): few and full ones, and what does not fit in memory fails at once. A unit longer than the budget
 * stands alone. lengths: [rows].
 */
export function packMicroBatches(lengths: readonly number[], tokenBudget: number, unit: number): number[][] {
  const tokensOf = (rows: readonly number[]) => rows.reduce((sum, row) => sum + lengths[row]!, 0)
  const longest = (rows: readonly number[]) => Math.max(...rows.map((row) => lengths[row]!))
  const units = unitsOfRows(lengths.length, unit).toSorted((a, b) => longest(b) - longest(a) || a[0]! - b[0]!)
  const batches: { readonly rows: number[]; room: number }[] = []
  for (const rows of units) {
    const tokens = tokensOf(rows)
    let batch = batches.find(({ room }) => tokens <= room)
    if (!batch) {
      batch = { rows: [], room: tokenBudget }
      batches.push(batch)
    }
    batch.rows.push(...rows)
    batch.room -= tokens
  }
  return batches.map(({ rows }) => rows)
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
