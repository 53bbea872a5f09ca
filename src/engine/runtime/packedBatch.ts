import type { Device } from '#shared/device.ts'
import { HIDDEN, CAUSAL_PARTS } from '../ops/attention.ts'
import {
  attendsLinearly,
  kvHeadsOfWindows,
  type AttentionWindow,
  type ModelConfig,
} from '../models/config.ts'
import { type AttentionForm, type PackedName } from '../models/learningGraphs.ts'
import { maskName, partNames, keyNames } from '../models/partInputs.ts'
import { rotaryNames } from '../models/rotaryInputs.ts'
import { chunkNames, LEARNING_CHUNK } from '../models/chunkInputs.ts'
import { readersNames, rowsBeforeName } from '../models/precedingRows.ts'
import type { Alternatives, Heads, LossCoefficients, TokenSequence } from '../policy.ts'
import { type PrefixTree, prefixTree } from '../prefixes.ts'
import type { BlockLimits } from '../ops/blockwiseAttention.ts'
import { blockFeeds } from './attentionBlocks.ts'
import { packedRoutes } from './replayedRoutes.ts'
import { type Feed, floats, int64s } from './session.ts'
import type { RotaryTables } from './passFeeds.ts'
import type { RouterTally } from './routerTally.ts'
import { type Slot, slotTables } from './slotTables.ts'

/**
 * A micro-batch of ragged sequences. Only tokens that lead to a prediction are kept: what stands after a sequence's last
 * action token influences nothing. A prefix that several sequences have in common stands there once: all of them gather its
 * keys and values, whose gradients are summed. N tokens of B sequences.
 */
export interface PackedBatch {
  readonly tokens: number
  /** [N] */
  readonly ids: Int32Array
  /** [N] place of each token in its sequences. */
  readonly positions: Int32Array
  /** [A] packed rows where the head is computed, and the id it should predict: sequence by sequence; rows may repeat. */
  readonly headRows: Int32Array
  readonly headTargets: Int32Array
  /** [A·K] further ids whose log-probabilities are wanted there; null without any. */
  readonly headAlternatives: Int32Array | null
  /** Rows of each sequence's tokens. */
  readonly paths: readonly Int32Array[]
  readonly attention: AttentionForm
  /** [N, W] experts of each token, −1 where none are recorded; null where nothing is replayed. */
  readonly routes: Int32Array | null
  /** Feeds of every layer's program beside the hidden states. */
  readonly feeds: Readonly<Partial<Record<'order' | PackedName, Feed>>>
}

type AttentionShape = Pick<ModelConfig, 'heads' | 'kvHeads' | 'windows' | 'mixers'>

export interface PackOptions {
  readonly rotary: readonly RotaryTables[]
  /** Common prefixes are computed once; not where each sequence's tokens have dropout masks of their own. */
  readonly shares: boolean
  /** Limits that decide when attention is computed in blocks; never if absent. */
  readonly blocks?: BlockLimits
  /** W, the recorded experts of a token; absent or 0 where nothing is replayed. */
  readonly routeWidth?: number
}

export function packBatch(
  sequences: readonly TokenSequence[],
  shape: AttentionShape,
  { rotary, shares, blocks, routeWidth = 0 }: PackOptions,
): PackedBatch {
  const tree = prefixTree(sequences, shares)
  const { tokens, paths } = tree
  const longest = Math.max(1, ...paths.map(({ length }) => length))
  const attention = blocks && longest > blocks.longerThan ? 'blocks' : 'parts'
  const ids = new Int32Array(tokens)
  const positions = new Int32Array(tokens)
  const headRows: number[] = []
  const headTargets: number[] = []
  sequences.forEach((sequence, index) => {
    paths[index]!.forEach((row, at) => {
      ids[row] = sequence.ids[at]!
      positions[row] = at
      if (sequence.actionMask[at] === 1) {
        headRows.push(row)
        headTargets.push(sequence.ids[at + 1]!)
      }
    })
  })
  return {
    tokens,
    ids,
    positions,
    headRows: Int32Array.from(headRows),
    headTargets: Int32Array.from(headTargets),
    headAlternatives: alternativesOf(sequences, headRows.length),
    paths,
    attention,
    routes: routeWidth === 0 ? null : packedRoutes(sequences, tree, routeWidth),
    feeds: {
      ...rotaryFeeds(rotary, positions),
      order: int64s(
        positions.map((_, index) => index),
        [1, tokens],
      ),
      ...(blocks && attention === 'blocks'
        ? blockFeeds(tree, blocks, shape.windows)
        : partFeeds(tree, Math.ceil(longest / CAUSAL_PARTS), shape)),
      ...rowsBefore(tree, kernelOf(shape)),
      ...(attendsLinearly(shape) ? chunkFeeds(tree, longest) : {}),
    },
  }
}

