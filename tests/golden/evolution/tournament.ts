/**
 * Evolution of a population of runs. Reading guide: tournament.ts (here) says who goes on, mutation.ts what changes.
 * Both only compute; copying adapters and ending runs is the host's work.
 */
import type { SequentialRandom } from '#shared/random.ts'

/** [members] 0 for the lowest fitness, ascending; of equals, the later one ranks higher. */
export function ranksOf(fitness: readonly number[]): number[] {
  const order = fitness.map((_, i) => i).toSorted((a, b) => fitness[a]! - fitness[b]!)
  const ranks = new Array<number>(fitness.length).fill(0)
  order.forEach((member, rank) => (ranks[member] = rank))
  return ranks
}

/** Of the drawn members (a member may be drawn twice), the one of the highest rank. */
export function tournamentWinner(ranks: readonly number[], drawn: readonly number[]): number {
  const [first, ...others] = drawn
  if (first === undefined) throw new Error('Expected at least one member in a tournament.')
  return others.reduce((best, member) => (ranks[member]! > ranks[best]! ? member : best), first)
}

export interface Successor {
  /** Name of the new member; the elite keeps its own, others count on from the highest there was. */
  readonly index: number
  /** Position in the old population of the member it is a copy of. */
  readonly parent: number
}

export interface TournamentOptions {
  readonly tournamentSize: number
  readonly populationSize: number
  readonly random: Pick<SequentialRandom, 'integer'>
}

/** The next population: the best member first, then the winners of tournaments. indices, fitness: [members]. */
export function selectSuccessors(
  indices: readonly number[],
  fitness: readonly number[],
  { tournamentSize, populationSize, random }: TournamentOptions,
): Successor[] {
  const ranks = ranksOf(fitness)
  const elite = ranks.indexOf(ranks.length - 1)
  const highest = Math.max(...indices)
  const winners = Array.from({ length: populationSize - 1 }, (_, slot) => {
    const drawn = Array.from({ length: tournamentSize }, () => random.integer(fitness.length))
    return { index: highest + 1 + slot, parent: tournamentWinner(ranks, drawn) }
  })
  return [{ index: indices[elite]!, parent: elite }, ...winners]
}
