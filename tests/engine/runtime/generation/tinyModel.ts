/**
 * A real attention model small enough for plain TypeScript. Every visible slot, position and mask entry changes its
 * scores, and a hidden slot contributes exactly zero, so a completion computed with cached, shared and moved rows
 * must equal, bit for bit, one computed alone without a cache; through a window, but for the rounding of another order.
 */
import { randomStream } from '#shared/random.ts'
import type { AttentionWindow } from '#engine/models/config.ts'
import type { DecodePass, DecodeStep, PassResult } from '#engine/runtime/generation/decoder.ts'
import { attentionStates, type LayerState } from '#engine/models/layerStates.ts'
import type { StateCache } from '#engine/runtime/generation/stateCache.ts'
import { maskThrough } from '#engine/runtime/generation/mask.ts'

const LAYERS = 2
const KV_HEADS = 2
const HEAD_DIM = 3
const HIDDEN_SIZE = KV_HEADS * HEAD_DIM
/** Factors of the convolution: of a position, the one before it and the one before that. */
const TAPS = [1, 0.5, -0.25]

type Matrix = readonly (readonly number[])[]

function randomMatrix(seed: number, rows: number, columns: number): Matrix {
  const stream = randomStream(seed)
  return Array.from({ length: rows }, (_, row) =>
    Array.from({ length: columns }, (_, column) => 2 * stream.uniformAt(row * columns + column) - 1),
  )
}

function multiply(matrix: Matrix, vector: readonly number[]): number[] {
  return matrix.map((row) => row.reduce((sum, weight, column) => sum + weight * vector[column]!, 0))
}

interface Head {
  readonly query: readonly number[]
  readonly mask: Float32Array
  /** Visible or not, in order: slots, then new positions. */
  readonly keys: readonly ArrayLike<number>[]
  readonly values: readonly ArrayLike<number>[]
}

function attend({ query, mask, keys, values }: Head): number[] {
  const scores = keys.map((key, slot) => query.reduce((sum, q, c) => sum + q * key[c]!, 2 * mask[slot]!))
  const largest = Math.max(...scores)
  const weights = scores.map((score) => Math.exp(score - largest))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  return query.map((_, c) => values.reduce((sum, value, slot) => sum + weights[slot]! * value[c]!, 0) / total)
}

export class TinyModel implements DecodeStep {
  readonly choiceWidth = null
  readonly sharesPrompts: boolean
  readonly vocabSize: number
  readonly layerWindows: readonly AttentionWindow[]
  /** Keys and values of both layers, and the states before the first, which its convolution reads. */
  readonly states: readonly LayerState[]
  /** Every pass asked for, oldest first. */
  readonly passes: { rows: number; length: number; capacity: number; prompts: number; want: string }[] = []
  /** Of all passes. */
  highestPosition = 0
  readonly #embeddings: Matrix
  readonly #weights: readonly { query: Matrix; key: Matrix; value: Matrix; output: Matrix }[]
  readonly #sharpness: number

  constructor(
    seed: number,
    vocabSize = 23,
    sharpness = 4,
    {
      layerWindows = [null, null],
      sharesPrompts = false,
    }: Partial<Pick<TinyModel, 'layerWindows' | 'sharesPrompts'>> = {},
  ) {
    this.sharesPrompts = sharesPrompts
    this.layerWindows = layerWindows
    const shape = { kvHeads: KV_HEADS, headDim: HEAD_DIM }
    this.states = [
      ...layerWindows.flatMap((window, layer) => attentionStates(layer, shape, window)),
      { kind: 'latest', name: 'convolved', heads: 1, channels: HIDDEN_SIZE, positions: TAPS.length - 1 },
    ]
    this.vocabSize = vocabSize
    this.#sharpness = sharpness
    this.#embeddings = randomMatrix(seed, vocabSize, HIDDEN_SIZE)
    this.#weights = Array.from({ length: LAYERS }, (_, layer) => {
      const matrix = (part: number) => randomMatrix(seed * 100 + layer * 10 + part, HIDDEN_SIZE, HIDDEN_SIZE)
      return { query: matrix(1), key: matrix(2), value: matrix(3), output: matrix(4) }
    })
  }

  run(pass: DecodePass): Promise<PassResult> {
    const { rows, length, cache } = pass
    this.#check(pass)
    const masks = this.layerWindows.map((window) => maskThrough(pass, window))
    this.passes.push({
      rows,
      length,
      capacity: cache.capacity,
      prompts: pass.prompts?.cache.rows ?? 0,
      want: pass.want,
    })
    this.highestPosition = Math.max(this.highestPosition, ...pass.positions)
    const size = rows * KV_HEADS * length * HEAD_DIM
    const keys = Array.from({ length: LAYERS }, () => new Float32Array(size))
    const values = Array.from({ length: LAYERS }, () => new Float32Array(size))
    const convolved = new Float32Array(size)
    const hidden = Array.from({ length: rows }, (_, row) =>
      this.#runRow(pass, row, { keys, values, masks, convolved }),
    ).flat()
    const scores = new Float32Array(pass.want === 'none' ? 0 : pass.scored.length * this.vocabSize)
    if (pass.want !== 'none') {
      for (const [index, position] of pass.scored.entries()) {
        scores.set(this.#scores(hidden[position]!, pass, index), index * this.vocabSize)
      }
    }
    const slots = keys.flatMap((key, layer) => [key, values[layer]!])
    return Promise.resolve({ scores, fresh: [...slots, convolved] })
  }

  #check(pass: DecodePass): void {
    const { rows, length, ids, positions, cache, scored, inverseTemperatures, prompts } = pass
    const mask = maskThrough(pass, null)
    const all = rows * length
    const expected = [
      all,
      all,
      scored.length,
      all * ((prompts?.cache.capacity ?? 0) + cache.capacity + length),
    ]
    const got = [ids.length, positions.length, inverseTemperatures.length, mask.length]
    if (expected.join() !== got.join())
      throw new Error(`Expected sizes ${expected.join()}, got ${got.join()}.`)
  }

  /** Hidden states of the row's positions; writes their keys and values. */
  #runRow(pass: DecodePass, row: number, fresh: LayerArrays): number[][] {
    const { length, ids, positions } = pass
    let states = Array.from({ length }, (_, t) => {
      const embedding = this.#embeddings[ids[row * length + t]!]!
      return embedding.map((value, c) => value + Math.sin(positions[row * length + t]! * (0.3 + 0.7 * c)))
    })
    states = convolve(states, { pass, row, fresh })
    for (let layer = 0; layer < LAYERS; layer++) {
      const weights = this.#weights[layer]!
      for (const [t, state] of states.entries()) {
        writeHeads(fresh.keys[layer]!, multiply(weights.key, state), { row, length, t })
        writeHeads(fresh.values[layer]!, multiply(weights.value, state), { row, length, t })
      }
      states = states.map((state, t) => {
        const query = multiply(weights.query, state)
        const heads = Array.from({ length: KV_HEADS }, (_, head) =>
          attend(headOf({ pass, row, t, layer, head, query, fresh })),
        )
        const update = multiply(weights.output, heads.flat())
        return state.map((value, c) => Math.tanh(value + update[c]!))
      })
    }
    return states
  }

  #scores(hidden: readonly number[], pass: DecodePass, index: number): number[] {
    const logits = multiply(this.#embeddings, hidden).map((logit) => Math.fround(logit * this.#sharpness))
    const tempered = logits.map((logit) => logit * pass.inverseTemperatures[index]!)
    if (pass.want === 'logits') return tempered
    const largest = Math.max(...tempered)
    const weights = tempered.map((score) => Math.exp(score - largest))
    const total = weights.reduce((sum, weight) => sum + weight, 0)
    return weights.map((weight) => weight / total)
  }
}