function partFeeds({ tokens, paths, own }: PrefixTree, partLength: number, shape: AttentionShape): MapFeeds {
  const rows = paths.map((path, index) => ({ path, own: own[index]! }))
  const block = { rows: rows.toSorted((a, b) => b.path.length - a.path.length), tokens, partLength }
  const counts = kvHeadsOfWindows(shape)
  const maps = [...new Set(counts)].map((kvHeads) => ({
    ...queryMap(block, kvHeads, shape.heads / kvHeads),
    ...keyMap(block, kvHeads),
  }))
  const masks = shape.windows.map((window, index) =>
    causalMasks(partLength, shape.heads / (counts[index] as number), { window, index }),
  )
  return Object.assign({}, ...maps, ...masks) as MapFeeds
}

/** Positions that a short convolution reads; 1 where no layer has one. */
const kernelOf = ({ mixers }: Pick<ModelConfig, 'mixers'>): number =>
  mixers.reduce((most, mixer) => (mixer.kind === 'attention' ? most : Math.max(most, mixer.kernel)), 1)

/** The rows before each row in its sequence, which a short convolution reads, and the rows that read each so. */
function rowsBefore({ tokens, paths, own }: PrefixTree, kernel: number): MapFeeds {
  if (kernel === 1) return {}
  const found = Array.from({ length: tokens }, (): Slot[] => [])
  const feeds: Record<string, Feed> = {}
  for (let back = 1; back < kernel; back++) {
    const before = new Int32Array(tokens).fill(tokens)
    paths.forEach((path, sequence) => {
      for (let at = Math.max(back, own[sequence]!); at < path.length; at++) {
        const [reader, read] = [path[at]!, path[at - back]!]
        before[reader] = read
        found[read]!.push({ first: (back - 1) * tokens + reader, stride: 0 })
      }
    })
    feeds[rowsBeforeName(back)] = int64s(before, [tokens])
  }
  const tables = slotTables(found, { few: kernel - 1, heads: 1, end: (kernel - 1) * tokens })
  return {
    ...feeds,
    [readersNames.rows]: tables.rows,
    [readersNames.shared]: tables.slots,
    [readersNames.places]: tables.places,
  }
}

