import { CAUSAL_PARTS } from '../ops/attention.ts'
import type { ModelConfig } from '../models/config.ts'
import type { PackedName } from '../models/learningGraphs.ts'
import { maskName, partNames, rotaryNames } from '../models/learningGraphs.ts'
import type { Heads, LossCoefficients, TokenSequence } from '../policy.ts'
import type { Feed } from './session.ts'
import type { RotaryTables } from './rotaryTables.ts'
import { floats, int64s } from './session.ts'

/**
 * A micro-batch of ragged sequences laid end to end. Only tokens that lead to a prediction are kept: what stands after a
 * sequence's last action token influences nothing. N tokens of B sequences.
 */
export interface PackedBatch {
  readonly tokens: number
  /** T, the longest sequence rounded up to whole parts of causal attention. */
  readonly blockLength: number
  /** [N] */
  readonly ids: Int32Array
  /** [N] place of each token in its sequence. */
  readonly positions: Int32Array
  /** Packed index of each sequence's first token. */
  readonly starts: Int32Array
  /** [A] packed rows where the head is computed, and the id it should predict. */
  readonly headRows: Int32Array
  readonly headTargets: Int32Array
  /** What every layer's program reads beside the hidden states. */
  readonly feeds: Readonly<Partial<Record<'order' | 'query rows' | 'key rows' | PackedName, Feed>>>
}

/** Finite, so that no row of the softmax is all minus infinity. */
const HIDDEN = -1e9

/** Tokens of a sequence that lead to a prediction: up to its last action. */
export const usedLength = ({ actionMask }: TokenSequence): number => actionMask.lastIndexOf(1) + 1

export function packBatch(
  sequences: readonly TokenSequence[],
  { heads, kvHeads, windows }: Pick<ModelConfig, 'heads' | 'kvHeads' | 'windows'>,
  rotary: readonly RotaryTables[],
): PackedBatch {
  const lengths = sequences.map(usedLength)
  const partLength = Math.ceil(Math.max(1, ...lengths) / CAUSAL_PARTS)
  const blockLength = partLength * CAUSAL_PARTS
  const tokens = lengths.reduce((total, length) => total + length, 0)
  const ids = new Int32Array(tokens)
  const positions = new Int32Array(tokens)
  const starts = new Int32Array(sequences.length)
  const slots = new Int32Array(sequences.length * blockLength).fill(tokens)
  const headRows: number[] = []
  const headTargets: number[] = []

  let packed = 0
  sequences.forEach((sequence, row) => {
    starts[row] = packed
    for (let at = 0; at < lengths[row]!; at++, packed++) {
      ids[packed] = sequence.ids[at]!
      positions[packed] = at
      slots[row * blockLength + at] = packed
      if (sequence.actionMask[at] === 1) {
        headRows.push(packed)
        headTargets.push(sequence.ids[at + 1]!)
      }
    }
  })
  return {
    tokens,
    blockLength,
    ids,
    positions,
    starts,
    headRows: Int32Array.from(headRows),
    headTargets: Int32Array.from(headTargets),
    feeds: {
      ...rotaryFeeds(rotary, positions),
      order: int64s(
        positions.map((_, index) => index),
        [1, tokens],
      ),
      ...headMaps({ slots, tokens, partLength, blockLength }, heads / kvHeads, kvHeads),
      ...causalMasks(partLength, heads / kvHeads, windows),
    },
  }
}

const rotaryFeeds = (tables: readonly RotaryTables[], positions: Int32Array): Record<string, Feed> =>
  Object.fromEntries(
    tables.flatMap((rope, index) => {
      const { cos, sin } = rope.packed(positions)
      const names = rotaryNames(index)
      return [
        [names.cos, cos],
        [names.sin, sin],
      ]
    }),
  )

interface BlockRows {
  /** [B, T] packed token of each slot; `tokens` where it is padding. */
  readonly slots: Int32Array
  readonly tokens: number
  readonly partLength: number
  readonly blockLength: number
}

function headMaps(block: BlockRows, group: number, kvHeads: number) {
  const query = headMap(block, group, kvHeads)
  const key = headMap(block, 1, kvHeads)
  const slots: Partial<Record<PackedName, Feed>> = {}
  for (let part = 0; part < CAUSAL_PARTS; part++) {
    const names = partNames(part)
    slots[names.querySlots] = query.slots[part]!
    slots[names.keySlots] = key.slots[part]!
  }
  return { 'query rows': query.rows, 'key rows': key.rows, ...slots }
}

