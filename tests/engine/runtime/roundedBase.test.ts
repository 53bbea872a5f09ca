/** A base in blocks of 8 or 4 bits: what it computes, and what it costs. */
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { blockPrecisions } from '#shared/precision.ts'
import { type Int8Form, linearWeights } from '#engine/models/blocks.ts'
import { linearNames, type LoraConfig } from '#engine/models/config.ts'
import { input, topologicalOrder } from '#engine/graph/value.ts'
import { processorFeatures } from '#engine/processor.ts'
import { headWeightName, type ModelSource } from '#engine/models/source.ts'
import { asPolicySource, asRoundedBase, exactBeside } from '#host/models/baseCache.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { readTensor } from '#host/files/safetensors.ts'
import { asFloat32Source } from '#host/models/weightCache.ts'
import { eachOf, isLong } from '../../sweeps.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { dequantizedSource } from './dequantizedModel.ts'
import { largestDifference, tensorErrors } from './differences.ts'
import { randomStream } from '#shared/random.ts'
import { int8Form } from '#engine/runtime/device.ts'
import { generationWeights, packedBytes } from '#engine/models/frozenWeights.ts'
import { memoryUse } from '#engine/runtime/memory.ts'
import { learningMemory } from '#engine/runtime/learningMemory.ts'
import type { OrtPolicyOptions } from '#engine/runtime/ortPolicy.ts'
import { readReference } from './referenceFixture.ts'
import {
  completionsOf,
  oneThread,
  openTiny,
  randomCoefficients,
  randomSequence,
  tinySource,
  unfiltered,
} from './tinyModel.ts'

const folder = temporaryFolder()
const lora: LoraConfig = { rank: 4, alpha: 8, rsLora: false, targets: linearNames }

/** Separate, fused and transposed linears, stored in 32 and 16 bits; one with rows no block divides. */
const models: readonly (readonly [string, () => Promise<ModelSource> | ModelSource])[] = [
  ...[
    'llama-grouped',
    'phi3',
    'gpt2',
    'qwen2-bf16',
    'mistral-f16',
    'gemma3',
    'lfm2',
    'lfm2-older',
    'qwen35',
    'qwen3-moe',
    'qwen35-moe',
    'granite4-hybrid',
    'olmoe',
    'granite-moe-several',
    'gpt-oss',
    'gpt-oss-mxfp4',
    'gemma4',
    'gemma4-dense',
  ].map((name) => [name, () => openModelFolder(join(readReference(name).directory, 'model'))] as const),
  ['odd widths', () => tinySource(folder, { hiddenSize: 42, headDim: 10, intermediateSize: 131 })],
]

/** The way back from saved activations reads the same matrices: once for each way in which linears lie. */
const waysBack = (name: string) =>
  ['llama-grouped', 'phi3', 'gpt2', 'qwen3-moe'].includes(name)
    ? (['recompute', 'save'] as const)
    : (['recompute'] as const)

/** In a short run both for each way in which linears lie, and one in turn for the others. */
const cases = models.flatMap(([name, open], index) =>
  blockPrecisions
    .filter((_, turn) => isLong || waysBack(name).length > 1 || turn === index % blockPrecisions.length)
    .map((precision) => ({ name, open, precision })),
)

/** In every run: matrices of their own and fused, a mixture of experts, and rows that no block divides. */
const always = ['llama-grouped in int4', 'gpt2 in int8', 'qwen3-moe in int4', 'odd widths in int8']
const isAlways = ({ name, precision }: (typeof cases)[number]) => always.includes(`${name} in ${precision}`)

const options = { temperature: 0.9, entropyGradient: true }