/** The places of rows in chunks of their sequences; one that is shared stands in those of all. */
function chunkFeeds({ tokens, paths, own }: PrefixTree, longest: number): MapFeeds {
  const count = Math.ceil(longest / LEARNING_CHUNK)
  const dims = [count, paths.length, LEARNING_CHUNK]
  const end = count * paths.length * LEARNING_CHUNK
  const [slots, ownSlots] = [new Int32Array(end).fill(tokens), new Int32Array(end).fill(tokens)]
  const places = new Int32Array(tokens)
  const found = Array.from({ length: tokens }, (): Slot[] => [])
  paths.forEach((path, sequence) => {
    path.forEach((row, at) => {
      const chunk = Math.floor(at / LEARNING_CHUNK)
      const slot = (chunk * paths.length + sequence) * LEARNING_CHUNK + (at % LEARNING_CHUNK)
      slots[slot] = row
      found[row]!.push({ first: slot, stride: 0 })
      if (at < own[sequence]!) return
      ownSlots[slot] = row
      places[row] = slot
    })
  })
  const tables = slotTables(found, { few: 1, heads: 1, end })
  return {
    [chunkNames.slots]: int64s(slots, dims),
    [chunkNames.own]: int64s(ownSlots, dims),
    [chunkNames.places]: int64s(places, [tokens]),
    [chunkNames.rows]: tables.rows,
    [chunkNames.shared]: tables.slots,
    [chunkNames.sharedPlaces]: tables.places,
    [chunkNames.backwards]: int64s(
      Int32Array.from({ length: count }, (_, at) => count - 1 - at),
      [count],
    ),
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
  /** The sequences, longest first: the packed row of each token, and the first position that is not another's before it. */
  readonly rows: readonly { readonly path: Int32Array; readonly own: number }[]
  readonly tokens: number
  /** Q */
  readonly partLength: number
}

type MapFeeds = PackedBatch['feeds']

/** Sequences whose own tokens reach into a part; at least one, if only of padding, since a part must not be empty. */
function rowsIn({ rows, partLength }: BlockRows, part: number): BlockRows['rows'] {
  const [from, to] = [part * partLength, (part + 1) * partLength]
  const inside = rows.filter(({ path, own }) => path.length > from && own < Math.min(to, path.length))
  return inside.length > 0 ? inside : rows.slice(0, 1)
}

/** Row n·H + h of the packed heads, H = K·g, stands in its part at [b, h / g, (h mod g)·Q + t]. */
function queryMap(block: BlockRows, kvHeads: number, group: number): MapFeeds {
  const { tokens, partLength } = block
  const heads = kvHeads * group
  const places = new Int32Array(tokens * heads)
  const feeds: Record<string, Feed> = {}
  let partStart = 0
  for (let part = 0; part < CAUSAL_PARTS; part++) {
    const rows = rowsIn(block, part)
    const slots = new Int32Array(rows.length * heads * partLength).fill(tokens * heads)
    const from = part * partLength
    rows.forEach(({ path, own }, row) => {
      for (let at = Math.max(own, from); at < Math.min(path.length, from + partLength); at++) {
        for (let head = 0; head < heads; head++) {
          const slot = (row * heads + head) * partLength + (at - from)
          slots[slot] = path[at]! * heads + head
          places[path[at]! * heads + head] = partStart + slot
        }
      }
    })
    feeds[partNames(part, kvHeads).querySlots] = int64s(slots, [rows.length, kvHeads, group * partLength])
    partStart += slots.length
  }
  return { ...feeds, [keyNames(kvHeads).queries]: int64s(places, [places.length]) }
}

/** Row n·K + h of the packed heads stands at [b, h, t] of each part where a sequence through it has queries behind it. */
function keyMap(block: BlockRows, kvHeads: number): MapFeeds {
  const { tokens, partLength } = block
  const found = Array.from({ length: tokens }, (): Slot[] => [])
  const feeds: Record<string, Feed> = {}
  let partStart = 0
  for (let part = 0; part < CAUSAL_PARTS; part++) {
    const rows = rowsIn(block, part)
    const width = (part + 1) * partLength
    const slots = new Int32Array(rows.length * kvHeads * width).fill(tokens * kvHeads)
    rows.forEach(({ path }, row) => {
      for (let at = 0; at < Math.min(path.length, width); at++) {
        const first = row * kvHeads * width + at
        found[path[at]!]!.push({ first: partStart + first, stride: width })
        for (let head = 0; head < kvHeads; head++) slots[first + head * width] = path[at]! * kvHeads + head
      }
    })
    feeds[partNames(part, kvHeads).keySlots] = int64s(slots, [rows.length, kvHeads, width])
    partStart += slots.length
  }
  const tables = slotTables(found, { few: CAUSAL_PARTS, heads: kvHeads, end: partStart })
  const names = keyNames(kvHeads)
  return {
    ...feeds,
    [names.keys]: tables.rows,
    [names.shared]: tables.slots,
    [names.places]: tables.places,
  }
}

/**
 * Builds the masks of a window for each part i of the queries, [g·Q, (i+1)·Q]: 0 where the key is not after the query,
 * nor before its window.
 */
function causalMasks(
  partLength: number,
  copies: number,
  { window, index }: { readonly window: AttentionWindow; readonly index: number },
): Record<string, Feed> {
  const masks = Array.from({ length: CAUSAL_PARTS }, (_, part) => {
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
  })
  return Object.fromEntries(masks)
}

export const emptyHeads = ({ actionMask }: TokenSequence, hasValues: boolean): Heads => ({
  logprobs: new Float64Array(actionMask.length),
  entropies: new Float64Array(actionMask.length),
  values: hasValues ? new Float64Array(actionMask.length) : null,
})

/** [A] each, and [A·K] of alternatives. */
export type PackedScores = Pick<Heads, 'logprobs' | 'entropies' | 'alternatives'>

/** [A] each; a head that was not asked is null. */
export interface PackedHeads {
  readonly policy: PackedScores | null
  readonly values: Float64Array | null
  readonly routers?: RouterTally | null
}

/** Per-row results back to the frame of their sequences. */
export function unpackHeads(
  sequences: readonly TokenSequence[],
  batch: PackedBatch,
  { policy, values, routers }: PackedHeads,
): Heads[] {
  const each = (policy?.alternatives?.ids.length ?? 0) / batch.headRows.length
  const heads = sequences.map((sequence, row) => ({
    ...emptyHeads(sequence, values !== null),
    ...(each > 0 && { alternatives: noAlternatives(sequence, each) }),
    ...(routers && { routers: routers.of(batch.paths[row]!) }),
  }))
  forEachAction(sequences, (row, at, index) => {
    const head = heads[row]!
    if (policy) {
      head.logprobs[at] = policy.logprobs[index]!
      head.entropies[at] = policy.entropies[index]!
      for (const name of ['ids', 'logprobs'] as const)
        head.alternatives?.[name].set(
          policy.alternatives![name].subarray(index * each, (index + 1) * each),
          at * each,
        )
    }
    if (values) head.values![at] = values[index]!
  })
  return heads
}

/** Coefficients of each head row. */
export type PackedCoefficients = LossCoefficients

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
  const each = (batch.headAlternatives?.length ?? 0) / batch.headRows.length
  const alternatives =
    each > 0 && coefficients.some((item) => item.alternatives)
      ? new Float64Array(batch.headRows.length * each)
      : null
  forEachAction(sequences, (row, at, index) => {
    logprobs[index] = coefficients[row]!.logprobs[at]!
    const further = coefficients[row]!.alternatives?.subarray(at * each, (at + 1) * each)
    if (further) alternatives?.set(further, index * each)
    if (entropies) entropies[index] = coefficients[row]!.entropies?.[at] ?? 0
    if (values) values[index] = coefficients[row]!.values?.[at] ?? 0
  })
  return { logprobs, entropies, values, alternatives }
}

