/** Parts of a decoder block that its uses bring, for learning and for generation, and what it gives back. */
import type { Value } from '../graph/value.ts'
import type { ExpertRows } from '../ops/experts.ts'
import type { Recurrence, LayerMixer, LinearName, ModelConfig } from './config.ts'
import type { Experts } from './expertConfig.ts'

/** Graph input of a layer: what each token brings into it beside the stream, [N, P]. */
export const tokenPartName = 'layer input'

/** Rows cut into chunks of C positions: M of each of B sequences, what is behind the end of one filled with zeros. */
export interface Chunks {
  /** x [N, W] → [M, B, C, W] */
  readonly cut: (x: Value) => Value
  /** x [M, B, C, W] → [N, W] */
  readonly join: (x: Value) => Value
  /** [M] i64: M − 1, …, 0 */
  readonly backwards: Value
}

/** Results of a recurrence: one for each row, [N, H·V], and the memory of the sequences behind their last, [B, H, K, V]. */
export interface Recurred {
  readonly mixed: Value
  readonly last: Value
}

/** Ways to compute a recurrence of `rows` [N, …] from the memory before the first, [B, H, K, V]. */
export interface RecurrentForms {
  readonly inChunks: (rows: readonly Value[], before: Value, chunks: Chunks) => Recurred
  /** A single step, where every sequence has one row. */
  readonly atOnce: (rows: readonly Value[], before: Value) => Recurred
}

/** The parts in which uses of the block differ: where weights come from, and where the positions before are found. */
export interface LayerScope {
  readonly config: ModelConfig
  readonly mixer: LayerMixer
  /** The mixture in the place of the MLP; null where it has one. */
  readonly experts: Experts | null
  /** A vector of the layer: `input_layernorm.weight`. */
  vector(path: string): Value
  /** Linear layer with its bias and adapter, if any. */
  linear(name: LinearName, x: Value): Value
  /**
   * Product of rows sorted by expert, [M, in], each with the matrix [out, in] of its own expert; `nameOf` names them as below
   * the layer → [M, out].
   */
  expert(nameOf: (expert: number) => string, x: Value, rows: ExpertRows, out: number): Value
  /** The experts of each token, [N, k] i64, where the layer's router chooses `choice`. */
  route(choice: Value): Value
  /** Rotates the heads of q or k in the last axis by their positions. */
  rotate(x: Value, heads: number, kind: 'query' | 'key'): Value
  /** Causal attention; q […, H·C], k and v […, K·C], a sink of each head or null [H] → […, H·C]. */
  attend(q: Value, k: Value, v: Value, sinks: Value | null): Value
  /** The keys and values […, K·C] of the earlier layer that this one reads. */
  earlierKeys(): { readonly key: Value; readonly value: Value }
  /** Input of each token into this layer beside the stream, […, P]. */
  layerInput(): Value
  /** The rows of x […, D] that are 1 to `count` positions before each; zeros where a sequence has none. */
  before(x: Value, count: number): readonly Value[]
  /** Goes on with a recurrence, from what it remembers of the rows before. → [N, H·V] */
  recur(mixer: Recurrence, rows: readonly Value[], forms: RecurrentForms): Value
}

export interface LayerResult {
  readonly hidden: Value
  /** The values from which the gradient can be computed without repeating the matrix products. */
  readonly activations: Readonly<Record<string, Value>>
}

/** A branch of a block. */
export interface Part {
  readonly output: Value
  readonly activations: Readonly<Record<string, Value>>
}
