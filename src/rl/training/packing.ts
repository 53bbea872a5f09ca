/**
 * Decides which trajectories are learned from together: minibatches (one update each) and micro-batches (what is
 * computed at once).
 */
import { randomStream, SequentialRandom } from '#shared/random.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { Policy } from '#engine/policy.ts'
import type { FamilyMember } from '#engine/prefixes.ts'

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

/** Number of tokens computed at once, and how micro-batches are computed. */
export interface LearningLoad {
  readonly tokens: number
  /**
   * True if the run sets the number of tokens, so that it is never exceeded; otherwise long sequences may exceed it
   * slightly.
   */
  readonly isLimit: boolean
  /** Micro-batches that can be computed in parallel. */
  readonly replicas: number
  /** True if learning computes common prefixes once. */
  readonly sharesPrefixes: boolean
}

/** The run's budget, or else the one that is fastest for its policy. */
export function learningLoad({
  config,
  policy,
}: {
  readonly config: Pick<RunConfig, 'optimization'>
  readonly policy: Pick<Policy, 'learningTokens' | 'replicas' | 'sharesPrefixes'>
}): LearningLoad {
  const { tokenBudget } = config.optimization
  const { learningTokens, replicas, sharesPrefixes } = policy
  return { tokens: tokenBudget ?? learningTokens, isLimit: tokenBudget !== null, replicas, sharesPrefixes }
}

export interface MicroBatches {
  /** Row indices; those that may exceed memory come first. */
  readonly batches: readonly (readonly number[])[]
  /** True if they may all be submitted at once; otherwise one after the other. */
  readonly together: boolean
}

/** Rows that stay together. */
interface Unit {
  readonly rows: readonly number[]
  readonly tokens: number
  /** Tokens shared with the unit before it in its family. */
  readonly common: number
}

/** Units of one family that are computed together. */
interface Piece {
  readonly rows: readonly number[]
  /** Distinct tokens. */
  readonly tokens: number
  readonly units: number
}

export interface Rows {
  /** [rows] tokens of each row. */
  readonly lengths: readonly number[]
  /** Rows that begin alike, if that saves anything. */
  readonly families?: readonly (readonly FamilyMember[])[]
}

/**
 * Splits rows into micro-batches: equal ones, the same number for each replica; or, if not every replica may have its
 * longest row at once, as few as possible. A unit longer than a micro-batch gets one of its own.
 */
export function microBatches(rows: Rows, load: LearningLoad, unit: number): MicroBatches {
  const families = familiesOf(rows, unit)
  const share = Math.floor(load.tokens / load.replicas)
  const fits = families.flat().every(({ tokens }) => tokens <= share)
  const together = load.replicas > 1 && (fits || !load.isLimit)
  const whole = (limit: number) =>
    longestFirst(
      families.flatMap((family) => pieces(family, limit)),
      rows,
    )
  const batches = together
    ? sharedOut(families, levelled(whole(share), share, load.replicas), load)
    : firstFit(whole(load.tokens), load.tokens)
  return { batches: batches.map(({ rows }) => rows), together }
}

/**
 * Factor by which a micro-batch may exceed the fastest size if fewer prefixes are computed twice then, and the share of
 * the time that it must get below to be worth its memory (bench/history/training.md).
 */
const [LARGER, WORTH] = [3, 0.95]
/**
 * Products in whole numbers are fastest with half as many tokens. A micro-batch of this many takes no more memory than three of
 * the fastest size do in f32, but is slower per token, so it must save more.
 */
const [ROOMY, MUCH] = [1536, 0.8]

/** Families as a whole for each replica, or cut so that replicas have equally much to do, whichever takes less time. */
function sharedOut(
  families: readonly (readonly Unit[])[],
  whole: Piece[],
  { tokens: all, replicas, isLimit }: LearningLoad,
): Piece[] {
  const share = Math.floor(all / replicas)
  if (families.every(({ length }) => length === 1)) return whole
  const time = (batches: readonly Piece[]) =>
    Math.ceil(batches.length / replicas) * Math.max(0, ...batches.map(({ tokens }) => tokens))
  const cut = cutEvenly(families, share, replicas)
  const best = time(cut) < time(whole) ? cut : whole
  if (isLimit) return best
  const larger = cutEvenly(families, LARGER * share, replicas)
  const better = time(larger) < WORTH * time(best) ? larger : best
  const roomy = cutEvenly(families, Math.max(LARGER * share, ROOMY), replicas)
  return time(roomy) < MUCH * time(better) ? roomy : better
}