const noAlternatives = ({ actionMask }: TokenSequence, each: number): Alternatives => ({
  ids: new Int32Array(actionMask.length * each),
  logprobs: new Float64Array(actionMask.length * each),
})

/** The alternatives of all head rows. */
function alternativesOf(sequences: readonly TokenSequence[], rows: number): Int32Array | null {
  const [first] = sequences
  if (first?.alternatives === undefined) return null
  const each = first.alternatives.length / first.actionMask.length
  const packed = new Int32Array(rows * each)
  forEachAction(sequences, (row, at, index) =>
    packed.set(sequences[row]!.alternatives!.subarray(at * each, (at + 1) * each), index * each),
  )
  return packed
}

/** Visits every action token: sequence, position in it, index among the head rows. */
function forEachAction(
  sequences: readonly TokenSequence[],
  visit: (row: number, at: number, index: number) => void,
): void {
  let index = 0
  sequences.forEach(({ actionMask }, row) => {
    actionMask.forEach((isAction, at) => {
      if (isAction === 1) visit(row, at, index++)
    })
  })
}

/** Rows of a product from which packing its matrix anew costs little, and those from which more bring nothing. */
const [LEAST, MOST] = [512, 2048]
/** Numbers of a layer's widest activation that stay near one core: 4 MB. */
const NEAR_CORE = 1 << 20
/** Most replicas; more would cost more memory than their speed is worth. */
const MAX_REPLICAS = 4

/** Micro-batches that are learned from at once, each by an equal part of the threads: a divisor of their number. */
export function replicasOf({ kind, threads }: Pick<Device, 'kind' | 'threads'>): number {
  if (kind !== 'cpu') return 1
  return [MAX_REPLICAS, 3, 2].find((count) => threads % count === 0) ?? 1
}

/**
 * The fastest number of tokens per micro-batch: few enough per thread that a layer's activations stay in its cache, so
 * more for small layers than for large ones; half as many where products are in whole numbers, whose sums have two rows for each token.
 * The 512 and 256 per thread are measured (bench/history/training.md and int8.md, two threads at most); the larger share of narrow layers and the limit of threads are not.
 */
export function learningTokens(
  { intermediateSize }: Pick<ModelConfig, 'intermediateSize'>,
  { threads }: Pick<Device, 'threads'>,
  inBytes = false,
): number {
  const rows = inBytes ? 2 : 1
  const least = LEAST / rows
  const fitting = Math.floor(NEAR_CORE / rows / intermediateSize / least) * least
  return Math.min(MOST, Math.max(least, fitting)) * Math.min(threads, MAX_REPLICAS)
}

/** Returns true if the loss depends on any of the policy's log-probabilities or entropies. */
export const touchesPolicy = ({ logprobs, entropies, alternatives = null }: LossCoefficients): boolean =>
  isTouched(logprobs, entropies, alternatives)

/** Returns true if any coefficient is not 0; one that is not a number counts. */
export const isTouched = (...heads: readonly (Float64Array | null)[]): boolean =>
  heads.some((coefficients) => coefficients?.some((value) => value !== 0))
