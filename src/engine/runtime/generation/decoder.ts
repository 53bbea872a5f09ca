/**
 * Interface between generation and a model: it computes prompts and extends rows by one token at a time. The decoder
 * decides where the states of rows are kept, keys and values first of all: in the host's memory (hostDecoder.ts) or on a device (deviceDecoder.ts).
 */
import type { LayerState } from '#engine/models/layerStates.ts'
import type { Routes } from '#engine/policy.ts'
import type { AnsweringRole } from '../adapterParameters.ts'
import type { StateCache, NewSlots } from './stateCache.ts'

/**
 * `none`: only the keys and values are wanted, as in all but the last pass over a long prompt. `choice`: of each row only
 * the block of the vocabulary in which its uniform number falls, for plain sampling. `best`: only the likeliest id.
 */
export type PassScores = 'probabilities' | 'logits' | 'choice' | 'best' | 'none'

export interface NewPrompt {
  readonly ids: Int32Array
  /** Inverse of the temperature that divides the logits behind it. */
  readonly inverseTemperature: number
  /** Rows that will start from it. */
  readonly samples: number
}

/** The keys and values of a computed prompt, from which any number of rows may start. */
export interface PromptSlots {
  /** Number of tokens. */
  readonly length: number
  readonly sizeBytes: number
  /** Experts that its tokens went through; null or absent where none are recorded. */
  readonly routes?: Routes | null
}

export interface PrefilledPrompt {
  readonly slots: PromptSlots
  /** [V] of the position after the prompt. */
  readonly scores: Float32Array
}

/** One token of every live row, or several: of a row's draft, or where the decoder goes on with what the scores say. */
export interface RowStep {
  /** [B] the latest id of each row. */
  readonly ids: Int32Array
  /** [B] ids that may follow the latest one, none or several; only of a decoder with a `passCost`. */
  readonly drafts: readonly (readonly number[])[]
  /**
   * The most tokens of a row: 1, one more than its longest draft, or up to `Decoder.maxTurns` for a `choice` or the `best`.
   */
  readonly turns: number
  /** [turns, B] in [0, 1), what chooses each row's block; read only where a `choice` is wanted. */
  readonly uniforms: Float64Array
  /** Inverse temperature of each row, [B]. */
  readonly inverseTemperatures: Float64Array
  /** [B] the most ids that a row still takes, and the ids that end it: a decoder may stop when all rows have ended. */
  readonly room: readonly number[]
  readonly stopIds: readonly number[]
  /** [turns · B] ids that each row may not take yet; read only where a `choice` is wanted of a decoder that `leavesOut`. */
  readonly leftOut: readonly (readonly number[])[]
  readonly want: Exclude<PassScores, 'none'>
}

export interface RowScores {
  /**
   * Scores of each turn: [B, V] logits over the temperature or their softmax; a `choice` is [B, W + 3], the `best` [B,
   * 2].
   */
  readonly turns: readonly Float32Array[]
  /** Ids [B] that the next turn went on with, for each turn but the last; −1 behind a draft. */
  readonly ids: readonly Int32Array[]
}

export interface DecodingOptions {
  readonly role: AnsweringRole
  /** Most rows at a time. */
  readonly maxRows: number
  /** Most positions, padding included, of one pass over prompts. */
  readonly prefillTokens: number
  /** Called before each pass of the model; may throw to end the generation. */
  readonly onPass: (kind: 'prefill' | 'decode') => void
}

/** One generation: live rows are numbered from 0; the caller who opens it disposes of it. */
export interface Decoding extends Disposable {
  /** Held by the keys and values of live rows. */
  readonly sizeBytes: number
  /** Computes prompts, none of them empty; `want` says which scores follow the last position. */
  prefill(prompts: readonly NewPrompt[], want: 'logits' | 'probabilities'): Promise<PrefilledPrompt[]>
  /** Adds new rows after the live ones, each with a prompt's keys and values. */
  enter(prompts: readonly PromptSlots[]): Promise<void>
  /** Scores after one more token of each live row, or after several. */
  step(step: RowStep): Promise<RowScores>
  /** The same of all tokens of a row, those of its prompt first, between a step and `keep`. */
  routesOf?(row: KeptRow): Routes | null
  /**
   * Ends a step: keeps the rows that continue, in their new order. A row keeps its number or moves to a lower one whose
   * own row has ended.
   */
  keep(rows: readonly KeptRow[]): Promise<void>
  /** Releases prompts from which no further row will start: all but these. */
  retain(prompts: ReadonlySet<PromptSlots>): void
}