/** Row n·H + h of the packed heads, H = K·g, stands in its part at [b, h / g, (h mod g)·Q + t]. */
function headMap({ slots, tokens, partLength, blockLength }: BlockRows, group: number, kvHeads: number) {
  const heads = kvHeads * group
  const partSize = (slots.length / CAUSAL_PARTS) * heads
  const parts = Array.from({ length: CAUSAL_PARTS }, () => new Int32Array(partSize).fill(tokens * heads))
  const rows = new Int32Array(tokens * heads)
  slots.forEach((token, slot) => {
    if (token === tokens) return
    const [row, at] = [Math.floor(slot / blockLength), slot % blockLength]
    const part = Math.floor(at / partLength)
    for (let head = 0; head < heads; head++) {
      const place = (row * heads + head) * partLength + (at % partLength)
      parts[part]![place] = token * heads + head
      rows[token * heads + head] = part * partSize + place
    }
  })
  const dims = [slots.length / blockLength, kvHeads, group * partLength]
  return { slots: parts.map((part) => int64s(part, dims)), rows: int64s(rows, [rows.length]) }
}

/** Of each window and part i of the queries, [g·Q, (i+1)·Q]: 0 where the key is not after the query, nor before its window. */
function causalMasks(
  partLength: number,
  copies: number,
  windows: ModelConfig['windows'],
): Record<string, Feed> {
  const masks = windows.flatMap((window, index) =>
    Array.from({ length: CAUSAL_PARTS }, (_, part) => {
      const width = (part + 1) * partLength
      const mask = new Float32Array(copies * partLength * width)
      for (let query = 0; query < partLength; query++) {
        const [start, at] = [query * width, part * partLength + query]
        mask.fill(HIDDEN, start + at + 1, start + width)
        if (window !== null) mask.fill(HIDDEN, start, start + Math.max(0, at + 1 - window))
      }
      for (let copy = 1; copy < copies; copy++) {
        mask.copyWithin(copy * partLength * width, 0, partLength * width)
      }
      return [maskName(index, part), floats(mask, [copies * partLength, width])] as const
    }),
  )
  return Object.fromEntries(masks)
}

export const emptyHeads = ({ actionMask }: TokenSequence, hasValues: boolean): Heads => ({
  logprobs: new Float64Array(actionMask.length),
  entropies: new Float64Array(actionMask.length),
  values: hasValues ? new Float64Array(actionMask.length) : null,
})

/** [A] each; a head that was not asked is null. */
export interface PackedHeads {
  readonly policy: { readonly logprobs: Float64Array; readonly entropies: Float64Array } | null
  readonly values: Float64Array | null
}

/** Per-row results back to the frame of their sequences. */
export function unpackHeads(
  sequences: readonly TokenSequence[],
  batch: PackedBatch,
  { policy, values }: PackedHeads,
): Heads[] {
  const heads = sequences.map((sequence) => emptyHeads(sequence, values !== null))
  forEachAction(sequences, batch, (row, at, index) => {
    const head = heads[row]!
    if (policy) {
      head.logprobs[at] = policy.logprobs[index]!
      head.entropies[at] = policy.entropies[index]!
    }
    if (values) head.values![at] = values[index]!
  })
  return heads
}

/** ∂loss/∂logprob, ∂loss/∂entropy and ∂loss/∂value of each head row. */
export interface PackedCoefficients {
  readonly logprobs: Float64Array
  readonly entropies: Float64Array | null
  readonly values: Float64Array | null
}

/** The frame of the sequences to one entry per head row. */
export function packCoefficients(
  sequences: readonly TokenSequence[],
  batch: PackedBatch,
  coefficients: readonly LossCoefficients[],
): PackedCoefficients {
  const logprobs = new Float64Array(batch.headRows.length)
  const [entropies, values] = (['entropies', 'values'] as const).map((head) =>
    coefficients.some((item) => item[head]) ? new Float64Array(batch.headRows.length) : null,
  ) as [Float64Array | null, Float64Array | null]
  forEachAction(sequences, batch, (row, at, index) => {
    logprobs[index] = coefficients[row]!.logprobs[at]!
    if (entropies) entropies[index] = coefficients[row]!.entropies?.[at] ?? 0
    if (values) values[index] = coefficients[row]!.values?.[at] ?? 0
  })
  return { logprobs, entropies, values }
}

/** Visits every action token: sequence, position in it, index among the head rows. */
function forEachAction(
  sequences: readonly TokenSequence[],
  batch: PackedBatch,
  visit: (row: number, at: number, index: number) => void,
): void {
  let row = 0
  batch.headRows.forEach((packed, index) => {
    while (row + 1 < sequences.length && batch.starts[row + 1]! <= packed) row++
    visit(row, packed - batch.starts[row]!, index)
  })
}
