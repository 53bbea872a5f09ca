/** Chooses tokens of a vocabulary inside a graph: the likeliest, or the block in which a uniform number falls. */
import type { Dim } from '../graph/shape.ts'
import { type Value, input } from '../graph/value.ts'
import { add, cast, mul, scale, sub } from '../ops/arithmetic.ts'
import { argMax, atMost, cumulativeSum, rowsOf, withElements } from '../ops/choice.ts'
import { concat, reshape } from '../ops/layout.ts'
import { reduceMax, reduceSum } from '../ops/reduce.ts'

/** Most and fewest columns of the blocks among which the graph chooses. */
const BLOCK_WIDTHS = { most: 256, least: 16 }

/** Columns of each block when the graph chooses among equal ones; null where the vocabulary cannot be cut so. */
export function choiceWidth(vocabSize: number): number | null {
  for (let width = BLOCK_WIDTHS.most; width >= BLOCK_WIDTHS.least; width--) {
    if (vocabSize % width === 0) return width
  }
  return null
}

/** Graph inputs: what a choice leaves out, as in `LeftOut`. */
export const leftOutNames = { blocks: 'left out blocks', kept: 'left out kept' } as const

/** Ids that rows may not choose, in the blocks of W ids among which the graph chooses. */
export interface LeftOut {
  /** [Q, E] i64 the numbers of the blocks that hold any; of a row all differ. */
  readonly blocks: Value
  /** [Q, E, W] 0 for an id of such a block that its row may not choose, else 1. */
  readonly kept: Value
}

export const leftOutInputs = (width: number, rows: Dim): LeftOut => ({
  blocks: input(leftOutNames.blocks, 'int64', [rows, 'E']),
  kept: input(leftOutNames.kept, 'float32', [rows, 'E', width]),
})

/** The likeliest id and its probability, the first of several: [Q, 2]. probabilities [Q, V]. */
export const likeliest = (probabilities: Value): Value =>
  concat([cast(argMax(probabilities), 'float32'), reduceMax(probabilities, [-1])], 1)

/** The same of blocks [Q, n, W]. The runtime finds the largest of each block many times faster than where it is. */
export function likeliestOfBlocks(blocks: Value): Value {
  const [rows, count, width] = blocks.shape as [Dim, number, number]
  const largest = reshape(reduceMax(blocks, [-1]), [rows, count])
  const number = argMax(largest) // [Q, 1]
  const place = argMax(reshape(rowsOf(blocks, number), [rows, width]))
  const id = add(scale(cast(number, 'float32'), width), cast(place, 'float32'))
  return concat([id, reduceMax(largest, [-1])], 1)
}

/**
 * The block of each row in which its cumulative probability passes uniform · total, so that only one block of W columns
 * is read back: [Q, W + 3] its probabilities, its number, what lies before it, the total. What is left out counts in
 * the last two as nothing, but is still among the probabilities. blocks [Q, n, W] of probabilities, uniforms [Q, 1]
 * in [0, 1 − 2⁻²³].
 */
export function drawnBlock(blocks: Value, uniforms: Value, leftOut?: LeftOut): Value {
  const [rows, count, width] = blocks.shape as [Dim, number, number]
  const sums = reshape(reduceSum(blocks, [-1]), [rows, count])
  const cumulative = cumulativeSum(leftOut ? sumsWithout(sums, blocks, leftOut) : sums)
  const total = reduceMax(cumulative, [-1])
  const target = mul(uniforms, total)
  const isBefore = atMost(cumulative, target) // [Q, n] 1 or 0
  const before = reduceMax(mul(cumulative, isBefore), [-1])
  const passed = reduceSum(isBefore, [-1])
  // If the ids left out had all the probability, the target lies behind every block: the last one, of zeros, says so.
  const number = leftOut ? sub(passed, atMost(total, target)) : passed
  const row = reshape(rowsOf(blocks, cast(number, 'int64')), [rows, width])
  return concat([row, number, before, total], 1)
}

/** Sums blocks again without the ids left out: subtracting them would leave only rounding where little remains. */
function sumsWithout(sums: Value, blocks: Value, { blocks: numbers, kept }: LeftOut): Value {
  const remaining = reduceSum(mul(rowsOf(blocks, numbers), kept), [-1])
  return withElements(sums, numbers, reshape(remaining, numbers.shape))
}
