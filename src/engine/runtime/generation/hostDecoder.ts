/** Decoding with keys and values in the host's memory: `kvCache.ts`, seen through `mask.ts`; prompts by `prefill.ts`. */
import type {
  DecodePass,
  DecodeStep,
  PassResult,
  Decoder,
  Decoding,
  DecodingOptions,
  KeptRow,
  NewPrompt,
  PrefilledPrompt,
  PromptSlots,
  RowScores,
  RowStep,
} from './decoder.ts'
import { KvCache, type NewSlots } from './kvCache.ts'
import { DecodeMask } from './mask.ts'
import { prefill } from './prefill.ts'

/** Slots are added in this unit: growing copies every row, but attention also pays for slots which are not filled. */
const CAPACITY_UNIT = 64
/** Slots given back only when at least this many, and half of all, are unused. */
const SHRINK_SLOTS = 256

const roundUp = (slots: number): number => Math.ceil(slots / CAPACITY_UNIT) * CAPACITY_UNIT

export class HostDecoder implements Decoder {
  readonly vocabSize: number
  readonly choiceWidth: number | null
  readonly leavesOut: boolean
  readonly maxTurns: number
  readonly passCost: ((positions: number) => number) | null
  readonly #step: DecodeStep

  constructor(step: DecodeStep) {
    this.vocabSize = step.vocabSize
    this.maxTurns = step.maxTurns ?? 1
    this.choiceWidth = step.choiceWidth
    this.leavesOut = step.leavesOut ?? false
    this.passCost = step.passCost ? (positions) => step.passCost!(positions) : null
    this.#step = step
  }

