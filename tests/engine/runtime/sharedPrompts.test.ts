/** Prompts that rows share in the decoding graph, against a copy for each row. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { GenerationRequest } from '#engine/policy.ts'
import type { GenerationStats } from '#engine/runtime/generation/generate.ts'
import { sharingPays } from '#engine/runtime/ortDecodeStep.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { randomStream } from '#shared/random.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { openDecodeStep, type OpenedStep } from './decodeStep.ts'
import { largestDifference } from './differences.ts'
import { generated, optionsOf } from './generation/alone.ts'
import { randomSequence, tinySource } from './tinyModel.ts'
import { eachOf } from '../../sweeps.ts'

const folder = temporaryFolder()

const requestsOf = (samples: readonly number[]): GenerationRequest[] =>
  samples.map((count, index) => ({
    // They repeat themselves, so that drafts are verified once few rows are left.
    promptIds: randomSequence(258, 7 + 5 * index, index).ids.map((_, at, ids) => ids[at % 4]!),
    streams: Array.from({ length: count }, (_, sample) => randomStream(7, index, sample)),
  }))

const shapes = [
  ...([
    'tiny-llama',
    'tiny-qwen2',
    'tiny-gemma2',
    'tiny-lfm2',
    'tiny-qwen3_5',
    'tiny-granitemoehybrid',
    'tiny-gemma4',
    'tiny-gpt_oss',
  ] as const),
  'tiny-qwen3_moe',
  'tiny-gemma4_unified',
] as const
/** In every run attention of four kinds: full, linear, with windows, and with sinks. */
const isAlways = (name: string) =>
  ['tiny-llama', 'tiny-qwen3_5', 'tiny-gemma4', 'tiny-gpt_oss'].includes(name)

eachOf(describe, { rows: shapes, isAlways }, '%s', (name) => {
  let drafted = 0
  const lengths: number[] = []
  let apart: OpenedStep
  let together: OpenedStep
  beforeAll(async () => {
    const shape = { ...modelShapes[name], config: { ...modelShapes[name].config, sliding_window: 9 } }
    const source = await tinySource(folder, shape)
    apart = await openDecodeStep(source, { sharesPrompts: false })
    together = await openDecodeStep(source, { sharesPrompts: true })
  })
  afterAll(() => {
    apart[Symbol.dispose]()
    together[Symbol.dispose]()
  })
  test.each([
    ['groups of different sizes beside a lone row', [3, 1, 5], 9],
    ['more samples than rows', [6, 4, 3], 5],
    ['one group', [4], 4],
  ] as const)('%s', async (_, samples, maxRows) => {
    const requests = requestsOf(samples)
    const stopIds = Array.from({ length: 12 }, (_, id) => id)
    let stats: GenerationStats | null = null
    const options = { ...optionsOf({ maxNewTokens: 40, stopIds, temperature: 0.3 }), maxRows }
    const completionsOf = ({ step }: OpenedStep) =>
      generated(step, requests, { ...options, onEnd: (ended) => void (stats = ended) })
    const copied = await completionsOf(apart)
    const { peakCacheBytes } = stats!
    const shared = await completionsOf(together)
    expect(shared.map(({ ids }) => [...ids])).toEqual(copied.map(({ ids }) => [...ids]))
    shared.forEach(({ logprobs }, index) => {
      expect(largestDifference(logprobs, copied[index]!.logprobs)).toBeLessThan(1e-5)
    })
    expect(stats!.peakCacheBytes).not.toBe(peakCacheBytes)
    drafted += stats!.draftedTokens
    lengths.push(...shared.map(({ ids }) => ids.length))
  })

  test('rows left one by one, and drafts were verified where one that fails can be taken back', () => {
    expect(new Set(lengths).size).toBeGreaterThan(1)
    expect(drafted > 0).toBe(!['tiny-qwen3_5', 'tiny-granitemoehybrid'].includes(name))
  })
})

test('the cache of a group of sixteen is its prompt and sixteen completions', async () => {
  const source = await tinySource(folder, { maxPositions: 1024 })
  const requests = [
    {
      promptIds: randomSequence(258, 640, 1).ids,
      streams: Array.from({ length: 16 }, (_, sample) => randomStream(7, sample)),
    },
  ]
  using opened = await openDecodeStep(source, { sharesPrompts: true })
  let stats: GenerationStats | null = null
  await generated(opened.step, requests, {
    ...optionsOf({ maxNewTokens: 6 }),
    maxRows: 16,
    contextLength: 700,
    prefillTokens: 512,
    onEnd: (ended) => void (stats = ended),
  })
  const { layers, kvHeads, headDim } = source.config
  const slotBytes = 2 * layers * kvHeads * headDim * 4
  expect(stats!.peakCacheBytes).toBe((640 + 16 * 64) * slotBytes)
})

test('pays from five rows on, if there is something to share', () => {
  expect(sharingPays(5, [null, 20])).toBe(true)
  expect(sharingPays(4, [null])).toBe(false)
  // Behind a window of one position nothing is seen.
  expect(sharingPays(16, [1])).toBe(false)
})