eachOf(describe, { rows: cases, isAlways }, '$name in $precision', ({ name, open, precision }) => {
  test('learns as a model in f32 with the rounded weights does', async () => {
    const rounded = await asRoundedBase(await open(), precision, folder)
    const plain = await dequantizedSource(rounded, precision, mkdtempSync(join(folder, 'plain-')))
    const { vocabSize } = rounded.config
    const sequences = [7, 19, 12].map((length) => randomSequence(vocabSize, length, length))
    const coefficients = randomCoefficients(sequences, 3, true)
    using theirs = await openTiny(plain, { lora })
    const expected = await theirs.accumulate(sequences, options, () => coefficients)
    for (const activations of waysBack(name)) {
      using ours = await openTiny(rounded, { lora, activations })
      const found = await ours.accumulate(sequences, options, () => coefficients)
      const scored = await ours.score(sequences, { role: 'actor', temperature: 0.9 })
      for (const [row, { logprobs, entropies }] of expected.entries()) {
        for (const heads of [found[row]!, scored[row]!]) {
          expect(largestDifference(heads.logprobs, logprobs)).toBeLessThan(1e-4)
          expect(largestDifference(heads.entropies, entropies)).toBeLessThan(1e-4)
        }
      }
      const errors = Object.entries(
        tensorErrors(await ours.gradientTensors(), await theirs.gradientTensors()),
      )
      expect(errors.length).toBeGreaterThan(0)
      expect(errors.filter(([, error]) => !(error < 1e-3))).toEqual([])
    }
  })
})

/** Products of signed bytes are wrong on a processor without VNNI. */
const multipliesBytes = int8Form(oneThread) === 'rows'

/** In a short run one for each way in which linears lie, a mixture of experts, and rows that no block divides. */
const inRows = ['llama-grouped', 'phi3', 'gpt2', 'granite-moe-several', 'odd widths']
const modelsInRows = models.filter(([name]) => isLong || inRows.includes(name))

/** In every run a fused matrix, read both ways. */
const isFused = ([name]: (typeof models)[number]) => name === 'gpt2'

eachOf(
  describe.skipIf(!multipliesBytes),
  { rows: modelsInRows, isAlways: isFused },
  '%s in rows of bytes',
  (name, open) => {
    test('learns with products in whole numbers as in f32, and always the same', async () => {
      const rounded = await asRoundedBase(await open(), 'int8', folder, { int8Form: 'rows' })
      const sequences = [7, 19, 12].map((length) => randomSequence(rounded.config.vocabSize, length, length))
      const coefficients = randomCoefficients(sequences, 3, true)
      const learn = async (overrides: Partial<OrtPolicyOptions>) => {
        using policy = await openTiny(rounded, { lora, ...overrides })
        const once = async () => {
          policy.discardGradients()
          const heads = await policy.accumulate(sequences, options, () => coefficients)
          return { heads, gradients: await policy.gradientTensors() }
        }
        const found = await once()
        expect(await once()).toEqual(found)
        return found
      }
      // Rounding this one's weights moves its log-probabilities by 0.8, and whole numbers by less than a hundredth of that.
      const limit = name === 'gemma4' ? 6e-3 : 2e-3
      const expected = await learn({ products: 'f32' })
      // By itself, learning repeats the layers with packed weights: the same sums.
      const byItself = await learn({ activations: 'auto' })
      for (const activations of waysBack(name)) {
        const found = await learn({ activations })
        if (activations === 'recompute') expect(found).toEqual(byItself)
        for (const [row, { logprobs, entropies }] of expected.heads.entries()) {
          expect(largestDifference(found.heads[row]!.logprobs, logprobs)).toBeLessThan(limit)
          expect(largestDifference(found.heads[row]!.entropies, entropies)).toBeLessThan(limit)
        }
        const errors = Object.entries(tensorErrors(found.gradients, expected.gradients))
        expect(errors.length).toBeGreaterThan(0)
        expect(errors.filter(([, error]) => !(error < limit))).toEqual([])
        // In whole numbers indeed: in f32 they would be alike to the last bit.
        expect(found.gradients).not.toEqual(expected.gradients)
      }
    })

    test('computes in f32 what the same base in blocks does, where it is asked to', async () => {
      const source = await open()
      const bases = [
        await asRoundedBase(source, 'int8', folder, { int8Form: 'rows' }),
        await asRoundedBase(source, 'int8', folder),
      ]
      const sequences = [randomSequence(source.config.vocabSize, 15, 2)]
      const scored = await Promise.all(
        bases.map(async (base) => {
          using policy = await openTiny(base, { lora, products: 'f32' })
          return (await policy.score(sequences, { role: 'actor', temperature: 1 }))[0]!.logprobs
        }),
      )
      expect(largestDifference(scored[0]!, scored[1]!)).toBeLessThan(1e-5)
    })
  },
)