/** A row that continues after a step. */
export interface KeptRow {
  /** Number of the row before the step. */
  readonly row: number
  /** Number of turns of the step, from the first, whose ids it accepted. */
  readonly turns: number
}

export interface Decoder {
  readonly vocabSize: number
  /** The most tokens of a row in one step. */
  readonly maxTurns: number
  /** W, the columns of a block in a `choice`; null where only whole rows can be had. */
  readonly choiceWidth: number | null
  /** True if a `choice` may leave ids out. */
  readonly leavesOut: boolean
  /** Time of a decoding pass over that many positions, relative to a pass over one; null if drafts are not verified. */
  readonly passCost: ((positions: number) => number) | null
  open(options: DecodingOptions): Promise<Decoding>
}

/*
 * What a decoder in the host's memory asks of a model: one forward pass over T new positions of B rows on top of the slots
 * of a `StateCache`. The loop, the cache and the sampling around it know nothing of ONNX Runtime.
 */

/**
 * One pass. Its arrays belong to the caller, who edits them when the pass is over; views of the cache must be taken
 * again in every pass. Letters: B rows, T new positions of each, P slots of each cache row (0 allowed), V vocabulary.
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
  /** Cache to read from: the pass returns the new keys and values, and the caller writes them. */
  readonly cache: StateCache
  /** Prompts that come before the rows' own positions; only of a step that `sharesPrompts`. */
  readonly prompts?: PassPrompts
  /**
   * [B, T, S+P+T] what each new position sees where no window hides any, as `passMask` makes it; made from the lengths if
   * absent.
   */
  readonly mask?: Float32Array
  /** [Q] which of the B·T positions have scores. */
  readonly scored: Int32Array
  /** Inverse temperatures [Q] of the logits. */
  readonly inverseTemperatures: Float64Array
  /** [Q] in [0, 1), what chooses the block; read only where a `choice` is wanted. */
  readonly uniforms?: Float64Array
  /** [Q] ids that are not to be taken; read only where a `choice` is wanted of a step that `leavesOut`. */
  readonly leftOut?: readonly (readonly number[])[]
  readonly want: PassScores
  readonly role: AnsweringRole
}

/** Prompts that several rows share, and who shares them. */
export interface PassPrompts {
  /** One row for each of the prompts; read only. */
  readonly cache: StateCache
  /** [B] row of the cache that holds the row's prompt; −1 for a row that has all positions to itself. */
  readonly promptOf: readonly number[]
}

export interface PassResult {
  readonly fresh: NewSlots
  /**
   * [Q, V] logits over the temperature, or their softmax; empty when `none` was wanted. For a `choice` [Q, W + 3]: the
   * probabilities of the block, its number, and, without what is left out, the probability before it and the total; for `best` [Q, 2]: the likeliest id and its
   * probability.
   */
  readonly scores: Float32Array
}

/** Run of up to T = `turns` tokens for each row, over when all rows have ended; letters as in `DecodePass`. */
export interface LoopPass extends Pick<
  RowStep,
  'ids' | 'turns' | 'uniforms' | 'room' | 'stopIds' | 'inverseTemperatures'
> {
  readonly rows: number
  /** [B] place of each row's latest id in the sequence. */
  readonly positions: Int32Array
  readonly cache: StateCache
  readonly want: 'choice' | 'best'
  readonly role: AnsweringRole
}

export interface LoopResult {
  /** [B, H, `length`, C] each, of which `turns` are filled. */
  readonly fresh: NewSlots
  readonly turns: number
  readonly length: number
  /** [turns, B, W + 3] or, for `best`, [turns, B, 2]. */
  readonly scores: Float32Array
  /** [turns, B] the ids that the next turn went on with. */
  readonly ids: Int32Array
}

export interface DecodeStep {
  /** Tensors that the model keeps of a row between passes. */
  readonly states: readonly LayerState[]
  readonly vocabSize: number
  /** W, the columns of a block in a `choice`; null where only whole rows can be had. */
  readonly choiceWidth: number | null
  /** True if a `choice` may leave ids out; false if absent. */
  readonly leavesOut?: boolean
  /** True if rows may share prompts; if absent, each row has a copy of its own. */
  readonly sharesPrompts?: boolean
  /** Cost of a pass, as in `Decoder`; absent if drafts are not verified. */
  passCost?(positions: number): number
  run(pass: DecodePass): Promise<PassResult>
  /** Most tokens of a row that `loop` computes in one run; 1 or absent where there is no loop. */
  readonly maxTurns?: number
  loop?(pass: LoopPass): Promise<LoopResult>
}
