/** Decoding with keys and values in the host's memory: `stateCache.ts`, seen through `mask.ts`; prompts by `prefill.ts`. */
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
import { StateCache, type NewSlots } from './stateCache.ts'
import { DecodeMask } from './mask.ts'
import type { Routes } from '#engine/policy.ts'
import { routesOf } from './routeRecord.ts'
import { prefill } from './prefill.ts'
import { HostSlots, PromptTable } from './promptTable.ts'

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

function hostSlots(prompt: PromptSlots): HostSlots {
  if (prompt instanceof HostSlots) return prompt
  throw new Error('Expected a prompt that this decoder computed.')
}

class HostDecoding implements Decoding {
  readonly #step: DecodeStep
  readonly #options: DecodingOptions
  /** Cache of the positions that rows do not share. */
  readonly #cache: StateCache
  readonly #prompts: PromptTable
  #retained: ReadonlySet<PromptSlots> = new Set()
  #mask: DecodeMask
  #rows = 0
  /** Additions of the last step to the states, `length` positions of each row, until it is known which rows go on. */
  #latest: { readonly fresh: NewSlots; readonly length: number } | null = null

  constructor(step: DecodeStep, options: DecodingOptions) {
    this.#step = step
    this.#options = options
    this.#cache = new StateCache(step.states, options.maxRows, 0)
    this.#prompts = new PromptTable(step.states)
    this.#mask = new DecodeMask(options.maxRows, 0)
  }

  get sizeBytes(): number {
    return this.#cache.sizeBytes + this.#prompts.sizeBytes(this.#retained)
  }

  async prefill(prompts: readonly NewPrompt[], want: 'logits' | 'probabilities'): Promise<PrefilledPrompt[]> {
    const context = {
      step: this.#step,
      prefillTokens: this.#options.prefillTokens,
      run: (pass: Omit<DecodePass, 'role'>) => this.#run('prefill', pass),
    }
    const prefilled = await prefill(context, prompts, want)
    return prefilled.map(({ cache, scores }, index) => {
      const isShared = this.#step.sharesPrompts === true && prompts[index]!.samples > 1
      return { slots: new HostSlots(cache, isShared), scores }
    })
  }

  /** Enters rows, each behind its prompt: the one that it shares, or a copy. */
  enter(prompts: readonly PromptSlots[]): Promise<void> {
    const free = this.#cache.rows - this.#rows
    if (prompts.length > free) throw new Error(`Expected at most ${free} arrivals, got ${prompts.length}.`)
    if (prompts.length === 0) return Promise.resolve()
    const arrivals = prompts.map(hostSlots)
    const copied = arrivals.map(({ isShared, length }) => (isShared ? 0 : length))
    this.#prompts.enter(arrivals.map((prompt) => (prompt.isShared ? prompt : null)))
    this.#fit(Math.max(this.#longest, ...copied) + 1)
    for (const { isShared, cache } of arrivals) {
      const row = this.#rows++
      if (isShared) this.#cache.continueRow(row, cache, 0)
      else this.#cache.copyRow(row, cache, 0)
    }
    this.#redraw()
    return Promise.resolve()
  }

  async step(step: RowStep): Promise<RowScores> {
    if (this.#step.loop && step.turns > 1) return this.#loop(step)
    const { drafts, turns: length, uniforms, inverseTemperatures, leftOut, want } = step
    const rows = this.#rows
    const prompts = this.#prompts.pass()
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
      ...(prompts && { prompts }),
      ...(length === 1 && { mask: this.#mask.view(rows) }),
      // Turn by turn, as the scores are read.
      scored: Int32Array.from(turnsOf((row, turn) => row * length + turn)),
      inverseTemperatures: Float64Array.from(turnsOf((row) => inverseTemperatures[row]!)),
      uniforms,
      leftOut,
      want,
    })
    this.#latest = { fresh: result.fresh, length }
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

  /** Returns the positions of each row's next tokens, [B, T]; those of padding stay within the context. */
  #positions(drafts: RowStep['drafts'], length: number): Int32Array {
    return Int32Array.from({ length: this.#rows * length }, (_, index) => {
      const [row, turn] = [Math.floor(index / length), index % length]
      const before = this.#prompts.lengthOf(row) + this.#cache.lengthOf(row)
      return before + Math.min(turn, drafts[row]!.length)
    })
  }

  routesOf({ row, turns }: KeptRow): Routes | null {
    const { states } = this.#step
    const [own, latest] = [this.#cache.lengthOf(row), this.#latest]
    const fresh = (state: number) =>
      latest!.fresh[state]!.subarray(row * latest!.length * states[state]!.channels)
    return routesOf(states, [
      ...this.#prompts.recordOf(row),
      { count: own, of: (state) => this.#cache.recordOf(state, row) },
      { count: turns, of: fresh },
    ])
  }

  keep(kept: readonly KeptRow[]): Promise<void> {
    const latest = this.#latest
    if (!latest) throw new Error('Expected a step before its rows are settled.')
    const needed = kept.reduce((most, { row, turns }) => Math.max(most, this.#cache.lengthOf(row) + turns), 0)
    if (needed > this.#cache.capacity) this.#resize(needed)
    for (const { row, turns } of kept) {
      const slot = this.#cache.lengthOf(row)
      this.#cache.append(row, latest.fresh, { row, length: latest.length, count: turns })
      for (let turn = 0; turn < turns; turn++) this.#mask.reveal(row, slot + turn)
    }
    this.#latest = null
    const rows = kept.map(({ row }) => row)
    rows.forEach((from, row) => {
      if (from !== row) this.#cache.copyRow(row, this.#cache, from)
    })
    for (let row = rows.length; row < this.#rows; row++) this.#cache.clearRow(row)
    const ended = rows.length < this.#rows
    this.#rows = rows.length
    if (!ended) return Promise.resolve()
    this.#prompts.keep(rows)
    if (rows.length > 0) this.#fit(this.#longest)
    this.#redraw()
    return Promise.resolve()
  }

  /** Keeps these prompts; the collector frees those that nobody holds. */
  retain(prompts: ReadonlySet<PromptSlots>): void {
    this.#retained = prompts
  }

  #run(kind: 'prefill' | 'decode', pass: Omit<DecodePass, 'role'>): Promise<PassResult> {
    const { onPass, role } = this.#options
    onPass(kind)
    return this.#step.run({ ...pass, role })
  }

  /** Slots that the longest live row has filled, besides its shared prompt. */
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
    this.#redraw()
  }

  #redraw(): void {
    this.#mask = new DecodeMask(this.#cache.rows, this.#cache.capacity, this.#prompts.slots)
    for (let row = 0; row < this.#rows; row++) {
      this.#mask.show(row, this.#cache.lengthOf(row), this.#prompts.lengthOf(row))
    }
  }

  [Symbol.dispose](): void {
    // Arrays of the host are left to the collector.
  }
}