/** The families one after the other in as few equal parts as keep the limit, a multiple of the replicas. */
function cutEvenly(families: readonly (readonly Unit[])[], limit: number, replicas: number): Piece[] {
  const units = families
    .toSorted((a, b) => joined(b).tokens - joined(a).tokens)
    .flatMap((family) => family.map((unit, index) => (index === 0 ? { ...unit, common: 0 } : unit)))
  const widest = filled(units, limit)
  const count = Math.ceil(widest.length / replicas) * replicas
  let [low, high] = [0, Math.ceil(limit)]
  while (low + 1 < high) {
    const middle = (low + high) >> 1
    if (filled(units, middle).length <= count) high = middle
    else low = middle
  }
  return filled(units, high)
}

/** Units in their order, as many in each piece as the limit allows. */
function filled(units: readonly Unit[], limit: number): Piece[] {
  const cut: Unit[][] = []
  let tokens = Infinity
  for (const unit of units) {
    tokens += unit.tokens - unit.common
    if (tokens > limit) {
      cut.push([])
      tokens = unit.tokens
    }
    cut.at(-1)!.push(unit)
  }
  return cut.map(joined)
}

function familiesOf({ lengths, families }: Rows, unit: number): Unit[][] {
  const units = unitsOfRows(lengths.length, unit).map((rows): Unit => ({
    rows,
    tokens: rows.reduce((sum, row) => sum + lengths[row]!, 0),
    common: 0,
  }))
  // Rows of a unit need not begin alike, so units of several rows share nothing that could be counted on.
  if (families === undefined || unit > 1) return units.map((each) => [each])
  return families.map((family) => family.map(({ row, common }) => ({ ...units[row]!, common })))
}

/** A family in pieces of nearly as many units each, none with more tokens than `limit` if it has several units. */
function pieces(family: readonly Unit[], limit: number): Piece[] {
  for (let count = 1; count < family.length; count++) {
    const bound = (index: number) => Math.round((index * family.length) / count)
    const cut = Array.from({ length: count }, (_, index) =>
      joined(family.slice(bound(index), bound(index + 1))),
    )
    if (cut.every(({ tokens }) => tokens <= limit)) return cut
  }
  return family.map((unit) => joined([unit]))
}

const joined = (units: readonly Unit[]): Piece => ({
  rows: units.flatMap(({ rows }) => rows),
  tokens: units.reduce((sum, { tokens, common }, index) => sum + tokens - (index === 0 ? 0 : common), 0),
  units: units.length,
})

function longestFirst(all: readonly Piece[], { lengths }: Rows): Piece[] {
  const longest = ({ rows }: Piece) => Math.max(...rows.map((row) => lengths[row]!))
  return all.toSorted((a, b) => longest(b) - longest(a) || a.rows[0]! - b.rows[0]!)
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

const together = (a: Piece, b: Piece): Piece => ({
  rows: [...a.rows, ...b.rows],
  tokens: a.tokens + b.tokens,
  units: a.units + b.units,
})

/** Puts each piece into the first micro-batch with room for it (first-fit decreasing). */
function firstFit(pieces: readonly Piece[], limit: number): Piece[] {
  const batches: Piece[] = []
  for (const piece of pieces) {
    const roomy = batches.findIndex(({ tokens }) => tokens + piece.tokens <= limit)
    if (roomy === -1) batches.push(piece)
    else batches[roomy] = together(batches[roomy]!, piece)
  }
  return batches
}

/** Puts each piece into the emptiest micro-batch, with as few as keep all within the limit. */
function levelled(pieces: readonly Piece[], limit: number, replicas: number): Piece[] {
  const total = pieces.reduce((sum, { tokens }) => sum + tokens, 0)
  const rounds = Math.max(1, Math.ceil(total / limit / replicas))
  for (let count = rounds * replicas; count < pieces.length; count += replicas) {
    const batches = pieces.slice(0, count) // the longest; each is the first of its micro-batch
    for (const piece of pieces.slice(count)) {
      const emptiest = batches.reduce(
        (best, { tokens }, at) => (tokens < batches[best]!.tokens ? at : best),
        0,
      )
      batches[emptiest] = together(batches[emptiest]!, piece)
    }
    const fits = batches.every(({ tokens, units }) => tokens <= limit || units === 1)
    if (fits) return batches
  }
  return pieces.slice()
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
