/** A loss as a sum of terms, each of which knows its own slopes and tallies. */
import type { LossRow, MinibatchLoss } from '../types.ts'
import { addTallies, type Tallies } from '../common/tally.ts'

/** What one row adds to the loss; slopes are [T], absent = the term does not touch that head. */
export interface TermShare {
  readonly loss: number
  readonly logprobs?: Float64Array
  readonly entropies?: Float64Array
  readonly values?: Float64Array
  readonly tallies: Tallies
}

/** Weights are fixed when the term is made, from the whole minibatch; asked row by row, the shares add. */
export type LossTerm = (row: LossRow) => TermShare

export function sumOfTerms(terms: readonly LossTerm[]): MinibatchLoss {
  return (part) => {
    const rows = part.map((row) => terms.map((term) => term(row)))
    return {
      loss: rows.flat().reduce((sum, { loss }) => sum + loss, 0),
      coefficients: rows.map((shares, i) => ({
        logprobs: added(shares, 'logprobs') ?? new Float64Array(part[i]!.logprobs.length),
        entropies: added(shares, 'entropies'),
        values: added(shares, 'values'),
      })),
      tallies: addTallies(rows.flat().map(({ tallies }) => tallies)),
    }
  }
}

function added(shares: readonly TermShare[], head: 'logprobs' | 'entropies' | 'values'): Float64Array | null {
  const slopes = shares.map((share) => share[head]).filter((slope) => slope !== undefined)
  const [first, ...others] = slopes
  if (first === undefined) return null
  return others.reduce((sum, slope) => sum.map((value, t) => value + slope[t]!), first)
}