const bytesOfLinears = ({ config }: ModelSource): number =>
  linearWeights(config).reduce((sum, { shape }) => sum + 4 * shape.reduce((a, b) => a * b, 1), 0)

describe('memory', () => {
  const forms = [
    ...blockPrecisions.map((precision) => ({ precision, int8Form: 'blocks' as const })),
    ...(multipliesBytes ? [{ precision: 'int8' as const, int8Form: 'rows' as const }] : []),
  ]
  let source: ModelSource
  beforeAll(async () => {
    source = await tinySource(folder, {
      layers: 12,
      hiddenSize: 512,
      intermediateSize: 1408,
      heads: 8,
      headDim: 64,
      kvHeads: 2,
    })
  })
  eachOf(
    test.skipIf(process.platform !== 'linux'),
    { rows: forms, isAlways: ({ precision }) => precision === 'int4' },
    'a step of learning never has the whole base in f32 ($precision in $int8Form)',
    async ({ precision, int8Form }) => {
      const linears = bytesOfLinears(source)
      const rounded = await asRoundedBase(source, precision, folder, { int8Form })
      const sequences = [randomSequence(258, 6, 1, 1)]
      const coefficients = randomCoefficients(sequences, 1, true)
      const before = memoryUse()
      using policy = await openTiny(rounded)
      await policy.score(sequences, { role: 'base', temperature: 1 })
      await policy.accumulate(sequences, { temperature: 1, entropyGradient: true }, () => coefficients)
      const after = memoryUse()
      expect(linears).toBeGreaterThan(130e6)
      // Graphs, adapter and one layer in f32 in each of two sessions; folded, it would be three times the base and more.
      expect(after.anonymousBytes - before.anonymousBytes).toBeLessThan(0.8 * linears)
      const mapped = (after.mappedBytes ?? 0) - (before.mappedBytes ?? 0)
      // Rows lie both ways, which takes a quarter more; in f32 it would be the whole base more.
      expect(mapped).toBeLessThan((int8Form === 'rows' ? 1.05 : 0.8) * linears)
    },
  )
})

test('what learning takes memory for depends on the base, and on what the machine has', async () => {
  const source = await tinySource(folder)
  const bytes = await asRoundedBase(source, 'int8', folder, { int8Form: 'rows' })
  const memoryOf = (of: ModelSource, activations: OrtPolicyOptions['activations'], machineBytes = 1e9) => {
    const { backward, savedTokens, packsWeights } = learningMemory(
      { source: of, device: oneThread, activations },
      machineBytes,
    )
    return [backward.join(), savedTokens, packsWeights]
  }
  const both = 'backward,backwardFromSaved'
  expect(memoryOf(source, 'auto')).toEqual([both, expect.any(Number), false])
  expect(memoryOf(source, 'auto', 1e10)[1]).toBeGreaterThan(memoryOf(source, 'auto')[1] as number)
  expect(memoryOf(source, 'save')).toEqual(['backwardFromSaved', Infinity, false])
  // In whole numbers, packed weights are worth more than kept activations.
  expect(memoryOf(bytes, 'auto')).toEqual(['backward', 0, true])
  expect(memoryOf(bytes, 'auto', 4 * packedBytes(bytes) - 4)).toEqual(['backward', 0, false])
  expect(memoryOf(bytes, 'save')).toEqual(['backwardFromSaved', Infinity, true])
  for (const each of [source, bytes]) expect(memoryOf(each, 'recompute')).toEqual(['backward', 0, false])
})

