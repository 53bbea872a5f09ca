/** Attention in blocks, for long sequences: the numbers are those of attention in parts. Families are compared in reference.test.ts. */
import { describe, expect, test } from 'vitest'
import { blockWindowNames, blockNames } from '#engine/models/attentionInBlocks.ts'
import type { LossCoefficients, TokenSequence } from '#engine/policy.ts'
import { prefixTree } from '#engine/prefixes.ts'
import { HIDDEN } from '#engine/ops/attention.ts'
import { blockColumns, defaultBlocks } from '#engine/ops/blockwiseAttention.ts'
import { blockFeeds } from '#engine/runtime/attentionBlocks.ts'
import type { OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { packBatch } from '#engine/runtime/packedBatch.ts'
import type { Feed } from '#engine/runtime/session.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { largestDifference, relativeError } from './differences.ts'
import {
  flatGradient,
  openCritic,
  openTiny,
  randomCoefficients,
  randomSequence,
  tinyLora,
  tinySource,
  withValues,
} from './tinyModel.ts'

const prompt = [7, 19, 4, 33, 12, 5, 28, 9, 17, 3, 21]
const behind = (completion: readonly number[], start = prompt): TokenSequence => ({
  ids: Int32Array.from([...start, ...completion]),
  actionMask: Uint8Array.from({ length: start.length + completion.length - 1 }, (_, at) =>
    Number(at >= start.length - 1),
  ),
})
/** A group behind one prompt, two of whose completions begin alike, and a sequence that has nothing in common with it. */
const sequences = [
  behind([1, 2, 3, 4, 5, 6]),
  behind([1, 2, 9]),
  behind([30, 31, 14, 15, 9, 2, 6, 5, 3]),
  behind([8, 8, 8], [2]),
]
const inBlocks = { longerThan: 4, rows: 5 }
const inParts = { longerThan: Infinity, rows: 5 }

interface Learned {
  readonly scores: Float64Array
  readonly logprobs: Float64Array
  readonly gradient: Float32Array
}

async function learn(
  policy: OrtPolicy,
  rows: readonly TokenSequence[] = sequences,
  coefficients: readonly LossCoefficients[] = randomCoefficients(rows, 3, true),
): Promise<Learned> {
  const scores = await policy.score(rows, { role: 'actor', temperature: 0.8 })
  const options = { temperature: 0.8, entropyGradient: coefficients[0]!.entropies !== null }
  const heads = await policy.accumulate(rows, options, () => coefficients)
  const joined = (all: readonly { readonly logprobs: Float64Array }[]) =>
    Float64Array.from(all.flatMap(({ logprobs }) => [...logprobs]))
  return { scores: joined(scores), logprobs: joined(heads), gradient: await flatGradient(policy) }
}

function expectAlike(blocks: Learned, parts: Learned): void {
  expect(largestDifference(blocks.scores, parts.scores)).toBeLessThan(2e-5)
  expect(largestDifference(blocks.logprobs, parts.logprobs)).toBeLessThan(2e-5)
  expect(relativeError(blocks.gradient, parts.gradient)).toBeLessThan(1e-5)
}

describe('a small model', () => {
  const folder = temporaryFolder()

  test('with dropout', async () => {
    const [source, lora] = [await tinySource(folder), { ...tinyLora, dropout: 0.3 }]
    using blocks = await openTiny(source, { lora, blocks: inBlocks })
    using parts = await openTiny(source, { lora, blocks: inParts })
    expectAlike(await learn(blocks), await learn(parts))
  })

  test('from saved activations', async () => {
    const source = await tinySource(folder)
    using blocks = await openTiny(source, { activations: 'save', blocks: inBlocks })
    using parts = await openTiny(source, { activations: 'save', blocks: inParts })
    expectAlike(await learn(blocks), await learn(parts))
  })

  test('with a critic', async () => {
    const source = await tinySource(folder)
    using blocks = await openCritic(source, { blocks: inBlocks })
    using parts = await openCritic(source, { blocks: inParts })
    const coefficients = withValues(randomCoefficients(sequences, 3, false), sequences, 5)
    expectAlike(await learn(blocks, sequences, coefficients), await learn(parts, sequences, coefficients))
    expect(
      relativeError(await flatGradient(blocks, 'critic'), await flatGradient(parts, 'critic')),
    ).toBeLessThan(1e-5)
  })

  test('with a sequence of two thousand tokens, beside a short one', async () => {
    const source = await tinySource(folder, { maxPositions: 2_304, heads: 2, kvHeads: 1 })
    const long = [randomSequence(288, 2_200, 1), randomSequence(288, 70, 2)]
    using blocks = await openTiny(source)
    using parts = await openTiny(source, { blocks: inParts })
    expectAlike(await learn(blocks, long), await learn(parts, long))
  })
})

describe('the blocks of a batch', () => {
  const numbers = (feed: Feed) => [...(feed.data as BigInt64Array)].map(Number)

  /** The packed rows that each packed row sees, by the tables. */
  function seenBy(rows: readonly TokenSequence[], shares: boolean, windows: readonly (number | null)[]) {
    const tree = prefixTree(rows, shares)
    const feeds = blockFeeds(tree, { longerThan: 0, rows: 4 }, windows)
    const keyRows = numbers(feeds[blockNames.keyRows])
    return windows.map((_, window) => {
      const { table, mask } = blockWindowNames(window)
      const [, width = 0] = feeds[mask]!.dims
      const added = feeds[mask]!.data as Float32Array
      const seen = Array.from({ length: tree.tokens }, (): number[] => [])
      const cells = numbers(feeds[table]!)
      for (let at = 0; at < cells.length; at += blockColumns.length) {
        const [from, end, firstKey, lastKey, column] = cells.slice(at) as [
          number,
          number,
          number,
          number,
          number,
        ]
        for (let query = from; query < end; query++) {
          const row = added.subarray((query - from) * width + column)
          seen[query] = keyRows.slice(firstKey, lastKey).filter((_key, place) => row[place] !== HIDDEN)
        }
      }
      return seen
    })
  }

  test.each([true, false])('let each token see those before it, within its window (shared: %s)', (shares) => {
    const windows = [null, 1, 3, 6, 100]
    const { tokens, paths } = prefixTree(sequences, shares)
    const found = seenBy(sequences, shares, windows)
    windows.forEach((window, index) => {
      const expected = Array.from({ length: tokens }, (): number[] => [])
      for (const path of paths) {
        path.forEach((row, at) => {
          expected[row] = [...path.subarray(window === null ? 0 : Math.max(0, at + 1 - window), at + 1)]
        })
      }
      expect(found[index]).toEqual(expected)
    })
  })

  test('reach no further back than the window', () => {
    const feeds = blockFeeds(prefixTree([randomSequence(9, 4_000, 1, 1)], true), defaultBlocks, [512, null])
    const widths = [0, 1].map((window) => feeds[blockWindowNames(window).mask]!.dims[1])
    expect(widths).toEqual([511 + 256, 3_840 + 256])
  })

  test('are for long sequences only', () => {
    const shape = { heads: 2, kvHeads: 1, windows: [null], mixers: [] }
    const formOf = (length: number, blocks = {}) =>
      packBatch([randomSequence(9, length + 1, 1, 1)], shape, { rotary: [], shares: true, ...blocks })
        .attention
    expect(formOf(1_024, { blocks: defaultBlocks })).toBe('parts')
    expect(formOf(1_025, { blocks: defaultBlocks })).toBe('blocks')
    expect(formOf(1_025)).toBe('parts')
  })
})
