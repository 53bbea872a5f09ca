/** Builds the feeds that `blockwiseAttention` reads for a micro-batch with long sequences. */
import type { ModelConfig } from '../models/config.ts'
import { type BlockName, blockNames, blockWindowNames } from '../models/attentionInBlocks.ts'
import { HIDDEN } from '../ops/attention.ts'
import { type BlockLimits, blockColumns, blockStarts } from '../ops/blockwiseAttention.ts'
import type { PrefixTree } from '../prefixes.ts'
import { type Feed, floats, int64s } from './session.ts'

/** Queries of a sequence that stand one after the other, in it and among the packed rows. */
interface Block {
  readonly sequence: number
  /** Place of the first query in the sequence; `row` is its packed row. */
  readonly at: number
  readonly row: number
  readonly queries: number
}

/**
 * Builds the feeds of the blocks. Only a sequence's own tokens are queries; keys are all tokens before them, within the
 * window.
 */
export function blockFeeds(
  { paths, own, tokens }: PrefixTree,
  limits: BlockLimits,
  windows: ModelConfig['windows'],
): Record<BlockName, Feed> {
  const blocks = paths.flatMap((path, sequence) => blocksOf(path, { sequence, own: own[sequence]! }, limits))
  // The largest first: what the later ones need fits into its memory.
  blocks.sort((a, b) => b.at + b.queries - (a.at + a.queries))
  const height = Math.max(...blocks.map(({ queries }) => queries))
  const places = new Int32Array(tokens)
  blocks.forEach(({ row, queries }, index) => {
    for (let query = 0; query < queries; query++) places[row + query] = index * height + query
  })
  const starts: number[] = []
  let keys = 0
  for (const path of paths) {
    starts.push(keys)
    keys += path.length
  }
  const keyRows = new Int32Array(keys)
  paths.forEach((path, sequence) => keyRows.set(path, starts[sequence]))
  return {
    [blockNames.keyRows]: int64s(keyRows, [keys]),
    [blockNames.places]: int64s(places, [tokens]),
    ...Object.fromEntries(
      windows.flatMap((window, index) =>
        Object.entries(windowFeeds(blocks, { window, starts, height }, index)),
      ),
    ),
  }
}

function blocksOf(
  path: Int32Array,
  { sequence, own }: { readonly sequence: number; readonly own: number },
  { rows }: BlockLimits,
): Block[] {
  return blockStarts(own, path.length, rows).map((at) => ({
    sequence,
    at,
    row: path[at]!,
    queries: Math.min(rows, path.length - at),
  }))
}

function windowFeeds(
  blocks: readonly Block[],
  {
    window,
    starts,
    height,
  }: {
    readonly window: ModelConfig['windows'][number]
    /** Start of the keys of each sequence. */
    readonly starts: readonly number[]
    readonly height: number
  },
  index: number,
): Record<string, Feed> {
  /** Keys of a block before its own. */
  const before = ({ at }: Block) => (window === null ? at : Math.min(at, window - 1))
  const most = Math.max(...blocks.map(before))
  const rows = blocks.map((block) => {
    const { sequence, at, row, queries } = block
    const [start, earlier] = [starts[sequence]!, before(block)]
    return {
      'query from': row,
      'query end': row + queries,
      'key from': start + at - earlier,
      'key end': start + at + queries,
      'mask from': most - earlier,
      'mask end': most + queries,
      padding: height - queries,
    }
  })
  const table = Int32Array.from(rows.flatMap((row) => blockColumns.map((column) => row[column])))
  const names = blockWindowNames(index)
  return {
    [names.table]: int64s(table, [blocks.length, blockColumns.length]),
    [names.mask]: bandMask(height, most, window),
  }
}

/** [Q, before + Q]: 0 where the key is not after the query, nor before its window. */
function bandMask(height: number, before: number, window: ModelConfig['windows'][number]): Feed {
  const width = before + height
  const mask = new Float32Array(height * width)
  for (let query = 0; query < height; query++) {
    const [start, at] = [query * width, before + query]
    mask.fill(HIDDEN, start + at + 1, start + width)
    if (window !== null) mask.fill(HIDDEN, start, start + Math.max(0, at + 1 - window))
  }
  return floats(mask, [height, width])
}