  open(options: DecodingOptions): Promise<Decoding> {
    return Promise.resolve(new HostDecoding(this.#step, options))
  }
}

/** [T, …] cut into [T] of them. */
const inTurns = (scores: Float32Array, turns: number): Float32Array[] => {
  const width = scores.length / turns
  return Array.from({ length: turns }, (_, turn) => scores.subarray(turn * width, (turn + 1) * width))
}

/** A prompt's one row of a cache. */
class HostSlots implements PromptSlots {
  readonly cache: KvCache

  constructor(cache: KvCache) {
    this.cache = cache
  }

  get length(): number {
    return this.cache.lengthOf(0)
  }

  get sizeBytes(): number {
    return this.cache.sizeBytes
  }
}

function cacheOf(prompt: PromptSlots): KvCache {
  if (prompt instanceof HostSlots) return prompt.cache
  throw new Error('Expected a prompt that this decoder computed.')
}

class HostDecoding implements Decoding {
  readonly #step: DecodeStep
  readonly #options: DecodingOptions
  readonly #cache: KvCache
  #mask: DecodeMask
  #rows = 0
  /** New keys and values of the last step, `length` of each row, until it is known which rows go on. */
  #latest: (NewSlots & { readonly length: number }) | null = null

  constructor(step: DecodeStep, options: DecodingOptions) {
    this.#step = step
    this.#options = options
    this.#cache = new KvCache(step, options.maxRows, 0)
    this.#mask = new DecodeMask(options.maxRows, 0)
  }

  get sizeBytes(): number {
    return this.#cache.sizeBytes
  }

  async prefill(prompts: readonly NewPrompt[], want: 'logits' | 'probabilities'): Promise<PrefilledPrompt[]> {
    const context = {
      step: this.#step,
      prefillTokens: this.#options.prefillTokens,
      run: (pass: Omit<DecodePass, 'role'>) => this.#run('prefill', pass),
    }
    const prefilled = await prefill(context, prompts, want)
    return prefilled.map(({ cache, scores }) => ({ slots: new HostSlots(cache), scores }))
  }

  /** Each behind a copy of its prompt's slots. */
  enter(prompts: readonly PromptSlots[]): Promise<void> {
    const free = this.#cache.rows - this.#rows
    if (prompts.length > free) throw new Error(`Expected at most ${free} arrivals, got ${prompts.length}.`)
    if (prompts.length > 0) {
      this.#fit(prompts.reduce((most, { length }) => Math.max(most, length + 1), this.#longest))
    }
    for (const prompt of prompts) {
      const row = this.#rows++
      this.#cache.copyRow(row, cacheOf(prompt), 0)
      this.#mask.show(row, prompt.length)
    }
    return Promise.resolve()
  }

  async step(step: RowStep): Promise<RowScores> {
    if (this.#step.loop && step.turns > 1) return this.#loop(step)
    const { drafts, turns: length, uniforms, inverseTemperatures, leftOut, want } = step
    const rows = this.#rows
    const ids = new Int32Array(rows * length) // [B, T]
    drafts.forEach((draft, row) => {
      ids.set([step.ids[row]!, ...draft], row * length)
    })
    const turnsOf = (value: (row: number, turn: number) => number) =>
      Array.from({ length: length * rows }, (_, index) => value(index % rows, Math.floor(index / rows)))
    const result = await this.#run('decode', {
      rows,
      length,
      ids,
      positions: this.#positions(drafts, length),
      cache: this.#cache,
      ...(length === 1 && { mask: this.#mask.view(rows) }),
      // Turn by turn, as the scores are read.
      scored: Int32Array.from(turnsOf((row, turn) => row * length + turn)),
      inverseTemperatures: Float64Array.from(turnsOf((row) => inverseTemperatures[row]!)),
      uniforms,
      leftOut,
      want,
    })
    this.#latest = { ...result, length }
    const wentOn = Array.from({ length: length - 1 }, (_, turn) =>
      Int32Array.from(drafts, (draft) => draft[turn] ?? -1),
    )
    return { turns: inTurns(result.scores, length), ids: wentOn }
  }

  async #loop({ want, ...step }: RowStep): Promise<RowScores> {
    const { onPass, role } = this.#options
    if (!this.#step.loop || (want !== 'choice' && want !== 'best')) {
      throw new Error(`Expected one turn for ${want}, got ${String(step.turns)}.`)
    }
    onPass('decode')
    const rows = this.#rows
    const pass = { rows, positions: this.#positions(step.drafts, 1), cache: this.#cache, role, want }
    const result = await this.#step.loop({ ...step, ...pass })
    this.#latest = result
    const { turns, scores, ids } = result
    return {
      turns: inTurns(scores, turns),
      ids: Array.from({ length: turns - 1 }, (_, turn) => ids.subarray(turn * rows, (turn + 1) * rows)),
    }
  }

  /** [B, T] the places of each row's next tokens; those of padding stay within the context. */
  #positions(drafts: RowStep['drafts'], length: number): Int32Array {
    return Int32Array.from({ length: this.#rows * length }, (_, index) => {
      const [row, turn] = [Math.floor(index / length), index % length]
      return this.#cache.lengthOf(row) + Math.min(turn, drafts[row]!.length)
    })
  }

  keep(kept: readonly KeptRow[]): Promise<void> {
    const latest = this.#latest
    if (!latest) throw new Error('Expected a step before its rows are settled.')
    const needed = kept.reduce((most, { row, turns }) => Math.max(most, this.#cache.lengthOf(row) + turns), 0)
    if (needed > this.#cache.capacity) this.#resize(needed)
    for (const { row, turns } of kept) {
      const slot = this.#cache.lengthOf(row)
      this.#cache.append(row, latest, { row, length: latest.length, count: turns })
      for (let turn = 0; turn < turns; turn++) this.#mask.reveal(row, slot + turn)
    }
    this.#latest = null
    const rows = kept.map(({ row }) => row)
    rows.forEach((from, row) => {
      if (from === row) return
      this.#cache.copyRow(row, this.#cache, from)
      this.#mask.show(row, this.#cache.lengthOf(row))
    })
    for (let row = rows.length; row < this.#rows; row++) this.#cache.clearRow(row)
    const ended = rows.length < this.#rows
    this.#rows = rows.length
    if (ended && rows.length > 0) this.#fit(this.#longest)
    return Promise.resolve()
  }

  retain(): void {
    // The collector forgets prompts that nobody holds.
  }

  #run(kind: 'prefill' | 'decode', pass: Omit<DecodePass, 'role'>): Promise<PassResult> {
    const { onPass, role } = this.#options
    onPass(kind)
    return this.#step.run({ ...pass, role })
  }

  /** Filled slots of the longest live row. */
  get #longest(): number {
    let longest = 0
    for (let row = 0; row < this.#rows; row++) longest = Math.max(longest, this.#cache.lengthOf(row))
    return longest
  }

  /** Grows to `slots`, or gives back slots where many more are unused. */
  #fit(slots: number): void {
    const capacity = this.#cache.capacity
    const fitting = roundUp(slots)
    const isWasteful = fitting * 2 <= capacity && capacity - fitting >= SHRINK_SLOTS
    if (fitting > capacity || isWasteful) this.#resize(fitting)
  }

  #resize(slots: number): void {
    const capacity = roundUp(slots)
    this.#cache.resize(capacity)
    this.#mask = new DecodeMask(this.#cache.rows, capacity)
    for (let row = 0; row < this.#rows; row++) this.#mask.show(row, this.#cache.lengthOf(row))
  }

  [Symbol.dispose](): void {
    // Arrays of the host are left to the collector.
  }
}
