/**
 * What generation asks of a model: one forward pass over T new positions of B rows on top of the slots of a
 * `KvCache`. The loop, the cache and the sampling around it know nothing of ONNX Runtime.
 */
import type { AnsweringRole } from '../adapterParameters.ts'
import type { PassScores } from './decoder.ts'
import type { KvCache, NewSlots } from './kvCache.ts'

/**
 * One pass. Its arrays belong to the caller, who edits them when the pass is over; views of the cache are to be taken
 * anew in every pass. Letters: B rows, T new positions of each, P slots of each cache row (`cache.capacity`, 0 allowed), V vocabulary.
 */
export interface DecodePass {
  /** B; they are the first B rows of the cache. */
  readonly rows: number
  /** T, the same for every row; a shorter row is padded on the right with id 0, position 0. */
  readonly length: number
  /** [B, T] */
  readonly ids: Int32Array
  /** [B, T] place in the sequence, from 0. */
  readonly positions: Int32Array
  /** Read only: the pass returns the new keys and values, the caller writes them. */
  readonly cache: KvCache
  /** [B, T, P+T] what each new position sees, slots first, then the new positions: 0 or `HIDDEN`. Added to the attention scores. */
  readonly mask: Float32Array
  /** [B] which of the T positions is the row's last real one; scores are computed there alone. */
  readonly last: Int32Array
  /** The inverse of what logits are divided by. */
  readonly inverseTemperature: number
  /** [B] in [0, 1), what chooses each row's block; read only where a `choice` is wanted. */
  readonly uniforms?: Float64Array
  readonly want: PassScores
  readonly role: AnsweringRole
}

export interface PassResult extends NewSlots {
  /**
   * [B, V] logits over the temperature, or their softmax; empty when `none` was wanted. For a `choice` [B, W + 3]: the
   * probabilities of the block, its number, the probability before it, the total; for `best` [B, 2]: the likeliest id and its
   * probability.
   */
  readonly scores: Float32Array
}

/** Up to T tokens of each row in one run; letters as in `DecodePass`. */
export interface LoopPass {
  readonly rows: number
  /** [B] each row's latest id and its place in the sequence. */
  readonly ids: Int32Array
  readonly positions: Int32Array
  readonly cache: KvCache
  /** T */
  readonly turns: number
  /** [T, B] in [0, 1), what chooses; read only for a `choice`. */
  readonly uniforms: Float64Array
  /** [B] the most ids that a row still takes; when all rows have ended, so does the run. */
  readonly room: readonly number[]
  /** Ids that end a row. */
  readonly stopIds: readonly number[]
  readonly inverseTemperature: number
  readonly want: 'choice' | 'best'
  readonly role: AnsweringRole
}

/** `keys` and `values` are [B, K, `length`, C], of which `turns` are filled. */
export interface LoopResult extends NewSlots {
  readonly turns: number
  readonly length: number
  /** [turns, B, W + 3] or, for `best`, [turns, B, 2]. */
  readonly scores: Float32Array
  /** [turns, B] the ids that the next turn went on with. */
  readonly ids: Int32Array
}

export interface DecodeStep {
  readonly layers: number
  /** K */
  readonly kvHeads: number
  /** C */
  readonly headDim: number
  readonly vocabSize: number
  /** W, the columns of a block in a `choice`; null where only whole rows can be had. */
  readonly choiceWidth: number | null
  run(pass: DecodePass): Promise<PassResult>
  /** The most tokens of a row that `loop` computes in one run; 1 or absent where there is none. */
  readonly mostTurns?: number
  loop?(pass: LoopPass): Promise<LoopResult>
}