/** Of each layer: the new keys and values, and what they see. */
type LayerArrays = Readonly<Record<'keys' | 'values' | 'masks', readonly Float32Array[]>> & {
  /** [B, 1, T, D] */
  readonly convolved: Float32Array
}

/** A short convolution over the states, which it writes for the next pass. */
function convolve(
  states: readonly number[][],
  { pass, row, fresh }: { pass: DecodePass; row: number; fresh: LayerArrays },
): number[][] {
  const rounded = states.map((state) => state.map(Math.fround))
  fresh.convolved.set(rounded.flat(), row * pass.length * HIDDEN_SIZE)
  const { data } = pass.cache.view(2 * LAYERS, pass.rows)
  const before = TAPS.slice(1).map((_, place) => {
    const start = (row * (TAPS.length - 1) + place) * HIDDEN_SIZE
    return [...data.subarray(start, start + HIDDEN_SIZE)]
  })
  const all = [...before, ...rounded]
  return states.map((_, t) =>
    all[t]!.map((_, c) =>
      TAPS.reduce((sum, tap, back) => sum + tap * all[t + TAPS.length - 1 - back]![c]!, 0),
    ),
  )
}

function writeHeads(
  target: Float32Array,
  vector: readonly number[],
  at: { row: number; length: number; t: number },
): void {
  for (const [index, value] of vector.entries()) {
    const head = Math.floor(index / HEAD_DIM)
    target[((at.row * KV_HEADS + head) * at.length + at.t) * HEAD_DIM + (index % HEAD_DIM)] = value
  }
}

interface HeadAddress {
  readonly pass: DecodePass
  readonly row: number
  readonly t: number
  readonly layer: number
  readonly head: number
  readonly query: readonly number[]
  readonly fresh: LayerArrays
}

function headOf({ pass, row, t, layer, head, query, fresh }: HeadAddress): Head {
  const { length, cache, rows, prompts } = pass
  const slotsOf = (of: StateCache) => of.view(2 * layer, 1).dims[2]!
  const slotCount = slotsOf(cache)
  const shared = prompts ? slotsOf(prompts.cache) : 0
  const width = shared + slotCount + length
  const rowHead = row * KV_HEADS + head
  const placeOf = (kind: 'keys' | 'values') => 2 * layer + (kind === 'keys' ? 0 : 1)
  const slots = (kind: 'keys' | 'values', cached: Float32Array, computed: Float32Array) => [
    ...ofPrompt(kind),
    ...split(cached.subarray(rowHead * slotCount * HEAD_DIM), slotCount),
    ...split(computed.subarray(rowHead * length * HEAD_DIM), length),
  ]
  /** Nothing is hidden from a row without a prompt that could be seen: the mask says so of any. */
  const ofPrompt = (kind: 'keys' | 'values') => {
    if (!prompts) return []
    const place = Math.max(0, prompts.promptOf[row]!) * KV_HEADS + head
    const { data } = prompts.cache.view(placeOf(kind), prompts.cache.rows)
    return split(data.subarray(place * shared * HEAD_DIM), shared)
  }
  return {
    query: query.slice(head * HEAD_DIM, (head + 1) * HEAD_DIM),
    mask: fresh.masks[layer]!.subarray((row * length + t) * width, (row * length + t + 1) * width),
    keys: slots('keys', cache.view(placeOf('keys'), rows).data, fresh.keys[layer]!),
    values: slots('values', cache.view(placeOf('values'), rows).data, fresh.values[layer]!),
  }
}

function split(data: Float32Array, count: number): Float32Array[] {
  return Array.from({ length: count }, (_, slot) => data.subarray(slot * HEAD_DIM, (slot + 1) * HEAD_DIM))
}
