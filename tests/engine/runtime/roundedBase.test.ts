/** A base in blocks of 8 or 4 bits: what it computes, and what it costs. */
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { blockPrecisions } from '#shared/precision.ts'
import { linearWeights } from '#engine/models/blocks.ts'
import { linearNames, type LoraConfig } from '#engine/models/config.ts'
import { headWeightName } from '#engine/models/weightNames.ts'
import type { ModelSource } from '#engine/models/source.ts'
import { asRoundedBase, exactBeside } from '#host/artifacts/baseCache.ts'
import { openModelFolder } from '#host/artifacts/modelFolder.ts'
import { readTensor } from '#host/artifacts/safetensors.ts'
import { asFloat32Source } from '#host/artifacts/weightCache.ts'
import { temporaryFolder } from '../../host/artifacts/temporaryFolder.ts'
import { dequantizedSource } from './dequantizedModel.ts'
import { largestDifference, tensorErrors } from './differences.ts'
import { memoryUse } from '#engine/runtime/memory.ts'
import { readReference } from './referenceFixture.ts'
import {
  completionsOf,
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
  ...['llama-grouped', 'phi3', 'gpt2', 'qwen2-bf16', 'mistral-f16', 'gemma3'].map(
    (name) => [name, () => openModelFolder(join(readReference(name).directory, 'model'))] as const,
  ),
  ['odd widths', () => tinySource(folder, { hiddenSize: 42, headDim: 10, intermediateSize: 131 })],
]

const cases = models.flatMap(([name, open]) =>
  blockPrecisions.map((precision) => ({ name, open, precision })),
)

describe.each(cases)('$name in $precision', ({ open, precision }) => {
  test('learns as a model in f32 with the rounded weights does', async () => {
    const rounded = await asRoundedBase(await open(), precision, folder)
    const plain = await dequantizedSource(rounded, precision, mkdtempSync(join(folder, 'plain-')))
    const { vocabSize } = rounded.config
    const sequences = [7, 19, 12].map((length) => randomSequence(vocabSize, length, length))
    const coefficients = randomCoefficients(sequences, 3, true)
    const options = { temperature: 0.9, entropyGradient: true }
    for (const activations of ['recompute', 'save'] as const) {
      using ours = await openTiny(rounded, { lora, activations })
      using theirs = await openTiny(plain, { lora, activations })
      const [found, expected] = [
        await ours.accumulate(sequences, options, () => coefficients),
        await theirs.accumulate(sequences, options, () => coefficients),
      ]
      const scored = await ours.score(sequences, { role: 'actor', temperature: 0.9 })
      for (const [row, { logprobs, entropies }] of expected.entries()) {
        for (const heads of [found[row]!, scored[row]!]) {
          expect(largestDifference(heads.logprobs, logprobs)).toBeLessThan(1e-4)
          expect(largestDifference(heads.entropies, entropies)).toBeLessThan(1e-4)
        }
      }
      const errors = Object.entries(tensorErrors(ours.gradientTensors(), theirs.gradientTensors()))
      expect(errors.length).toBeGreaterThan(0)
      expect(errors.filter(([, error]) => !(error < 1e-3))).toEqual([])
    }
  })
})

const bytesOfLinears = ({ config }: ModelSource): number =>
  linearWeights(config).reduce((sum, { shape }) => sum + 4 * shape.reduce((a, b) => a * b, 1), 0)

describe('memory', () => {
  test.skipIf(process.platform !== 'linux').each(blockPrecisions)(
    'a step of learning never has the whole base in f32 (%s)',
    async (precision) => {
      const source = await tinySource(folder, {
        ...{ layers: 12, hiddenSize: 512, intermediateSize: 1408 },
        ...{ heads: 8, headDim: 64, kvHeads: 2 },
      })
      const linears = bytesOfLinears(source)
      const rounded = await asRoundedBase(source, precision, folder)
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
      expect(mapped).toBeLessThan(0.8 * linears)
    },
  )
})