describe('the exact weights beside a rounded base', () => {
  test.each(['gpt2', 'qwen2-bf16', 'mistral-f16'])('score as converted ones do (%s)', async (name) => {
    const folder16 = openModelFolder(join(readReference(name).directory, 'model'))
    using plain = await openTiny(await asFloat32Source(folder16, folder), { lora })
    using beside = await openTiny(await exactBeside(folder16, 'int8', folder), { lora })
    const sequences = [randomSequence(folder16.config.vocabSize, 20, 1)]
    const [expected] = await plain.score(sequences, { role: 'actor', temperature: 1 })
    const [found] = await beside.score(sequences, { role: 'actor', temperature: 1 })
    expect(largestDifference(found!.logprobs, expected!.logprobs)).toBeLessThan(1e-5)
  })
})

describe('generation', () => {
  const requestsOf = (samples: number) =>
    [3, 17, 1, 8].map((length, index) => ({
      promptIds: randomSequence(258, length + 1, index).ids.slice(0, length),
      streams: Array.from({ length: samples }, (_, sample) => randomStream(7, index, sample)),
    }))

  /** |recorded − scored| of every sampled token. */
  async function gapsOf(rounded: ModelSource, samples: number): Promise<number[]> {
    const requests = requestsOf(samples)
    using policy = await openTiny(rounded)
    const completions = await completionsOf(policy, requests, { role: 'actor', sampling: unfiltered })
    const sequences = completions.map(({ request, ids }) => {
      const prompt = requests[request]!.promptIds
      const actionMask = new Uint8Array(prompt.length + ids.length - 1).fill(1, prompt.length - 1)
      return { ids: Int32Array.from([...prompt, ...ids]), actionMask }
    })
    const heads = await policy.score(sequences, { role: 'actor', temperature: 1 })
    const gaps = completions.flatMap(({ request, logprobs }, row) => {
      const scored = heads[row]!.logprobs.subarray(requests[request]!.promptIds.length - 1)
      return Array.from(logprobs, (logprob, at) => Math.abs(logprob - scored[at]!))
    })
    expect(gaps.length).toBeGreaterThan(50)
    return gaps
  }

  const meanOf = (gaps: readonly number[]): number => gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length

  // Rows of whole numbers overflow where sums of two products must fit in 16 bits.
  eachOf(
    test.skipIf(!/vnni/.test([...processorFeatures()].join())),
    { rows: blockPrecisions, isAlways: (base) => base === 'int8' },
    'from rows of 8 bits records it with a smaller gap than from blocks (%s, skipped without VNNI)',
    async (base) => {
      const source = await tinySource(folder)
      const gapIn = async (int8Form: Int8Form) =>
        meanOf(await gapsOf(await asPolicySource(source, { base, rollout: 'f32', int8Form }, folder), 32))
      expect(await gapIn('rows')).toBeLessThan(await gapIn('blocks'))
    },
  )

  // Generating rounds the inputs of each product to 8 bits as well. Measured: means of 0.012 and 0.013 nats, at most 0.05.
  test.each(blockPrecisions)(
    'from a cache records what scoring computes, up to rounded inputs (%s)',
    async (precision) => {
      const source = await tinySource(folder)
      const gaps = await gapsOf(await asRoundedBase(source, precision, folder), 2)
      const mean = meanOf(gaps)
      expect(mean).toBeGreaterThan(1e-4)
      expect(mean).toBeLessThan(0.03)
      expect(Math.max(...gaps)).toBeLessThan(0.15)
    },
  )

  test('reads the head exactly', async () => {
    const source = await tinySource(folder)
    const rounded = await asRoundedBase(source, 'int4', folder)
    const name = headWeightName(source.config)
    expect(readTensor(rounded.tensors.get(name)!)).toEqual(readTensor(source.tensors.get(name)!))
    const weights = generationWeights(rounded, { rounded: false })
    const read = (matrix: string) =>
      topologicalOrder([weights.product(input('x', 'float32', ['N', 32]), matrix)], true).flatMap((node) =>
        node.kind === 'weight' ? [node.name] : [],
      )
    expect(read(name)).toEqual([name])
    const linear = 'model.layers.0.self_attn.q_proj.weight'
    expect(read(linear)).toEqual([`${linear}.int4`, `${linear}.int4.scales`])
  })
})
